//! The functions that compiled code calls for its operations.
//!
//! *Leaf* functions are called directly: they are bounded, reach no safepoint, throw nothing. The others go through
//! stubs that record the anchor; they may collect, and report a throw by an exception pending.

use super::{big_integer, checksums, policy, stubs};
use crate::java::array_copy;
use crate::loading::{allocate, errors, resolve};
use crate::machine::JavaThread;
use crate::monitors::monitor;
use crate::runtime::code::body::InlineCache;
use crate::runtime::{KlassRef, MethodRef};
use crate::threads::requests;
use crate::{helper, invoke, preserving_helper, slow_path_helpers};
use classfile::BasicType;
use gc::object::{KlassId, ObjectRef};
use std::mem::offset_of;
use std::sync::atomic::Ordering;

pub use crate::frames::anchor::{PENDING_OFFSET, SCRATCH_OFFSET, STACK_LIMIT_OFFSET};

pub const THREAD_OBJECT_OFFSET: usize = offset_of!(JavaThread, thread_object);
/// The thread's lock stack.
pub const THREAD_LOCKS_OFFSET: usize = offset_of!(JavaThread, locks);

helper! {
    /// A new object of an initialized class.
    call_new_instance => new_instance;
    /// The end of the constructor of `Object`.
    call_constructed => constructed;
    /// A new array.
    call_new_array => new_array;
    /// `multianewarray`.
    call_new_multi_array => new_multi_array;
    /// `BigInteger.implMultiplyToLen`.
    call_multiply => multiply;
    /// `CRC32.updateBytes0` and the like.
    call_sum_of_array => checksums::sum_of_array;
    /// `CRC32.updateByteBuffer0` and the like.
    call_sum_of_memory => checksums::sum_of_memory;
    /// Enters a monitor.
    call_lock => lock;
    /// Throws `StackOverflowError`.
    call_stack_overflow => stack_overflow;
}

preserving_helper! {
    /// The slow path of a safepoint poll.
    call_poll => poll;
    /// Calls or rounds of quick code are up. Reaches no safepoint; with `-Xbatch` it waits for a compilation.
    call_count => count;
}

extern "C" fn new_instance(t: &JavaThread, klass: KlassRef) -> u64 {
    word(allocate::new_instance(t, klass))
}

/// The object's new address; 0 with an exception pending.
extern "C" fn constructed(t: &JavaThread, object: ObjectRef) -> u64 {
    word(allocate::constructed(t, object))
}

extern "C" fn new_array(t: &JavaThread, klass: KlassRef, length: i32) -> u64 {
    word(allocate::new_array(t, klass, length))
}

/// # Safety
/// `lengths` are `count` words, of which the lower halves count.
unsafe extern "C" fn new_multi_array(
    t: &JavaThread,
    klass: KlassRef,
    lengths: *const u64,
    count: usize,
) -> u64 {
    // SAFETY: by the contract.
    let lengths = unsafe { std::slice::from_raw_parts(lengths, count) };
    let lengths: Vec<i32> = lengths.iter().map(|word| *word as i32).collect();
    word(allocate::new_multi_array(t, klass, &lengths))
}

/// The product of two numbers that are not null, in `product` if that is long enough, else in a new array.
extern "C" fn multiply(
    t: &JavaThread,
    x: ObjectRef,
    x_count: i32,
    y: ObjectRef,
    y_count: i32,
    product: ObjectRef,
) -> u64 {
    let count = i64::from(x_count) + i64::from(y_count);
    let is_long_enough = |array: ObjectRef| array.array_length() as i64 >= count;
    if !product.is_null() && is_long_enough(product) {
        return finish_product(t, (x, x_count), (y, y_count), product);
    }
    let _scope = t.scope();
    let (x, y) = (t.root(x), t.root(y));
    let klass = t.vm.known.primitive_array(BasicType::Int);
    // Too long is as bad as negative.
    let count = i32::try_from(count).unwrap_or(-1);
    match allocate::new_array(t, klass, count) {
        Ok(product) => finish_product(t, (x.get(), x_count), (y.get(), y_count), product),
        Err(_) => 0,
    }
}

fn finish_product(
    t: &JavaThread,
    x: (ObjectRef, i32),
    y: (ObjectRef, i32),
    product: ObjectRef,
) -> u64 {
    if big_integer::multiply(x, y, product) {
        return product.address() as u64;
    }
    let message = format!("a product of {} and {} words", x.1, y.1);
    word(errors::fail(t, "java/lang/ArrayIndexOutOfBoundsException", &message))
}

extern "C" fn lock(t: &JavaThread, object: ObjectRef) {
    monitor::enter(t, object);
}

extern "C" fn stack_overflow(t: &JavaThread) {
    // Compiled code returns at once and checks for a pending exception.
    let _pending = crate::interpreter::fault::stack_overflow(t);
}

extern "C" fn poll(t: &JavaThread) -> u64 {
    // Compiled code checks for a pending exception.
    let _pending = requests::poll(t);
    0
}

slow_path_helpers! {
    /// The address that compiled code calls for a slow path of a barrier.
    pub fn barrier_address => barrier;
}

extern "C" fn barrier(t: &JavaThread, id: u64, a: u64, b: u64, c: u64) -> u64 {
    t.barriers().slow_path(&t.mutator, id as u8, [a, b, c])
}

extern "C" fn count(t: &JavaThread, rounds: u32, method: MethodRef) -> u64 {
    u64::from(policy::count(t, rounds, method))
}

/// Leaf. Leaves a monitor that compiled code holds.
extern "C" fn unlock(t: &JavaThread, object: ObjectRef) {
    // Native code may have left it before.
    _ = monitor::exit(t, object);
}

/// Leaf.
extern "C" fn is_subtype(klass: KlassRef, of: KlassRef) -> u32 {
    u32::from(klass.is_subtype_of(of))
}

/// Leaf. As `is_subtype`, for the element type of an array that is stored to: remembered, so that the code finds it.
extern "C" fn fits_array(klass: KlassRef, component: KlassRef) -> u32 {
    let fits = klass.is_subtype_of(component);
    if fits {
        klass.super_cache.store(std::ptr::from_ref(component).cast_mut(), Ordering::Relaxed);
    }
    u32::from(fits)
}

/// Leaf. The method that an interface call selects, kept in the call's cache; null where the call must throw.
extern "C" fn select(
    t: &JavaThread,
    resolved: MethodRef,
    klass: u32,
    cache: &InlineCache,
) -> Option<MethodRef> {
    // The site meets more classes than its cache holds.
    if let Some(known) = t.java_stack.selected(resolved, KlassId(klass)) {
        return Some(known);
    }
    let method = selected_interface_method(resolved, t.vm.klasses.get(KlassId(klass)))?;
    if !cache.remember(klass, method) {
        t.java_stack.remember_selection(resolved, KlassId(klass), method);
    }
    Some(method)
}

/// As `resolve::select_interface`, without throwing.
pub fn selected_interface_method(resolved: MethodRef, receiver: KlassRef) -> Option<MethodRef> {
    resolve::try_select_interface(resolved, receiver)
}

/// Leaf.
extern "C" fn basic_target(t: &JavaThread, method_handle: ObjectRef) -> MethodRef {
    invoke::basic_target(t, method_handle)
}

/// Leaf. The method that a linker calls; null where the call must throw.
extern "C" fn link_target(
    t: &JavaThread,
    intrinsic: u64,
    member: ObjectRef,
    first: ObjectRef,
) -> Option<MethodRef> {
    invoke::try_link_target(t, intrinsic as u8, member, first)
}

/// Leaf. `System.arraycopy`; 0 where that throws or would keep other threads waiting, when it is begun again: the
/// first elements may have been copied.
extern "C" fn copy_array(
    t: &JavaThread,
    from: ObjectRef,
    from_index: i32,
    to: ObjectRef,
    to_index: i32,
    length: i32,
) -> u32 {
    u32::from(array_copy::try_copy(t, (from, from_index), (to, to_index), length))
}

/// Leaf. `Class.isInstance`; the object may be null.
extern "C" fn is_instance(t: &JavaThread, mirror: ObjectRef, object: ObjectRef) -> u32 {
    let of = t.klass_of_mirror(mirror);
    u32::from(!object.is_null() && t.klass_of(object).is_subtype_of(of))
}

/// Leaf. `Class.isArray`.
extern "C" fn is_array(t: &JavaThread, mirror: ObjectRef) -> u32 {
    u32::from(t.klass_of_mirror(mirror).is_array())
}

/// Leaf. `Class.isInterface`.
extern "C" fn is_interface(t: &JavaThread, mirror: ObjectRef) -> u32 {
    u32::from(t.klass_of_mirror(mirror).is_interface())
}

/// Leaf. `Class.isPrimitive`.
extern "C" fn is_primitive(t: &JavaThread, mirror: ObjectRef) -> u32 {
    u32::from(t.klass_of_mirror(mirror).is_primitive())
}

/// Leaf. `BigInteger.implSquareToLen`; 0 where nothing was done.
extern "C" fn square(x: ObjectRef, count: i32, product: ObjectRef) -> u32 {
    u32::from(big_integer::multiply((x, count), (x, count), product))
}

/// Leaf. `BigInteger.implMulAdd`: the carry; negative where nothing was done.
extern "C" fn multiply_add(
    out: ObjectRef,
    offset: i32,
    number: ObjectRef,
    count: i32,
    factor: u32,
) -> i64 {
    big_integer::multiply_add(out, offset, (number, count), factor).map_or(-1, i64::from)
}

/// Leaf. `BigInteger.implMontgomeryMultiply`; 0 where nothing was done.
extern "C" fn montgomery(
    a: ObjectRef,
    b: ObjectRef,
    n: ObjectRef,
    count: i32,
    inverse: u64,
    product: ObjectRef,
) -> u32 {
    u32::from(big_integer::montgomery(a, b, n, count, inverse, product))
}

/// Leaf. The identity hash code of an object that is not null.
extern "C" fn identity_hash(t: &JavaThread, object: ObjectRef) -> i32 {
    monitor::identity_hash(t, object)
}

/// Leaf. `frem`: the remainder of a division that truncates, exact in both widths.
extern "C" fn float_remainder(a: f32, b: f32) -> f32 {
    a % b
}

/// Leaf.
extern "C" fn double_remainder(a: f64, b: f64) -> f64 {
    a % b
}

fn word(result: crate::runtime::JResult<ObjectRef>) -> u64 {
    result.map_or(0, |object| object.address() as u64)
}

macro_rules! addresses {
    ($($name:ident => $target:path;)*) => {$(
        pub fn $name() -> usize {
            $target as *const () as usize
        }
    )*};
}

addresses! {
    exit_address => stubs::side_exit;
    new_instance_address => call_new_instance;
    constructed_address => call_constructed;
    new_array_address => call_new_array;
    new_multi_array_address => call_new_multi_array;
    multiply_address => call_multiply;
    sum_of_array_address => call_sum_of_array;
    sum_of_memory_address => call_sum_of_memory;
    lock_address => call_lock;
    stack_overflow_address => call_stack_overflow;
    poll_address => call_poll;
    count_address => call_count;
    unlock_address => unlock;
    is_subtype_address => is_subtype;
    fits_array_address => fits_array;
    select_address => select;
    basic_target_address => basic_target;
    link_target_address => link_target;
    copy_array_address => copy_array;
    is_instance_address => is_instance;
    is_array_address => is_array;
    is_interface_address => is_interface;
    is_primitive_address => is_primitive;
    square_address => square;
    multiply_add_address => multiply_add;
    montgomery_address => montgomery;
    identity_hash_address => identity_hash;
    float_remainder_address => float_remainder;
    double_remainder_address => double_remainder;
}

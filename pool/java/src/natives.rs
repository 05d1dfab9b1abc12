//! The native methods of the Java classes, in their order.
//!
//! Arguments of Java are not trusted to be in range, but handles are: they are private fields of the module.

use crate::channel::{End, LENGTH_MAX};
use crate::failure::Failure;
use crate::jni::{Env, call, reserve};
use crate::map::SharedMap;
use crate::message::Message;
use crate::shared::Shared;
use jni_sys::{JNIEnv, jboolean, jbyteArray, jclass, jint, jlong, jlongArray, jobject, jsize};
use pool::{Entry, Map, MapOptions, PoolError, Replaced};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A handle for Java, which `free` takes back.
fn handle<T>(object: Arc<T>) -> jlong {
    Arc::into_raw(object) as jlong
}

/// The object of a handle.
fn object<'a, T>(handle: jlong) -> Result<&'a T, Failure> {
    // SAFETY: the Java object that has the handle is reachable during the call, so the handle was not freed.
    unsafe { (handle as *const T).as_ref() }.ok_or(Failure::Closed("the object"))
}

/// The same, counted.
fn counted<T>(handle: jlong) -> Result<Arc<T>, Failure> {
    object::<T>(handle)?;
    // SAFETY: it came from `handle`, and is still counted for Java.
    unsafe {
        Arc::increment_strong_count(handle as *const T);
        Ok(Arc::from_raw(handle as *const T))
    }
}

fn size(value: jint, what: &str) -> Result<usize, Failure> {
    usize::try_from(value).map_err(|_| Failure::Argument(format!("{what} {value}")))
}

/// Runs with the buffers of this thread, empty: for a key and for a value.
fn with_buffers<T>(
    run: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    thread_local! {
        static BUFFERS: RefCell<[Vec<u8>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
    }
    BUFFERS.with_borrow_mut(|[first, second]| {
        let done = run(first, second);
        for buffer in [first, second] {
            buffer.clear();
            buffer.shrink_to(KEPT_MAX);
        }
        done
    })
}

/// Bytes that a buffer of a thread keeps between two calls.
const KEPT_MAX: usize = 1 << 20;

/// Bytes of Java: an array, or a direct buffer.
#[derive(Clone, Copy)]
struct Bytes {
    object: jobject,
    is_direct: jboolean,
    offset: jint,
    length: jint,
}

impl Bytes {
    fn read(self, env: Env, into: &mut Vec<u8>) -> Result<(), Failure> {
        let (offset, length) = (size(self.offset, "offset")?, size(self.length, "length")?);
        if self.is_direct {
            env.read_direct(self.object, offset, length, into)
        } else {
            env.read(self.object, offset, length, into)
        }
    }
}

/// Declares native methods. Each has the environment and the object, or the class, in front.
macro_rules! natives {
    ($($(#[$about:meta])* fn $name:ident($env:ident $(, $argument:ident: $type:ty)*) -> $result:ty $body:block)*) => {
        $(
            $(#[$about])*
            #[unsafe(no_mangle)]
            pub extern "system" fn $name(
                env: *mut JNIEnv,
                _this: jclass,
                $($argument: $type),*
            ) -> $result {
                let body = |$env: Env| -> Result<$result, Failure> { $body };
                // SAFETY: the JVM calls, with its environment of this thread.
                unsafe { call(env, body) }
            }
        )*
    };
}

// `SharedPool`.
natives! {
    /// Opens the pool in a file, or makes one of this many bytes.
    fn Java_farheap_pool_SharedPool_open0(env, path: jbyteArray, bytes: jlong) -> jlong {
        let path = env.bytes(path)?;
        let path = Path::new(OsStr::from_bytes(&path));
        let shared = match bytes {
            0 => Shared::open(path)?,
            bytes => {
                let bytes = u64::try_from(bytes);
                let bytes = bytes.map_err(|_| Failure::Argument(format!("{bytes:?} bytes")))?;
                Shared::create(path, bytes)?
            }
        };
        Ok(handle(shared))
    }

    fn Java_farheap_pool_SharedPool_close0(_env, pool: jlong) -> () {
        object::<Shared>(pool)?.close();
        Ok(())
    }

    fn Java_farheap_pool_SharedPool_free0(_env, pool: jlong) -> () {
        // SAFETY: it came from `handle`, and no Java object has it any more.
        drop(unsafe { Arc::from_raw(pool as *const Shared) });
        Ok(())
    }

    /// The sizes of the pool, and of its huge blocks: all, and used.
    fn Java_farheap_pool_SharedPool_sizes0(env, pool: jlong, into: jlongArray) -> () {
        let core = object::<Shared>(pool)?.core()?;
        let huge = core.heap().huge_use();
        let sizes = [core.pool().segment().bytes(), huge.bytes, huge.used];
        env.write_longs(into, &sizes.map(|size| size as jlong))
    }

    /// The map of this name. 0: there is none. `entries` is 0 if it must not be made.
    fn Java_farheap_pool_SharedPool_map0(
        env, pool: jlong, name: jbyteArray, entries: jlong, capacity: jlong, evicts: jboolean
    ) -> jlong {
        let name = env.bytes(name)?;
        let options = MapOptions { entries: entries as u64, capacity: capacity as u64, evicts };
        let options = (entries != 0).then_some(&options);
        let map = SharedMap::open(counted(pool)?, name, options)?;
        Ok(map.map_or(0, |map| handle(Arc::new(map))))
    }

    fn Java_farheap_pool_SharedPool_destroyMap0(env, pool: jlong, name: jbyteArray) -> jboolean {
        let name = env.bytes(name)?;
        object::<Shared>(pool)?.destroy_map(&name)
    }

    /// An end of a channel. 0: it is taken.
    fn Java_farheap_pool_SharedPool_end0(
        env, pool: jlong, name: jbyteArray, is_sender: jboolean
    ) -> jlong {
        let name = env.text(name)?;
        let end = counted::<Shared>(pool)?.end(&name, is_sender)?;
        Ok(end.map_or(0, handle))
    }
}

// `ChannelEnd`, `ChannelSender` and `ChannelReceiver`.
natives! {
    fn Java_farheap_pool_ChannelEnd_close0(_env, end: jlong) -> () {
        object::<End>(end)?.close();
        Ok(())
    }

    fn Java_farheap_pool_ChannelEnd_free0(_env, end: jlong) -> () {
        // SAFETY: it came from `handle`, and no Java object has it any more.
        let end = unsafe { Arc::from_raw(end as *const End) };
        // Buffers may keep it.
        end.close();
        Ok(())
    }

    fn Java_farheap_pool_ChannelEnd_counts0(env, end: jlong, into: jlongArray) -> () {
        let counts = object::<End>(end)?.counts()?;
        env.write_longs(into, &counts.map(|count| count as jlong))
    }

    /// Waits at most 20 ms.
    fn Java_farheap_pool_ChannelEnd_wait0(
        _env, end: jlong, is_sender: jboolean, nanos: jlong
    ) -> jboolean {
        let timeout = Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
        object::<End>(end)?.wait(is_sender, timeout)
    }

    fn Java_farheap_pool_ChannelSender_offer0(
        env, end: jlong, from: jobject, is_direct: jboolean, offset: jint, length: jint
    ) -> jboolean {
        let bytes = Bytes { object: from, is_direct, offset, length };
        with_buffers(|scratch, _| object::<End>(end)?.offer(|into| bytes.read(env, into), scratch))
    }

    fn Java_farheap_pool_ChannelSender_allocate0(
        env, end: jlong, length: jint, into: jlongArray
    ) -> jobject {
        let length = size(length, "length")?;
        if length > LENGTH_MAX - HEADROOM {
            return Err(Failure::Argument(format!("length {length}")));
        }
        deliver(env, counted::<End>(end)?.allocate(length)?, into)
    }

    fn Java_farheap_pool_ChannelSender_send0(
        _env, end: jlong, message: jlong, length: jint
    ) -> jboolean {
        counted::<End>(end)?.send(object(message)?, size(length, "length")?)
    }

    /// Null: there is none now.
    fn Java_farheap_pool_ChannelReceiver_poll0(env, end: jlong, into: jlongArray) -> jobject {
        match counted::<End>(end)?.poll()? {
            Some(message) => deliver(env, message, into),
            None => Ok(null_mut()),
        }
    }

    /// Null: there is none now.
    fn Java_farheap_pool_ChannelReceiver_pollBytes0(env, end: jlong) -> jobject {
        with_buffers(|buffer, _| {
            let is_there = object::<End>(end)?.poll_copy(buffer)?;
            if is_there { env.array(buffer) } else { Ok(null_mut()) }
        })
    }
}

/// Pages in front of a message, and behind it.
const HEADROOM: usize = 1 << 14;

/// A direct buffer over a message, whose handle is written into an array of one element.
fn deliver(env: Env, message: Message, into: jlongArray) -> Result<jobject, Failure> {
    // SAFETY: the memory stays mapped as long as the message, whose handle is freed by a cleaner of the buffer.
    let buffer = unsafe { env.direct(message.address(), message.length())? };
    let message = Arc::new(message);
    let address = Arc::as_ptr(&message) as jlong;
    env.write_longs(into, &[address])?;
    // Java's from now on.
    let _ = Arc::into_raw(message);
    Ok(buffer)
}

// `SharedBuffer`.
natives! {
    fn Java_farheap_pool_SharedBuffer_release0(_env, message: jlong) -> () {
        object::<Message>(message)?.release()
    }

    fn Java_farheap_pool_SharedBuffer_free0(_env, message: jlong) -> () {
        // SAFETY: it came from `deliver`, and no Java object has it any more.
        drop(unsafe { Arc::from_raw(message as *const Message) });
        Ok(())
    }
}

/// The constants of `SharedMap`.
const PUT: jint = 0;
const PUT_IF_ABSENT: jint = 1;
const REPLACE: jint = 2;
const REPLACE_VERSION: jint = 3;

/// When an entry expires that lives this long.
fn until(ttl_ms: jlong) -> u64 {
    if ttl_ms <= 0 {
        return 0;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_millis() as u64).saturating_add(ttl_ms as u64)
}

fn replaced(replaced: Replaced) -> u64 {
    match replaced {
        Replaced::Stored(version) => version,
        Replaced::Changed(_) | Replaced::Absent => 0,
    }
}

fn store(
    map: &Map,
    how: jint,
    key: &[u8],
    value: &[u8],
    ttl_ms: jlong,
    version: jlong,
) -> Result<u64, PoolError> {
    let until = until(ttl_ms);
    match how {
        PUT => map.put(key, value, until),
        PUT_IF_ABSENT => Ok(map.put_if_absent(key, value, until)?.unwrap_or(0)),
        REPLACE => map.replace_any(key, value, until).map(replaced),
        _ => map.replace(key, version as u64, value, until).map(replaced),
    }
}

/// Appends the value of a key to a buffer, and returns its version.
fn copy(map: &Map<'static>, key: &[u8], into: &mut Vec<u8>) -> Result<Option<u64>, Failure> {
    let reader = map.client().read()?;
    let Some(entry) = map.peek(&reader, key)? else { return Ok(None) };
    reserve(into, entry.value().len())?;
    entry.value().append_to(into);
    Ok(Some(entry.version()))
}

/// Copies the first bytes of the value of a key to an address. Returns how many the value has.
///
/// # Safety
/// There is room for this many bytes.
unsafe fn copy_to(
    map: &Map<'static>,
    key: &[u8],
    (to, room): (*mut u8, usize),
) -> Result<Option<usize>, PoolError> {
    let reader = map.client().read()?;
    let Some(entry) = map.peek(&reader, key)? else { return Ok(None) };
    let value = entry.value();
    let count = value.len().min(room);
    if count > 0 {
        // SAFETY: the value is not changed, and stays while the reader lives; the caller says that there is room. A
        // plain copy by the C library survives other threads that use the buffer.
        unsafe { libc::memcpy(to.cast(), value.as_ptr().cast(), count) };
    }
    Ok(Some(value.len()))
}

/// Appends what `scan0` says of an entry.
fn pack(entry: &Entry, packed: &mut Vec<u8>) -> Result<(), Failure> {
    let (key, value) = (entry.key(), entry.value());
    let is_here = packed.len().saturating_add(value.len()) <= PART_MAX;
    let length = if is_here { value.len() as u64 } else { u64::MAX };
    reserve(packed, 32 + key.len() + if is_here { value.len() } else { 0 })?;
    for number in [key.len() as u64, length, entry.version(), entry.until()] {
        packed.extend(number.to_le_bytes());
    }
    key.append_to(packed);
    if is_here {
        value.append_to(packed);
    }
    Ok(())
}

/// Bytes of a part of a map with the values that are copied with it.
const PART_MAX: usize = 16 << 20;

// `SharedMap`.
natives! {
    fn Java_farheap_pool_SharedMap_free0(_env, map: jlong) -> () {
        // SAFETY: it came from `handle`, and no Java object has it any more.
        drop(unsafe { Arc::from_raw(map as *const SharedMap) });
        Ok(())
    }

    /// Null: there is none. Otherwise the version is written into the array, if that is not null.
    fn Java_farheap_pool_SharedMap_get0(
        env, map: jlong, key: jobject, is_direct: jboolean, offset: jint, length: jint,
        version: jlongArray
    ) -> jobject {
        let bytes = Bytes { object: key, is_direct, offset, length };
        with_buffers(|key, value| {
            bytes.read(env, key)?;
            match object::<SharedMap>(map)?.with(|map| copy(map, key, value))? {
                None => Ok(null_mut()),
                Some(found) => {
                    if !version.is_null() {
                        env.write_longs(version, &[found as jlong])?;
                    }
                    env.array(value)
                }
            }
        })
    }

    /// Copies a value into a direct buffer, as much as fits. Returns its length, or -1.
    fn Java_farheap_pool_SharedMap_getInto0(
        env, map: jlong, key: jobject, is_direct: jboolean, offset: jint, length: jint,
        into: jobject, into_offset: jint, into_length: jint
    ) -> jint {
        let bytes = Bytes { object: key, is_direct, offset, length };
        let [from, most] = [size(into_offset, "offset")?, size(into_length, "length")?];
        let to = (env.range_of(into, from, most)?, most);
        with_buffers(|key, _| {
            bytes.read(env, key)?;
            // SAFETY: the buffer has this range, and is reachable during the call.
            let found = object::<SharedMap>(map)?.with(|map| unsafe { copy_to(map, key, to) })?;
            Ok(found.map_or(-1, |length| length.min(LENGTH_MAX) as jint))
        })
    }

    /// Null: there is none.
    fn Java_farheap_pool_SharedMap_view0(
        env, map: jlong, key: jbyteArray, into: jlongArray
    ) -> jobject {
        let found = with_buffers(|bytes, _| {
            env.read(key, 0, env.length(key)?, bytes)?;
            object::<SharedMap>(map)?.view(bytes)
        })?;
        found.map_or(Ok(null_mut()), |message| deliver(env, message, into))
    }

    fn Java_farheap_pool_SharedMap_contains0(
        env, map: jlong, key: jobject, is_direct: jboolean, offset: jint, length: jint
    ) -> jboolean {
        let bytes = Bytes { object: key, is_direct, offset, length };
        with_buffers(|key, _| {
            bytes.read(env, key)?;
            object::<SharedMap>(map)?.with(|map| map.contains(key))
        })
    }

    /// The version of the new value. 0: it was not stored.
    fn Java_farheap_pool_SharedMap_store0(
        env, map: jlong, how: jint, key: jobject, is_direct: jboolean, offset: jint, length: jint,
        value: jobject, value_is_direct: jboolean, value_offset: jint, value_length: jint,
        ttl_ms: jlong, version: jlong
    ) -> jlong {
        let bytes = Bytes { object: key, is_direct, offset, length };
        let new = Bytes {
            object: value,
            is_direct: value_is_direct,
            offset: value_offset,
            length: value_length,
        };
        with_buffers(|key, value| {
            bytes.read(env, key)?;
            new.read(env, value)?;
            let stored = object::<SharedMap>(map)?
                .with(|map| store(map, how, key, value, ttl_ms, version))?;
            Ok(stored as jlong)
        })
    }

    /// Replaces one value by another.
    fn Java_farheap_pool_SharedMap_exchange0(
        env, map: jlong, key: jbyteArray, old: jbyteArray, new: jbyteArray, ttl_ms: jlong
    ) -> jboolean {
        let [old, new] = [env.bytes(old)?, env.bytes(new)?];
        with_buffers(|bytes, value| {
            env.read(key, 0, env.length(key)?, bytes)?;
            loop {
                let done = object::<SharedMap>(map)?.with(|map| {
                    value.clear();
                    Ok::<_, Failure>(match copy(map, bytes, value)? {
                        Some(version) if *value == old => {
                            Some(map.replace(bytes, version, &new, until(ttl_ms))?)
                        }
                        _ => None,
                    })
                })?;
                match done {
                    None => return Ok(false),
                    Some(Replaced::Stored(_)) => return Ok(true),
                    // Another value, which may be equal to the old one.
                    Some(_) => {}
                }
            }
        })
    }

    /// With a version of 0 whatever value there is.
    fn Java_farheap_pool_SharedMap_remove0(
        env, map: jlong, key: jobject, is_direct: jboolean, offset: jint, length: jint,
        version: jlong
    ) -> jboolean {
        let bytes = Bytes { object: key, is_direct, offset, length };
        with_buffers(|key, _| {
            bytes.read(env, key)?;
            object::<SharedMap>(map)?.with(|map| match version {
                0 => map.remove(key),
                version => map.remove_if(key, version as u64),
            })
        })
    }

    fn Java_farheap_pool_SharedMap_add0(
        env, map: jlong, key: jbyteArray, delta: jlong
    ) -> jlong {
        with_buffers(|bytes, _| {
            env.read(key, 0, env.length(key)?, bytes)?;
            let sum = object::<SharedMap>(map)?.with(|map| map.add(bytes, delta as u64))?;
            Ok(sum as jlong)
        })
    }

    fn Java_farheap_pool_SharedMap_size0(_env, map: jlong) -> jlong {
        Ok(object::<SharedMap>(map)?.with(|map| map.len())? as jlong)
    }

    fn Java_farheap_pool_SharedMap_clear0(_env, map: jlong) -> () {
        object::<SharedMap>(map)?.with(|map| map.clear())
    }

    fn Java_farheap_pool_SharedMap_statistics0(env, map: jlong, into: jlongArray) -> () {
        let found = object::<SharedMap>(map)?.with(|map| map.stats())?;
        let values = [
            found.entries,
            found.bytes,
            found.capacity,
            found.buckets,
            found.hits,
            found.misses,
            found.evictions,
            found.expirations,
        ];
        env.write_longs(into, &values.map(|value| value as jlong))
    }

    /// Entries of a part of the table: for each the lengths of key and value, the version, when it expires, the key and
    /// the value. A length of -1 stands for a value that is not there, as the part is large already. The place of the
    /// next part is written into the array, or -1.
    fn Java_farheap_pool_SharedMap_scan0(
        env, map: jlong, from: jlong, next: jlongArray
    ) -> jobject {
        with_buffers(|packed, _| {
            let rest = object::<SharedMap>(map)?.with(|map| {
                packed.clear();
                let mut packing = Ok(());
                let reader = map.client().read()?;
                let rest = map.scan(&reader, from as u64, |entry| {
                    if packing.is_ok() {
                        packing = pack(&entry, packed);
                    }
                })?;
                packing.map(|()| rest)
            })?;
            env.write_longs(next, &[rest.map_or(-1, |rest| rest as jlong)])?;
            env.array(packed)
        })
    }
}

const _: () = {
    // Java counts bytes as these.
    assert!(size_of::<jsize>() == 4 && REPLACE_VERSION == 3);
};

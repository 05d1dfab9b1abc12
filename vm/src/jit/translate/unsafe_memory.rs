//! `jdk.internal.misc.Unsafe`: memory accesses of any kind, compare-and-set, fences.
//!
//! An access names an object and an offset from its header, or null and an address. Plain accesses are single machine
//! instructions either way, which never tear aligned words.

use super::{Kind, Translator};
use classfile::BasicType;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, MemFlagsData, Type, Value, types};

/// How an access is ordered with others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Plain,
    /// Acquire, release or opaque: this machine's plain accesses, which the compiler must not move.
    Weak,
    Volatile,
}

impl Translator<'_> {
    /// Translates a native method of `Unsafe`, whose receiver is below its arguments; `false` if it is none of these.
    pub(super) fn unsafe_operation(&mut self, name: &[u8], descriptor: &[u8]) -> bool {
        let Ok(name) = std::str::from_utf8(name) else { return false };
        if name == "fullFence" {
            self.drop_receiver(0);
            self.b.ins().fence();
            self.side_effect();
            return true;
        }
        if matches!(name, "loadFence" | "storeFence") {
            // This machine keeps loads in order with loads and stores with stores; the fence keeps the compiler from
            // moving them.
            self.drop_receiver(0);
            self.b.ins().fence();
            self.side_effect();
            return true;
        }
        if !descriptor.starts_with(b"(Ljava/lang/Object;J") {
            return false;
        }
        if let Some(rest) = name.strip_prefix("getAnd") {
            return self.get_and(rest);
        }
        if let Some(rest) = name.strip_prefix("get") {
            let Some((ty, order)) = type_and_order(rest, descriptor) else { return false };
            self.unsafe_get(ty, order);
            return true;
        }
        if let Some(rest) = name.strip_prefix("put") {
            let Some((ty, order)) = type_and_order(rest, descriptor) else { return false };
            self.unsafe_put(ty, order);
            return true;
        }
        let (rest, is_set) = match name.strip_prefix("compareAndSet") {
            Some(rest) => (rest, true),
            None => match name.strip_prefix("compareAndExchange") {
                Some(rest) => (rest, false),
                None => return false,
            },
        };
        let Some(ty) = compared_type(rest) else { return false };
        self.unsafe_compare(ty, is_set);
        true
    }

    /// Checks the receiver below `above` operands; the operation pops it last.
    fn check_receiver(&mut self, above: usize) {
        let receiver = self.peek(above);
        self.check_not_null(receiver);
    }

    fn drop_receiver(&mut self, above: usize) {
        self.check_receiver(above);
        self.drop_operands(above + 1);
    }

    fn unsafe_get(&mut self, ty: BasicType, order: Order) {
        let (object, offset) = (self.peek(1), self.peek(0));
        self.drop_receiver(2);
        let kind = Kind::of(ty).expect("not void");
        let value = match kind {
            Kind::Ref => self.unsafe_get_reference(object, offset, order),
            _ => {
                let at = self.b.ins().iadd(object, offset);
                let value = match order {
                    Order::Plain => self.load_primitive(ty, at, 0),
                    Order::Weak | Order::Volatile => self.load_primitive_volatile(ty, at),
                };
                match ty {
                    // Memory may hold any byte.
                    BasicType::Boolean => {
                        let is_set = self.b.ins().icmp_imm_s(IntCC::NotEqual, value, 0);
                        self.b.ins().uextend(types::I32, is_set)
                    }
                    _ => value,
                }
            }
        };
        if order != Order::Plain {
            self.side_effect();
        }
        self.push(kind, value);
    }

    /// A slot at the offset of `Reference.referent` may be that field: it is loaded as one, which is right for any
    /// slot.
    fn unsafe_get_reference(&mut self, object: Value, offset: Value, order: Order) -> Value {
        let load = |t: &mut Self| match order {
            Order::Plain => t.load_reference(object, offset),
            Order::Weak | Order::Volatile => t.load_reference_volatile(object, offset),
        };
        let referent = self.vm.known.fields.reference_referent() as u64;
        match self.constant(offset) {
            Some(constant) if constant != referent => return load(self),
            Some(_) => return self.load_referent(object, offset),
            None => {}
        }
        let is_referent = self.b.ins().icmp_imm_s(IntCC::Equal, offset, referent as i64);
        let [weak, strong, join] = std::array::from_fn(|_| self.b.create_block());
        self.b.append_block_param(join, types::I64);
        self.b.set_cold_block(weak);
        self.b.ins().brif(is_referent, weak, &[], strong, &[]);
        self.continue_in(weak);
        let value = self.load_referent(object, offset);
        self.b.ins().jump(join, &[value.into()]);
        self.continue_in(strong);
        let value = load(self);
        self.b.ins().jump(join, &[value.into()]);
        self.continue_in(join);
        self.b.block_params(join)[0]
    }

    /// A primitive, in order with all other volatile accesses.
    pub(super) fn load_primitive_volatile(&mut self, ty: BasicType, at: Value) -> Value {
        let value = self.b.ins().atomic_load(memory_type(ty), MemFlagsData::trusted(), at);
        self.widen(ty, value)
    }

    /// A word from memory as a value.
    fn widen(&mut self, ty: BasicType, value: Value) -> Value {
        match ty {
            BasicType::Boolean | BasicType::Byte | BasicType::Short => {
                self.b.ins().sextend(types::I32, value)
            }
            BasicType::Char => self.b.ins().uextend(types::I32, value),
            BasicType::Float => self.b.ins().bitcast(types::F32, MemFlagsData::new(), value),
            BasicType::Double => self.b.ins().bitcast(types::F64, MemFlagsData::new(), value),
            _ => value,
        }
    }

    fn unsafe_put(&mut self, ty: BasicType, order: Order) {
        let (object, offset, value) = (self.peek(2), self.peek(1), self.peek(0));
        self.drop_receiver(3);
        if Kind::of(ty) == Some(Kind::Ref) {
            self.store_reference(object, offset, value);
        } else {
            let value = match ty {
                BasicType::Boolean => self.b.ins().band_imm_s(value, 1),
                _ => value,
            };
            let at = self.b.ins().iadd(object, offset);
            self.store_primitive(ty, value, at, 0);
        }
        if order == Order::Volatile {
            self.b.ins().fence();
        }
        self.side_effect();
    }

    fn unsafe_compare(&mut self, ty: BasicType, is_set: bool) {
        let (object, offset) = (self.peek(3), self.peek(2));
        let (expected, new) = (self.peek(1), self.peek(0));
        self.drop_receiver(4);
        let held = if ty == BasicType::Object {
            self.compare_exchange_reference(object, offset, expected, new)
        } else {
            let at = self.b.ins().iadd(object, offset);
            self.b.ins().atomic_cas(MemFlagsData::trusted(), at, expected, new)
        };
        if is_set {
            let done = self.b.ins().icmp(IntCC::Equal, held, expected);
            let done = self.b.ins().uextend(types::I32, done);
            self.push(Kind::Int, done);
        } else {
            self.push(Kind::of(ty).expect("not void"), held);
        }
        self.side_effect();
    }

    /// `getAndAddInt`, `getAndSetReference` and so on.
    fn get_and(&mut self, rest: &str) -> bool {
        let Some((operation, ty)) = exchange_of(rest) else { return false };
        let (object, offset, value) = (self.peek(2), self.peek(1), self.peek(0));
        self.drop_receiver(3);
        let kind = Kind::of(ty).expect("not void");
        let held = if kind == Kind::Ref {
            self.swap_reference(object, offset, value)
        } else {
            let at = self.b.ins().iadd(object, offset);
            self.b.ins().atomic_rmw(kind.clif(), MemFlagsData::trusted(), operation, at, value)
        };
        self.push(kind, held);
        self.side_effect();
        true
    }
}

/// Whether calls of this method of `Unsafe` are translated.
pub(super) fn is_known(name: &[u8], descriptor: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    if matches!(name, "fullFence" | "loadFence" | "storeFence") {
        return true;
    }
    if !descriptor.starts_with(b"(Ljava/lang/Object;J") {
        return false;
    }
    let after = |prefix: &str| name.strip_prefix(prefix);
    match (after("getAnd"), after("get").or(after("put"))) {
        (Some(rest), _) => exchange_of(rest).is_some(),
        (None, Some(rest)) => type_and_order(rest, descriptor).is_some(),
        (None, None) => {
            let rest = after("compareAndSet").or(after("compareAndExchange"));
            rest.is_some_and(|rest| compared_type(rest).is_some())
        }
    }
}

/// `AddIntAcquire`: what is done in one step with a value and its type.
fn exchange_of(text: &str) -> Option<(AtomicRmwOp, BasicType)> {
    Some(match without_order(text) {
        "AddInt" => (AtomicRmwOp::Add, BasicType::Int),
        "AddLong" => (AtomicRmwOp::Add, BasicType::Long),
        "SetInt" => (AtomicRmwOp::Xchg, BasicType::Int),
        "SetLong" => (AtomicRmwOp::Xchg, BasicType::Long),
        "SetReference" => (AtomicRmwOp::Xchg, BasicType::Object),
        _ => return None,
    })
}

/// `IntRelease`: the type of a comparison and exchange.
fn compared_type(text: &str) -> Option<BasicType> {
    Some(match without_order(text) {
        "Int" => BasicType::Int,
        "Long" => BasicType::Long,
        "Reference" => BasicType::Object,
        _ => return None,
    })
}

/// `IntVolatile`: the type and the order of an access. `IntUnaligned` is plain: this machine accesses any address; its
/// forms with another argument, the order of the bytes, are bytecode that calls these.
fn type_and_order(text: &str, descriptor: &[u8]) -> Option<(BasicType, Order)> {
    let orders = [
        ("Volatile", Order::Volatile),
        ("Acquire", Order::Weak),
        ("Release", Order::Weak),
        ("Opaque", Order::Weak),
        ("Unaligned", Order::Plain),
    ];
    let ordered = orders.iter().find_map(|(name, order)| Some((text.strip_suffix(name)?, *order)));
    if text.ends_with("Unaligned") && descriptor.contains(&b'Z') {
        return None;
    }
    let (ty, order) = ordered.unwrap_or((text, Order::Plain));
    let ty = match ty {
        "Boolean" => BasicType::Boolean,
        "Byte" => BasicType::Byte,
        "Short" => BasicType::Short,
        "Char" => BasicType::Char,
        "Int" => BasicType::Int,
        "Long" => BasicType::Long,
        "Float" => BasicType::Float,
        "Double" => BasicType::Double,
        "Reference" => BasicType::Object,
        _ => return None,
    };
    Some((ty, order))
}

/// The name of a locked operation without its order: all are as strong as the volatile form.
fn without_order(name: &str) -> &str {
    let weaker = ["Acquire", "Release"].iter().find_map(|order| name.strip_suffix(order));
    weaker.unwrap_or(name)
}

fn memory_type(ty: BasicType) -> Type {
    match ty {
        BasicType::Boolean | BasicType::Byte => types::I8,
        BasicType::Char | BasicType::Short => types::I16,
        BasicType::Int | BasicType::Float => types::I32,
        _ => types::I64,
    }
}

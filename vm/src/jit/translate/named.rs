//! The classes that code names, by address, by id, or by what is known of them while it is translated: it goes before
//! they do.

use super::Translator;
use crate::runtime::{KlassRef, MethodRef};
use cranelift_codegen::ir::{InstBuilder, Value, types};

impl Translator<'_> {
    /// Notes that code or description names a class, or a method, field or root slot of it: by address, by id, or by
    /// something that is known of it now. To be called wherever such a thing enters the translation.
    pub(super) fn name(&mut self, klass: KlassRef) {
        let holder = klass.holder;
        if !holder.is_permanent() && !self.holders.contains(&holder) {
            self.holders.push(holder);
        }
    }

    /// The very class of an object is known.
    pub(super) fn know_class(&mut self, object: Value, klass: KlassRef) {
        self.name(klass);
        self.facts.set_class(object, klass.id);
    }

    pub(super) fn klass_address(&mut self, klass: KlassRef) -> Value {
        self.name(klass);
        self.address(klass)
    }

    pub(super) fn method_address(&mut self, method: MethodRef) -> Value {
        self.name(method.holder);
        self.address(method)
    }

    /// Of something that lives as long as the code; for classes and methods there are functions of their own.
    pub(super) fn address<T>(&mut self, of: *const T) -> Value {
        self.b.ins().iconst(types::I64, of as i64)
    }
}

//! Calls by reference (CXL-RPC, section 6.3).
//!
//! A message is an object that has the number of a function, and refers to the arguments and to the result. The caller
//! sends it through one ring, and the server sends it back through another one. No data is copied: the server reads the
//! arguments and writes the result where they are.
//!
//! A reference is sent once, also if clients die. The *function* may have been run, or a part of it, if the server
//! dies: a caller that repeats it has to make that harmless, as by a number in the data.

use super::client::RefClient;
use super::reference::Ref;
use crate::PoolError;
use crate::sync::{AtomicU64, Ordering, own, put};

/// A call: its references are the arguments, and the last one is the result.
///
/// ```text
///   +----------+--------------+-----+--------+-----------+
///   | header   | argument     | ... | result | function  |
///   +----------+--------------+-----+--------+-----------+
/// ```
pub struct Message<'c> {
    reference: Ref<'c>,
}

impl RefClient<'_> {
    /// A call of a function. The message counts the arguments and the result: the caller may release its own
    /// references. One compare-and-swap for each of them.
    pub fn message(
        &self,
        function: u64,
        arguments: &[&Ref],
        result: &Ref,
    ) -> Result<Message<'_>, PoolError> {
        let many = PoolError::NoReference { index: arguments.len() as u64, count: u32::MAX.into() };
        let count = u32::try_from(arguments.len()).ok().and_then(|count| count.checked_add(1));
        let reference = self.alloc(8, count.ok_or(many)?)?;
        for (n, to) in arguments.iter().copied().chain([result]).enumerate() {
            self.set(&reference, n as u32, Some(to))?;
        }
        let message = Message { reference };
        message.set_function(function)?;
        Ok(message)
    }
}

impl<'c> Message<'c> {
    /// The message in an object that was received. An error if it can be none.
    pub fn of(reference: Ref<'c>) -> Result<Message<'c>, PoolError> {
        let (count, words) = (reference.embedded()?, reference.data()?.len());
        if count == 0 || words == 0 {
            return Err(PoolError::NoReference { index: 0, count });
        }
        Ok(Message { reference })
    }

    /// The number of the function.
    pub fn function(&self) -> Result<u64, PoolError> {
        Ok(self.reference.data()?[0].load(Ordering::Acquire))
    }

    /// Makes it a call of another function, with the same arguments.
    pub fn set_function(&self, function: u64) -> Result<(), PoolError> {
        let word = &self.reference.data()?[0];
        // Its line, which the server has too, stays there if this is nothing new.
        if own(word) != function {
            put(word, function);
        }
        Ok(())
    }

    /// How many arguments there are.
    pub fn arguments(&self) -> Result<u64, PoolError> {
        let count = self.reference.embedded()?;
        count.checked_sub(1).ok_or(PoolError::NoReference { index: 0, count })
    }

    /// An argument. It is counted, so it stays whatever becomes of the message: one compare-and-swap.
    pub fn argument(&self, n: u64) -> Result<Ref<'c>, PoolError> {
        self.reference.follow(self.index(n)?)
    }

    /// The result, counted as an argument is.
    pub fn result(&self) -> Result<Ref<'c>, PoolError> {
        self.reference.follow(self.arguments()? as u32)
    }

    /// The words of an argument while the message is held, which counts it. No atomic instruction. Another reference to
    /// the message must not be used to change its arguments meanwhile: the words may be another object's then.
    pub fn argument_data(&self, n: u64) -> Result<&[AtomicU64], PoolError> {
        self.reference.data_behind(self.index(n)?)
    }

    /// The words of the result, as those of an argument.
    pub fn result_data(&self) -> Result<&[AtomicU64], PoolError> {
        self.reference.data_behind(self.arguments()? as u32)
    }

    /// Which of the references an argument is.
    fn index(&self, n: u64) -> Result<u32, PoolError> {
        let count = self.arguments()?;
        if n < count { Ok(n as u32) } else { Err(PoolError::NoReference { index: n, count }) }
    }

    /// The object, to send it.
    pub fn into_ref(self) -> Ref<'c> {
        self.reference
    }
}

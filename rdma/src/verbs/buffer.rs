//! Registered memory of one's own, through which all bytes go in and out.

use std::sync::Arc;

use rdma_sys::ibv_sge;

use crate::RdmaError;
use crate::memory::mapping::SharedMapping;
use crate::verbs::device::{Device, Registration};

/// Memory that is the same before and after a fork: shared, and not inherited.
pub struct Buffer {
    /// Dropped before the memory that it pins.
    registration: Registration,
    mapping: SharedMapping,
}

impl Buffer {
    /// Zeroed, a whole number of pages.
    pub fn new(device: &Arc<Device>, bytes: usize) -> Result<Buffer, RdmaError> {
        let mapping = SharedMapping::create(c"farheap-verbs", bytes.next_multiple_of(4096))?;
        let (start, length) = (mapping.base(), mapping.bytes());
        // SAFETY: the mapping outlives the registration; it is used by the owner of this value, between transfers.
        let registration = unsafe { device.register(start, length, start.addr() as u64, false) }?;
        Ok(Buffer { registration, mapping })
    }

    /// Address of a byte, which is inside.
    pub fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.mapping.bytes(), "byte {offset} of {}", self.mapping.bytes());
        self.mapping.base().wrapping_add(offset)
    }

    /// How a request names a part of it.
    pub fn element(&self, offset: usize, bytes: usize) -> ibv_sge {
        let length = self.mapping.bytes();
        assert!(offset + bytes <= length, "bytes {offset}+{bytes} of {length}");
        let addr = self.mapping.base().addr() as u64 + offset as u64;
        ibv_sge { addr, length: bytes as u32, lkey: self.registration.local_key() }
    }
}

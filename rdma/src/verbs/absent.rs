//! What stands for verbs in builds without them: nothing can be opened, so nothing has to be done.

use std::net::IpAddr;
use std::sync::Arc;

use crate::memory::mapping::SharedMapping;
use crate::tcp::remote_segment::Wire;
use crate::tcp::socket::{TcpSocket, Until};
use crate::wire::conversation::Connection;
use crate::{PeerId, RdmaError};

/// None exists.
pub enum Device {}
/// None exists.
pub enum QueuePair {}
/// None exists.
pub enum Pins {}
/// Those of a device that does not exist.
pub struct Keys;

/// Memory would be registered in blocks of so many bytes.
pub const BLOCK_BYTES: u64 = 256 << 10;

/// Always the error that says what is missing.
pub fn available() -> Result<(), RdmaError> {
    Err(RdmaError::NoVerbs(
        "this program was built without them (cargo build --features verbs)".into(),
    ))
}

/// Nothing is refused that cannot be asked for.
pub fn lock_refusal(_share_bytes: u64) -> Option<String> {
    None
}

impl Device {
    pub fn open(_near: IpAddr) -> Result<Arc<Device>, RdmaError> {
        available().map(|()| unreachable!("they are not available"))
    }

    pub fn channel(
        &self,
        _peer: PeerId,
        _socket: Arc<TcpSocket>,
        _until: Until<'_>,
    ) -> Result<Arc<dyn Connection>, RdmaError> {
        match *self {}
    }

    pub fn wire(
        &self,
        _socket: TcpSocket,
        _keys: &Arc<Keys>,
        _segment_bytes: u64,
        _until: Until<'_>,
    ) -> Result<Box<dyn Wire>, RdmaError> {
        match *self {}
    }

    pub fn line(&self, _socket: &TcpSocket, _until: Until<'_>) -> Result<QueuePair, RdmaError> {
        match *self {}
    }
}

impl Keys {
    pub fn new(_segment_bytes: u64) -> Keys {
        Keys
    }
}

impl Pins {
    pub fn new(device: &Arc<Device>) -> Pins {
        match **device {}
    }

    /// # Safety
    /// None exists to call it.
    pub unsafe fn register(&self, _mapping: &SharedMapping, _block: u64) -> Result<u32, RdmaError> {
        match *self {}
    }

    pub fn punch(
        &self,
        _mapping: &SharedMapping,
        _offset: usize,
        _bytes: usize,
    ) -> Result<(), RdmaError> {
        match *self {}
    }
}

/// Never.
#[cfg(test)]
pub fn are_tested() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::spawn::{Fleet, FleetOptions};
    use crate::{OnlyMemory, Transport};

    #[test]
    fn a_build_without_verbs_says_what_is_missing() {
        let options = FleetOptions {
            transport: Transport::Verbs,
            far_bytes: 1 << 20,
            ..FleetOptions::default()
        };
        let error = Fleet::start(options, Arc::new(OnlyMemory)).map(drop).unwrap_err();
        assert!(error.to_string().contains("--features verbs"), "{error}");
    }
}

//! Which transport sessions over TCP are upgraded to: RDMA verbs, in builds that have them.

use std::net::{IpAddr, Ipv4Addr};

use crate::RdmaError;

#[cfg(feature = "verbs")]
pub use crate::verbs::open;

/// Always an error, which names the missing feature.
#[cfg(not(feature = "verbs"))]
pub fn open(_near: IpAddr) -> Result<std::sync::Arc<dyn crate::tcp::upgrade::Upgrade>, RdmaError> {
    Err(RdmaError::NoVerbs(
        "this program was built without them (cargo build --features verbs)".into(),
    ))
}

/// Whether this machine meets the prerequisites of verbs; the error names the missing ones.
pub fn available() -> Result<(), RdmaError> {
    open(IpAddr::V4(Ipv4Addr::LOCALHOST)).map(drop)
}

/// Whether tests have a device. Where `FARHEAP_TEST_VERBS` is set they must have one.
#[cfg(test)]
pub fn is_tested() -> bool {
    match available() {
        Ok(()) => true,
        Err(error) if std::env::var_os("FARHEAP_TEST_VERBS").is_some() => panic!("{error}"),
        Err(_) => false,
    }
}

#[cfg(all(test, not(feature = "verbs")))]
mod tests {
    use std::sync::Arc;

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

//! How a VM talks to the memory servers that it starts itself.

use std::fmt;
use std::str::FromStr;

/// The ways of moving bytes between processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Shared memory: one machine only, the fastest.
    #[default]
    Shm,
    /// TCP; for servers that the VM starts itself on the loopback device.
    Tcp,
    /// RDMA verbs, on builds with the feature `verbs` and machines with a device.
    Verbs,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Shm => "shm",
            Transport::Tcp => "tcp",
            Transport::Verbs => "verbs",
        })
    }
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(name: &str) -> Result<Transport, String> {
        match name {
            "shm" => Ok(Transport::Shm),
            "tcp" => Ok(Transport::Tcp),
            "verbs" => Ok(Transport::Verbs),
            _ => Err(format!("unknown transport {name}: must be one of shm, tcp, verbs")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!("shm".parse(), Ok(Transport::Shm));
        assert_eq!("tcp".parse(), Ok(Transport::Tcp));
        assert_eq!("verbs".parse(), Ok(Transport::Verbs));
        assert!("TCP".parse::<Transport>().is_err());
    }
}

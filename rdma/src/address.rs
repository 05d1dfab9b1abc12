//! Where a memory server waits for VMs.

use std::fmt;
use std::str::FromStr;

/// The address of a running memory server: `unix:NAME` on the same machine. The name is an abstract one: it
/// is in no file system, and is free again when the server ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    name: String,
}

impl ServerAddress {
    /// The name of its socket.
    pub(crate) fn socket_name(&self) -> &str {
        &self.name
    }
}

impl FromStr for ServerAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<ServerAddress, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("unix: needs a name, such as unix:farheap".into()),
            Some(name) if name.len() > NAME_BYTES_MAX => {
                Err(format!("the name of a socket has at most {NAME_BYTES_MAX} bytes"))
            }
            Some(name) => Ok(ServerAddress { name: name.into() }),
            None => Err("only servers on the same machine are supported, as unix:NAME".into()),
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unix:{}", self.name)
    }
}

/// What fits into a socket address of the kernel.
const NAME_BYTES_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let address: ServerAddress = "unix:farheap-0".parse().unwrap();
        assert_eq!(address.to_string(), "unix:farheap-0");
        for wrong in ["", "unix:", "127.0.0.1:7411", &format!("unix:{}", "x".repeat(101))] {
            assert!(wrong.parse::<ServerAddress>().is_err(), "{wrong}");
        }
    }
}

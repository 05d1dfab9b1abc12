//! Where a memory server waits for VMs.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::RdmaError;

/// The address of a running memory server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    /// `unix:NAME`, on the same machine. The name is an abstract one: it is in no file system, and is
    /// free again when the server ends. The transport is shared memory.
    Unix { name: String },
    /// `HOST:PORT`, on any machine: a host name, an IPv4 address, or an IPv6 address in brackets.
    Tcp { host: String, port: u16 },
    /// `verbs:HOST:PORT`: the same server, reached over RDMA.
    Verbs { host: String, port: u16 },
}

impl ServerAddress {
    /// The socket addresses of a host, at least one. May ask a name server, so it may
    /// take seconds.
    pub(crate) fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, RdmaError> {
        let found = (host, port).to_socket_addrs();
        let found = found.map_err(|source| RdmaError::Os { what: "looking up a host", source })?;
        let found: Vec<SocketAddr> = found.collect();
        if found.is_empty() {
            let source = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
            return Err(RdmaError::Os { what: "looking up a host", source });
        }
        Ok(found)
    }
}

/// Whether only processes of this machine can be at the other end.
pub(crate) fn is_loopback(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.to_canonical().is_loopback(),
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
            Some(name) => Ok(ServerAddress::Unix { name: name.into() }),
            None => {
                let verbs = text.strip_prefix("verbs:");
                let (host, port) = parse_host(verbs.unwrap_or(text))?;
                Ok(match verbs {
                    Some(_) => ServerAddress::Verbs { host, port },
                    None => ServerAddress::Tcp { host, port },
                })
            }
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerAddress::Unix { name } => write!(f, "unix:{name}"),
            ServerAddress::Tcp { host, port } | ServerAddress::Verbs { host, port } => {
                let scheme = if matches!(self, ServerAddress::Tcp { .. }) { "" } else { "verbs:" };
                let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
                write!(f, "{scheme}{open}{host}{close}:{port}")
            }
        }
    }
}

fn parse_host(text: &str) -> Result<(String, u16), String> {
    let malformed =
        || "an address is HOST:PORT, [IPv6]:PORT, verbs:HOST:PORT or unix:NAME".to_string();
    let (host, port) = text.rsplit_once(':').ok_or_else(malformed)?;
    // Digits only: the library's parser would take a sign.
    let port = Some(port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = port.and_then(|port| port.parse().ok()).ok_or("a port is a number up to 65535")?;
    if let Some(inner) = host.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or_else(malformed)?;
        inner.parse::<Ipv6Addr>().map_err(|_| format!("{inner} is not an IPv6 address"))?;
        return Ok((inner.into(), port));
    }
    if host.contains(':') {
        return Err("an IPv6 address needs brackets, such as [::1]:7411".into());
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if host.is_empty() || host.len() > HOST_BYTES_MAX || !host.bytes().all(is_name) {
        return Err(malformed());
    }
    Ok((host.into(), port))
}

/// The most bytes that fit into a socket address of the kernel.
const NAME_BYTES_MAX: usize = 100;
/// The longest name of the domain name system.
const HOST_BYTES_MAX: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let same = [
            "unix:farheap-0",
            "127.0.0.1:7411",
            "[::1]:7411",
            "memory-1.example.org:1",
            "localhost:0",
            "verbs:10.0.0.1:7411",
            "verbs:[fe80::1]:7411",
        ];
        for text in same {
            assert_eq!(text.parse::<ServerAddress>().unwrap().to_string(), text);
        }
        let wrong = [
            "",
            "unix:",
            "verbs:",
            "verbs:unix:name",
            "verbs:verbs:host:1",
            "7411",
            ":7411",
            "host",
            "host:",
            "host:70000",
            "host:+1",
            "::1:7411",
            "[::1]",
            "[host]:1",
            "[::1:1",
            "a b:1",
            &format!("unix:{}", "x".repeat(101)),
        ];
        for wrong in wrong {
            assert!(wrong.parse::<ServerAddress>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_addresses_of_this_machine_are_loopback() {
        for (text, expected) in [
            ("127.3.2.1:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("192.168.0.1:1", false),
        ] {
            assert_eq!(is_loopback(&text.parse().unwrap()), expected, "{text}");
        }
    }
}

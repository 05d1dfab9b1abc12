//! What a VM or a memory server serves to Prometheus, fetched as Prometheus does.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The text of `/metrics` at `HOST:PORT`. Waits ten seconds at most; panics without an answer.
pub fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 200"), "{head}");
    page.to_string()
}

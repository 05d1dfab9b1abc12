//! Figures for Prometheus: `--metrics ADDRESS` on the VM and on memory servers.
//!
//! Threads of their own answer `GET /metrics` in the text format, version 0.0.4. They only read counters that are
//! counted anyway, so no thread waits for them. [`Exposition`] writes the text; [`mod@heap`] and [`mod@server`] list
//! the figures of a heap and of a memory server.

mod exposition;
mod heap;
mod http;
mod server;

pub use exposition::{Exposition, Kind};
pub use heap::heap;
pub use server::server;

use http::Answer;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

/// Begins to answer at `address` (`HOST:PORT`; port 0 takes any free one, which is returned), until the process
/// ends. `page` makes the text of one answer; it is called by several threads at once, which are none of the VM's
/// own.
pub fn serve(
    address: &str,
    page: impl Fn() -> String + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    let resolved = address.to_socket_addrs()?.next();
    let resolved = resolved.ok_or_else(|| io::Error::other("it names no address"))?;
    let listener = TcpListener::bind(resolved)?;
    let taken = listener.local_addr()?;
    http::serve(listener, PATIENCE, move |path| match path {
        "/metrics" => Answer { status: "200 OK", content_type: CONTENT_TYPE, text: page() },
        _ => Answer::plain("404 Not Found", "see /metrics\n"),
    })?;
    Ok(taken)
}

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The time that a client has to send its request and to receive the answer.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn pages_are_served_and_nonsense_is_refused() {
        let address = serve("127.0.0.1:0", || "farheap_up 1\n".to_string()).unwrap();
        let get = |path: &str| ask(address, &format!("GET {path} HTTP/1.0\r\n\r\n"));
        let page = get("/metrics");
        assert!(
            page.starts_with("HTTP/1.0 200") && page.ends_with("\r\n\r\nfarheap_up 1\n"),
            "{page}"
        );
        assert!(page.contains("version=0.0.4"), "{page}");
        assert!(get("/").starts_with("HTTP/1.0 404"));
        assert!(ask(address, "POST /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 405"));
        assert!(ask(address, "\0\0\0\r\n\r\n").starts_with("HTTP/1.1 400"));
        assert!(get("/metrics?x").starts_with("HTTP/1.0 200"), "it is still there");
        assert!(serve(&address.to_string(), String::new).is_err(), "the port is taken");
        assert!(serve("no address", String::new).is_err());
    }
}

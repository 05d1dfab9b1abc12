//! Figures for Prometheus: `--metrics ADDRESS` on the VM and on memory servers.
//!
//! A thread of its own answers `GET /metrics` in the text format, version 0.0.4. It only reads counters that are
//! counted anyway, so nobody waits for it. [`Exposition`] writes the text; [`heap`] and [`server`] say what there
//! is of a heap and of a memory server.

mod exposition;
mod heap;
mod server;

pub use exposition::{Exposition, Kind};
pub use heap::heap;
pub use server::server;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::thread;
use tiny_http::{Header, Method, Request, Response, Server};

/// Begins to answer at `address` (`HOST:PORT`; port 0 takes any free one, which is returned), until the process
/// ends. `page` makes the text of one answer; it is called by one thread, which is none of the VM's own.
pub fn serve(address: &str, page: impl Fn() -> String + Send + 'static) -> io::Result<SocketAddr> {
    let resolved = address.to_socket_addrs()?.next();
    let resolved = resolved.ok_or_else(|| io::Error::other("it names no address"))?;
    let server = Server::http(resolved).map_err(io::Error::other)?;
    let taken = server.server_addr().to_ip().expect("it listens to an IP address");
    thread::Builder::new().name("metrics".into()).spawn(move || {
        for request in server.incoming_requests() {
            // A client that has gone away needs no answer.
            let _ = answer(request, &page);
        }
    })?;
    Ok(taken)
}

fn answer(request: Request, page: &impl Fn() -> String) -> io::Result<()> {
    let path = request.url().split('?').next().unwrap_or_default();
    if *request.method() != Method::Get {
        return request.respond(Response::from_string("only GET\n").with_status_code(405));
    }
    match path {
        "/metrics" => {
            let header =
                Header::from_bytes("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            let header = header.expect("a well-formed header");
            request.respond(Response::from_string(page()).with_header(header))
        }
        _ => request.respond(Response::from_string("see /metrics\n").with_status_code(404)),
    }
}

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
        ask(address, "\0\0\0\r\n\r\n");
        assert!(get("/metrics?x").starts_with("HTTP/1.0 200"), "it is still there");
        assert!(serve(&address.to_string(), String::new).is_err(), "the port is taken");
        assert!(serve("no address", String::new).is_err());
    }
}

//! As much of HTTP as Prometheus needs, for untrusted clients.
//!
//! [`WORKERS`] threads accept in turn. Each reads the head of one request, answers it and closes the connection;
//! clients that connect while all are busy wait in the backlog. The bytes that a client sends, or omits, must hold a
//! thread no longer than its patience, and must never panic, which would end a VM or a memory server with all its VMs.
//! So reading and writing share one deadline, a head has at most [`HEAD_BYTES_MAX`] bytes, and no length that the
//! client names is believed: bodies are not parsed but discarded.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A response. The text is omitted if only the head was asked for.
pub struct Answer {
    /// Number and name.
    pub status: &'static str,
    pub content_type: &'static str,
    pub text: String,
}

impl Answer {
    pub fn plain(status: &'static str, text: &str) -> Answer {
        Answer { status, content_type: "text/plain; charset=UTF-8", text: text.to_string() }
    }
}

/// Begins to answer, until the process ends. `answer` is called with a path, by several threads at once.
/// A connection is closed after `patience` at the latest.
pub fn serve(
    listener: TcpListener,
    patience: Duration,
    answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
) -> io::Result<()> {
    let shared = Arc::new((listener, answer));
    for _ in 0..WORKERS {
        let shared = shared.clone();
        thread::Builder::new().name("metrics".into()).spawn(move || {
            let (listener, answer) = &*shared;
            work(listener, patience, answer)
        })?;
    }
    Ok(())
}

fn work(listener: &TcpListener, patience: Duration, answer: &impl Fn(&str) -> Answer) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                let connection = Connection { stream, deadline: Instant::now() + patience };
                // A client that has disconnected, or is too slow, needs no answer.
                let _ = converse(connection, answer);
            }
            Err(error) => {
                // Often the client's fault, or too many open files: neither is for ever.
                log::warn!("accepting a request for metrics: {error}");
                thread::sleep(ACCEPT_PAUSE);
            }
        }
    }
}

fn converse(mut connection: Connection, answer: &impl Fn(&str) -> Answer) -> io::Result<()> {
    let mut buffer = [0; HEAD_BYTES_MAX];
    let reply = match read_head(&mut connection, &mut buffer)? {
        Some(head) => reply(head, answer),
        None => {
            let text = "the request header is too long\n";
            message("HTTP/1.1", &Answer::plain("431 Request Header Fields Too Large", text), true)
        }
    };
    connection.write_all(reply.as_bytes())?;
    // Closing while something is unread would reset the connection, and the client might lose the answer.
    connection.stream.shutdown(Shutdown::Write)?;
    io::copy(&mut connection.take(IGNORED_BYTES_MAX), &mut io::sink())?;
    Ok(())
}

/// The head without the empty line at its end; `None` if it does not fit.
fn read_head<'a>(input: &mut impl Read, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
    let mut filled = 0;
    while filled < buffer.len() {
        let read = input.read(&mut buffer[filled..])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        filled += read;
        if let Some(end) = buffer[..filled].windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            return Ok(Some(&buffer[..end]));
        }
    }
    Ok(None)
}

fn reply(head: &[u8], answer: &impl Fn(&str) -> Answer) -> String {
    let Some((method, target, version)) = request_line(head) else {
        return message("HTTP/1.1", &Answer::plain("400 Bad Request", "no HTTP\n"), true);
    };
    if !["HTTP/1.0", "HTTP/1.1"].contains(&version) {
        let status = "505 HTTP Version Not Supported";
        return message("HTTP/1.1", &Answer::plain(status, "only HTTP 1.0 and 1.1\n"), true);
    }
    if !["GET", "HEAD"].contains(&method) {
        let refusal = Answer::plain("405 Method Not Allowed", "only GET\n");
        return message(version, &refusal, true);
    }
    let path = target.split('?').next().unwrap_or_default();
    message(version, &answer(path), method == "GET")
}

/// Method, target and version. `None` if the head is not one of HTTP.
fn request_line(head: &[u8]) -> Option<(&str, &str, &str)> {
    let head = str::from_utf8(head).ok().filter(|head| head.is_ascii())?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_http = version.starts_with("HTTP/") && words.next().is_none();
    (is_http && lines.all(|line| line.contains(':'))).then_some((method, target, version))
}

fn message(version: &str, answer: &Answer, with_text: bool) -> String {
    let Answer { status, content_type, text } = answer;
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let length = text.len();
    let text = if with_text { text } else { "" };
    format!(
        "{version} {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{allow}\
         Connection: close\r\n\r\n{text}"
    )
}

/// A stream whose reads and writes all fail once the deadline has passed.
struct Connection {
    stream: TcpStream,
    deadline: Instant,
}

impl Connection {
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Connections that are served at a time.
const WORKERS: usize = 8;

const HEAD_BYTES_MAX: usize = 8 << 10;

/// The bytes that are read of a body, only to be discarded.
const IGNORED_BYTES_MAX: u64 = 64 << 10;

const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    const PATIENCE: Duration = Duration::from_millis(300);

    /// Far more than the patience, far less than a test may take.
    const SOON: Duration = Duration::from_secs(5);

    /// A server whose page is larger than the buffers of a connection.
    fn start() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let page = |path: &str| match path {
            "/long" => Answer::plain("200 OK", &"x".repeat(32 << 20)),
            _ => Answer::plain("200 OK", "here\n"),
        };
        serve(listener, PATIENCE, page).unwrap();
        address
    }

    fn connect(address: SocketAddr, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    }

    fn ask(address: SocketAddr, bytes: &[u8]) -> String {
        let mut answer = String::new();
        connect(address, bytes).read_to_string(&mut answer).unwrap();
        answer
    }

    fn assert_free(address: SocketAddr) {
        let start = Instant::now();
        let answer = ask(address, b"GET / HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    }

    #[test]
    fn each_request_gets_its_status() {
        let address = start();
        let long = [b"GET / HTTP/1.1\r\nX: ", &[b'x'; HEAD_BYTES_MAX][..]].concat();
        let body = [b"POST / HTTP/1.1\r\nContent-Length: 9999\r\n\r\n", &[b'x'; 9999][..]].concat();
        let cases: [(&[u8], &str); 12] = [
            (b"GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 200"),
            (b"GET /a?b HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n", "HTTP/1.1 200"),
            (b"HEAD / HTTP/1.1\r\n\r\n", "HTTP/1.1 200"),
            (b"get / HTTP/1.1\r\n\r\n", "HTTP/1.1 405"),
            (&body, "HTTP/1.1 405"),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 505"),
            (b"GET /\r\n\r\n", "HTTP/1.1 400"),
            (b"GET / HTTP/1.1 x\r\n\r\n", "HTTP/1.1 400"),
            (b"GET / HTTP/1.1\r\nno header\r\n\r\n", "HTTP/1.1 400"),
            (b"GET /\xff HTTP/1.1\r\n\r\n", "HTTP/1.1 400"),
            (b"\r\n\r\n", "HTTP/1.1 400"),
            (&long, "HTTP/1.1 431"),
        ];
        for (request, status) in cases {
            let answer = ask(address, request);
            assert!(answer.starts_with(status), "{status}: {answer}");
            assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
        }
        let head = ask(address, b"HEAD / HTTP/1.1\r\n\r\n");
        assert!(head.contains("\r\nContent-Length: 5\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }

    #[test]
    fn no_length_is_believed() {
        let address = start();
        for length in ["18446744073709551615", "99999999999999999999", "-1", "2000"] {
            let request = format!("GET / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
            assert!(ask(address, request.as_bytes()).ends_with("\r\n\r\nhere\n"));
        }
        assert_free(address);
    }

    #[test]
    fn silent_clients_hold_no_thread_for_long() {
        let address = start();
        // Nothing, half a head, a body that does not come, an answer that the client does not read.
        for bytes in [
            "",
            "GET /",
            "GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
            "GET /long HTTP/1.1\r\n\r\n",
        ] {
            let _silent: Vec<TcpStream> =
                (0..WORKERS).map(|_| connect(address, bytes.as_bytes())).collect();
            thread::sleep(PATIENCE / 3);
            assert_free(address);
        }
    }

    #[test]
    fn slow_clients_hold_no_thread_for_long() {
        let address = start();
        // One sends a byte of its head now and then, the other of a body when it has its answer.
        for bytes in ["GET / HTTP/1.1\r\nX: ", "GET / HTTP/1.1\r\nContent-Length: 9999\r\n\r\n"] {
            let mut slow: Vec<TcpStream> =
                (0..WORKERS).map(|_| connect(address, bytes.as_bytes())).collect();
            let start = Instant::now();
            while slow.iter_mut().any(|stream| stream.write_all(b"x").is_ok()) {
                assert!(start.elapsed() < SOON, "it is still being listened to");
                thread::sleep(PATIENCE / 20);
            }
            assert!(start.elapsed() >= PATIENCE / 2, "it should have been given some time");
            assert_free(address);
        }
    }
}

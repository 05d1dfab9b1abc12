//! The metrics of a memory server that waits for VMs: traffic of the VMs; and that no client that asks for them can
//! end the server.

use rdma::spawn::{Fleet, FleetOptions};
use rdma::{OnlyMemory, Segment};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A running `memory-server` with metrics.
struct Server {
    process: Child,
    metrics: String,
    address: String,
}

impl Server {
    fn start(listen: &str) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memory-server"));
        command.args(["--listen", listen, "--metrics", "127.0.0.1:0"]);
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let metrics = lines.next().unwrap().unwrap();
        let metrics = metrics.strip_prefix("memory-server: metrics at http://").unwrap();
        let metrics = metrics.strip_suffix("/metrics").unwrap().to_string();
        let address = match listen.starts_with("unix:") {
            true => listen.to_string(),
            false => {
                let line = lines.next().unwrap().unwrap();
                line.strip_prefix("memory-server: waiting for VMs at ").unwrap().to_string()
            }
        };
        Server { process, metrics, address }
    }

    /// Connects. Under a name it may take a moment until the server listens.
    fn connect(&self) -> Fleet {
        let options = FleetOptions {
            connect: vec![self.address.parse().unwrap()],
            far_bytes: 1 << 20,
            ..FleetOptions::default()
        };
        for _ in 0..100 {
            if let Ok(fleet) = Fleet::start(options.clone(), Arc::new(OnlyMemory)) {
                return fleet;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("no server listens at {}", self.address);
    }

    /// The lines of one family.
    fn family(&self, name: &str) -> Vec<String> {
        let page = received(self.send("GET /metrics HTTP/1.0\r\n\r\n"));
        assert!(page.contains(&format!("# TYPE {name} ")), "{page}");
        let is_value = |line: &&str| line.starts_with(&format!("{name}{{"));
        page.lines().filter(is_value).map(str::to_string).collect()
    }

    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.metrics).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn assert_alive(&mut self) {
        let page = received(self.send("GET /metrics HTTP/1.1\r\n\r\n"));
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        assert_eq!(self.process.try_wait().unwrap(), None, "the server has ended");
    }

    /// From now on the process may open files with numbers below `files` only; the previous limit is returned.
    fn limit_files(&self, files: libc::rlim_t) -> libc::rlim_t {
        let pid = self.process.id() as libc::pid_t;
        let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both limits are variables of this function.
        unsafe {
            assert_eq!(libc::prlimit(pid, libc::RLIMIT_NOFILE, std::ptr::null(), &mut old), 0);
            let new = libc::rlimit { rlim_cur: files, ..old };
            assert_eq!(libc::prlimit(pid, libc::RLIMIT_NOFILE, &new, std::ptr::null_mut()), 0);
        }
        old.rlim_cur
    }
}

fn received(mut stream: TcpStream) -> String {
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

/// Closes so that the other side sees a reset instead of an end.
fn reset(stream: TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let (value, length) = ((&raw const linger).cast(), size_of::<libc::linger>() as _);
    // SAFETY: value and length are those of a variable of this function.
    let set = unsafe {
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, value, length)
    };
    assert_eq!(set, 0);
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const READ: &str = "farheap_server_read_bytes_total";
const WRITTEN: &str = "farheap_server_written_bytes_total";

#[test]
fn bytes_over_tcp_are_counted_by_session() {
    let server = Server::start("127.0.0.1:0");
    let (one, other) = (server.connect(), server.connect());
    let memory = |fleet: &Fleet| -> Arc<dyn Segment> { fleet.segment(0).clone() };
    memory(&one).write(4096, &[7; 1024]).unwrap();
    memory(&one).write(0, &[7; 512]).unwrap();
    memory(&one).read(4096, &mut [0; 512]).unwrap();
    memory(&other).read(0, &mut [0; 8]).unwrap();
    let mut read = server.family(READ);
    let mut written = server.family(WRITTEN);
    assert!(read.iter().all(|line| line.contains("transport=\"tcp\"")), "{read:?}");
    let numbers = |lines: &mut Vec<String>| -> Vec<u64> {
        let number = |line: &String| line.rsplit(' ').next().unwrap().parse().unwrap();
        let mut numbers: Vec<u64> = lines.iter().map(number).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(numbers(&mut read), [64, 4096]);
    assert_eq!(numbers(&mut written), [0, 1536 * 8]);
}

#[test]
fn in_shared_memory_the_server_does_not_know() {
    let name = format!("unix:farheap-metrics-{}", std::process::id());
    let server = Server::start(&name);
    let fleet = server.connect();
    fleet.segment(0).write(0, &[7; 512]).unwrap();
    assert_eq!(server.family("farheap_server_memory_bytes").len(), 1);
    assert_eq!(server.family(READ), [""; 0]);
    assert_eq!(server.family(WRITTEN), [""; 0]);
}

#[test]
fn lengths_of_bodies_that_do_not_come_harm_nobody() {
    let mut server = Server::start("127.0.0.1:0");
    for length in ["18446744073709551615", "2000"] {
        let request = format!("GET /metrics HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
        let waiting = server.send(&request);
        server.assert_alive();
        assert!(received(waiting).starts_with("HTTP/1.1 200 "));
    }
    server.assert_alive();
}

#[test]
fn connections_that_are_reset_harm_nobody() {
    let mut server = Server::start("127.0.0.1:0");
    for _ in 0..1000 {
        reset(server.send("GET /metrics HTTP/1.1\r\n\r\n"));
    }
    server.assert_alive();
}

#[test]
fn idle_connections_are_ended() {
    let mut server = Server::start("127.0.0.1:0");
    let idle: Vec<TcpStream> = (0..6).map(|_| server.send("")).collect();
    server.assert_alive();
    for stream in idle {
        assert_eq!(received(stream), "");
    }
}

#[test]
fn too_many_open_files_are_waited_for() {
    let mut server = Server::start("127.0.0.1:0");
    let files = server.limit_files(0);
    let waiting: Vec<TcpStream> =
        (0..20).map(|_| server.send("GET /metrics HTTP/1.1\r\n\r\n")).collect();
    std::thread::sleep(Duration::from_millis(200));
    server.limit_files(files);
    for stream in waiting {
        assert!(received(stream).starts_with("HTTP/1.1 200 "));
    }
    server.assert_alive();
}

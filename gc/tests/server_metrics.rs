//! What a memory server that waits for VMs says of their traffic.

use rdma::spawn::{Fleet, FleetOptions};
use rdma::{OnlyMemory, Segment};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

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

    /// Connects. Under a name it may take a moment until somebody listens.
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
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("nobody listens at {}", self.address);
    }

    /// The lines of one family.
    fn family(&self, name: &str) -> Vec<String> {
        let mut stream = TcpStream::connect(&self.metrics).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        assert!(page.contains(&format!("# TYPE {name} ")), "{page}");
        let is_value = |line: &&str| line.starts_with(&format!("{name}{{"));
        page.lines().filter(is_value).map(str::to_string).collect()
    }
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

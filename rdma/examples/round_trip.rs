//! How long a call, a READ of a page and a READ of 64 pages take, over shared memory and over TCP on
//! the loopback device, and how many pages several threads read at the same time.
//!
//! ```text
//! cargo run --release -p rdma --example round_trip
//! ```
//! Starts itself again as the memory server (`--fd N`).

use std::env;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rdma::spawn::{Fleet, FleetOptions};
use rdma::{PeerId, RdmaError, Service, Transport, server};

fn main() -> Result<(), RdmaError> {
    let args: Vec<String> = env::args().collect();
    if args.get(1).is_some_and(|word| word == "--fd") {
        let fd = args[2].parse().expect("the VM passes a number");
        return server::serve(fd, None, |_| Arc::new(Echo));
    }
    for transport in [Transport::Shm, Transport::Tcp] {
        let fleet = fleet(transport, 4)?;
        let call = || fleet.channel(0).call(b"x", Duration::from_secs(10)).map(|_| ());
        report(transport, "call", 5_000, call)?;
        let mut page = vec![1; 512];
        fleet.segment(0).write(0, &page)?;
        report(transport, "READ of a page", 20_000, || fleet.segment(0).read(0, &mut page))?;
        report(transport, "WRITE of a page", 20_000, || fleet.segment(0).write(0, &page))?;
        let mut pages = vec![1; 512 * 64];
        fleet.segment(0).write(0, &pages)?;
        report(transport, "READ of 64 pages", 1_000, || fleet.segment(0).read(0, &mut pages))?;
    }
    for lines in [1, 2, 4, 8] {
        let fleet = fleet(Transport::Tcp, lines)?;
        for threads in [1, 2, 4, 8] {
            let started = Instant::now();
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        let mut page = [0; 512];
                        for n in 0..READS {
                            let read = fleet.segment(0).read(n % 64 * 4096, &mut page);
                            read.expect("the server lives");
                        }
                    });
                }
            });
            let pages = (threads * READS) as f64;
            let rate = pages / started.elapsed().as_secs_f64() / 1000.0;
            println!("{lines} data connections, {threads} threads: {rate:.0} thousand pages/s");
        }
    }
    Ok(())
}

fn fleet(transport: Transport, lines: u16) -> Result<Fleet, RdmaError> {
    let program = env::current_exe().ok();
    let options =
        FleetOptions { transport, lines, program, far_bytes: 1 << 30, ..FleetOptions::default() };
    Fleet::start(options, Arc::new(Echo))
}

fn report(
    transport: Transport,
    what: &str,
    count: usize,
    mut operation: impl FnMut() -> Result<(), RdmaError>,
) -> Result<(), RdmaError> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        operation()?;
        times.push(started.elapsed());
    }
    times.sort();
    let (p50, p99) = (times[count / 2], times[count * 99 / 100]);
    println!("{transport:?} {what:16} p50 {p50:?} p99 {p99:?}");
    Ok(())
}

struct Echo;

impl Service for Echo {
    fn on_request(&self, _from: PeerId, request: &[u8]) -> Vec<u8> {
        request.to_vec()
    }

    fn on_notice(&self, _from: PeerId, _notice: &[u8]) {}

    fn on_peer_lost(&self, _from: PeerId, _cause: &RdmaError) {}
}

/// Pages that each thread reads.
const READS: u64 = 5_000;

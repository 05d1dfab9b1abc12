//! How long a fault takes: `cargo run --release -p swap --example fault_latency [pages] [budget in
//! percent]`.

use std::sync::Arc;
use std::time::Instant;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rdma::{PeerId, Segment, ShmSegment};
use swap::{PAGE_BYTES, Page, PageRange, Pager, PagerOptions};

fn main() {
    let arguments: Vec<usize> =
        std::env::args().skip(1).map(|argument| argument.parse().expect("a number")).collect();
    let pages = arguments.first().copied().unwrap_or(65_536);
    let budget = pages * arguments.get(1).copied().unwrap_or(25) / 100;
    let bytes = pages * PAGE_BYTES;
    let segment = ShmSegment::create(PeerId::Server(0), bytes as u64).expect("shared memory");
    let options = PagerOptions {
        far_bytes: bytes,
        budget_bytes: budget * PAGE_BYTES,
        ..PagerOptions::default()
    };
    let stores: Vec<Arc<dyn Segment>> = vec![Arc::new(segment)];
    let pager = Pager::new(options, stores).expect("a pager");
    println!("{pages} pages, {budget} of them local");

    let quarter = PageRange::new(Page(0), budget / 2);
    measure("first write", quarter.pages(), |page| write(&pager, page));
    pager.write_back(quarter);
    measure("write to a clean page", quarter.pages(), |page| write(&pager, page));
    pager.evict(quarter);
    measure("read, in order, free room", quarter.pages(), |page| read(&pager, page));
    pager.evict(quarter);
    measure("write, in order, free room", quarter.pages(), |page| write(&pager, page));

    type Operation = fn(&Pager, PageRange);
    let operations: [(&str, Operation); 6] = [
        ("write back", |pager, range| _ = pager.write_back(range)),
        ("evict, clean", |pager, range| _ = pager.evict(range)),
        ("fetch", |pager, range| _ = pager.fetch(range)),
        ("write to all, then evict", |pager, range| {
            range.pages().for_each(|page| write(pager, page));
            pager.evict(range);
        }),
        ("discard", |pager, range| pager.discard(range)),
        ("populate", |pager, range| pager.populate(range)),
    ];
    for (what, operation) in operations {
        let start = Instant::now();
        operation(&pager, quarter);
        let each = start.elapsed().as_nanos() as f64 / 1000.0 / quarter.count as f64;
        println!("{what:28} {each:6.2} us per page");
    }

    for page in (0..pages).map(Page) {
        write(&pager, page);
    }
    let mut rng = StdRng::seed_from_u64(1);
    let mut random = |_| loop {
        let page = Page(rng.random_range(0..pages));
        if !pager.is_resident(page) {
            return page;
        }
    };
    let some = pages.min(50_000);
    measure("read, random, evicting", (0..some).map(&mut random), |page| read(&pager, page));
    measure("write, random, evicting", (0..some).map(&mut random), |page| write(&pager, page));
    println!("{:?}", pager.stats());
}

fn measure(what: &str, pages: impl Iterator<Item = Page>, access: impl Fn(Page)) {
    let mut times: Vec<u64> = pages
        .map(|page| {
            let start = Instant::now();
            access(page);
            start.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    let us = |percent: usize| times[(times.len() - 1) * percent / 100] as f64 / 1000.0;
    let mean = times.iter().sum::<u64>() as f64 / times.len() as f64 / 1000.0;
    println!("{what:28} p50 {:6.2} us, p99 {:7.2} us, mean {mean:6.2} us", us(50), us(99));
}

fn read(pager: &Pager, page: Page) {
    // SAFETY: inside the far space, which lives.
    unsafe { pager.address(page).read_volatile() };
}

fn write(pager: &Pager, page: Page) {
    // SAFETY: inside the far space, which lives; nobody else uses it.
    unsafe { pager.address(page).write_volatile(1) };
}

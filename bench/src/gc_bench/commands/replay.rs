//! Page accesses that were recorded, replayed through policies of replacement.

use std::io;
use std::path::PathBuf;

use clap::Args;
use swap::{PAGE_BYTES, PageAction, PagerOptions, PagerStats, PrefetcherKind, ThreadClass};

use crate::gc_bench::table::aligned;
use crate::replay::{Misses, Optimum, Trace, pager, policies, replay};

/// Compare policies of page replacement on recorded page accesses (vm -XX:PageTrace=FILE)
///
/// Misses are pages that were fetched; each policy's are multiples of the optimum's, which knows the future. Soft
/// faults, for each miss, are accesses to resident pages that a policy unmaps to see whether they are used.
#[derive(Args)]
pub struct Options {
    /// Files that -XX:PageTrace wrote
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// Sizes of local memory, as 128m
    #[arg(long, value_delimiter = ',', value_parser = parse_size, default_value = "128m")]
    local_memory: Vec<usize>,
    /// Only these policies, such as lru,s3-fifo,pager [default: all]; pager is the pager itself
    #[arg(long, value_delimiter = ',')]
    policies: Vec<String>,
}

/// Replays, and prints a table as each trace is done.
pub fn run(options: &Options) -> io::Result<bool> {
    for path in &options.traces {
        let trace = Trace::read(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        print!("{}", describe(&name, &trace));
        let sizes = options.local_memory.iter().map(|bytes| bytes / PAGE_BYTES);
        let columns = sizes.map(|frames| Column::of(&trace, frames, &options.policies));
        let columns = columns.collect::<io::Result<Vec<_>>>()?;
        println!("{}", aligned(&lines(&columns)));
    }
    Ok(true)
}

fn parse_size(text: &str) -> Result<usize, String> {
    let bytes =
        base::units::parse_bytes(text).filter(|bytes| *bytes >= PagerOptions::BUDGET_BYTES_MIN);
    bytes.ok_or_else(|| {
        format!(
            "a size of at least {} bytes is needed, such as 128m",
            PagerOptions::BUDGET_BYTES_MIN
        )
    })
}

fn describe(name: &str, trace: &Trace) -> String {
    let count = |what| trace.count(what);
    let mib = |pages: usize| (pages * PAGE_BYTES) >> 20;
    let by_collector = |event: &&crate::replay::Event| {
        event.who == ThreadClass::Gc
            && matches!(event.what, PageAction::Read | PageAction::Write | PageAction::Fresh)
    };
    format!(
        "{name}: {} MiB, told {} MiB; {} looks, {} reads, {} writes, {} fresh, {} of all by the collector; ranges \
         freed {}, evicted {}, replaced {}, written {}; pages fetched {}\n",
        mib(trace.pages()),
        mib(trace.budget_pages()),
        count(PageAction::Look),
        count(PageAction::Read),
        count(PageAction::Write),
        count(PageAction::Fresh),
        trace.events().iter().filter(by_collector).count(),
        count(PageAction::Freed),
        count(PageAction::Evicted),
        count(PageAction::Invalidated),
        count(PageAction::WrittenBack),
        count(PageAction::Fetched),
    )
}

/// The outcome for one size of local memory.
struct Column {
    frames: usize,
    optimum: Misses,
    /// By policy, and its soft faults.
    misses: Vec<(&'static str, Misses, u64)>,
    /// The pager without readahead and with it.
    pager: Option<[PagerStats; 2]>,
}

impl Column {
    fn of(trace: &Trace, frames: usize, wanted: &[String]) -> io::Result<Column> {
        let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
        let all = policies(trace.pages(), frames);
        let is_known = |name: &String| name == PAGER || all.iter().any(|(its, _)| its == name);
        if let Some(unknown) = wanted.iter().find(|name| !is_known(name)) {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).chain([PAGER]).collect();
            let names = names.join(", ");
            return Err(io::Error::other(format!(
                "unknown policy {unknown}: must be one of {names}"
            )));
        }
        let optimum = replay(trace, &mut Optimum::new(trace, frames));
        let wanted = all.into_iter().filter(|(name, _)| wants(name));
        let misses = wanted.map(|(name, mut policy)| {
            let misses = replay(trace, &mut *policy);
            (name, misses, policy.soft_faults())
        });
        let misses = misses.collect();
        let pager = match wants(PAGER) {
            true => Some([
                pager::replay(trace, frames, PrefetcherKind::None)?,
                pager::replay(trace, frames, PrefetcherKind::Sequential)?,
            ]),
            false => None,
        };
        Ok(Column { frames, optimum, misses, pager })
    }
}

fn lines(columns: &[Column]) -> Vec<Vec<String>> {
    let line = |name: &str, cell: &dyn Fn(&Column) -> String| {
        let cells = columns.iter().map(cell);
        [name.to_string(), String::new()].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let thousands = |pages: u64| format!("{:.0}", pages as f64 / 1e3);
    let share =
        |misses: Misses| misses.0[ThreadClass::Gc as usize] as f64 / misses.total().max(1) as f64;
    let ratio = |column: &Column, pages: u64| pages as f64 / column.optimum.total().max(1) as f64;
    let cell = |column: &Column, misses: Misses| {
        format!("{:.2} ({:.0} %)", ratio(column, misses.total()), share(misses) * 100.0)
    };
    let mut lines = vec![
        line("policy (the collector's share)", &|column| {
            format!("{} MiB", (column.frames * PAGE_BYTES) >> 20)
        }),
        line("optimum, thousands", &|column| {
            format!(
                "{} ({:.0} %)",
                thousands(column.optimum.total()),
                share(column.optimum) * 100.0
            )
        }),
    ];
    let names = columns.first().map(|column| column.misses.iter().map(|(name, ..)| *name));
    for (number, name) in names.into_iter().flatten().enumerate() {
        lines.push(line(name, &|column| {
            let (_, misses, soft_faults) = column.misses[number];
            let cell = cell(column, misses);
            match soft_faults {
                0 => cell,
                soft => format!("{cell}, {:.1} soft", soft as f64 / misses.total().max(1) as f64),
            }
        }));
    }
    if columns.iter().all(|column| column.pager.is_some()) {
        let stats = |column: &Column, ahead: usize| {
            *column.pager.as_ref().map_or_else(|| unreachable!("asked above"), |both| &both[ahead])
        };
        lines.push(line(PAGER, &|column| cell(column, Misses(stats(column, 0).fetch_faults))));
        let fetched = |column: &Column| stats(column, 1).fetched_bytes / PAGE_BYTES as u64;
        lines.push(line("pager with readahead, pages", &|column| {
            format!("{:.2}", ratio(column, fetched(column)))
        }));
        lines.push(line("the same, faults", &|column| {
            cell(column, Misses(stats(column, 1).fetch_faults))
        }));
        lines.push(line("the same, thousands of pages written", &|column| {
            thousands(stats(column, 1).written_bytes / PAGE_BYTES as u64)
        }));
    }
    lines
}

const PAGER: &str = "pager";

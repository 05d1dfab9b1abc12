//! The cost of Mako's indirection table to the program: `make bench-hit`.
//!
//! The suite under Mako with its table, with one that references do not go through, and with none. Only the first can
//! collect beside the program, so only runs without collections can be compared.

use std::io;
use std::path::PathBuf;

use clap::Args;

use crate::gc_bench::commands::comparison::{Comparison, Peer, SuiteOptions, judge};

/// Compare Mako with and without its indirection table, on programs that never collect
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    suite: SuiteOptions,
}

/// Measures in turn with `vm`, else the one beside this program; true if no program failed and the target is met.
pub fn run(options: &Options, vm: Option<PathBuf>) -> io::Result<bool> {
    let comparison = Comparison::new(&options.suite, vm)?;
    // The heap is populated at the start: that costs all peers alike, and on a virtual machine not always the same.
    let all_at_once = format!("-Xms{}", options.suite.heap);
    let mako = ["--gc", "mako", all_at_once.as_str(), "-XX:+AlwaysPreTouch"];
    let peer = |name, less: &[&str]| Peer::ours(name, &[&mako, less].concat());
    // In the order of the numbers below.
    let peers = vec![
        peer("hit", &[]),
        peer("untranslated", &["-XX:-UseHITTranslation"]),
        peer("no-hit", &["-XX:-UseHIT"]),
    ];
    let table = comparison.suite(peers, true)?;
    let mut fine = table.is_complete();
    for (other, peer) in table.peers.iter().enumerate().skip(1) {
        let Some(ratio) = table.ratio(WITH_TABLE, other) else { continue };
        match other {
            ASSIGNED => {
                fine &= judge("translation, geomean", ratio.mean, TRANSLATION_TARGET);
                println!("translation, worst {:.3}", ratio.worst);
            }
            WITHOUT_TABLE => {
                let assigning = table.ratio(ASSIGNED, WITHOUT_TABLE);
                let mean = assigning.map_or(f64::NAN, |ratio| ratio.mean);
                println!("assignment, geomean {mean:.3}");
                println!("both, geomean {:.3}, worst {:.3}", ratio.mean, ratio.worst);
            }
            _ => {
                let (name, mean, worst) = (&peer.name, ratio.mean, ratio.worst);
                println!("geomean vs {name} {mean:.2}, worst {worst:.2}");
            }
        }
    }
    comparison.write(&[("suite", table.json())])?;
    Ok(fine)
}

const WITH_TABLE: usize = 0;
const ASSIGNED: usize = 1;
const WITHOUT_TABLE: usize = 2;
/// The limit for the cost of going through the indirection table.
const TRANSLATION_TARGET: f64 = 1.08;

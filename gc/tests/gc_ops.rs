//! Random mutators against a model of the heap, for every collector.
//!
//! `GC_OPS_SEED` repeats a run (a failure prints its seed), `GC_OPS_STEPS` sets the steps of each thread,
//! `GC_OPS_COLLECTOR` picks one collector. The nightly job takes more steps.

#[path = "support/actors.rs"]
mod actors;
mod support;

use gc::options::{Configuration, ENTRY_BUFFER, HeapOptions, LocalMemory};
use support::TestVm;

#[test]
fn random_mutators_agree_with_their_models() {
    run_all("plain", 3, |_| ());
}

#[test]
fn random_mutators_agree_when_everything_moves_all_the_time() {
    run_all("zeal", 2, |options| options.zeal_alloc_interval = Some(97));
}

#[test]
fn random_mutators_agree_when_polls_collect() {
    run_all("polls", 1, |options| options.zeal_poll_interval = Some(50));
}

#[test]
fn random_mutators_agree_over_far_memory() {
    run_all("far", 2, |options| {
        options.local_memory = LocalMemory::Bytes(2 << 20);
        options.memory_server_program = Some(env!("CARGO_BIN_EXE_memory-server").into());
    });
}

/// Cycles do not end in time, and there is no room for the work that they should do.
#[test]
fn random_mutators_agree_when_memory_is_short() {
    run_all("short", 2, |options| options.max_bytes = 4 << 20);
}

/// The smallest budget that the pager accepts, and other numbers of servers than two.
#[test]
fn random_mutators_agree_over_one_and_three_servers() {
    for servers in [1, 3] {
        run_all("servers", 2, |options| {
            options.local_memory = LocalMemory::Bytes(1 << 20);
            options.memory_servers = servers;
            options.memory_server_program = Some(env!("CARGO_BIN_EXE_memory-server").into());
        });
    }
}

/// Pages and messages are late, lost and sent again, as seeds say; those of one server while others' are not.
#[test]
fn random_mutators_agree_over_a_bad_network() {
    for (seed, servers) in [(1, 2), (2, 3)] {
        run_some("network", 2, (5_000, 8), Configuration::collects, |options| {
            options.local_memory = LocalMemory::Bytes(2 << 20);
            options.memory_servers = servers;
            options.memory_server_program = Some(env!("CARGO_BIN_EXE_memory-server").into());
            options.far_disturbance = Some(seed);
        });
    }
}

/// The work of Mako's servers, done in the VM: each part of it, and both; with buffers that are full at once.
#[test]
fn random_mutators_agree_when_memory_servers_do_less() {
    for (tracing, evacuation) in [(false, true), (true, false), (false, false)] {
        for (servers, budget) in [(1, 1 << 20), (3, 2 << 20)] {
            let is_wanted = |kind: Configuration| kind.uses_table();
            run_some("less", 2, (10_000, 8), is_wanted, |options| {
                options.mako.offload_tracing = tracing;
                options.mako.offload_evacuation = evacuation;
                options.mako.entry_preload = tracing;
                options.mako.write_through = false;
                options.mako.entry_buffer = *ENTRY_BUFFER.start();
                options.mako.satb_buffer = 1;
                options.mako.away_tablets = 1;
                options.mako.ghost_buffer = 1;
                options.local_memory = LocalMemory::Bytes(budget);
                options.memory_servers = servers;
                options.memory_server_program = Some(env!("CARGO_BIN_EXE_memory-server").into());
            });
        }
    }
}

/// Generations that pass quickly: many young and mixed pauses, markings one after the other, several workers.
#[test]
fn random_mutators_agree_under_short_generations() {
    for (threads, tenuring_age_max, budget) in
        [(3, 2, None), (2, 0, None), (2, 4, Some(2 << 20)), (1, 15, None)]
    {
        run_rarely_collecting("generations", threads, |options| {
            options.parallel_gc_threads = Some(3);
            options.concurrent_gc_threads = Some(2);
            options.g1.tenuring_age_max = tenuring_age_max;
            options.g1.young_percent_max = 5;
            options.g1.initiating_percent = 10;
            options.g1.live_percent_max = 100;
            options.g1.waste_percent = 0;
            options.g1.mixed_pauses = 2;
            if let Some(budget) = budget {
                options.local_memory = LocalMemory::Bytes(budget);
                options.memory_server_program = Some(env!("CARGO_BIN_EXE_memory-server").into());
            }
        });
    }
}

fn run_all(name: &str, threads: usize, change: impl Fn(&mut HeapOptions)) {
    run_some(name, threads, (10_000, 8), |_| true, change);
}

/// Those that collect parts of the heap on their own account: asking them for all of it would hide that.
fn run_rarely_collecting(name: &str, threads: usize, change: impl Fn(&mut HeapOptions)) {
    let is_wanted = |kind: Configuration| kind.collector.is_g1();
    run_some(name, threads, (30_000, 800), is_wanted, change);
}

fn run_some(
    name: &str,
    threads: usize,
    (steps, collect_one_in): (u64, u32),
    is_wanted: impl Fn(Configuration) -> bool,
    change: impl Fn(&mut HeapOptions),
) {
    let seed = variable("GC_OPS_SEED").unwrap_or_else(rand::random);
    let steps = variable("GC_OPS_STEPS").unwrap_or(steps) as usize;
    let only = std::env::var("GC_OPS_COLLECTOR").ok();
    for kind in Configuration::all().filter(|kind| is_wanted(*kind)) {
        if !kind.collects() || only.as_ref().is_some_and(|only| *only != kind.name()) {
            continue;
        }
        eprintln!("gc_ops {name}: {} with GC_OPS_SEED={seed}", kind.name());
        let mut options = kind.options(8 << 20);
        options.region_bytes = Some(64 << 10);
        options.initial_bytes = 1 << 20;
        options.verify_heap = true;
        change(&mut options);
        actors::run(&TestVm::new(&options), threads, steps, seed, collect_one_in);
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

//! Pauses and stages as logs and statistics have them, in the words of HotSpot's Shenandoah.

use super::Shenandoah;
use super::cycle::{Cycle, World};
use crate::object::log::LogLevel;
use crate::threads::mutator::WorldStopped;
use crate::threads::safepoint::PauseTimes;
use std::time::Instant;

impl Shenandoah {
    /// Runs `f` in a pause, the running one if there is one.
    pub(super) fn pause<R>(
        &self,
        world: &World,
        name: &'static str,
        cycle: &mut Cycle,
        f: impl FnOnce(&WorldStopped, &mut Cycle) -> R,
    ) -> R {
        match world {
            World::Stopped(world) => f(world, cycle),
            World::Running => {
                let pages = self.core.pages_fetched();
                let stop = |world: &WorldStopped| f(world, cycle);
                let (result, times) = self.core.safepoints.stop_world(None, stop);
                self.note_pause(name, cycle, times, pages);
                result
            }
        }
    }

    /// Counts and logs a pause; `pages` is the number of pages fetched before it.
    pub(super) fn note_pause(
        &self,
        name: &'static str,
        cycle: &Cycle,
        times: PauseTimes,
        pages: u64,
    ) {
        self.core.record_pause((name, name), times, self.core.pages_fetched() - pages);
        self.core.options.log.line(LogLevel::Info, "gc", || {
            format!("GC({}) {name} {:.3}ms", cycle.number, times.stopped.as_secs_f64() * 1e3)
        });
    }

    /// Logs a concurrent stage that has ended; in a pause it is none.
    pub(super) fn log_stage(&self, name: &'static str, cycle: &Cycle, world: &World) {
        if matches!(world, World::Running) {
            let (since, used) = cycle.since;
            self.log_line(cycle.number, name, since, used);
        }
    }

    /// Logs the cycle, which has ended.
    pub(super) fn log_cycle(&self, cycle: &Cycle, since: Instant, used_before: usize) {
        let name = format!("Concurrent Cycle ({})", cycle.cause.title());
        self.log_line(cycle.number, &name, since, used_before);
    }

    fn log_line(&self, number: u64, name: &str, since: Instant, used_before: usize) {
        self.core.options.log.line(LogLevel::Info, "gc", || {
            let mib = |bytes: usize| bytes >> 20;
            let (before, after) = (mib(used_before), mib(self.core.regions.used_bytes()));
            let heap = mib(self.core.geometry.heap_bytes());
            let ms = since.elapsed().as_secs_f64() * 1e3;
            format!("GC({number}) {name} {before}M->{after}M({heap}M) {ms:.3}ms")
        });
    }
}

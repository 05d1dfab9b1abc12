//! The cycle: one pause.

use super::full::{Done, FullCollection};
use super::{Serial, policy};
use crate::core::outcome::CollectCause;
use crate::core::{inspection, verify};
use crate::object::codec::SlotCodec;
use crate::object::log::LogLevel;
use crate::threads::mutator::{Mutator, WorldStopped};
use std::time::Instant;
use swap::{ThreadClass, set_thread_class};

impl<C: SlotCodec> Serial<C> {
    /// Stops the world and collects, if `wanted` still says so then. Returns the result of `wanted`.
    pub(super) fn cycle(
        &self,
        m: Option<&Mutator>,
        cause: CollectCause,
        wanted: &dyn Fn() -> bool,
    ) -> bool {
        let class = set_thread_class(ThreadClass::Gc);
        let fetched = self.core.pages_fetched();
        let (done, times) = self.core.safepoints.stop_world(m, |world| {
            let wanted = wanted();
            if wanted {
                self.collect_stopped(world, cause);
            }
            wanted
        });
        set_thread_class(class);
        if done {
            let fetched = self.core.pages_fetched() - fetched;
            self.core.record_pause(("Pause Full", "Serial collection"), times, fetched);
        }
        done
    }

    /// Collects with the world stopped already. All other owners of buffers have given them back.
    pub(in crate::collectors) fn collect_stopped(&self, world: &WorldStopped, cause: CollectCause) {
        let start = Instant::now();
        let (core, log) = (&*self.core, &self.core.options.log);
        let number = core.stats.cycles();
        let title = format!("GC({number}) Pause Full ({})", cause.title());
        log.line(LogLevel::Info, "gc,start", || title.as_str());
        let used_before = core.regions.used_bytes();
        let classes_before = core.binding().class_bytes();
        world.mutators().for_each(|m| self.allocator.retire(m));
        if core.options.verify_heap {
            verify::verify(core, world, self, self.codec.slot_bytes(), "before the cycle");
        }

        let free = self.free_bytes.load(std::sync::atomic::Ordering::Relaxed);
        let prefix = &mut self.prefix.lock();
        let full = FullCollection::new(core, self.codec, &self.bitmap, cause);
        let Done { open, moved_bytes } = full.run(world, free, prefix, &mut ());
        self.allocator.reset(open);

        let used = core.regions.used_bytes();
        self.set_free_bytes(core.geometry.heap_bytes() - used);
        if cause != CollectCause::LastDitch {
            self.allocator.set_limit(policy::limit_bytes(core, used));
        }
        core.stats.count("moved_bytes", moved_bytes as u64);
        if core.options.verify_heap {
            verify::verify(core, world, self, self.codec.slot_bytes(), "after the cycle");
        }
        inspection::serve(core, world, self, self.codec.slot_bytes());
        core.end_cycle();
        core.stats.record_cycle(
            0,
            cause.title(),
            start.elapsed(),
            (used_before, used),
            Default::default(),
        );
        core.binding().cycle_finished();
        core.log_classes(number, classes_before);
        log.line(LogLevel::Info, "gc", || {
            let committed = core.regions.committed_count() * core.geometry.region_bytes();
            let (before, after, all) = (used_before >> 20, used >> 20, committed >> 20);
            let ms = start.elapsed().as_secs_f64() * 1e3;
            format!("{title} {before}M->{after}M({all}M) {ms:.3}ms")
        });
    }
}

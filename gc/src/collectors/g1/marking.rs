//! Marking beside the program: finds the live objects of old and humongous regions (snapshot at the beginning).
//!
//! 1. A young pause begins it ([`Marking::begin`]): the objects in old regions at that time are the snapshot; those
//!    of them that roots and copied objects refer to are grey; barriers log from now on.
//! 2. The marker thread and its helpers trace, inside the [`Gate`]: only through objects of the snapshot,
//!    which do not move until the end (mixed pauses wait, a full collection aborts). All others are newer, or
//!    young, and live.
//! 3. A handshake collects the logs of threads; these are traced. This is repeated some times. Whenever nothing is
//!    left, the same is done with what the holders of classes hold that were found alive ([`Holders`]).
//! 4. *Remark*, a pause: the rest of both, references, weak slots, dead classes. Then the marks say which objects are
//!    dead; regions with nothing alive are freed, and those with little become candidates of mixed pauses.

use super::G1;
use super::elsewhere::{Elsewhere, Lost, Tracing};
use super::gate::Gate;
use super::policy::Judged;
use super::tables::{Kind, Tables};
use super::thread::{G1Thread, TRACING, WORD_PHASE};
use super::tracer::{Chunk, Tracer};
use crate::collectors::memliner::AddressCodec;
use crate::memory::region::RegionUse;
use crate::object::ObjectRef;
use crate::object::codec::SlotCodec;
use crate::object::layout::ReferenceKind;
use crate::object::log::LogLevel;
use crate::options::HeapOptions;
use crate::threads::mutator::WorldStopped;
use crate::threads::quiescence::Quiescence;
use crate::threads::thread_data::ThreadData;
use crate::threads::workers::{AbortOnPanic, Workers};
use crate::tracing::holders::Holders;
use crate::tracing::references::{Discovered, References};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// See the module text.
pub struct Marking {
    pub gate: Gate,
    pub workers: Workers,
    elsewhere: Option<Box<dyn Elsewhere>>,
    /// The running marking is traced by [`Elsewhere`]. Written by the marker thread when
    /// it begins.
    is_elsewhere: AtomicBool,
    stage: Mutex<Stage>,
    changed: Condvar,
    /// Barriers log. Written in pauses.
    is_active: AtomicBool,
    /// The result of the tracing will not be used. Set with the gate closed or when the heap is dropped; cleared when
    /// the next marking begins.
    is_aborted: AtomicBool,
    /// Grey objects, which no tracer has, between tracings: marked, unless tracing is aligned.
    grey: Mutex<Vec<ObjectRef>>,
    /// Of the running marking. Changes when one begins.
    holders: Mutex<Arc<Holders>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    /// A pause has begun a marking, and the thread is not back from it.
    Running,
    Stopping,
}

/// The circumstances of a tracing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Concurrent,
    Stopped,
    /// The world is stopped, and references have been processed: those that turn up are strong.
    Reviving,
}

/// The results of the tracings of one marking.
struct Found {
    references: References,
    /// Live bytes by region.
    live_bytes: Vec<usize>,
}

impl Marking {
    pub fn new(
        title: &'static str,
        workers: usize,
        elsewhere: Option<Box<dyn Elsewhere>>,
    ) -> Marking {
        Marking {
            gate: Gate::new(),
            workers: Workers::new(title, workers),
            elsewhere,
            is_elsewhere: AtomicBool::new(false),
            stage: Mutex::new(Stage::Idle),
            changed: Condvar::new(),
            is_active: AtomicBool::new(false),
            is_aborted: AtomicBool::new(false),
            grey: Mutex::default(),
            holders: Mutex::new(Arc::new(Holders::all())),
        }
    }

    /// Whether barriers log: then nothing old may move.
    pub fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Relaxed)
    }

    /// Also while the collector is stopped, at any moment: a pause that has begun its last tracing completes it.
    pub fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::Relaxed)
    }

    pub fn may_begin(&self) -> bool {
        *self.stage.lock() == Stage::Idle
    }

    /// In a young pause, before it moves anything: the snapshot. The caller hands over the objects that the pause
    /// makes grey, and notes the holders of objects that it moves, among those returned.
    pub fn begin(&self, tables: &Tables, world: &WorldStopped) -> Arc<Holders> {
        let mut stage = self.stage.lock();
        assert!(*stage == Stage::Idle, "a marking inside a marking");
        assert!(tables.logged.take().is_empty(), "references logged outside of a marking");
        let is_clear = tables.lined.as_ref().is_none_or(|lined| lined.memliner.is_clear());
        assert!(is_clear, "objects reported outside of a marking");
        *stage = Stage::Running;
        tables.take_snapshot();
        self.is_aborted.store(false, Ordering::Relaxed);
        self.is_active.store(true, Ordering::Relaxed);
        set_phase(tables, world, TRACING);
        // Agents do not say what holds the classes of the objects that they trace.
        let holders = match self.elsewhere {
            None => tables.core.holders_beside_program(),
            Some(_) => Holders::all(),
        };
        let holders = Arc::new(holders);
        *self.holders.lock() = holders.clone();
        holders
    }

    /// Whether it says which classes can be unloaded.
    pub fn finds_dead_holders(&self, options: &HeapOptions) -> bool {
        let HeapOptions { class_unloading, class_unloading_with_concurrent_mark, .. } = options;
        *class_unloading && *class_unloading_with_concurrent_mark && self.elsewhere.is_none()
    }

    fn holders(&self) -> Arc<Holders> {
        self.holders.lock().clone()
    }

    /// Whether the results of work in this mode do not count.
    fn is_in_vain(&self, mode: Mode) -> bool {
        mode == Mode::Concurrent && self.is_aborted()
    }

    /// In the same pause, when it is over.
    pub fn hand_over(&self, grey: Vec<ObjectRef>) {
        self.grey.lock().extend(grey);
        self.changed.notify_all();
    }

    /// As [`Collector::server_metadata`](crate::core::collector::Collector::server_metadata).
    pub fn server_table_bytes(&self) -> Vec<(&'static str, usize)> {
        self.elsewhere.iter().flat_map(|elsewhere| elsewhere.table_bytes()).collect()
    }

    /// With the gate closed: everything will move, or the memory server that traces is lost.
    pub fn abort(&self, tables: &Tables, world: &WorldStopped) {
        if !self.is_active() {
            return;
        }
        self.is_aborted.store(true, Ordering::Relaxed);
        self.elsewhere.iter().for_each(|elsewhere| elsewhere.abort());
        self.end(tables, world);
        world.mutators().for_each(|m| tables.logged.hand_over(&G1Thread::of(m).logged));
        tables.logged.take();
        self.grey.lock().clear();
        tables.forget_snapshot();
    }

    fn end(&self, tables: &Tables, world: &WorldStopped) {
        self.is_active.store(false, Ordering::Relaxed);
        tables.lined.as_ref().inspect(|lined| lined.memliner.clear());
        set_phase(tables, world, 0);
    }

    /// The heap is dropped: the thread ends as soon as it can.
    pub fn stop(&self) {
        *self.stage.lock() = Stage::Stopping;
        self.is_aborted.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// The thread: waits for a marking to begin; false when the thread should end.
    fn next(&self) -> bool {
        let mut stage = self.stage.lock();
        while *stage == Stage::Idle {
            self.changed.wait(&mut stage);
        }
        *stage == Stage::Running
    }

    fn is_stopping(&self) -> bool {
        *self.stage.lock() == Stage::Stopping
    }

    /// The thread, outside of the gate: the marking is traced by `elsewhere`, or by this process if no agent is
    /// available.
    fn begin_tracing(&self, tables: &Tables) {
        let Some(elsewhere) = &self.elsewhere else { return };
        let is_elsewhere = elsewhere.begin(&|| self.is_stopping());
        self.is_elsewhere.store(is_elsewhere, Ordering::Relaxed);
        if !is_elsewhere {
            self.add_entrances(tables);
        }
    }

    /// Makes the objects of the snapshot grey that `elsewhere` takes for alive. A dead object that is still an
    /// entrance would be taken for alive again by its next marking, and the referents of that object would have been
    /// freed.
    fn add_entrances(&self, tables: &Tables) {
        let entrances = tables.remembered.entrances().expect("kept for tracing elsewhere");
        for (id, region) in tables.core.regions.iter() {
            self.gate.enter();
            let bytes = match region.usage() {
                _ if self.is_aborted() => 0,
                RegionUse::Objects => tables.snapshot_bytes(id),
                RegionUse::HumongousStart => tables.snapshot_bytes(id).min(8),
                _ => 0,
            };
            let start = tables.core.geometry.region_start(id);
            let mut found = Vec::new();
            let mut at = start;
            while let Some(address) = entrances.next_marked(at, start + bytes) {
                let object = ObjectRef::from_address(address);
                if tables.make_grey(object) {
                    found.push(object);
                }
                at = address + 8;
            }
            self.grey.lock().extend(found);
            self.gate.leave();
        }
    }

    fn done(&self) {
        let mut stage = self.stage.lock();
        if *stage == Stage::Running {
            *stage = Stage::Idle;
        }
    }

    /// Completes the closure of grey objects. An error: a memory server that traced is lost, and the marking must be
    /// aborted.
    fn trace(&self, tables: &Tables, mode: Mode, found: &Mutex<Found>) -> Result<(), Lost> {
        let grey = std::mem::take(&mut *self.grey.lock());
        let is_elsewhere = self.is_elsewhere.load(Ordering::Relaxed);
        if let Some(elsewhere) = self.elsewhere.as_ref().filter(|_| is_elsewhere) {
            let gate = (mode == Mode::Concurrent).then_some(&self.gate);
            assert!(mode != Mode::Reviving || grey.is_empty(), "references discovered elsewhere");
            let live_bytes = &mut found.lock().live_bytes[..];
            return match mode {
                Mode::Reviving => Ok(()),
                _ => elsewhere.trace(Tracing { tables, gate, marking: self, grey, live_bytes }),
            };
        }
        let pool =
            Mutex::new(grey.chunks(POOL_CHUNK).map(|grey| Chunk::of(tables, grey)).collect());
        let quiescence = Quiescence::new(self.workers.count());
        let holders = &*self.holders();
        let free = tables.core.geometry.heap_bytes() - tables.core.regions.used_bytes();
        self.workers.run(&|_| {
            let gate = (mode == Mode::Concurrent).then_some(&self.gate);
            let mut references = tables.core.references(free, false);
            if mode == Mode::Reviving {
                references.discover_no_more();
            }
            let faults = swap::thread_fetch_faults();
            let (references, live_bytes) = match tables.codec() {
                AddressCodec::Narrow(codec) => {
                    Tracer::new(tables, codec, self, gate, &pool, references, holders)
                        .run(&quiescence)
                }
                AddressCodec::Wide(codec) => {
                    Tracer::new(tables, codec, self, gate, &pool, references, holders)
                        .run(&quiescence)
                }
            };
            let faults = swap::thread_fetch_faults() - faults;
            tables.core.stats.count("marking_fetch_faults", faults);
            let mut found = found.lock();
            found.references.absorb(references);
            found.live_bytes.iter_mut().zip(live_bytes).for_each(|(sum, bytes)| *sum += bytes);
        });
        Ok(())
    }
}

fn set_phase(tables: &Tables, world: &WorldStopped, phase: u64) {
    tables.phase.store(phase, Ordering::SeqCst);
    world.mutators().for_each(|m| {
        m.words[WORD_PHASE].set(phase);
        tables.refresh(m);
    });
}

impl G1 {
    /// The marker thread.
    pub(super) fn run_markings(&self) {
        swap::set_thread_class(swap::ThreadClass::Gc);
        let _tracing = swap::during(swap::Activity::Tracing);
        let _bomb = AbortOnPanic;
        while self.marking.next() {
            self.marking.begin_tracing(&self.tables);
            self.mark();
            self.clear_marks();
            self.marking.done();
        }
    }

    /// One marking, from the end of the pause that began it.
    fn mark(&self) {
        let (core, log, start) = (&*self.core, &self.core.options.log, Instant::now());
        let number = core.stats.cycles();
        log.line(LogLevel::Info, "gc", || format!("GC({number}) Concurrent Mark Cycle"));
        let free = core.geometry.heap_bytes() - core.regions.used_bytes();
        let found = Mutex::new(Found {
            references: core.references(free, false),
            live_bytes: vec![0; core.geometry.regions],
        });
        if self.trace_beside_program(&found).is_err() {
            core.safepoints.stop_world(None, |world| {
                self.marking.gate.closed(|| self.marking.abort(&self.tables, world));
            });
        }
        let fetched = core.pages_fetched();
        let used_before = core.regions.used_bytes();
        let done = !self.marking.is_aborted() && {
            let (done, times) = core.safepoints.stop_world(None, |world| {
                let done = !self.marking.is_aborted() && self.remark(world, found).is_ok();
                if !done {
                    self.marking.abort(&self.tables, world);
                }
                done
            });
            if done {
                self.policy.lock().note_marking(start.elapsed());
                let fetched = core.pages_fetched() - fetched;
                core.record_pause(("Pause Remark", "G1PauseRemark"), times, fetched);
                log.line(LogLevel::Info, "gc", || {
                    let (before, after) = (used_before >> 20, core.regions.used_bytes() >> 20);
                    let all = self.committed_bytes() >> 20;
                    let ms = times.stopped.as_secs_f64() * 1e3;
                    format!("GC({number}) Pause Remark {before}M->{after}M({all}M) {ms:.3}ms")
                });
                core.binding().cycle_finished();
            }
            done
        };
        core.stats.count(if done { "markings" } else { "markings_aborted" }, 1);
        log.line(LogLevel::Info, "gc", || {
            let what = if done { "" } else { " Abort" };
            let ms = start.elapsed().as_secs_f64() * 1e3;
            format!("GC({number}) Concurrent Mark{what} Cycle {ms:.3}ms")
        });
    }

    /// Traces the live objects of the snapshot, except those that are logged last.
    fn trace_beside_program(&self, found: &Mutex<Found>) -> Result<(), Lost> {
        self.trace_held(Mode::Concurrent, HELD_ROUNDS_MAX, found)?;
        for _ in 0..HAND_OVERS_MAX {
            if self.marking.is_aborted() {
                break;
            }
            self.core
                .safepoints
                .handshake(None, &|m| self.tables.logged.hand_over(&G1Thread::of(m).logged));
            if !self.take_logged(Mode::Concurrent) {
                break;
            }
            self.trace_held(Mode::Concurrent, HELD_ROUNDS_MAX, found)?;
        }
        Ok(())
    }

    /// Completes the closure of grey objects, and up to `rounds` times of what holders hold that were found by it.
    fn trace_held(&self, mode: Mode, rounds: usize, found: &Mutex<Found>) -> Result<(), Lost> {
        self.marking.trace(&self.tables, mode, found)?;
        for _ in 0..rounds {
            if !self.take_held(mode) {
                break;
            }
            self.marking.trace(&self.tables, mode, found)?;
        }
        Ok(())
    }

    /// Makes grey what is held by the holders that were found since the last time; returns whether there was any.
    fn take_held(&self, mode: Mode) -> bool {
        let (tables, marking) = (&*self.tables, &self.marking);
        let codec = tables.codec();
        let mut held = Vec::new();
        // The slots are as a pause has left them, and the objects in their places.
        marking.gate.enter();
        if !marking.is_in_vain(mode) {
            self.core.visit_found_holders(&marking.holders(), &mut |slot| {
                let object = codec.read_root(slot);
                // Others are newer, or were moved by the pause that began the marking.
                if !object.is_null() && tables.is_in_snapshot(object) && tables.make_grey(object) {
                    held.push(object);
                }
            });
        }
        let any = !held.is_empty();
        marking.grey.lock().extend(held);
        marking.gate.leave();
        any
    }

    /// Makes the logged objects grey; returns whether there were any.
    fn take_logged(&self, mode: Mode) -> bool {
        let logged = self.tables.logged.take();
        // An abort in between would let objects move under these addresses.
        self.marking.gate.enter();
        let mut grey = self.marking.grey.lock();
        if !self.marking.is_in_vain(mode) {
            grey.extend(logged.into_iter().filter(|object| self.tables.make_grey(*object)));
        }
        let any = !grey.is_empty();
        drop(grey);
        self.marking.gate.leave();
        any
    }

    /// World stopped; the marker thread and its helpers are outside the gate.
    fn remark(&self, world: &WorldStopped, found: Mutex<Found>) -> Result<(), Lost> {
        let (tables, binding) = (&*self.tables, self.core.binding());
        let codec = tables.codec();
        world.mutators().for_each(|m| tables.logged.hand_over(&G1Thread::of(m).logged));
        self.verify_retired(world, "before remark");
        self.take_logged(Mode::Stopped);
        let holders = self.marking.holders();
        self.core.note_holders_in_use(world, &holders);
        self.trace_held(Mode::Stopped, usize::MAX, &found)?;
        self.process_references(&found)?;
        binding.visit_weak_slots(world, &mut |slot| {
            let object = codec.read_root(slot);
            if !object.is_null() && tables.is_white(object) {
                codec.write_root(slot, ObjectRef::NULL);
            }
        });
        self.core.unload(world, &holders);
        let Found { mut references, live_bytes } = found.into_inner();
        references.enqueue(&codec, binding.pending_list(), |reference, at, head| {
            if !head.is_null() {
                tables.note_slot(reference.address() + at, head);
            }
        });
        self.count_references(references.counts);
        self.marking.end(tables, world);
        self.judge(&live_bytes);
        self.core.tick_soft_clock();
        self.verify_retired(world, "after remark");
        Ok(())
    }

    fn process_references(&self, found: &Mutex<Found>) -> Result<(), Lost> {
        let tables = &*self.tables;
        let codec = tables.codec();
        let keeps = |d: Discovered| !tables.is_white(codec.read(d.reference, d.at));
        let revived = {
            let references = &mut found.lock().references;
            references.clear_dead(&codec, ReferenceKind::Soft, keeps);
            references.clear_dead(&codec, ReferenceKind::Weak, keeps);
            references.revive_final(&codec, keeps)
        };
        for d in revived {
            let referent = codec.read(d.reference, d.at);
            if tables.make_grey(referent) {
                self.marking.grey.lock().push(referent);
            }
        }
        self.trace_held(Mode::Reviving, usize::MAX, found)?;
        let references = &mut found.lock().references;
        references.clear_dead(&codec, ReferenceKind::Phantom, keeps);
        Ok(())
    }

    /// Ends the marking: frees empty regions, and notes sparse ones.
    fn judge(&self, marked_bytes: &[usize]) {
        let (core, tables) = (&*self.core, &*self.tables);
        let (mut dead, mut judged) = (Vec::new(), Vec::new());
        for (id, region) in core.regions.iter() {
            let (snapshot, marked) = (tables.snapshot_bytes(id), marked_bytes[id.index()]);
            // More would mean that an object was scanned twice.
            assert!(marked <= snapshot, "{marked} of {snapshot} bytes live in {id:?}");
            match region.usage() {
                RegionUse::Objects if tables.kind(id) == Kind::Old => {
                    let live_bytes = marked + region.top().saturating_sub(snapshot);
                    region.set_live_bytes(live_bytes);
                    if live_bytes == 0 && !region.is_pinned() {
                        dead.push(id);
                    } else if snapshot > 0 && !self.olds.is_current(id) {
                        judged.push(Judged { region: id, live_bytes });
                    }
                }
                RegionUse::HumongousStart if snapshot > 0 => {
                    region.set_live_bytes(marked);
                    if marked == 0 && !region.is_pinned() {
                        dead.push(id);
                    }
                }
                _ => {}
            }
        }
        tables.judge();
        let freed = dead.iter().map(|id| self.free_dead(*id)).sum::<usize>();
        core.stats.count("regions_freed_by_marking", freed as u64);
        // Regions that are free now are not eden's before the next pause has said so.
        self.allocator.change_limit(-(freed as isize));
        self.policy.lock().set_candidates(tables, judged);
    }

    /// The marks of the marking before the last are not needed any more.
    fn clear_marks(&self) {
        for region in self.core.geometry.all_regions() {
            self.marking.gate.enter();
            self.tables.used_bitmaps().for_each(|bitmap| bitmap.clear_expected(region));
            self.marking.gate.leave();
        }
    }
}

/// Concurrent rounds of tracing what holders hold that were found by the last one.
const HELD_ROUNDS_MAX: usize = 16;
/// Concurrent rounds of taking over logged references before the remark pause.
const HAND_OVERS_MAX: usize = 3;
/// Objects that a tracer takes at once.
const POOL_CHUNK: usize = 256;

//! A heap with a collector from outside of the crate, and a program that allocates ten times as much as the heap has.

mod collector;

use collector::StickyPlan;
use gc::core::outcome::AllocFailure;
use gc::heap::Heap;
use gc::object::layout::{KlassLayout, ReferenceKind, array_bytes};
use gc::object::{HEADER_BYTES, KlassId, ObjectRef, RootSlot, align_object};
use gc::options::{CollectorKind, HeapOptions};
use gc::threads::binding::VmBinding;
use gc::threads::mutator::{Mutator, WorldStopped};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The smallest VM: its only root is a table, and no thread holds an address at a safepoint.
#[derive(Default)]
struct Vm {
    table: RootSlot,
    pending: RootSlot,
}

impl VmBinding for Vm {
    fn visit_thread_roots(&self, _world: &WorldStopped, _visit: &mut dyn FnMut(&mut ObjectRef)) {}

    fn visit_strong_slots(&self, _world: &WorldStopped, visit: &mut dyn FnMut(&RootSlot)) {
        visit(&self.table);
    }

    fn visit_weak_slots(&self, _world: &WorldStopped, _visit: &mut dyn FnMut(&RootSlot)) {}

    fn pending_list(&self) -> &RootSlot {
        &self.pending
    }

    fn cycle_finished(&self) {}
}

/// The program: one thread that makes rows of references, which have numbers, and a table of them.
struct Program {
    heap: Arc<Heap>,
    vm: Arc<Vm>,
    m: Mutator,
    rows: KlassId,
    tables: KlassId,
}

impl Program {
    fn new_table(&self, length: usize) -> Result<ObjectRef, AllocFailure> {
        let bytes = array_bytes(FIRST_SLOT, length, self.heap.barriers().slot_bytes());
        self.heap.allocate(&self.m, self.tables, bytes, Some(length as u32))
    }

    fn new_row(&self) -> Result<ObjectRef, AllocFailure> {
        let bytes = row_bytes(self.heap.barriers().slot_bytes());
        self.heap.allocate(&self.m, self.rows, bytes, None)
    }

    fn table(&self) -> ObjectRef {
        self.heap.barriers().load_root(&self.m, &self.vm.table)
    }

    fn offset(&self, index: usize) -> usize {
        FIRST_SLOT + index * self.heap.barriers().slot_bytes()
    }

    /// Row after row takes the place of the oldest one in the table, which is old itself.
    fn run(&self) -> Result<(), AllocFailure> {
        let (heap, m) = (&self.heap, &self.m);
        heap.barriers().store_root(m, &self.vm.table, self.new_table(ROWS)?);
        let mut number = 0;
        while heap.totals().allocated_bytes < 10 * heap.max_bytes() as u64 {
            for i in 0..ROWS {
                // A safepoint: any address that was known before may be wrong now.
                let row = self.new_row()?;
                number_of(row).store(number, Ordering::Relaxed);
                heap.barriers().store(m, self.table(), self.offset(i), row);
                number += 1;
            }
        }
        for i in 0..ROWS {
            let row = heap.barriers().load(m, self.table(), self.offset(i));
            let expected = number - ROWS as u32 + i as u32;
            assert_eq!(number_of(row).load(Ordering::Relaxed), expected, "row {i}");
        }
        Ok(())
    }
}

const ROWS: usize = 20_000;
const ROW_LENGTH: usize = 10;

/// The number of a row lies behind the header, as does the length of a table; the references of both follow.
const NUMBER: usize = HEADER_BYTES;
const FIRST_SLOT: usize = align_object(NUMBER + size_of::<u32>());

fn row_bytes(slot_bytes: usize) -> usize {
    align_object(FIRST_SLOT + ROW_LENGTH * slot_bytes)
}

fn row_layout(slot_bytes: usize) -> KlassLayout {
    KlassLayout::Instance {
        bytes: row_bytes(slot_bytes) as u32,
        refs: (0..ROW_LENGTH).map(|i| (FIRST_SLOT + i * slot_bytes) as u32).collect(),
        kind: ReferenceKind::Strong,
    }
}

/// The number of a row, until its address is wrong.
fn number_of(row: ObjectRef) -> &'static AtomicU32 {
    // SAFETY: a field of every row, which no collector writes while the program runs; no caller keeps it beyond the
    // next safepoint.
    unsafe { AtomicU32::from_ptr((row.address() + NUMBER) as *mut u32) }
}

fn main() {
    let options =
        HeapOptions { verify_heap: true, ..HeapOptions::new(CollectorKind::Epsilon, 16 << 20) };
    let heap = Heap::with_plan(&options, |_| Box::new(StickyPlan)).expect("a heap of 16 MB");
    let vm = Arc::new(Vm::default());
    heap.bind(vm.clone());
    let rows = heap.layouts().register(row_layout(heap.barriers().slot_bytes()));
    let tables = heap.layouts().register(KlassLayout::ObjectArray { base: FIRST_SLOT as u32 });
    let program = Program { heap, vm, m: Mutator::new(), rows, tables };
    program.heap.attach(&program.m);
    let ended = program.run();
    program.heap.detach(&program.m);
    ended.expect("most of what was made is garbage");
    let stats = program.heap.stats();
    println!(
        "{} MB allocated in a heap of {} MB: {} cycles, {} of them full; {} MB in use",
        stats.allocated_bytes >> 20,
        stats.max_bytes >> 20,
        stats.cycles,
        stats.counters["full_cycles"],
        stats.used_bytes >> 20,
    );
}

#[test]
fn the_example_runs() {
    main();
}

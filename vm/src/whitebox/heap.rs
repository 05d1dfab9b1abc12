//! The heap and its collector.

use crate::ffi::registry::{Arguments, Native, NativeEntry, entry};
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::runtime::JResult;
use gc::core::outcome::CollectCause;
use gc::memory::region::RegionUse;
use gc::object::ObjectRef;
use gc::options::CollectorKind;

pub const ENTRIES: &[NativeEntry] = &[
    entry("isGCSupported", "", Native::Direct(is_supported)),
    entry("isGCSelected", "", Native::Direct(is_selected)),
    entry("isGCSelectedErgonomically", "", Native::Direct(is_default)),
    // There are no phases at which a cycle can be held.
    entry("supportsConcurrentGCBreakpoints", "", Native::Direct(|_, _| Ok(0))),
    entry("fullGC", "", Native::Direct(full)),
    entry("youngGC", "", Native::Direct(young)),
    entry("getObjectAddress0", "", Native::Direct(|_, args| Ok(args.word(1)))),
    entry("getObjectSize0", "", Native::Direct(object_bytes)),
    entry("isObjectInOldGen0", "", Native::Direct(is_old)),
    entry("getHeapOopSize", "", Native::Direct(|t, _| Ok(t.vm.slot_bytes as u64))),
    entry("printHeapSizes", "", Native::Direct(print_sizes)),
    // The size of the heap is a number of regions.
    entry("getHeapSpaceAlignment", "", Native::Direct(region_bytes)),
    entry("getHeapAlignment", "", Native::Direct(region_bytes)),
    // G1.
    entry("g1RegionSize", "", Native::Direct(|t, args| g1(t).and_then(|()| region_bytes(t, args)))),
    entry("g1NumMaxRegions", "", Native::Direct(regions)),
    entry("g1NumFreeRegions", "", Native::Direct(free_regions)),
    entry("g1IsHumongous0", "", Native::Direct(is_humongous)),
    entry("g1BelongsToHumongousRegion0", "", Native::Direct(is_in_humongous)),
    entry("g1BelongsToFreeRegion0", "", Native::Direct(is_in_free)),
    entry("g1InConcurrentMark", "", Native::Direct(is_marking)),
    entry("g1StartConcMarkCycle", "", Native::Direct(start_marking)),
];

/// The name of a collector in its switch, by HotSpot's number.
fn title(number: i32) -> Option<&'static str> {
    let number = usize::try_from(number).ok()?.checked_sub(1)?;
    ["Serial", "Parallel", "G1", "Epsilon", "Z", "Shenandoah"].get(number).copied()
}

/// `isGCSupported(number)`: whether there is such a collector, not only one that runs in its place.
fn is_supported(_t: &JavaThread, args: Arguments) -> JResult<u64> {
    let kind = title(args.int(1)).and_then(CollectorKind::of_switch);
    Ok(u64::from(kind.is_some()))
}

/// `isGCSelected(number)`
fn is_selected(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let kind = title(args.int(1)).and_then(CollectorKind::of_switch);
    Ok(u64::from(kind == Some(t.vm.options.heap.collector)))
}

/// `isGCSelectedErgonomically()`: no option names a collector.
fn is_default(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    let names_one = |(name, value): &(String, String)| {
        name == "Collector" || value == "true" && name.starts_with("Use") && name.ends_with("GC")
    };
    Ok(u64::from(!t.vm.options.flags.iter().any(names_one)))
}

/// `fullGC()`: everything that is not reachable strongly goes.
fn full(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    t.vm.heap.collect(&t.mutator, CollectCause::WhiteBoxFull);
    Ok(0)
}

/// `youngGC()`: a full cycle where there are no generations.
fn young(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    t.vm.heap.collect(&t.mutator, CollectCause::WhiteBoxYoung);
    Ok(0)
}

/// `getObjectSize0(object)`
fn object_bytes(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let object = args.object(1);
    let layout = t.vm.heap.layouts().layout(t.klass_of(object).id);
    Ok(layout.object_bytes(object, t.vm.slot_bytes) as u64)
}

/// `isObjectInOldGen0(object)`
fn is_old(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(u64::from(t.vm.heap.is_old(args.object(1))))
}

/// `printHeapSizes()`, to stdout in HotSpot's form. The heap does not shrink below its initial size.
fn print_sizes(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    let (heap, geometry) = (&t.vm.options.heap, &t.vm.heap.core().geometry);
    let (initial, alignment) = (heap.initial_bytes, geometry.region_bytes());
    base::print_part(format_args!(
        "Minimum heap {initial} Initial heap {initial} Maximum heap {} Space alignment {alignment} Heap alignment \
         {alignment}\n",
        geometry.heap_bytes()
    ));
    Ok(0)
}

fn region_bytes(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(t.vm.heap.core().geometry.region_bytes() as u64)
}

fn regions(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    g1(t)?;
    Ok(t.vm.heap.core().geometry.regions as u64)
}

fn free_regions(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    g1(t)?;
    Ok(t.vm.heap.core().regions.free_count() as u64)
}

/// `g1IsHumongous0(object)`
fn is_humongous(t: &JavaThread, args: Arguments) -> JResult<u64> {
    g1(t)?;
    usage(t, args.object(1), &[RegionUse::HumongousStart, RegionUse::HumongousRest])
}

/// `g1BelongsToHumongousRegion0(address)`
fn is_in_humongous(t: &JavaThread, args: Arguments) -> JResult<u64> {
    g1(t)?;
    let object = ObjectRef::from_address(args.long(1) as usize);
    usage(t, object, &[RegionUse::HumongousStart, RegionUse::HumongousRest])
}

/// `g1BelongsToFreeRegion0(address)`
fn is_in_free(t: &JavaThread, args: Arguments) -> JResult<u64> {
    g1(t)?;
    usage(t, ObjectRef::from_address(args.long(1) as usize), &[RegionUse::Free])
}

/// Whether an address lies in a region of one of these uses.
fn usage(t: &JavaThread, address: ObjectRef, uses: &[RegionUse]) -> JResult<u64> {
    if !t.vm.heap.contains(address.address()) {
        let message = "the address is not in the heap";
        return errors::fail(t, "java/lang/IllegalArgumentException", message);
    }
    Ok(u64::from(uses.contains(&t.vm.heap.core().region_of(address).usage())))
}

fn is_marking(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    g1(t)?;
    Ok(u64::from(t.vm.heap.is_marking()))
}

/// `g1StartConcMarkCycle()`: false if one runs already.
fn start_marking(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    g1(t)?;
    if t.vm.heap.is_marking() {
        return Ok(0);
    }
    t.vm.heap.collect(&t.mutator, CollectCause::WhiteBoxMarking);
    Ok(1)
}

/// As HotSpot, refuses under another collector.
fn g1(t: &JavaThread) -> JResult<()> {
    match CollectorKind::of_switch("G1") == Some(t.vm.options.heap.collector) {
        true => Ok(()),
        false => {
            errors::fail(t, "java/lang/UnsupportedOperationException", "G1 is not the collector")
        }
    }
}

//! The collector that the options name: the one place that knows all of them.

use super::{epsilon, g1, mako, semeru, serial, shenandoah};
use crate::core::collector::CollectorPlan;
use crate::object::geometry::Geometry;
use crate::options::{CollectorKind, HeapOptions, TableUse};

/// Bytes of a region by default; `None`: the heap's own choice, which is Mako's.
pub fn region_bytes(kind: CollectorKind, max_bytes: usize) -> Option<usize> {
    kind.is_shenandoah().then(|| shenandoah::region_bytes(max_bytes))
}

/// The collector's needs of the heap that is about to be made.
pub fn plan(options: &HeapOptions, geometry: &Geometry) -> Box<dyn CollectorPlan> {
    let servers = options.stores();
    match options.collector {
        CollectorKind::Epsilon => Box::new(epsilon::Plan),
        CollectorKind::Serial => Box::new(serial::SerialPlan),
        CollectorKind::G1 => Box::new(g1::G1Plan { is_lined: false }),
        CollectorKind::MemLinerG1 => Box::new(g1::G1Plan { is_lined: true }),
        CollectorKind::Shenandoah => Box::new(shenandoah::Plan { is_lined: false }),
        CollectorKind::MemLinerShenandoah => Box::new(shenandoah::Plan { is_lined: true }),
        CollectorKind::Semeru => Box::new(semeru::Plan::new(geometry, servers, options.semeru)),
        CollectorKind::Mako => {
            let table = TableUse::of(options);
            let is_wide = !options.fits_entries(geometry);
            Box::new(mako::Plan::new(geometry, servers, table, is_wide))
        }
    }
}

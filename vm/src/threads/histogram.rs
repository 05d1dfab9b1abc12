//! Class histograms.

use crate::machine::JavaThread;
use std::cmp::Reverse;
use std::fmt::Write;

/// How many reachable objects each class has, as a table. Runs a full cycle, which is a safepoint.
pub fn text(t: &JavaThread) -> String {
    table(rows(t))
}

/// The objects of one class.
struct Row {
    objects: usize,
    bytes: usize,
    class: String,
    /// With its version; of the element type for arrays.
    module: Option<String>,
}

/// Classes with objects, in no particular order. A safepoint.
fn rows(t: &JavaThread) -> Vec<Row> {
    // A heap that has come to its end has nothing to show.
    let counts = t.vm.heap.histogram(&t.mutator).unwrap_or_default();
    let row = |count: gc::core::histogram::ClassCount| {
        let klass = t.vm.klasses.get(count.klass);
        Row {
            objects: count.objects,
            bytes: count.bytes,
            class: klass.java_name(),
            module: t.vm.modules.named_module_of(klass).map(|module| module.with_version()),
        }
    };
    counts.into_iter().map(row).collect()
}

/// The columns of HotSpot, which tools read.
fn table(mut rows: Vec<Row>) -> String {
    // Of equal size, arrays come first.
    let is_array = |row: &Row| row.class.starts_with('[');
    rows.sort_by(|a, b| {
        let key = |row: &Row| (Reverse(row.bytes), !is_array(row));
        key(a).cmp(&key(b)).then_with(|| a.class.cmp(&b.class))
    });
    let mut out = String::from(
        " num     #instances         #bytes  class name (module)\n\
         -------------------------------------------------------\n",
    );
    for (i, Row { objects, bytes, class, module }) in rows.iter().enumerate() {
        let module = module.as_ref().map_or(String::new(), |module| format!(" ({module})"));
        let _ = writeln!(out, "{:4}: {objects:13} {bytes:14}  {class}{module}", i + 1);
    }
    let objects: usize = rows.iter().map(|row| row.objects).sum();
    let bytes: usize = rows.iter().map(|row| row.bytes).sum();
    let _ = writeln!(out, "Total {objects:13} {bytes:14}");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_by_bytes_then_arrays_then_names() {
        let row = |objects, bytes, class: &str, module: Option<&str>| Row {
            objects,
            bytes,
            class: class.into(),
            module: module.map(String::from),
        };
        let rows = vec![
            row(1, 16, "B", None),
            row(1, 16, "A", None),
            row(1, 16, "[LA;", None),
            row(23_425, 1_289_304, "[B", Some("java.base@17.0.17")),
        ];
        let expected = " num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:         23425        1289304  [B (java.base@17.0.17)
   2:             1             16  [LA;
   3:             1             16  A
   4:             1             16  B
Total         23428        1289352
";
        assert_eq!(table(rows), expected);
    }
}

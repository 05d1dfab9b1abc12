//! What classes take before and after a collection, in the log.

use super::heap_core::HeapCore;
use crate::object::log::LogLevel;
use crate::threads::binding::ClassBytes;

impl HeapCore {
    /// Logs what classes took `before` the collection of this number, which has ended, and what they take now; nothing
    /// if the VM does not count it.
    pub fn log_classes(&self, number: u64, before: Option<ClassBytes>) {
        if let Some((before, after)) = before.zip(self.binding().class_bytes()) {
            let message = || format!("GC({number}) {}", change(before, after));
            self.options.log.line(LogLevel::Info, "gc,metaspace", message);
        }
    }
}

/// In the form of HotSpot, which has the committed part in parentheses: here that is what is used.
fn change(before: ClassBytes, after: ClassBytes) -> String {
    let part = |name, bytes: fn(ClassBytes) -> usize| {
        let (before, after) = (bytes(before) >> 10, bytes(after) >> 10);
        format!("{name}: {before}K({before}K)->{after}K({after}K)")
    };
    let all = part("Metaspace", |classes| classes.descriptions + classes.others);
    let others = part("NonClass", |classes| classes.others);
    format!("{all} {others} {}", part("Class", |classes| classes.descriptions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_the_form_of_hotspot() {
        let before = ClassBytes { descriptions: 3 << 10, others: 122 << 10 };
        let after = ClassBytes { descriptions: 2 << 10, others: (121 << 10) + 1023 };
        let line = "Metaspace: 125K(125K)->123K(123K) NonClass: 122K(122K)->121K(121K) Class: 3K(3K)->2K(2K)";
        assert_eq!(change(before, after), line);
    }
}

//! The parts of the build, the machine and the system.

use crate::ffi::registry::{Arguments, Native, NativeEntry, entry};
use crate::loading::strings;
use crate::machine::JavaThread;
use crate::runtime::JResult;
use gc::memory::space::HUGE_PAGE_BYTES;

pub const ENTRIES: &[NativeEntry] = &[
    entry("registerNatives", "()V", Native::Direct(no)),
    // Parts that HotSpot may be built without.
    entry("isCDSIncluded", "", Native::Direct(no)),
    entry("isSharingEnabled", "", Native::Direct(no)),
    entry("isShared", "", Native::Direct(no)),
    entry("isSharedClass", "", Native::Direct(no)),
    entry("areSharedStringsIgnored", "", Native::Direct(yes)),
    entry("areOpenArchiveHeapObjectsMapped", "", Native::Direct(no)),
    entry("canWriteJavaHeapArchive", "", Native::Direct(no)),
    entry("isJFRIncluded", "", Native::Direct(yes)),
    entry("isDTraceIncluded", "", Native::Direct(no)),
    entry("isJVMTIIncluded", "", Native::Direct(no)),
    entry("isC2OrJVMCIIncluded", "", Native::Direct(no)),
    entry("isJVMCISupportedByGC", "", Native::Direct(no)),
    entry("isGCSupportedByJVMCICompiler", "", Native::Direct(no)),
    // The machine.
    entry("getVMPageSize", "", Native::Direct(page_bytes)),
    entry("getVMLargePageSize", "", Native::Direct(large_page_bytes)),
    entry("getVMAllocationGranularity", "", Native::Direct(page_bytes)),
    entry("getCPUFeatures", "", Native::Direct(cpu_features)),
    entry("getLibcName", "", Native::Direct(libc_name)),
    // Threads.
    entry("forceSafepoint", "", Native::Direct(force_safepoint)),
];

fn no(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(0)
}

fn yes(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(1)
}

fn page_bytes(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(swap::PAGE_BYTES as u64)
}

/// 0: the heap asks for no large pages.
fn large_page_bytes(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(if t.vm.options.heap.huge_pages { HUGE_PAGE_BYTES as u64 } else { 0 })
}

fn libc_name(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(strings::from_str(t, "glibc")?.address() as u64)
}

fn force_safepoint(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| ());
    Ok(0)
}

/// In the form of HotSpot: a text with parentheses about the CPU, then features, each behind a comma.
fn cpu_features(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    let text = t.safely(|| std::fs::read_to_string("/proc/cpuinfo")).unwrap_or_default();
    Ok(strings::from_str(t, &features(&text, t.vm.processors()))?.address() as u64)
}

/// The features in a text like `/proc/cpuinfo`.
fn features(cpuinfo: &str, processors: usize) -> String {
    let field = |name: &str| {
        let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        let mut values = lines.filter(|(key, _)| key.trim() == name);
        values.next().map_or("", |(_, value)| value.trim())
    };
    let flags: Vec<&str> = field("flags").split(' ').collect();
    let known = FEATURES.iter().filter(|(flag, _)| flags.contains(flag));
    let names: String = known.map(|(_, name)| format!(", {name}")).collect();
    format!(
        "({processors} cores per cpu, 1 threads per core) family {} model {} stepping {} microcode {}{names}",
        field("cpu family"),
        field("model"),
        field("stepping"),
        field("microcode"),
    )
}

/// Linux's names of features, and HotSpot's.
const FEATURES: &[(&str, &str)] = &[
    ("cx8", "cx8"),
    ("cmov", "cmov"),
    ("fxsr", "fxsr"),
    ("mmx", "mmx"),
    ("3dnowprefetch", "3dnowpref"),
    ("sse", "sse"),
    ("sse2", "sse2"),
    ("pni", "sse3"),
    ("ssse3", "ssse3"),
    ("sse4a", "sse4a"),
    ("sse4_1", "sse4.1"),
    ("sse4_2", "sse4.2"),
    ("popcnt", "popcnt"),
    ("abm", "lzcnt"),
    ("tsc", "tsc"),
    ("nonstop_tsc", "tscinvbit"),
    ("avx", "avx"),
    ("avx2", "avx2"),
    ("aes", "aes"),
    ("erms", "erms"),
    ("pclmulqdq", "clmul"),
    ("bmi1", "bmi1"),
    ("bmi2", "bmi2"),
    ("rtm", "rtm"),
    ("adx", "adx"),
    ("avx512f", "avx512f"),
    ("avx512dq", "avx512dq"),
    ("avx512pf", "avx512pf"),
    ("avx512er", "avx512er"),
    ("avx512cd", "avx512cd"),
    ("avx512bw", "avx512bw"),
    ("avx512vl", "avx512vl"),
    ("sha_ni", "sha"),
    ("fma", "fma"),
    ("clflush", "clflush"),
    ("clflushopt", "clflushopt"),
    ("hypervisor", "hv"),
];

#[cfg(test)]
mod tests {
    use super::features;

    #[test]
    fn features_have_the_names_that_tests_look_for() {
        let text = "cpu family\t: 25\nmodel\t\t: 1\nflags\t\t: fpu pni sse4_1 avx2 sha_ni\n";
        let text = features(text, 2);
        assert!(text.contains("family 25 model 1 stepping "), "{text}");
        assert!(text.ends_with(", sse3, sse4.1, avx2, sha"), "{text}");
    }
}

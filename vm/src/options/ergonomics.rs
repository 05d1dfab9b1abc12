//! The collector, the sizes of the heap and the number of CPUs that the command line leaves open, as HotSpot's
//! `GCConfig` and `Arguments::set_heap_size` choose them.

use super::young_sizes::YoungSizes;
use super::{BadOption, Options};
use base::Resources;
use gc::options::{CollectorKind, MINOR_PAUSE_TARGET_MS_MAX};
use std::time::Duration;

/// The sizes that the command line names.
#[derive(Default)]
pub struct HeapSizes {
    /// `-Xmx`
    pub max_bytes: Option<usize>,
    /// `-Xms`, or `InitialHeapSize` alone. 0: the VM's choice.
    pub initial_bytes: Option<usize>,
    /// `-Xms`, or `MinHeapSize` alone. 0: the VM's choice.
    pub min_bytes: Option<usize>,
    pub young: YoungSizes,
}

/// Sets the memory and CPUs that this process may use.
pub fn apply_resources(options: &mut Options) {
    options.resources = Resources::of_this_process(options.use_container);
    options.heap.cpus = match options.processors {
        0 => options.resources.cpus(),
        chosen => chosen,
    };
}

/// The collector that runs where no option names one. After [`apply_resources`].
pub fn default_collector(options: &Options) -> CollectorKind {
    let is_server = !options.is_never_server
        && (options.is_always_server
            || options.heap.cpus >= SERVER_CPUS
                && options.resources.memory_bytes() >= SERVER_MEMORY_BYTES);
    if is_server { CollectorKind::G1 } else { CollectorKind::Serial }
}

impl HeapSizes {
    /// Sets sizes and numbers that depend on all options. After [`apply_resources`].
    pub fn apply(&self, options: &mut Options) -> Result<(), BadOption> {
        let memory_bytes = options.resources.memory_bytes();
        self.apply_memory(options, memory_bytes)?;
        self.young.apply(options);
        apply_pause_target(options);
        // A collection looks for classes that can go before the limit refuses a new one.
        options.class_bytes_until_collection =
            options.class_bytes_until_collection.min(options.max_class_bytes);
        Ok(())
    }

    fn apply_memory(&self, options: &mut Options, memory_bytes: u64) -> Result<(), BadOption> {
        let during = "Error occurred during initialization of VM\n";
        let bad = |what: &str| Err(BadOption(format!("{during}{what}")));
        let given = |bytes: Option<usize>| bytes.filter(|bytes| *bytes > 0);
        let (given_initial, given_min) = (given(self.initial_bytes), given(self.min_bytes));
        let ram = ram_bytes(options, memory_bytes);
        let default_initial = match options.initial_ram_percentage {
            Some(percent) => part(ram, percent),
            None => options.heap.initial_bytes,
        };
        let max_bytes = self.max_bytes.unwrap_or_else(|| {
            let max_bytes = default_heap_bytes(options, ram).max(HEAP_BYTES_MIN);
            max_bytes.max(given_initial.unwrap_or(0))
        });
        if max_bytes < HEAP_BYTES_MIN {
            return bad("Too small maximum heap");
        }
        if given_initial.is_some_and(|bytes| bytes < START_BYTES_MIN) {
            return bad("Too small initial heap");
        }
        if given_min.is_some_and(|bytes| bytes < START_BYTES_MIN) {
            return bad("Too small minimum heap");
        }
        if given_initial.zip(given_min).is_some_and(|(initial, min)| initial < min) {
            return bad("Incompatible minimum and initial heap sizes specified");
        }
        let initial_bytes = given_initial.unwrap_or(default_initial.min(max_bytes));
        if initial_bytes > max_bytes {
            return bad("Initial heap size set to a larger value than the maximum heap size");
        }
        if given_min.is_some_and(|bytes| bytes > max_bytes) {
            return bad("Incompatible minimum and maximum heap sizes specified");
        }
        (options.heap.max_bytes, options.heap.initial_bytes) = (max_bytes, initial_bytes);
        Ok(())
    }
}

/// HotSpot's goal for pauses is one for Mako's minor collections too, if it was given and Mako's own was not.
fn apply_pause_target(options: &mut Options) {
    let is_given = |name| options.given(name).is_some();
    if is_given("MaxGCPauseMillis") && !is_given("MakoMinorPauseTarget") {
        let target_ms = options.heap.g1.pause_target_ms.min(MINOR_PAUSE_TARGET_MS_MAX);
        options.heap.mako.minor_pause_target = Duration::from_millis(target_ms);
    }
}

/// The memory of which sizes are percentages, bytes.
fn ram_bytes(options: &Options, memory_bytes: u64) -> u64 {
    match options.max_ram {
        Some(bytes) => bytes as u64,
        None if takes_all(options) => memory_bytes,
        None => memory_bytes.min(RAM_BYTES_MAX),
    }
}

/// Whether an option asks for a part of the memory, however large that is.
fn takes_all(options: &Options) -> bool {
    let is_one = |name: &str| {
        let parts = ["MaxRAM", "MinRAM", "InitialRAM"];
        let rest = parts.iter().find_map(|part| name.strip_prefix(part));
        matches!(rest, Some("" | "Percentage" | "Fraction"))
    };
    options.flags.iter().any(|(name, _)| is_one(name))
}

/// `-Xmx` where none is given.
fn default_heap_bytes(options: &Options, ram: u64) -> usize {
    if ram == 0 {
        // The system does not say.
        return SMALL_HEAP_BYTES;
    }
    let most = part(ram, options.max_ram_percentage);
    let least = part(ram, options.min_ram_percentage);
    let bytes = if least < SMALL_HEAP_BYTES { least } else { most.max(SMALL_HEAP_BYTES) };
    // References of four bytes, unless memory was asked for by its part.
    let narrow = match options.heap.compressed_oops != Some(false) && !takes_all(options) {
        true => NARROW_HEAP_BYTES,
        false => usize::MAX,
    };
    bytes.min(narrow)
}

fn part(bytes: u64, percent: f64) -> usize {
    (bytes as f64 * percent / 100.0) as usize
}

/// What a machine of HotSpot's server class has at least: two CPUs, and two gigabytes of which a part may be missing.
const SERVER_CPUS: usize = 2;
const SERVER_MEMORY_BYTES: u64 = 1792 << 20;
const HEAP_BYTES_MIN: usize = 2 << 20;
/// Of what the heap has from the start.
const START_BYTES_MIN: usize = 1 << 20;
/// HotSpot's default of `MaxHeapSize` before it looks at the memory, 96 MiB and 30 % more for 64 bits.
const SMALL_HEAP_BYTES: usize = (96 << 20) * 13 / 10;
/// HotSpot's default of `MaxRAM`.
const RAM_BYTES_MAX: u64 = 128 << 30;
/// The largest default heap with references of four bytes.
const NARROW_HEAP_BYTES: usize = (32 << 30) - (64 << 20);

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest and initial heap with this much memory, in MiB.
    fn heap(memory_mib: u64, arguments: &[&str]) -> (usize, usize) {
        let mut options = Options::parse(arguments, false).unwrap();
        options.heap.initial_bytes = 8 << 20;
        HeapSizes::default().apply_memory(&mut options, memory_mib << 20).unwrap();
        (options.heap.max_bytes >> 20, options.heap.initial_bytes >> 20)
    }

    /// The first column is what HotSpot 17 takes, apart from the survivors that it does not count.
    #[test]
    fn the_default_heap_is_a_part_of_the_memory() {
        assert_eq!(heap(64, &[]), (32, 8));
        assert_eq!(heap(200, &[]), (100, 8));
        assert_eq!(heap(330, &[]), (124, 8));
        assert_eq!(heap(512, &[]), (128, 8));
        assert_eq!(heap(24 << 10, &[]), (6 << 10, 8));
        assert_eq!(heap(1 << 20, &[]), ((32 << 10) - 64, 8));
        assert_eq!(heap(1 << 20, &["-XX:MaxRAMPercentage=25"]), (256 << 10, 8));
        assert_eq!(heap(512, &["-XX:MaxRAMPercentage=75.0"]), (384, 8));
        assert_eq!(heap(100, &["-XX:MinRAMPercentage=80"]), (80, 8));
        assert_eq!(heap(512, &["-XX:MaxRAM=1g", "-XX:InitialRAMPercentage=6.25"]), (256, 64));
        assert_eq!(heap(512, &["-XX:InitialRAMPercentage=90"]), (128, 128));
        assert_eq!(heap(0, &[]), (124, 8));
        assert_eq!(heap(512, &["-XX:MaxRAMFraction=2"]), (256, 8));
    }

    #[test]
    fn classes_are_collected_before_their_limit() {
        let sizes = |arguments: &[&str]| {
            let options = Options::parse(arguments, false).unwrap();
            (options.class_bytes_until_collection >> 20, options.max_class_bytes >> 20)
        };
        assert_eq!(sizes(&["-XX:MetaspaceSize=64m", "-XX:MaxMetaspaceSize=32m"]), (32, 32));
        assert_eq!(sizes(&["-XX:MetaspaceSize=32m", "-XX:MaxMetaspaceSize=64m"]), (32, 64));
        assert_eq!(sizes(&["-XX:MaxMetaspaceSize=4m"]), (4, 4));
    }

    #[test]
    fn the_default_collector_is_that_of_hotspot() {
        let chosen = |arguments: &[&str]| Options::parse(arguments, false).unwrap().heap.collector;
        let (always, never) =
            ("-XX:+AlwaysActAsServerClassMachine", "-XX:+NeverActAsServerClassMachine");
        assert_eq!(chosen(&[always]), CollectorKind::G1);
        assert_eq!(chosen(&[always, "-XX:ActiveProcessorCount=1"]), CollectorKind::G1);
        assert_eq!(chosen(&[never]), CollectorKind::Serial);
        assert_eq!(chosen(&[never, always]), CollectorKind::Serial);
        assert_eq!(chosen(&["-XX:ActiveProcessorCount=1"]), CollectorKind::Serial);
        let two = Options::parse(&["-XX:ActiveProcessorCount=2"], false).unwrap();
        let is_large = two.resources.memory_bytes() >= 1792 << 20;
        assert_eq!(two.heap.collector == CollectorKind::G1, is_large);
        // An option that names a collector decides.
        assert_eq!(chosen(&[never, "-XX:+UseG1GC"]), CollectorKind::G1);
        assert_eq!(chosen(&[never, "-XX:Collector=mako"]), CollectorKind::Mako);
        assert_eq!(chosen(&["-XX:Collector=mako", "-XX:-UseG1GC"]), CollectorKind::Mako);
        // One that is taken back does not.
        let taken_back = ["-XX:+UseShenandoahGC", "-XX:-UseShenandoahGC"];
        assert_eq!(chosen(&[&taken_back[..], &[always]].concat()), CollectorKind::G1);
        // The default cannot be switched off without another in its place.
        let refused = |arguments: &[&str]| Options::parse(arguments, false).is_err();
        assert!(refused(&[always, "-XX:-UseG1GC"]) && refused(&[never, "-XX:-UseSerialGC"]));
        assert!(!refused(&[always, "-XX:-UseSerialGC"]) && !refused(&[never, "-XX:-UseG1GC"]));
    }

    #[test]
    fn a_goal_for_pauses_is_mako_s_unless_it_has_its_own() {
        let target = |arguments: &[&str]| {
            Options::parse(arguments, false).unwrap().heap.mako.minor_pause_target.as_millis()
        };
        assert_eq!(target(&[]), 3);
        assert_eq!(target(&["-XX:MaxGCPauseMillis=50"]), 50);
        assert_eq!(target(&["-XX:MaxGCPauseMillis=200000"]), 10_000);
        assert_eq!(target(&["-XX:MakoMinorPauseTarget=7", "-XX:MaxGCPauseMillis=50"]), 7);
    }

    #[test]
    fn sizes_that_are_given_are_taken() {
        let given = Options::parse(&["-Xmx3g", "-XX:MaxRAMPercentage=1"], false).unwrap();
        assert_eq!(given.heap.max_bytes, 3 << 30);
        let initial = HeapSizes { initial_bytes: Some(4 << 30), ..HeapSizes::default() };
        let mut options = Options::default();
        initial.apply_memory(&mut options, 1 << 30).unwrap();
        assert_eq!((options.heap.max_bytes, options.heap.initial_bytes), (4 << 30, 4 << 30));
        let refused = |arguments: &[&str]| Options::parse(arguments, false).unwrap_err().0;
        assert!(refused(&["-Xmx1m"]).ends_with("Too small maximum heap"));
        assert!(refused(&["-Xmx64m", "-Xms65m"]).contains("larger value than the maximum"));
        assert!(refused(&["-Xms1023k"]).ends_with("Too small initial heap"));
        assert!(refused(&["-XX:MinHeapSize=1023k"]).ends_with("Too small minimum heap"));
        let incompatible = "Incompatible minimum and initial heap sizes specified";
        for pair in [["-Xms64m", "-XX:InitialHeapSize=32m"], ["-Xms4m", "-XX:MinHeapSize=64m"]] {
            assert!(refused(&pair).ends_with(incompatible), "{pair:?}");
        }
        let incompatible = "Incompatible minimum and maximum heap sizes specified";
        assert!(refused(&["-XX:MinHeapSize=8m", "-Xmx4m"]).ends_with(incompatible));
        for pair in [["-XX:InitialHeapSize=4m", "-Xms8m"], ["-Xms8m", "-XX:MinHeapSize=4m"]] {
            let options = Options::parse(&pair, false).unwrap();
            assert_eq!(options.heap.initial_bytes, 8 << 20, "{pair:?}");
        }
        let chosen = Options::parse(&["-Xmx64m", "-Xms0", "-XX:MinHeapSize=0"], false).unwrap();
        assert!(chosen.heap.initial_bytes > 0);
    }

    #[test]
    fn numbers_of_threads_follow_the_cpus() {
        let threads = |argument: &str| {
            let options = Options::parse(&[argument], false).unwrap();
            (options.heap.parallel_threads(), options.heap.concurrent_threads())
        };
        assert_eq!(threads("-XX:ActiveProcessorCount=1"), (1, 1));
        assert_eq!(threads("-XX:ActiveProcessorCount=16"), (13, 3));
        let usual = Resources::of_this_process(true).cpus();
        let without = Resources::of_this_process(false).cpus();
        assert!(threads("-XX:+UseContainerSupport").0 <= usual.min(8) + usual);
        assert!(threads("-XX:-UseContainerSupport").0 <= without.min(8) + without);
    }
}

//! Settings that contradict others, the collector or what they count: refused or changed as in HotSpot, in its words.

use super::{BadOption, Options};
use gc::object::geometry::Geometry;
use gc::options::{CollectorKind, HeapOptions, parse_bytes};

/// Settles and refuses what HotSpot does. After the collector and the sizes of the heap were chosen.
pub fn settle(options: &mut Options) -> Result<(), BadOption> {
    settle_sha(options);
    if options.given("PrintNMTStatistics") == Some("true") && !options.tracks_native_memory() {
        let cause = "because native memory tracking is not enabled";
        options.warn(format!("PrintNMTStatistics is disabled, {cause}"));
    }
    check_threads(options)?;
    let padding = options.given("ContendedPaddingWidth").and_then(parse_bytes);
    if let Some(bytes) = padding.filter(|bytes| !bytes.is_multiple_of(8)) {
        let message = format!("ContendedPaddingWidth ({bytes}) must be a multiple of 8");
        return Err(BadOption(message));
    }
    if options.heap.collector == CollectorKind::G1 {
        check_young_part(options)?;
        check_buffer(options, "YoungPLABSize")?;
        check_buffer(options, "OldPLABSize")?;
    }
    Ok(())
}

/// The option for all functions of SHA is off if it is given so, and then they are; or if they are.
fn settle_sha(options: &mut Options) {
    if !options.jit.uses_sha {
        let is_given = |name: &str| options.given(name) == Some("true");
        let given: Vec<_> = SHA.iter().filter(|(name, _)| is_given(name)).collect();
        for (_, functions) in given {
            let problem = "crypto hash functions not available on this CPU.";
            options.warn(format!("Intrinsics for {functions} {problem}"));
        }
        (options.jit.uses_sha1, options.jit.uses_sha256, options.jit.uses_sha512) =
            (false, false, false);
    }
    let jit = &mut options.jit;
    jit.uses_sha = jit.uses_sha1 || jit.uses_sha256 || jit.uses_sha512;
}

/// Collectors of HotSpot that work in parallel refuse to have no thread for it. Elsewhere 0 is the VM's choice.
fn check_threads(options: &Options) -> Result<(), BadOption> {
    let is_none = options.heap.parallel_gc_threads.is_none();
    if !is_none || options.given("ParallelGCThreads").is_none() {
        return Ok(());
    }
    let message = match options.heap.collector {
        _ if options.given("UseParallelGC") == Some("true") => {
            "The Parallel GC can not be combined with -XX:ParallelGCThreads=0"
        }
        CollectorKind::G1 => {
            "Error occurred during initialization of VM\n\
             The flag -XX:+UseG1GC can not be combined with -XX:ParallelGCThreads=0"
        }
        CollectorKind::Shenandoah => {
            "Error occurred during initialization of VM\n\
             Shenandoah expects ParallelGCThreads > 0, check -XX:ParallelGCThreads=#"
        }
        _ => return Ok(()),
    };
    Err(BadOption(message.into()))
}

/// The least part of the heap for young regions is no larger than the largest.
fn check_young_part(options: &Options) -> Result<(), BadOption> {
    let part = |name: &str, default| options.given(name).and_then(parse_bytes).unwrap_or(default);
    let g1 = HeapOptions::default().g1;
    let least = part("G1NewSizePercent", g1.young_percent_min);
    let most = part("G1MaxNewSizePercent", g1.young_percent_max);
    if least <= most {
        return Ok(());
    }
    Err(BadOption(format!(
        "G1MaxNewSizePercent ({most}) must be greater than or equal to G1NewSizePercent ({least})\n\
         G1NewSizePercent ({least}) must be less than or equal to G1MaxNewSizePercent ({most})"
    )))
}

/// The words of a buffer for copies: half a region at most. It has no effect here, but programs are refused alike.
fn check_buffer(options: &Options, name: &str) -> Result<(), BadOption> {
    let heap = &options.heap;
    let Some(words) = options.given(name).and_then(parse_bytes) else { return Ok(()) };
    let geometry = Geometry::choose(heap.max_bytes, heap.region_bytes).map_err(BadOption)?;
    let words_max = geometry.region_bytes().max(REGION_BYTES_MIN) / 8 / 2;
    let (order, limit, word) = match words {
        _ if words < BUFFER_WORDS_MIN => ("greater", BUFFER_WORDS_MIN, "minimum"),
        _ if words > words_max => ("less", words_max, "maximum"),
        _ => return Ok(()),
    };
    Err(BadOption(format!(
        "{name} ({words}) must be {order} than or equal to ergonomic PLAB {word} size ({limit})"
    )))
}

/// Options for functions of SHA, and the functions.
const SHA: [(&str, &str); 3] = [
    ("UseSHA1Intrinsics", "SHA-1"),
    ("UseSHA256Intrinsics", "SHA-224 and SHA-256"),
    ("UseSHA512Intrinsics", "SHA-384 and SHA-512"),
];
const BUFFER_WORDS_MIN: usize = 256;
/// HotSpot has no smaller regions.
const REGION_BYTES_MIN: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(arguments: &[&str]) -> Option<String> {
        Options::parse(arguments, false).err().map(|error| error.0)
    }

    #[test]
    fn parallel_collectors_refuse_to_have_no_thread() {
        let none = "-XX:ParallelGCThreads=0";
        for (switch, end) in [
            (
                "-XX:+UseG1GC",
                "The flag -XX:+UseG1GC can not be combined with -XX:ParallelGCThreads=0",
            ),
            (
                "-XX:+UseParallelGC",
                "The Parallel GC can not be combined with -XX:ParallelGCThreads=0",
            ),
            ("-XX:+UseShenandoahGC", "ParallelGCThreads > 0, check -XX:ParallelGCThreads=#"),
        ] {
            let message = refused(&[switch, none]).expect(switch);
            assert!(message.ends_with(end), "{message}");
            assert_eq!(refused(&[switch, "-XX:ParallelGCThreads=1"]), None);
        }
        assert_eq!(refused(&["-XX:+UseSerialGC", none]), None);
    }

    #[test]
    fn sha_is_off_with_all_its_functions() {
        let parsed = |arguments: &[&str]| {
            let unlock = ["-XX:+UnlockDiagnosticVMOptions"];
            let options = Options::parse(&[&unlock, arguments].concat(), false).expect("sound");
            let jit = &options.jit;
            let are_on = [jit.uses_sha, jit.uses_sha1, jit.uses_sha256, jit.uses_sha512];
            (are_on, options.warnings)
        };
        assert_eq!(parsed(&[]), ([true; 4], vec![]));
        assert_eq!(parsed(&["-XX:-UseSHA"]), ([false; 4], vec![]));
        let warning =
            "Intrinsics for SHA-224 and SHA-256 crypto hash functions not available on this CPU.";
        let both = ["-XX:-UseSHA", "-XX:+UseSHA256Intrinsics"];
        assert_eq!(parsed(&both), ([false; 4], vec![warning.into()]));
        assert_eq!(parsed(&["-XX:-UseSHA1Intrinsics"]), ([true, false, true, true], vec![]));
        let none =
            ["-XX:-UseSHA1Intrinsics", "-XX:-UseSHA256Intrinsics", "-XX:-UseSHA512Intrinsics"];
        assert_eq!(parsed(&none), ([false; 4], vec![]));
    }

    #[test]
    fn statistics_of_native_memory_need_its_tracking() {
        let warnings = |tracking: &str| {
            let arguments = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+PrintNMTStatistics", tracking];
            Options::parse(&arguments, false).expect("sound").warnings
        };
        let warning =
            "PrintNMTStatistics is disabled, because native memory tracking is not enabled";
        assert_eq!(warnings("-XX:NativeMemoryTracking=off"), [warning]);
        assert!(warnings("-XX:NativeMemoryTracking=summary").is_empty());
    }

    #[test]
    fn padding_is_whole_words() {
        let message = refused(&["-XX:ContendedPaddingWidth=8191"]);
        let expected = "ContendedPaddingWidth (8191) must be a multiple of 8";
        assert_eq!(message.as_deref(), Some(expected));
        assert_eq!(refused(&["-XX:ContendedPaddingWidth=8192"]), None);
    }

    #[test]
    fn the_least_young_part_is_not_above_the_largest() {
        let with = |part: &str| {
            refused(&["-XX:+UnlockExperimentalVMOptions", "-XX:+UseG1GC", &format!("-XX:{part}")])
        };
        let message = with("G1NewSizePercent=90").expect("60 is less");
        let first =
            "G1MaxNewSizePercent (60) must be greater than or equal to G1NewSizePercent (90)";
        assert_eq!(message.lines().next(), Some(first));
        assert_eq!(with("G1NewSizePercent=60"), None);
    }

    #[test]
    fn a_buffer_is_at_most_half_a_region_of_g1() {
        let with = |collector: &str, buffer: &str| {
            refused(&[collector, "-XX:G1HeapRegionSize=1m", &format!("-XX:{buffer}")])
        };
        let g1 = "-XX:+UseG1GC";
        assert_eq!(
            with(g1, "YoungPLABSize=65537").as_deref(),
            Some(
                "YoungPLABSize (65537) must be less than or equal to ergonomic PLAB maximum size (65536)"
            )
        );
        assert_eq!(
            with(g1, "OldPLABSize=255").as_deref(),
            Some(
                "OldPLABSize (255) must be greater than or equal to ergonomic PLAB minimum size (256)"
            )
        );
        assert_eq!(with(g1, "OldPLABSize=65536"), None);
        assert_eq!(with("-XX:+UseSerialGC", "YoungPLABSize=65537"), None);
    }
}

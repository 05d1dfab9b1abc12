//! Presets: options that stand for several others, so that a run has the mechanisms and parameters of a paper and no
//! others. Options behind a preset on the command line change what it has set.

/// What a preset sets.
pub struct Preset {
    /// Of the switch that turns it on.
    pub name: &'static str,
    /// As on a command line behind `-XX:`, with the section that says it; empty: the paper does not have the mechanism,
    /// or gives no value, and the default stays.
    pub settings: &'static [(&'static str, &'static str)],
}

/// The preset of this name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

const PRESETS: [Preset; 3] = [
    Preset {
        name: "MakoAsInPaper",
        settings: &[
            ("RegionSize=16m", "table 3.1"),
            ("-UseCompactObjectHeaders", ""),
            ("-UseCompressedOops", "3.3: entries have the size of a word"),
            ("-RecycleFrames", ""),
            ("-TracedPagesFirst", ""),
            ("-TraceInZones", ""),
            ("+UseHIT", "3.3"),
            ("+UseHITTranslation", "3.3"),
            ("+MakoWriteThrough", "3.4.2"),
            ("+MakoOffloadTracing", "3.4.2"),
            ("+MakoOffloadEvacuation", "3.4.3"),
            ("+MakoEntryPreload", "3.3"),
            ("-MakoGenerational", ""),
            ("-MakoRecycleEden", ""),
            ("-MakoYoungWords", ""),
            ("-MakoTraceOrder", ""),
            ("-MakoCopyAhead", ""),
            ("-MakoBringBack", ""),
            ("-MakoFollowEntries", ""),
            ("-MakoTouchedApart", ""),
            ("MakoEntryBufferSize=1024", ""),
            ("MakoSATBBufferSize=1024", ""),
            ("MakoGhostBufferSize=1024", ""),
            ("MakoPollingPeriod=1", "3.4.2: constantly"),
            ("MakoPollingPeriodMax=1", "3.4.2: constantly"),
            ("MakoLiveThreshold=75", ""),
            ("MakoJumpsPerPage=0", ""),
            ("MakoGroupRegions=1", "3.4.3: region by region"),
            ("MakoAwayTablets=0", "3.4.3: the tablet of a region at once"),
            ("MakoPacingMaxDelay=0", ""),
            ("MakoFaultsPerCycle=0", ""),
        ],
    },
    Preset {
        name: "MemLinerAsInPaper",
        settings: &[
            ("-UseCompactObjectHeaders", ""),
            ("-UseCompressedOops", "4.3.2: timestamps in references of 64 bits"),
            ("-RecycleFrames", ""),
            ("-TracedPagesFirst", ""),
            ("-TraceInZones", ""),
            ("ShenandoahForwarding=header", ""),
            ("G1LocalEdenPercent=0", ""),
            ("+MemLinerQueue", "4.3.1"),
            ("MemLinerQueueLength=1024", "4.6.1"),
            ("+MemLinerOverwrite", "4.3.1"),
            ("MemLinerMaxDepth=3", "4.3.2"),
            ("MemLinerMaxWidth=0", ""),
            ("+MemLinerExploreRemote", "4.3.2"),
            ("+MemLinerPushBack", "4.3.2"),
            ("MemLinerMaxDL=auto", "4.3.2"),
            ("MemLinerYellowDL=2", "4.3.2"),
            ("MemLinerGreenDL=4", "4.3.2"),
            ("MemLinerRedZone=15", "4.3.2"),
            ("MemLinerYellowZone=50", "4.3.2"),
            ("MemLinerEstimator=epoch", "4.3.2"),
            ("-MemLinerTwoPhaseEvacuation", "4.5: open"),
            ("MemLinerEpochBits=4", "4.3.2"),
            ("MemLinerEpochs=1", ""),
            ("EpochPercent=10", ""),
        ],
    },
    Preset {
        name: "BaselineAsInPaper",
        settings: &[
            ("-UseCompactObjectHeaders", ""),
            ("-UseCompressedOops", ""),
            ("-RecycleFrames", ""),
            ("-TracedPagesFirst", ""),
            ("-TraceInZones", ""),
            ("ShenandoahForwarding=header", ""),
            ("G1LocalEdenPercent=0", ""),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::super::Options;
    use super::super::xx::{Flag, Unlocked};
    use super::*;
    use crate::options::ergonomics::HeapSizes;
    use base::options::{Purpose, Row};

    /// Options for measurements that no paper decides.
    const OF_NO_PAPER: [(&str, &str); 6] = [
        ("Prefetcher", "the papers measure several"),
        ("FarLatency", "the network is the machine's"),
        ("FarBandwidth", "the network is the machine's"),
        ("CleanAhead", "the kernel evicts ahead, too"),
        ("ReplacementRounds", "the kernel sees accesses, and keeps what is used, too"),
        ("KernelNotesWrites", "the kernel knows which pages are written"),
    ];
    /// The tables that a preset decides, beside the heap's.
    const TABLES: [(&str, &[&str]); 3] = [
        ("MakoAsInPaper", &["mako"]),
        ("MemLinerAsInPaper", &["memliner", "g1", "shenandoah"]),
        ("BaselineAsInPaper", &["g1", "shenandoah"]),
    ];

    fn read(texts: &[&str]) -> Options {
        let mut options = Options::default();
        for text in texts {
            Unlocked::default().read(text, &mut options, &mut HeapSizes::default()).unwrap();
        }
        options
    }

    fn rows(options: &Options) -> Vec<(&'static str, Row)> {
        let groups = options.groups().into_iter();
        groups.flat_map(|group| group.rows().into_iter().map(|row| (group.title(), row))).collect()
    }

    /// An option of a mechanism that is new, or of a parameter, is decided by each preset that it concerns.
    #[test]
    fn presets_decide_all_that_papers_have_and_have_not() {
        let options = Options::default();
        for (preset, tables) in TABLES {
            let decided: Vec<&str> = find(preset)
                .unwrap()
                .settings
                .iter()
                .map(|(text, _)| Flag::parse(text).name)
                .collect();
            for (table, row) in rows(&options) {
                let is_measured = matches!(row.purpose, Purpose::Paper | Purpose::Ablation)
                    || row.help.contains("ot in the paper");
                // Only Mako has the table, and only MemLiner has epochs.
                let is_other = row.name.starts_with("UseHIT") && preset != "MakoAsInPaper"
                    || row.name == "EpochPercent" && preset != "MemLinerAsInPaper";
                let is_concerned = (table == "heap" || tables.contains(&table)) && !is_other;
                if is_measured && is_concerned {
                    let is_excused = OF_NO_PAPER.iter().any(|(name, _)| *name == row.name);
                    let is_decided = decided.contains(&row.name);
                    assert!(is_decided || is_excused, "{preset} does not decide {}", row.name);
                }
            }
        }
    }

    #[test]
    fn a_preset_sets_what_it_lists_and_nothing_else() {
        let before = rows(&Options::default());
        for preset in &PRESETS {
            let on = format!("+{}", preset.name);
            let options = read(&[&on]);
            let listed: Vec<&str> = preset.settings.iter().map(|(text, _)| *text).collect();
            let by_hand = rows(&read(&listed));
            for ((_, row), (_, same)) in rows(&options).iter().zip(&by_hand) {
                if row.name != preset.name {
                    assert_eq!(row.value, same.value, "{} under {}", row.name, preset.name);
                }
            }
            let changed = rows(&options).into_iter().zip(&before);
            let changed = changed.filter(|((_, now), (_, then))| now.value != then.value);
            let names: Vec<&str> = changed.map(|((_, now), _)| now.name).collect();
            assert!(names.len() > 4, "{names:?}");
            for name in names {
                let is_listed = listed.iter().any(|text| Flag::parse(text).name == name);
                assert!(is_listed || name == preset.name, "{} changes {name}", preset.name);
            }
        }
    }

    #[test]
    fn later_options_change_what_a_preset_has_set() {
        let options = read(&["+MakoAsInPaper", "+MakoTraceOrder", "RegionSize=1m"]);
        assert!(options.heap.mako.trace_order && !options.heap.mako.copy_ahead);
        assert_eq!(options.heap.region_bytes, Some(1 << 20));
        let options = read(&["+MakoTraceOrder", "+MakoAsInPaper"]);
        assert!(!options.heap.mako.trace_order);
        assert!(read(&["-MakoAsInPaper"]).heap.mako.trace_order);
    }
}

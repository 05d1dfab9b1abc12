//! The places of a program with most page faults, from the profile that our VM writes with `--fault-profile`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gc_bench::row::Row;

/// The faults of one run by place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultPlaces {
    /// All faults of the profile.
    pub faults: u64,
    /// The places with most of them, most first.
    pub top: Vec<FaultPlace>,
    /// The whole profile, a file beside the rows.
    pub file: String,
}

/// One place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultPlace {
    /// What touched the pages: `program`, `native`, `tracing`, ...
    pub root: String,
    /// The innermost frame, `Class.method:line`; empty where there is none.
    pub frame: String,
    pub faults: u64,
}

impl FaultPlaces {
    /// Of collapsed stacks: lines of frames between semicolons, outermost first, and a count. `None` if a line is
    /// none.
    pub fn parse(text: &str) -> Option<FaultPlaces> {
        let mut places = BTreeMap::new();
        for line in text.lines() {
            let (frames, count) = line.rsplit_once(' ')?;
            let count: u64 = count.parse().ok()?;
            let (root, inner) = frames.split_once(';').unwrap_or((frames, ""));
            let frame = inner.rsplit(';').next().unwrap_or_default();
            *places.entry((root, frame)).or_insert(0) += count;
        }
        Some(FaultPlaces::of(places))
    }

    /// Several runs of the same program as one.
    pub fn sum<'a>(runs: impl Iterator<Item = &'a FaultPlaces>) -> FaultPlaces {
        let mut places: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        let mut faults = 0;
        for run in runs {
            faults += run.faults;
            for place in &run.top {
                *places.entry((&place.root, &place.frame)).or_insert(0) += place.faults;
            }
        }
        FaultPlaces { faults, ..FaultPlaces::of(places) }
    }

    /// The faults of each root and frame.
    fn of(places: BTreeMap<(&str, &str), u64>) -> FaultPlaces {
        let faults = places.values().sum();
        let place = |((root, frame), faults): ((&str, &str), u64)| FaultPlace {
            root: root.to_string(),
            frame: frame.to_string(),
            faults,
        };
        let mut top: Vec<FaultPlace> = places.into_iter().map(place).collect();
        // Those with equal counts in the order of their names.
        top.sort_by_key(|place| std::cmp::Reverse(place.faults));
        top.truncate(PLACES);
        FaultPlaces { faults, top, file: String::new() }
    }
}

/// For people: the places of each program on each contender that has a profile, its runs added up; "" without any.
pub fn render(rows: &[Row]) -> String {
    let mut groups: BTreeMap<(&str, &str), Vec<&FaultPlaces>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.counts()) {
        if let Some(places) = &row.fault_places {
            groups.entry((&row.workload, &row.contender)).or_default().push(places);
        }
    }
    let mut text = String::new();
    for ((workload, contender), runs) in groups {
        let FaultPlaces { faults, top, .. } = FaultPlaces::sum(runs.iter().copied());
        if faults == 0 {
            continue;
        }
        text += &format!(
            "{workload} on {contender}: places with most of {} page faults\n",
            faults / runs.len() as u64
        );
        for FaultPlace { root, frame, faults: of_place } in top {
            let share = 100.0 * of_place as f64 / faults as f64;
            text += format!("  {share:5.1} %  {root:16}  {frame}").trim_end();
            text.push('\n');
        }
    }
    text
}

/// How many places are kept.
const PLACES: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::row::tests::row;

    fn place(root: &str, frame: &str, faults: u64) -> FaultPlace {
        FaultPlace { root: root.into(), frame: frame.into(), faults }
    }

    #[test]
    fn a_place_is_the_innermost_frame_with_what_touched_the_page() {
        let text = "minor collection 30\n\
                    native;A.main:3;java.lang.System.arraycopy 5\n\
                    program;A.main:1;B.b:7 64\n\
                    program;A.main:2;B.b:7 64\n\
                    program;A.main:2;B.b:8 1\n";
        let places = FaultPlaces::parse(text).unwrap();
        assert_eq!(places.faults, 164);
        let expected = [
            place("program", "B.b:7", 128),
            place("minor collection", "", 30),
            place("native", "java.lang.System.arraycopy", 5),
            place("program", "B.b:8", 1),
        ];
        assert_eq!(places.top, expected);
        let profiled =
            |run| Row { fault_places: Some(places.clone()), ..row("a", "mako 25%", run, 1.0) };
        let other = row("a", "g1 25%", 0, 1.0);
        let fault_places = Some(FaultPlaces::default());
        let without = Row { fault_places, ..row("a", "serial 25%", 0, 1.0) };
        let text = render(&[profiled(0), other.clone(), profiled(1), without]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "a on mako 25%: places with most of 164 page faults");
        assert_eq!(lines[1], "   78.0 %  program           B.b:7");
        assert_eq!(lines[2], "   18.3 %  minor collection");
        assert_eq!((lines.len(), render(&[other]).as_str()), (5, ""));
        let twice = FaultPlaces::sum([&places, &places].into_iter());
        assert_eq!((twice.faults, &twice.top[0]), (328, &place("program", "B.b:7", 256)));
        assert_eq!(FaultPlaces::parse("program x"), None);
        assert_eq!(FaultPlaces::parse("").unwrap().faults, 0);
    }

    #[test]
    fn ten_places_are_kept_of_all_faults() {
        let text: String = (1..=12).map(|n| format!("program;A.a:{n} {n}\n")).collect();
        let places = FaultPlaces::parse(&text).unwrap();
        assert_eq!((places.faults, places.top.len()), (78, 10));
        assert_eq!(places.top[9], place("program", "A.a:3", 3));
    }
}

//! A series of runs from its plan to its rows: begun, interrupted, continued.
//!
//! Every run becomes a row as soon as it has ended, and rows are the only state: a series goes on with the runs that
//! have no row. So any end of a series, also by a full disk or a loss of power, loses one run at most.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::gc_bench::contender::Contender;
use crate::gc_bench::local::Likeness;
use crate::gc_bench::manifest::Workload;
use crate::gc_bench::row::{self, ROWS, Row, Verdict};
use crate::gc_bench::schedule::Job;
use crate::gc_bench::session::Session;
use crate::harness::process;
use crate::harness::progress::{Progress, clock};

/// The planned runs, and the rows so far.
pub struct Series<'a> {
    pub workloads: Vec<&'a Workload>,
    pub contenders: Vec<Contender>,
    pub jobs: Vec<Job>,
    /// The contenders that get the local memory that a peer had, if any.
    pub likeness: Likeness,
    pub budget: Option<Duration>,
    pub rows: Vec<Row>,
}

/// Why a series ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Complete,
    Interrupted,
    OutOfBudget,
}

impl<'a> Series<'a> {
    /// Reads the rows that are in the folder already, without one whose writing was cut short.
    pub fn go_on(&mut self, folder: &Path) -> io::Result<()> {
        let path = folder.join(ROWS);
        if !path.exists() {
            return Ok(());
        }
        self.rows = row::read(&path)?;
        // A line that was cut would spoil the next one.
        let text = std::fs::read(&path)?;
        let complete = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        File::options().write(true).open(&path)?.set_len(complete as u64)
    }

    /// The runs that have no row yet, in their order.
    pub fn missing(&self) -> Vec<Job> {
        let done: HashSet<(&str, &str, usize)> = self
            .rows
            .iter()
            .map(|row| (row.workload.as_str(), row.contender.as_str(), row.run))
            .collect();
        let names: Vec<String> = self.contenders.iter().map(Contender::to_string).collect();
        let has_row = |job: &Job| {
            done.contains(&(
                self.workloads[job.workload].name.as_str(),
                names[job.contender].as_str(),
                job.run,
            ))
        };
        self.jobs.iter().filter(|job| !has_row(job)).copied().collect()
    }

    /// Runs the missing jobs.
    pub fn run(&mut self, session: &mut Session, started: Instant) -> io::Result<Ended> {
        let missing = self.missing();
        let mut file = self.file(&session.out)?;
        let mut expected = Expected::of(&self.rows);
        let mut progress = Progress::new(missing.len());
        let mut ended = Ended::Complete;
        for (at, job) in missing.iter().enumerate() {
            let workload = self.workloads[job.workload];
            let contender = &self.contenders[job.contender];
            let label = format!("{} on {contender}", workload.name);
            if let Some(budget) = self.budget
                && started.elapsed() + expected.seconds(&label) > budget
            {
                let left = missing.len() - at;
                let spent = clock(started.elapsed().as_secs());
                progress.message(&format!(
                    "the budget is used up after {spent}: {left} runs are missing"
                ));
                ended = Ended::OutOfBudget;
                break;
            }
            let (all, rows) = (&self.contenders, &self.rows);
            let local = self.likeness.local(job.contender, all, &workload.name, job.run, rows);
            let row = match local {
                Ok(local) => session.measure(workload, contender, job.run, local.as_ref()),
                Err(why) => session.not_run(workload, contender, job.run, why),
            };
            if process::is_interrupted() {
                ended = Ended::Interrupted;
                break;
            }
            writeln!(file, "{}", serde_json::to_string(&row)?)?;
            if row.is_unfair() {
                let percent = 100.0 * row.relieved.beyond_share();
                progress.message(&format!(
                    "{label}: unfair in each of {} tries, {percent:.1} % of its byte-seconds exceeded its limit",
                    row.tries
                ));
            }
            if row.verdict != Verdict::Right || !row.note.is_empty() {
                let (verdict, end, note) = (row.verdict, &row.end, &row.note);
                progress.message(&format!("{label}: {verdict:?}, {end}: {note}"));
            }
            expected.add(&label, row.wall_s * f64::from(row.tries.max(1)));
            let rest = missing[at + 1..].iter().map(|job| {
                let workload = &self.workloads[job.workload].name;
                expected.seconds(&format!("{workload} on {}", self.contenders[job.contender]))
            });
            progress.expect(rest.sum());
            progress.step(row.verdict == Verdict::Right, &label);
            self.rows.push(row);
        }
        progress.finish();
        Ok(ended)
    }

    fn file(&self, folder: &Path) -> io::Result<File> {
        let path: PathBuf = folder.join(ROWS);
        File::options().create(true).append(true).open(path)
    }
}

/// The durations of runs that are known so far.
#[derive(Default)]
struct Expected {
    /// Sum and number, by label.
    known: HashMap<String, (f64, f64)>,
    all: (f64, f64),
}

impl Expected {
    fn of(rows: &[Row]) -> Expected {
        let mut expected = Expected::default();
        for row in rows {
            let seconds = row.wall_s * f64::from(row.tries.max(1));
            expected.add(&format!("{} on {}", row.workload, row.contender), seconds);
        }
        expected
    }

    fn add(&mut self, label: &str, seconds: f64) {
        let known = self.known.entry(label.to_string()).or_default();
        *known = (known.0 + seconds, known.1 + 1.0);
        self.all = (self.all.0 + seconds, self.all.1 + 1.0);
    }

    /// The mean of this one's runs, or of all if it has none; nothing before the first.
    fn seconds(&self, label: &str) -> Duration {
        let (sum, count) = self.known.get(label).copied().unwrap_or(self.all);
        Duration::from_secs_f64(if count > 0.0 { (sum / count).max(0.0) } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::row::tests::row;
    use crate::gc_bench::schedule;
    use crate::harness::scratch::Scratch;

    #[test]
    fn what_has_a_row_is_not_run_again() {
        let manifest = crate::gc_bench::manifest::tests::example();
        let mut series = Series {
            workloads: vec![&manifest.workloads[0]],
            contenders: vec![
                Contender::peer("hotspot").unwrap(),
                Contender::peer("hotspot-g1").unwrap(),
            ],
            jobs: schedule::jobs(1, 2, &[], 3, 1),
            likeness: Likeness::default(),
            budget: None,
            rows: Vec::new(),
        };
        assert_eq!(series.missing(), series.jobs);
        let scratch = Scratch::new("series").unwrap();
        series.go_on(scratch.path()).unwrap();
        assert_eq!(series.missing().len(), 6);
        let name = &manifest.workloads[0].name;
        let lines = [row(name, "hotspot", 1, 1.0), row(name, "hotspot-g1", 0, 1.0)]
            .map(|row| serde_json::to_string(&row).unwrap());
        let path = scratch.path().join(ROWS);
        std::fs::write(&path, format!("{}\n{}\n{}", lines[0], lines[1], &lines[0][..30])).unwrap();
        series.go_on(scratch.path()).unwrap();
        let missing = series.missing();
        assert_eq!(missing.len(), 4);
        assert!(!missing.iter().any(|job| (job.contender, job.run) == (0, 1)));
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("}\n"), "a cut line is gone");
    }

    #[test]
    fn a_run_is_expected_to_take_what_its_like_took() {
        let mut expected = Expected::of(&[row("a", "x", 0, 4.0), row("b", "x", 0, 1.0)]);
        assert_eq!(expected.seconds("a on x"), Duration::from_secs(4));
        assert_eq!(expected.seconds("c on x"), Duration::from_millis(2500));
        expected.add("a on x", 2.0);
        assert_eq!(expected.seconds("a on x"), Duration::from_secs(3));
        assert_eq!(Expected::default().seconds("a on x"), Duration::ZERO);
    }
}

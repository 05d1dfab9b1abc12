//! `--as-resident-as`: ours, and peers under `far-run`, get as much local memory as a peer had of its heap in memory.
//!
//! A peer's cgroup limits all of its memory, and the kernel swaps memory outside of the heap as well, so the peer may
//! have more of its heap resident than its share. With this option a round begins with that peer, and those whose pages
//! our pager brings get the local memory that it had, in the same workload, at the same share, in the same round.

use std::io;

use crate::gc_bench::contender::{Contender, Way};
use crate::gc_bench::row::Row;

/// Local memory for one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// The name of the contender that had it.
    pub peer: String,
    /// The resident part of its heap, on the average over time, bytes.
    pub bytes: u64,
}

/// For each contender the place of the one whose memory it gets, if it does: of those with a part of their
/// memory local, and the rest on memory servers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Likeness(Vec<Option<usize>>);

impl Likeness {
    /// All are to have what the peer of this name has, at each share. The error says which one is missing.
    pub fn of(peer: &str, contenders: &[Contender]) -> io::Result<Likeness> {
        let no = |what: String| io::Error::other(format!("--as-resident-as {peer}: {what}"));
        let at_share = |share: &str| -> Vec<usize> {
            let is_it = |contender: &Contender| match contender {
                Contender::Confined { way, local_memory, .. } => {
                    *way != Way::FarRun
                        && local_memory == share
                        && contender.unconfined().to_string() == peer
                }
                _ => false,
            };
            (0..contenders.len()).filter(|at| is_it(&contenders[*at])).collect()
        };
        let mut likeness = Likeness::default();
        for contender in contenders {
            let like = match contender.share_of_pager() {
                None | Some("100%") => None,
                Some(share) => match at_share(share)[..] {
                    [at] => Some(at),
                    [] => {
                        return Err(no(format!(
                            "it does not run at {share} under the kernel's swap; name it with --peers, \
                             and --far kernel-zram or kernel-fuse"
                        )));
                    }
                    _ => {
                        return Err(no(
                            "it runs under several kinds of remote memory; name one with --far"
                                .into(),
                        ));
                    }
                },
            };
            likeness.0.push(like);
        }
        match likeness.first().is_empty() {
            true => Err(no(
                "none of ours has less than 100% local memory, and no peer runs under far-run"
                    .into(),
            )),
            false => Ok(likeness),
        }
    }

    /// Places of the contenders that must be run first in each round.
    pub fn first(&self) -> Vec<usize> {
        let mut first: Vec<usize> = self.0.iter().copied().flatten().collect();
        first.sort();
        first.dedup();
        first
    }

    /// The local memory of a contender in a run, by the rows so far; `None` if it has its share. The error says why
    /// it is not known.
    pub fn local(
        &self,
        contender: usize,
        contenders: &[Contender],
        workload: &str,
        run: usize,
        rows: &[Row],
    ) -> Result<Option<Local>, String> {
        let Some(at) = self.0.get(contender).copied().flatten() else { return Ok(None) };
        let peer = contenders[at].to_string();
        let is_it =
            |row: &&Row| row.workload == workload && row.contender == peer && row.run == run;
        let Some(row) = rows.iter().find(is_it) else {
            return Err(format!("{peer} has no row in this round: its resident memory is unknown"));
        };
        if !row.counts() || row.resident.samples == 0 {
            return Err(format!(
                "{peer} has no right and fair run with a measured heap in this round: no local memory like it"
            ));
        }
        Ok(Some(Local { peer, bytes: row.resident.heap_bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::residency::Residency;
    use crate::gc_bench::row::tests::row;
    use crate::java::vm::Setting;

    fn ours(share: &str) -> Contender {
        Contender::Ours(Setting {
            collector: "mako".to_string(),
            local_memory: share.to_string(),
            memory_servers: 2,
            options: Vec::new(),
        })
    }

    fn contenders() -> Vec<Contender> {
        let g1 = |share| Contender::confined("hotspot-g1", Way::KernelZram, share).unwrap();
        let again = Contender::Again(Box::new(ours("25%")));
        let far = Contender::confined("hotspot-parallel", Way::FarRun, "25%").unwrap();
        vec![g1("50%"), g1("25%"), ours("100%"), ours("50%"), ours("25%"), again, far]
    }

    #[test]
    fn ours_have_what_the_peer_had_in_the_same_round() {
        let all = contenders();
        let likeness = Likeness::of("hotspot-g1", &all).unwrap();
        assert_eq!(likeness.first(), [0, 1]);
        let mut rows: Vec<Row> = [(0, 10u64), (1, 20)]
            .map(|(run, mib)| {
                let mut row = row("a", "hotspot-g1 25% kernel-zram", run, 1.0);
                row.resident = Residency { heap_bytes: mib << 20, all_bytes: 1 << 30, samples: 5 };
                row
            })
            .to_vec();
        let local = |at, run, rows: &[Row]| likeness.local(at, &all, "a", run, rows);
        for (at, name) in [(4, "mako 20480k"), (5, "mako 20480k"), (6, "hotspot-parallel 20480k")] {
            let found = local(at, 1, &rows).unwrap().unwrap();
            assert_eq!(
                (found.bytes, found.peer.as_str()),
                (20 << 20, "hotspot-g1 25% kernel-zram")
            );
            let command = all[at].with_local_bytes(found.bytes);
            assert!(command.to_string().starts_with(name), "{command}");
        }
        assert_eq!((local(1, 1, &rows), local(2, 1, &rows)), (Ok(None), Ok(None)));
        assert!(local(3, 1, &rows).unwrap_err().contains("50% kernel-zram has no row"));
        rows[1].unfair = true;
        assert!(local(4, 1, &rows).unwrap_err().contains("no right and fair run"));
        assert!(Likeness::default().local(4, &all, "a", 1, &rows).unwrap().is_none());
    }

    #[test]
    fn a_peer_that_does_not_run_is_named() {
        let error =
            |peer: &str, all: &[Contender]| Likeness::of(peer, all).unwrap_err().to_string();
        let text = error("hotspot-zgc", &contenders());
        assert!(text.contains("--as-resident-as hotspot-zgc") && text.contains("50%"), "{text}");
        let mut all = contenders();
        all.push(Contender::confined("hotspot-g1", Way::KernelFuse, "25%").unwrap());
        assert!(error("hotspot-g1", &all).contains("several kinds of remote memory"));
        assert!(error("hotspot-g1", &all[..2]).contains("none of ours"));
    }
}

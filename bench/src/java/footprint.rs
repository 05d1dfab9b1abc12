//! How much memory a VM takes for itself, apart from the Java heap: seen from outside, at its peak.

use std::io::{self, BufRead, BufReader};
use std::process::{Command, Stdio};

/// Kibibytes of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    /// The most that was ever resident, all in all.
    pub peak_kib: u64,
    /// The resident part of the Java heap.
    pub heap_kib: u64,
}

impl Footprint {
    /// The memory outside of the heap. The heap is counted as it is at the end: it grows until the first collection,
    /// which a hello-world program does not reach.
    pub fn own_kib(self) -> u64 {
        self.peak_kib - self.heap_kib.min(self.peak_kib)
    }
}

/// Starts `command`, a program that prints a line and then waits for its input to end; measures it then.
pub fn of_waiting_program(mut command: Command, heap_bytes: u64) -> io::Result<Footprint> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let output = child.stdout.take().expect("it was asked for");
    let mut line = String::new();
    let read = BufReader::new(output).read_line(&mut line);
    let found = read.and_then(|_| of_process(child.id(), heap_bytes));
    // Closing its input lets the program end; after an error it is ended.
    drop(child.stdin.take());
    if found.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    if found.is_ok() && !status.success() {
        return Err(io::Error::other(format!("the program that waits: {status}")));
    }
    found
}

/// The private resident memory of a process at this moment outside of those addresses; `None` if it has ended. Pages
/// of files are the machine's: its cgroup does not pay for those that others had read before.
pub fn outside_bytes(pid: u32, heap: &std::ops::Range<u64>) -> Option<u64> {
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    Some(outside_kib(&smaps, heap) << 10)
}

fn outside_kib(smaps: &str, heap: &std::ops::Range<u64>) -> u64 {
    let mut start = 0;
    let mut sum = 0;
    for line in smaps.lines() {
        if let Some(rest) = line.strip_prefix("Anonymous:") {
            sum += if heap.contains(&start) { 0 } else { kib(rest).unwrap_or(0) };
        } else if let Some(mapping) = Mapping::parse(line) {
            start = mapping.start;
        }
    }
    sum
}

fn of_process(pid: u32, heap_bytes: u64) -> io::Result<Footprint> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let peak = status.lines().find_map(|line| kib(line.strip_prefix("VmHWM:")?));
    let peak_kib = peak.ok_or_else(|| io::Error::other("the process has no memory: it ended"))?;
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps"))?;
    let heap_kib = heap_kib(&smaps, heap_bytes)
        .ok_or_else(|| io::Error::other("no mapping of the process looks like a heap"))?;
    Ok(Footprint { peak_kib, heap_kib })
}

/// Resident memory of the heap: of the lowest addresses that are reserved for data without gaps and are about as many
/// as the heap may have bytes. VMs place heaps low, so that references have 32 bits; a part may be a file's.
fn heap_kib(smaps: &str, heap_bytes: u64) -> Option<u64> {
    let mut runs: Vec<Mapping> = Vec::new();
    let mut current = Mapping::default();
    for line in smaps.lines() {
        if let Some(rest) = line.strip_prefix("Rss:") {
            current.resident_kib = kib(rest)?;
        } else if line.starts_with("VmFlags:") {
            match runs.last_mut() {
                _ if !current.candidate => {}
                Some(run) if run.end == current.start => {
                    run.end = current.end;
                    run.resident_kib += current.resident_kib;
                }
                _ => runs.push(current),
            }
        } else if let Some(mapping) = Mapping::parse(line) {
            current = mapping;
        }
    }
    let least = heap_bytes / 100 * HEAP_PERCENT;
    runs.iter().find(|run| run.end - run.start >= least).map(|run| run.resident_kib)
}

/// HotSpot maps a part of the heap from its archive of classes.
const HEAP_PERCENT: u64 = 95;

/// One mapping of a process, as `smaps` has it.
#[derive(Clone, Copy, Default)]
pub struct Mapping {
    /// Its addresses.
    pub start: u64,
    pub end: u64,
    resident_kib: u64,
    /// Nameless, private, and writable or only reserved.
    candidate: bool,
}

impl Mapping {
    /// From the line of `smaps` with which a mapping begins.
    pub fn parse(line: &str) -> Option<Mapping> {
        let mut fields = line.split_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let is_data = ["rw-p", "---p"].contains(&fields.next()?);
        // Offset, device and inode follow, then the name if there is one.
        let candidate = is_data && fields.count() == 3;
        Some(Mapping { start: hex(start)?, end: hex(end)?, resident_kib: 0, candidate })
    }
}

/// The number before `kB` in the rest of a line of `smaps`, behind its key.
pub fn kib(text: &str) -> Option<u64> {
    text.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
00400000-00500000 r-xp 00000000 fe:00 12 /usr/bin/vm
Rss:                 900 kB
Anonymous:          8 kB
VmFlags: rd ex mr nr
10000000-20000000 rw-p 00000000 00:00 0 
Rss:                 100 kB
Anonymous:        100 kB
VmFlags: rd wr mr nr
20000000-23000000 ---p 00000000 00:00 0 
Rss:                   0 kB
Anonymous:          0 kB
VmFlags: mr nr
23000000-24000000 rw-p 00000000 00:00 0 
Rss:                  20 kB
Anonymous:         20 kB
VmFlags: rd wr mr ac
30000000-30100000 rw-p 00000000 00:00 0 
Rss:                 512 kB
Anonymous:        512 kB
VmFlags: rd wr mr
40000000-60000000 rwxp 00000000 00:00 0 
Rss:                 300 kB
Anonymous:        300 kB
VmFlags: rd wr ex mr nr
80000000-c0000000 rw-p 00000000 00:00 0 
Rss:                 700 kB
Anonymous:        700 kB
VmFlags: rd wr mr nr
";

    #[test]
    fn the_heap_is_found_by_its_size() {
        assert_eq!(heap_kib(SMAPS, 0x1000_0000), Some(120));
        assert_eq!(heap_kib(SMAPS, 0x1400_0000), Some(120));
        assert_eq!(heap_kib(SMAPS, 0x1480_0000), Some(120));
        assert_eq!(heap_kib(SMAPS, 0x2000_0000), Some(700));
        assert_eq!(heap_kib(SMAPS, 0x5000_0000), None);
    }

    #[test]
    fn what_lies_outside_of_a_heap_is_summed() {
        assert_eq!(outside_kib(SMAPS, &(0x1000_0000..0x3000_0000)), 8 + 512 + 300 + 700);
        assert_eq!(outside_kib(SMAPS, &(0..0)), 8 + 100 + 20 + 512 + 300 + 700);
    }

    #[test]
    fn the_vm_is_what_is_not_heap() {
        let footprint = Footprint { peak_kib: 5000, heap_kib: 1200 };
        assert_eq!(footprint.own_kib(), 3800);
    }
}

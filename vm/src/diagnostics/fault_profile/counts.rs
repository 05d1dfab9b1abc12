//! Stacks and how many faults they had, and their text.
//!
//! A stack is counted by its words as long as these mean the same; what they mean is asked once. The names that come of
//! it stay. Memory is bounded: beyond [`STACKS_MAX`] stacks, others count for what touched the page alone.

use rustc_hash::FxHashMap;
use std::fmt::Write;

/// The counts of one profile.
#[derive(Default)]
pub struct Counts {
    /// Numbers of stacks by what touched the page, and words; while these mean the same.
    by_words: FxHashMap<(u8, Box<[u64]>), usize>,
    /// Numbers of stacks by their frames.
    by_frames: FxHashMap<Box<[u32]>, usize>,
    /// Frames, outermost first, and faults.
    stacks: Vec<(Box<[u32]>, u64)>,
    names: Vec<Box<str>>,
    by_name: FxHashMap<Box<str>, u32>,
}

impl Counts {
    /// Adds faults to a stack. `resolve` says what its frames are called, outermost first; it is asked at the first
    /// time, and after [`forget_words`](Self::forget_words).
    pub fn add(
        &mut self,
        root: u8,
        words: &[u64],
        faults: u64,
        resolve: impl FnOnce() -> Vec<String>,
    ) {
        let key = (root, Box::from(words));
        let known = self.by_words.get(&key).copied();
        let stack = known.unwrap_or_else(|| {
            let stack = self.stack(resolve());
            if self.by_words.len() >= STACKS_MAX {
                self.by_words.clear();
            }
            self.by_words.insert(key, stack);
            stack
        });
        self.stacks[stack].1 += faults;
    }

    /// The words of stacks mean something else from now on.
    pub fn forget_words(&mut self) {
        self.by_words.clear();
    }

    /// In the collapsed form that tools for flame graphs read: a line for each stack, in the order of the alphabet.
    pub fn collapsed(&self, lost: u64) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (frames, faults) in &self.stacks {
            let frames = frames.iter().map(|frame| &*self.names[*frame as usize]);
            lines.push(format!("{} {faults}", frames.collect::<Vec<_>>().join(";")));
        }
        if lost > 0 {
            lines.push(format!("{LOST} {lost}"));
        }
        lines.sort_unstable();
        lines.into_iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }

    /// Faults of all stacks.
    pub fn faults(&self) -> u64 {
        self.stacks.iter().map(|(_, faults)| faults).sum()
    }

    /// The number of a stack.
    fn stack(&mut self, mut frames: Vec<String>) -> usize {
        if self.stacks.len() >= STACKS_MAX {
            frames.truncate(1);
            frames.push(OTHERS.into());
        }
        let frames: Box<[u32]> = frames.into_iter().map(|name| self.name(name)).collect();
        let next = self.stacks.len();
        let stack = *self.by_frames.entry(frames.clone()).or_insert(next);
        if stack == next {
            self.stacks.push((frames, 0));
        }
        stack
    }

    fn name(&mut self, name: String) -> u32 {
        // Of the format.
        let name = name.replace([';', '\n'], "_").into_boxed_str();
        let next = self.names.len() as u32;
        let number = *self.by_name.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }
}

const STACKS_MAX: usize = if cfg!(test) { 8 } else { 1 << 16 };
/// Stands for the frames of stacks beyond the limit.
const OTHERS: &str = "[other stacks]";
/// Stands for the samples that found no room.
const LOST: &str = "[lost samples]";

#[cfg(test)]
mod tests {
    use super::*;

    fn named(frames: &[&str]) -> Vec<String> {
        frames.iter().map(|frame| frame.to_string()).collect()
    }

    #[test]
    fn stacks_are_counted_and_written_in_order() {
        let mut counts = Counts::default();
        assert_eq!(counts.collapsed(0), "");
        counts.add(0, &[1, 2], 64, || named(&["program", "p.B.b:7", "p.A.a:3"]));
        counts.add(0, &[1, 2], 64, || unreachable!("it is known"));
        counts.add(1, &[], 64, || named(&["tracing"]));
        // Other words of the same place.
        counts.add(0, &[1, 3], 64, || named(&["program", "p.B.b:7", "p.A.a:3"]));
        counts.add(0, &[4], 64, || named(&["program", "a;b\nc"]));
        let expected = "program;a_b_c 64\nprogram;p.B.b:7;p.A.a:3 192\ntracing 64\n";
        assert_eq!(counts.collapsed(0), expected);
        assert_eq!(counts.collapsed(5), format!("[lost samples] 5\n{expected}"));
        assert_eq!(counts.faults(), 320);
    }

    #[test]
    fn words_that_mean_something_else_are_asked_again() {
        let mut counts = Counts::default();
        counts.add(0, &[9], 1, || named(&["program", "Old.m:1"]));
        counts.forget_words();
        counts.add(0, &[9], 2, || named(&["program", "New.m:1"]));
        assert_eq!(counts.collapsed(0), "program;New.m:1 2\nprogram;Old.m:1 1\n");
    }

    #[test]
    fn many_stacks_take_little_memory() {
        let mut counts = Counts::default();
        for n in 0..1000 {
            counts.add(0, &[n], 1, || vec!["program".into(), format!("C.m:{n}")]);
        }
        assert_eq!(counts.faults(), 1000);
        assert!(counts.stacks.len() <= STACKS_MAX + 1 && counts.by_words.len() <= STACKS_MAX);
        assert!(counts.collapsed(0).contains("program;[other stacks] 992\n"));
    }
}

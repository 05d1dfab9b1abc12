//! A budget of local memory that several VMs of one machine share (`--local-memory-pool`).
//!
//! Pagers of one user that name the same pool are its *members*, each with a budget of its own; together they never
//! have more pages in local memory than the pool has. No process runs the pool: members meet in a small file
//! ([`mod@file`]), and each manages its own budget.
//!
//! 1. **Joining.** A member takes a slot of the file, writes the least and the most that it may have, and waits until
//!    there is room for the least; the others see it and make room.
//! 2. **Every second**, and within a tenth of a second after another one has joined, left or made room, a member
//!    writes what it *demands*, computes every member's fair share ([`shares`]; all get the same result), and moves
//!    its budget to its own.
//! 3. **Less before more.** Its *limit* (the most pages that it may have at this moment,
//!    [`crate::Pager::limit_pages`]) is in the file. A budget that becomes less lowers the limit as pages are
//!    evicted, and then writes it to the file; one that becomes more takes only what no limit in the file holds, and
//!    writes that first. So the sum of all limits, and with it of all resident pages, is never above the pool.
//! 4. **Leaving.** A member that ends clears its slot. One that is killed leaves a slot whose lock the kernel has
//!    released; the next one that looks clears it. One that is stopped keeps its limit.
//!
//! **Fair** is max-min: no member gets more than it demands while another has less than it demands and less than
//! the first. Memory that no member demands is shared as evenly as can be, since idle memory is of no use.
//!
//! **Demand** needs only the counters of the pager ([`demand::Load`]). A member to which pages came in the last
//! second demands what it has and as much again as came: with that much, no page would have had to come. A member to
//! which nearly none came demands a sixteenth less than it has. So one that is idle gives way, a sixteenth a second,
//! while others want more and until it is missing something.
//!
//! If the file is removed under its members, each makes or finds another one within a second, brings its limit along,
//! and takes no more before all have had the time. (A new member that comes in this second knows nothing of the
//! others; it takes the memory that seems to be free, and gives it back when they come.)

mod demand;
mod file;
mod lease;
mod member;
mod shares;
mod table;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use base::units::parse_bytes;

pub use member::{Membership, PoolChange, PoolMember, PoolReport, PoolStatus};

use crate::{PAGE_BYTES, PagerOptions};

/// Which pool to share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Letters, digits, `.`, `_`, `-`; not at first a dot; at most [`PoolOptions::NAME_BYTES_MAX`]. Each user has
    /// their own names.
    pub name: String,
    /// How large it is. `None`: as its members say, and there must be one.
    pub bytes: Option<usize>,
    /// Where pools are. Not the user's runtime folder: it is deleted when the last login ends, and services have
    /// none.
    pub folder: PathBuf,
}

impl PoolOptions {
    pub const NAME_BYTES_MAX: usize = 64;

    /// The pool of that name in the usual place.
    pub fn new(name: &str, bytes: Option<usize>) -> PoolOptions {
        PoolOptions { name: name.into(), bytes, folder: "/dev/shm".into() }
    }
}

impl fmt::Display for PoolOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            Some(bytes) => write!(f, "{}={bytes}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl FromStr for PoolOptions {
    type Err = String;

    /// `NAME=2g`, or `NAME`.
    fn from_str(text: &str) -> Result<PoolOptions, String> {
        let (name, size) = match text.split_once('=') {
            Some((name, size)) => (name, Some(size)),
            None => (text, None),
        };
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_allowed) {
            return Err(format!(
                "malformed name of a local memory pool: {name:?}; it has letters, digits, `.`, `_` and `-`, and does \
                 not begin with a dot"
            ));
        }
        if name.len() > PoolOptions::NAME_BYTES_MAX {
            let most = PoolOptions::NAME_BYTES_MAX;
            let length = name.len();
            return Err(format!(
                "the name of a local memory pool has at most {most} characters, {name} has {length}"
            ));
        }
        let bytes = size.map(|size| {
            let bytes = parse_bytes(size)
                .ok_or_else(|| format!("malformed size of a local memory pool: {size:?}"))?;
            match bytes >= PagerOptions::BUDGET_BYTES_MIN {
                true => Ok(bytes / PAGE_BYTES * PAGE_BYTES),
                false => {
                    Err(format!("a local memory pool of {size} is too small; the minimum is 1m"))
                }
            }
        });
        Ok(PoolOptions::new(name, bytes.transpose()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_read_as_the_command_line_writes_them() {
        let pool = |text: &str| text.parse::<PoolOptions>();
        assert_eq!(pool("web.1=2g"), Ok(PoolOptions::new("web.1", Some(2 << 30))));
        assert_eq!(pool("a_b-C"), Ok(PoolOptions::new("a_b-C", None)));
        assert_eq!(pool("a=1048577").unwrap().bytes, Some(1 << 20), "whole pages");
        let long = "x".repeat(65);
        for wrong in
            ["", "=1g", "../x", "a/b", ".a", "a b", "ä", "a=", "a=1k", "a=x", "a=1g=1g", &long]
        {
            assert!(pool(wrong).is_err(), "{wrong}");
        }
    }
}

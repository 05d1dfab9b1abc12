//! The contents of pages at a moment, for its user.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use base::die;
use memmap2::{MmapMut, MmapOptions};

use crate::engine::FarSpace;
use crate::{PageRange, SwapError};

/// Pages as they were when [`Pager::snapshot`](crate::Pager::snapshot) was called, while threads go on to change
/// them. Until it is dropped, a page of it that is written to its server, or discarded, is saved to a file first.
pub struct PageSnapshot {
    space: Arc<FarSpace>,
    /// Pages that were saved, each at its offset in the far space; behind them the bytes of the window.
    file: File,
    /// Where pages are read to: a mapping of the file, so that large ranges need no more memory than there is.
    window: Option<MmapMut>,
}

impl PageSnapshot {
    /// As [`Pager::snapshot`](crate::Pager::snapshot).
    pub(crate) fn take(
        space: &Arc<FarSpace>,
        ranges: &[PageRange],
        file: File,
    ) -> Result<PageSnapshot, SwapError> {
        space.begin_snapshot(ranges, &file)?;
        Ok(PageSnapshot { space: space.clone(), file, window: None })
    }

    /// The words of pages. Each page can be read once: it is forgotten with that, as if the snapshot had not had it.
    /// Pages that it does not have are zero. Nothing is brought to local memory. Blocks while servers or the disk
    /// answer; the failure of a server ends the process.
    ///
    /// # Errors
    /// A page could not be saved, or read back: the disk is full, for example. The snapshot is of no use then.
    pub fn read(&mut self, range: PageRange) -> io::Result<&mut [u64]> {
        self.space.snapshot_error()?;
        if self.window.as_ref().is_none_or(|window| window.len() < range.bytes()) {
            self.window = None;
            self.window = Some(self.map(range.bytes().max(WINDOW_BYTES_MIN))?);
        }
        let window = self.window.as_mut().expect("it was made");
        // SAFETY: a mapping is aligned to pages, and any bytes are words.
        let (_, words, _) = unsafe { window[..range.bytes()].align_to_mut::<u64>() };
        self.space.read_snapshot(range, words)?;
        Ok(words)
    }

    /// How many pages have been saved for snapshots of the pager so far: each has cost the thread that wrote it.
    pub fn saved_pages(&self) -> usize {
        self.space.saved_pages()
    }

    fn map(&self, bytes: usize) -> io::Result<MmapMut> {
        let at = self.space.bytes() as u64;
        // Of a file with a hole there, a full disk would end the process when the window is touched.
        // SAFETY: no memory is involved.
        let error =
            unsafe { libc::posix_fallocate(self.file.as_raw_fd(), at as i64, bytes as i64) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: the file has no name, or its user leaves it alone.
        unsafe { MmapOptions::new().offset(at).len(bytes).map_mut(&self.file) }
    }
}

impl Drop for PageSnapshot {
    fn drop(&mut self) {
        if let Err(error) = self.space.end_snapshot() {
            die(format_args!("a snapshot of pages cannot be ended: {error}"));
        }
    }
}

/// So the window is seldom made again.
const WINDOW_BYTES_MIN: usize = 1 << 20;

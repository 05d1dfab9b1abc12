//! Who has the contents that a page had at the moment of a snapshot: its server, until the page is written there again.

use crate::sync::{AtomicU8, Ordering};

/// One page of a snapshot. All zero: nobody needs its server's contents.
///
/// ```text
///            begin_save            end_save
///  SERVER ----------------> MOVING ---------> SAVED     a thread is about to write the page to its server
///     |      begin_read       ^ |                |
///     +-----------------------+ | end_read       | begin_read
///                               v                |
///  FREE <-----------------------+----------------+      the reader of the snapshot has it
/// ```
///
/// Acquire and release pair with each other: a thread that finds a page saved sees the file that it was saved to, and
/// a thread that writes a page which the reader has released writes after the reading.
#[derive(Default)]
pub struct KeptPage(AtomicU8);

/// Where the reader of a snapshot finds a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeptAt {
    /// On its server, where nobody writes it before `end_read`.
    Server,
    /// Among the pages that were saved.
    File,
    /// The snapshot does not have it, or it was read before.
    Nowhere,
}

impl KeptPage {
    /// The page belongs to the snapshot. Nobody saves or reads meanwhile.
    pub fn keep(&self) {
        self.0.store(SERVER, Ordering::Release);
    }

    /// A thread is about to change the page on its server: must it save the contents that are there? If so, it calls
    /// [`end_save`](Self::end_save) when it has. Waits for others that move the page; they wait for nobody.
    #[inline]
    pub fn begin_save(&self, wait: impl Fn()) -> bool {
        loop {
            match self.0.load(Ordering::Acquire) {
                MOVING => wait(),
                SERVER if self.change(SERVER, MOVING) => return true,
                SERVER => {}
                _ => return false,
            }
        }
    }

    /// The contents are saved.
    pub fn end_save(&self) {
        self.0.store(SAVED, Ordering::Release);
    }

    /// The reader wants the page. After [`KeptAt::Server`] it calls [`end_read`](Self::end_read).
    pub fn begin_read(&self, wait: impl Fn()) -> KeptAt {
        loop {
            match self.0.load(Ordering::Acquire) {
                MOVING => wait(),
                SERVER if self.change(SERVER, MOVING) => return KeptAt::Server,
                SAVED if self.change(SAVED, FREE) => return KeptAt::File,
                FREE => return KeptAt::Nowhere,
                _ => {}
            }
        }
    }

    /// The reader has the contents, or does not want them any more.
    pub fn end_read(&self) {
        self.0.store(FREE, Ordering::Release);
    }

    fn change(&self, from: u8, to: u8) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

const FREE: u8 = 0;
const SERVER: u8 = 1;
const MOVING: u8 = 2;
const SAVED: u8 = 3;

//! Frames that stay with the pager when the pages in them go.
//!
//! A frame that is given back to the kernel has to be had again from there: allocated, accounted, in no cache, and in a
//! virtual machine that tells its host about free memory perhaps not even there. So when the pages of a range go by
//! [`Pager::evict`](crate::Pager::evict), [`discard`](crate::Pager::discard) or `invalidate`, as those of a region that
//! a collector has emptied, whole runs of them are moved to sheets (`UFFDIO_MOVE`: a third of the time that giving them
//! back takes), and the next walk through far memory or through fresh memory gets these frames.
//!
//! Frames in the stock take room: pages and stock together never exceed the budget. So the stock only grows while
//! there is more room than the evictor wants, and is the first to go when room gets short.

use std::ptr;

use crate::engine::far_space::FarSpace;
use crate::frames::frame_cache::{STOCKED_PAGES, Sheet};
use crate::{PAGE_BYTES, Page};

impl FarSpace {
    /// Moves the frames of mapped, locked pages from `start` on to the stock, in whole runs. Returns how many pages
    /// went; their frames still take room.
    pub(crate) fn keep_frames(&self, start: usize, pages: usize) -> usize {
        let mut kept = 0;
        while pages - kept >= STOCKED_PAGES {
            let Some((sheet, moved)) = self.move_to_stock(start + kept * PAGE_BYTES) else { break };
            let went = self.keep_moved(sheet, moved);
            kept += went;
            if went == 0 {
                break;
            }
        }
        kept
    }

    /// Moves the frames of a run of [`STOCKED_PAGES`] mapped, locked pages to a sheet, if the stock takes more. Returns
    /// how many the kernel moved.
    pub(crate) fn move_to_stock(&self, start: usize) -> Option<(Sheet<'_>, usize)> {
        if self.is_room_short() || !self.sheets.may_keep() {
            return None;
        }
        let sheet = self.sheets.take()?;
        let moved = self.uffd.move_pages(sheet.address(), start, STOCKED_PAGES);
        if moved < STOCKED_PAGES {
            self.sheets.refuse();
        }
        Some((sheet, moved))
    }

    /// Keeps the frames that were moved to a sheet, or gives them back if they are no whole run. Returns how many are
    /// kept.
    pub(crate) fn keep_moved(&self, sheet: Sheet<'_>, moved: usize) -> usize {
        if moved < STOCKED_PAGES {
            sheet.empty(moved);
            return 0;
        }
        sheet.keep();
        self.counters.stocked(STOCKED_PAGES);
        STOCKED_PAGES
    }

    /// Gives one sheet of the stock back to the kernel: room for [`STOCKED_PAGES`] pages. False: there is no stock.
    pub(crate) fn empty_stock(&self) -> bool {
        let Some(sheet) = self.sheets.take_full() else { return false };
        sheet.empty(STOCKED_PAGES);
        drop(sheet);
        self.release(STOCKED_PAGES);
        true
    }

    /// Maps as many of the fresh pages from `page` on as the stock has frames for, writable, and gives back the room
    /// that the caller took for them. The caller holds their locks. Returns how many there were, in whole runs.
    pub(crate) fn populate_from_stock(&self, page: Page, count: usize) -> usize {
        let mut done = 0;
        while count - done >= STOCKED_PAGES {
            let Some(sheet) = self.sheets.take_full() else { break };
            let to = Page(page.0 + done);
            self.lay(&sheet, to, self.zero_pages(), STOCKED_PAGES);
            drop(sheet);
            self.release(STOCKED_PAGES);
            done += STOCKED_PAGES;
        }
        self.counters.used_stock(done);
        done
    }

    /// [`STOCKED_PAGES`] pages of zeros and more.
    pub(crate) fn zero_pages(&self) -> *const u8 {
        ptr::with_exposed_provenance(self.zeros.base())
    }
}

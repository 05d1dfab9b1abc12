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

use crate::far_space::FarSpace;
use crate::sheets::STOCKED_PAGES;
use crate::{PAGE_BYTES, Page};

impl FarSpace {
    /// Moves the frames of mapped, locked pages from `start` on to the stock, in whole runs. Returns how many pages
    /// went; their frames still take room.
    pub(crate) fn keep_frames(&self, start: usize, pages: usize) -> usize {
        let mut kept = 0;
        while pages - kept >= STOCKED_PAGES && !self.is_room_short() && self.sheets.may_keep() {
            let Some(sheet) = self.sheets.take() else { break };
            let from = start + kept * PAGE_BYTES;
            let moved = self.uffd.move_pages(sheet.address(), from, STOCKED_PAGES);
            if moved < STOCKED_PAGES {
                self.sheets.refuse();
                sheet.empty(moved);
                break;
            }
            sheet.keep();
            kept += STOCKED_PAGES;
        }
        self.counters.stocked(kept);
        kept
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

//! A trace of page accesses in memory.

use std::io;
use std::path::Path;

use swap::{PageAction, PageTraceFile, ThreadClass};

/// An event, in little room: there are tens of millions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub page: u32,
    pub count: u32,
    pub what: PageAction,
    pub who: ThreadClass,
}

impl Event {
    /// The pages, in order.
    pub fn pages(self) -> std::ops::Range<u32> {
        self.page..self.page + self.count
    }
}

/// What a program and its collector did to pages.
pub struct Trace {
    pages: usize,
    budget_pages: usize,
    events: Vec<Event>,
}

impl Trace {
    /// Events with pages below `pages`; the collector knew this budget. What it fetched becomes an event for each page,
    /// as accesses are.
    pub fn new(
        pages: usize,
        budget_pages: usize,
        events: impl IntoIterator<Item = Event>,
    ) -> Trace {
        let single = |event: Event| {
            let parts = if event.what == PageAction::Fetched { event.count } else { 1 };
            let count = event.count.checked_div(parts).unwrap_or(0);
            (0..parts).map(move |n| Event { page: event.page + n, count, ..event })
        };
        Trace { pages, budget_pages, events: events.into_iter().flat_map(single).collect() }
    }

    /// Reads a trace that `-XX:PageTrace` wrote.
    pub fn read(path: &Path) -> io::Result<Trace> {
        let file = PageTraceFile::open(path)?;
        let (pages, budget_pages) = (file.pages(), file.budget_pages());
        let event = |event: io::Result<swap::PageEvent>| {
            let swap::PageEvent { what, who, range } = event?;
            Ok(Event { page: range.start.0 as u32, count: range.count as u32, what, who })
        };
        let events = file.map(event).collect::<io::Result<Vec<_>>>()?;
        Ok(Trace::new(pages, budget_pages, events))
    }

    /// Pages of the far space.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Pages that the collector believed to have in local memory.
    pub fn budget_pages(&self) -> usize {
        self.budget_pages
    }

    /// In the order of time.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Events of a kind.
    pub fn count(&self, what: PageAction) -> usize {
        self.events.iter().filter(|event| event.what == what).count()
    }
}

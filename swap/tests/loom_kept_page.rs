//! Model of a page of a snapshot. Run with `make loom`.
#![cfg(loom)]

mod models;
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU8, Ordering};
}
#[path = "../src/page/kept_page.rs"]
mod kept_page;

use kept_page::{KeptAt, KeptPage};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use models::explore;

/// A page on its server, and in the file.
struct Model {
    page: KeptPage,
    server: UnsafeCell<u32>,
    file: UnsafeCell<u32>,
    /// The page's lock: the pager has one writer of a page at a time.
    lock: loom::sync::Mutex<()>,
    saves: AtomicU32,
}

impl Model {
    /// Writes the page to its server as `Transfer::write` does.
    fn write(&self, value: u32) {
        let _locked = self.lock.lock().unwrap();
        if self.page.begin_save(thread::yield_now) {
            // SAFETY: exclusive access is the subject of the model; loom checks it, here and below.
            let old = self.server.with(|server| unsafe { *server });
            self.file.with_mut(|file| unsafe { *file = old });
            self.saves.fetch_add(1, Ordering::Relaxed);
            self.page.end_save();
        }
        self.server.with_mut(|server| unsafe { *server = value });
    }

    /// Reads it as `Transfer::read_kept` does.
    fn read(&self) -> Option<u32> {
        match self.page.begin_read(thread::yield_now) {
            KeptAt::Server => {
                // SAFETY: as above.
                let value = self.server.with(|server| unsafe { *server });
                self.page.end_read();
                Some(value)
            }
            // SAFETY: as above.
            KeptAt::File => Some(self.file.with(|file| unsafe { *file })),
            KeptAt::Nowhere => None,
        }
    }
}

fn model() -> Arc<Model> {
    let model = Model {
        page: KeptPage::default(),
        server: UnsafeCell::new(7),
        file: UnsafeCell::new(0),
        lock: loom::sync::Mutex::new(()),
        saves: AtomicU32::new(0),
    };
    model.page.keep();
    Arc::new(model)
}

#[test]
fn the_reader_gets_what_was_there_and_it_is_saved_once_at_most() {
    explore(|| {
        let model = model();
        let writers = [8, 9].map(|value| {
            let model = model.clone();
            thread::spawn(move || model.write(value))
        });
        assert_eq!(model.read(), Some(7));
        assert_eq!(model.read(), None, "each page once");
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert!(model.saves.load(Ordering::Relaxed) <= 1);
        // SAFETY: the writers have ended.
        assert_ne!(model.server.with(|server| unsafe { *server }), 7);
    });
}

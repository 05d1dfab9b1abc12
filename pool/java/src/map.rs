//! Maps of a pool, as this process has them.
//!
//! Each client has a map by itself, so each stripe opens it once. What they and the Java object of a map have in common
//! is its [`Table`].
//!
//! A client finds a map by its name. Another map may have got the name meanwhile; so the place of the table is compared
//! with that of the first client.
//!
//! A table is freed with its last reference, so each stripe that has opened it drops its own soon after the map was
//! destroyed, or when Java has no object of it any more: when the stripe is next used, or at once if no thread uses it.

use crate::failure::Failure;
use crate::message::Message;
use crate::shared::{Shared, Used};
use pool::{Map, MapOptions, PoolError, RefClient};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A map that a Java object has. Any thread may use it.
pub struct SharedMap {
    shared: Arc<Shared>,
    table: Arc<Table>,
}

/// The table of a map that this process has opened.
pub struct Table {
    pub name: Vec<u8>,
    /// Where it is in the pool. The stripe that has opened it first keeps it until `is_gone`, so until then no other
    /// table is there.
    pub at: u64,
    /// Somebody has destroyed it, or Java does not have it any more.
    is_gone: AtomicBool,
}

/// The maps that one client has open, by the addresses of their [`Table`]s. Dropped before the client.
#[derive(Default)]
pub struct Maps(BTreeMap<usize, Place>);

struct Place {
    table: Arc<Table>,
    map: Map<'static>,
    /// The client has opened it before others of this process.
    is_first: bool,
}

impl Table {
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::SeqCst)
    }

    /// False: it was gone before.
    pub fn set_gone(&self) -> bool {
        !self.is_gone.swap(true, Ordering::SeqCst)
    }
}

impl SharedMap {
    /// The map of this name. It is made if there is none, and there are options. `None`: there is none.
    pub fn open(
        shared: Arc<Shared>,
        name: Vec<u8>,
        options: Option<&MapOptions>,
    ) -> Result<Option<SharedMap>, Failure> {
        let opened = shared.retried(|| {
            shared.with(|used| {
                // SAFETY: the maps of a client are dropped before it.
                let client = unsafe { used.client.extended() };
                let Some(map) = open(client, &name, options)? else { return Ok(None) };
                let (at, is_gone) = (map.object(), AtomicBool::new(false));
                let table = Table { name: name.clone(), at, is_gone };
                let table = Arc::new(table);
                used.maps.keep(Place { table: table.clone(), map, is_first: true });
                Ok(Some(table))
            })
        })?;
        let Some(table) = opened else { return Ok(None) };
        shared.know(&table);
        Ok(Some(SharedMap { shared, table }))
    }

    /// Runs an operation on the map, with a client that no other thread uses meanwhile. It is run twice if there was no
    /// memory the first time.
    pub fn with<T, E: Into<Failure>>(
        &self,
        mut run: impl FnMut(&Map<'static>) -> Result<T, E>,
    ) -> Result<T, Failure> {
        self.check()?;
        self.checked(
            self.shared.retried(|| self.shared.with(|used| self.run(used, |map| run(map)))),
        )
    }

    /// The value of a key, seen by a buffer. `None`: there is none.
    pub fn view(&self, key: &[u8]) -> Result<Option<Message>, Failure> {
        self.check()?;
        let view = || self.shared.view(|used| self.run(used, |map| map.get_counted(key)));
        self.checked(self.shared.retried(view))
    }

    fn run<T, E: Into<Failure>>(
        &self,
        used: &mut Used,
        run: impl FnOnce(&Map<'static>) -> Result<T, E>,
    ) -> Result<T, Failure> {
        let Some(map) = self.opened(used)? else { return Err(GONE) };
        run(map).map_err(E::into)
    }

    /// The map, as the client has it. `None`: it was destroyed. There may be another one of its name.
    fn opened<'u>(&self, used: &'u mut Used) -> Result<Option<&'u Map<'static>>, PoolError> {
        let key = key_of(&self.table);
        if !used.maps.0.contains_key(&key) {
            // SAFETY: the maps of a client are dropped before it.
            let client = unsafe { used.client.extended() };
            let Some(map) = open(client, &self.table.name, None)? else { return Ok(None) };
            // While it is not gone, the stripe that has opened it first keeps it: so nothing else is at its place. This
            // is asked last, when the map that was found is counted.
            if map.object() != self.table.at || self.table.is_gone() {
                return Ok(None);
            }
            used.maps.keep(Place { table: self.table.clone(), map, is_first: false });
        }
        Ok(used.maps.0.get(&key).map(|place| &place.map))
    }

    fn check(&self) -> Result<(), Failure> {
        if self.table.is_gone() { Err(GONE) } else { Ok(()) }
    }

    /// Remembers that the map is gone.
    fn checked<T>(&self, done: Result<T, Failure>) -> Result<T, Failure> {
        if matches!(done, Err(Failure::Closed(NAME))) {
            self.shared.lose(&self.table);
        }
        done
    }
}

impl Drop for SharedMap {
    fn drop(&mut self) {
        self.shared.lose(&self.table);
    }
}

impl Maps {
    fn keep(&mut self, place: Place) {
        self.0.insert(key_of(&place.table), place);
    }

    /// Whether the client must keep one for the others.
    pub fn has_first(&self) -> bool {
        self.0.values().any(|place| place.is_first)
    }

    /// Drops those that are gone. Returns whether there were some.
    pub fn drop_gone(&mut self) -> bool {
        let before = self.0.len();
        self.0.retain(|_, place| !place.table.is_gone());
        self.0.len() < before
    }
}

/// No other table has the address while a place has this one.
fn key_of(table: &Arc<Table>) -> usize {
    Arc::as_ptr(table).addr()
}

/// The map of a name. It is made if there is none, and there are options.
fn open(
    client: &'static RefClient<'static>,
    name: &[u8],
    options: Option<&MapOptions>,
) -> Result<Option<Map<'static>>, PoolError> {
    match options {
        Some(options) => Map::create(client, name, options).map(Some),
        None => Map::open(client, name),
    }
}

const NAME: &str = "the map";
const GONE: Failure = Failure::Closed(NAME);

//! Maps of a pool, as this process has them.
//!
//! Each client has a map by itself, so each stripe opens it once. The Java object of a map has its name and a number,
//! which is the place of the map in the stripes.

use crate::core::Joined;
use crate::failure::Failure;
use crate::message::Message;
use crate::shared::{Shared, Used};
use pool::{Map, MapOptions, PoolError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A map that a Java object has. Any thread may use it.
pub struct SharedMap {
    shared: Arc<Shared>,
    name: Vec<u8>,
    number: usize,
    /// Somebody has destroyed it. Another one of its name is not this one.
    is_gone: AtomicBool,
}

/// The maps that one client has open, by number. Dropped before the client.
#[derive(Default)]
pub struct Maps(Vec<Option<Map<'static>>>);

impl SharedMap {
    /// The map of this name. It is made if there is none, and there are options. `None`: there is none.
    pub fn open(
        shared: Arc<Shared>,
        name: Vec<u8>,
        options: Option<&MapOptions>,
    ) -> Result<Option<SharedMap>, Failure> {
        let is_there = shared.with(|used| {
            Ok(match options {
                Some(options) => Some(Map::create(&used.client, &name, options)?).is_some(),
                None => Map::open(&used.client, &name)?.is_some(),
            })
        })?;
        let number = shared.new_map();
        let is_gone = AtomicBool::new(false);
        Ok(is_there.then_some(SharedMap { shared, name, number, is_gone }))
    }

    /// Runs an operation on the map, with a client that no other thread uses meanwhile.
    pub fn with<T>(
        &self,
        run: impl FnOnce(&Map<'static>) -> Result<T, PoolError>,
    ) -> Result<T, Failure> {
        self.check()?;
        self.checked(self.shared.with(|used| self.run(used, run)))
    }

    /// The value of a key, seen by a buffer. `None`: there is none.
    pub fn view(&self, key: &[u8]) -> Result<Option<Message>, Failure> {
        self.check()?;
        self.checked(self.shared.view(|used| self.run(used, |map| map.get_counted(key))))
    }

    fn run<T>(
        &self,
        used: &mut Used,
        run: impl FnOnce(&Map<'static>) -> Result<T, PoolError>,
    ) -> Result<T, Failure> {
        let Some(map) = used.maps.get(self, &used.client)? else { return Err(GONE) };
        match run(map) {
            Err(PoolError::Closed) => {
                used.maps.0[self.number] = None;
                Err(GONE)
            }
            done => Ok(done?),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.is_gone.load(Ordering::Relaxed) { Err(GONE) } else { Ok(()) }
    }

    /// Remembers that the map is gone.
    fn checked<T>(&self, done: Result<T, Failure>) -> Result<T, Failure> {
        if matches!(done, Err(Failure::Closed(NAME))) {
            self.is_gone.store(true, Ordering::Relaxed);
        }
        done
    }
}

impl Maps {
    fn get(
        &mut self,
        map: &SharedMap,
        joined: &Joined,
    ) -> Result<Option<&Map<'static>>, PoolError> {
        if self.0.len() <= map.number {
            self.0.resize_with(map.number + 1, || None);
        }
        let place = &mut self.0[map.number];
        if place.is_none() {
            // SAFETY: the maps of a client are dropped before it.
            let client = unsafe { joined.extended() };
            *place = Map::open(client, &map.name)?;
        }
        Ok(place.as_ref())
    }
}

const NAME: &str = "the map";
const GONE: Failure = Failure::Closed(NAME);

//! Ends of channels, and their messages.
//!
//! ```text
//!   a message:     0        8        16                          an object of the layer
//!   +--------+-----+--------+--------+-----------+---------------+
//!   | header |     | length | place  | (unused)  | bytes         |
//!   +--------+-----+--------+--------+-----------+---------------+
//!                                                ^ place, from the beginning of the data
//! ```
//!
//! A message that is copied has its bytes directly behind these words. One whose sender writes it in place has them in
//! pages of their own.
//!
//! An end has a client of its own, under a lock. It keeps the client while a message of it is left, also when it is
//! closed.

use crate::core::{Core, Joined};
use crate::directory::{Directory, Entry, RING};
use crate::failure::{Failure, Reason};
use crate::message::{Held, Kind, Message, Owner};
use crate::shared::Shared;
use crate::wait;
use crate::window::{PAGE, Pages, read, write};
use pool::{PoolError, Ref, RefReceiver, RefSender};
use std::mem::forget;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// An end of a channel that this process has. Any thread may use it; they take turns.
pub struct End {
    state: Mutex<Option<Open>>,
    number: usize,
    what: &'static str,
    shared: Weak<Shared>,
}

/// What an end has until it is closed and its last message is released. The order is that of dropping.
struct Open {
    /// `None`: it is closed.
    side: Option<Side>,
    /// Messages of the client that are not released.
    messages: usize,
    client: Joined,
}

enum Side {
    Sender(RefSender<'static>),
    Receiver(RefReceiver<'static>),
}

// SAFETY: sides and references are those of the client beside them, and used under the same lock.
unsafe impl Send for Open {}

/// Bytes of the words in front of a message.
const HEADER: u64 = 16;

/// Bytes of a message at most: those of an array of Java.
pub const LENGTH_MAX: usize = i32::MAX as usize;

impl End {
    /// Takes an end of a channel. `None`: another client has it, or one that is dead and was not recovered.
    pub fn take(shared: &Arc<Shared>, name: &str, is_sender: bool) -> Result<Option<End>, Failure> {
        let core = shared.core()?;
        let number = Directory::new(core.pool())?.channel(name)?.number();
        let client = core.join()?;
        // SAFETY: what borrows from them is dropped before the client, by the order of the fields of `Open`.
        let (borrowed, entry) = unsafe { (client.extended(), extended_entry(&client, number)?) };
        let ring = entry.ring()?;
        let side = if is_sender {
            borrowed.sender(&ring).map(Side::Sender)
        } else {
            borrowed.receiver(&ring).map(Side::Receiver)
        };
        let Some(side) = side else { return Ok(None) };
        let open = Open { side: Some(side), messages: 0, client };
        let what = if is_sender { "the sender" } else { "the receiver" };
        let shared = Arc::downgrade(shared);
        Ok(Some(End { state: Mutex::new(Some(open)), number, what, shared }))
    }

    fn lock(&self) -> Result<MutexGuard<'_, Option<Open>>, Failure> {
        // A client that a panic has met is not used any more.
        self.state.lock().map_err(|_| Failure::internal("a panic met this end of the channel"))
    }

    fn core(&self) -> Result<Arc<Core>, Failure> {
        let state = self.lock()?;
        let open = state.as_ref().filter(|open| open.side.is_some());
        Ok(open.ok_or(Failure::Closed(self.what))?.client.core().clone())
    }

    /// Sends bytes, which `fill` appends to a buffer. False: there are too many messages on their way.
    pub fn offer(
        &self,
        fill: impl FnOnce(&mut Vec<u8>) -> Result<(), Failure>,
        scratch: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        scratch.clear();
        fill(scratch)?;
        let mut state = self.lock()?;
        let open = self.opened(&mut state)?;
        // Looks before it makes an object that nobody takes.
        let Some(Side::Sender(sender)) = &mut open.side else { return Err(self.closed()) };
        if !has_room(&open.client, self.number)? {
            return Ok(false);
        }
        let bytes = HEADER + scratch.len() as u64;
        let reference = self.retried(|| open.client.alloc(bytes, 0))?;
        let words = reference.data()?;
        words[0].store(scratch.len() as u64, Ordering::Relaxed);
        words[1].store(HEADER, Ordering::Relaxed);
        write(words, HEADER as usize, scratch);
        let is_sent = sender.send(reference)?.is_ok();
        self.notify(&open.client, is_sent, true)?;
        Ok(is_sent)
    }

    /// A message whose bytes are written in place.
    pub fn allocate(self: &Arc<End>, length: usize) -> Result<Message, Failure> {
        let mut state = self.lock()?;
        let open = self.opened(&mut state)?;
        let Some(Side::Sender(_)) = &open.side else { return Err(self.closed()) };
        let core = open.client.core().clone();
        let pages = (length as u64).max(1).next_multiple_of(PAGE);
        // SAFETY: it is dropped before the client: the client stays while `messages` is not 0.
        let client = unsafe { open.client.extended() };
        let reference = self.retried(|| client.alloc(HEADER + PAGE + pages, 0))?;
        let words = reference.data()?;
        let data_at = core.offset_of(words.as_ptr())?;
        let place = (data_at + HEADER).next_multiple_of(PAGE) - data_at;
        words[0].store(length as u64, Ordering::Relaxed);
        words[1].store(place, Ordering::Relaxed);
        let mapped = Pages::map(core.pool(), data_at + place, pages)?;
        open.messages += 1;
        let held = Held::new(reference, self.clone());
        Ok(Message::made(held, core, mapped, length))
    }

    /// Sends a message of this end, or one that another end of this process has received. Afterwards it is released.
    /// False: there are too many on their way. Then, and after an error, the message stays as it is, with its bytes.
    pub fn send(self: &Arc<End>, message: &Message, length: usize) -> Result<bool, Failure> {
        if length > message.length() {
            let text = format!("{length} bytes of a buffer of {}", message.length());
            return Err(Failure::Argument(text));
        }
        let mut held = message.held()?;
        let found = held.take().ok_or(RELEASED)?;
        let result = self.send_held(message, &found, length);
        if let Ok(true) = result {
            found.release()?;
        } else {
            *held = Some(found);
        }
        result
    }

    fn send_held(&self, message: &Message, held: &Held, length: usize) -> Result<bool, Failure> {
        let mut state = self.lock()?;
        let Open { side, client, .. } = self.opened(&mut state)?;
        let Some(Side::Sender(sender)) = side else { return Err(self.closed()) };
        if !has_room(client, self.number)? {
            return Ok(false);
        }
        // Counted once more: the message keeps its own until it is released.
        let is_sent = match message.kind() {
            Kind::Made if !held.is_of(self) => {
                return Err(Failure::Argument("a buffer of another sender".into()));
            }
            Kind::Made => {
                // What may fail comes first: afterwards the program has the bytes no more.
                let words = held.reference().data()?;
                let counted = self.retried(|| client.share(held.reference()))?;
                // Before others may know the memory.
                message.cut()?;
                words[0].store(length as u64, Ordering::Relaxed);
                sender.send(counted)?.is_ok()
            }
            // This reads nothing that the message's own client changes.
            Kind::Received if length == message.length() => {
                match sender.send_shared(held.reference()) {
                    Err(PoolError::OtherClient { .. }) => {
                        return Err(Failure::Argument("a buffer of another pool".into()));
                    }
                    is_sent => is_sent?,
                }
            }
            Kind::Received => {
                return Err(Failure::Argument("a received buffer is sent as a whole".into()));
            }
            Kind::Value => return Err(Failure::Argument("a value of a map".into())),
        };
        self.notify(client, is_sent, true)?;
        Ok(is_sent)
    }

    /// Receives a message. `None`: there is none now.
    pub fn poll(self: &Arc<End>) -> Result<Option<Message>, Failure> {
        let mut state = self.lock()?;
        let open = self.opened(&mut state)?;
        let Some(Side::Receiver(receiver)) = &mut open.side else { return Err(self.closed()) };
        let Some(reference) = receiver.receive()? else { return Ok(None) };
        self.notify(&open.client, true, false)?;
        let core = open.client.core().clone();
        let words = reference.data()?;
        let (place, length) = place_of(words)?;
        let at = core.offset_of(words.as_ptr())? + place as u64;
        open.messages += 1;
        let held = Held::new(reference, self.clone());
        drop(state);
        Message::seen(held, core, at, length, Kind::Received).map(Some)
    }

    /// Receives a message, copies its bytes to the end of a buffer, and releases it. False: there is none now.
    pub fn poll_copy(&self, into: &mut Vec<u8>) -> Result<bool, Failure> {
        let mut state = self.lock()?;
        let open = self.opened(&mut state)?;
        let Some(Side::Receiver(receiver)) = &mut open.side else { return Err(self.closed()) };
        let Some(reference) = receiver.receive()? else { return Ok(false) };
        self.notify(&open.client, true, false)?;
        let words = reference.data()?;
        let (place, length) = place_of(words)?;
        let copied = read(words, place, length, into);
        reference.release()?;
        copied.map(|()| true)
    }

    /// Waits until there is a message to receive, or room to send one: at most this long, and at most 20 ms. Takes no
    /// lock meanwhile.
    pub fn wait(&self, is_sender: bool, timeout: Duration) -> Result<bool, Failure> {
        let core = self.core()?;
        let entry = Directory::entry(core.pool(), self.number)?;
        let [sent, received] = entry.counts()?;
        let [receiver_waits, sender_waits] = entry.waits();
        let got = received.load(Ordering::Acquire);
        Ok(if is_sender {
            let put = sent.load(Ordering::Acquire);
            put.wrapping_sub(got) < RING as u64
                || wait::for_change(received, got, sender_waits, timeout)
        } else {
            // Only this end changes the other count.
            wait::for_change(sent, got, receiver_waits, timeout)
        })
    }

    /// Messages that were ever sent through the channel, and received, by all.
    pub fn counts(&self) -> Result<[u64; 2], Failure> {
        let core = self.core()?;
        let counts = Directory::entry(core.pool(), self.number)?.counts()?;
        Ok(counts.map(|count| count.load(Ordering::Acquire)))
    }

    /// Lets others have the end. The identity is given back with the last message. May be called again.
    pub fn close(&self) {
        // After a panic, it is others' when this process has ended.
        if let Ok(mut state) = self.state.lock() {
            if let Some(open) = &mut *state {
                open.side = None;
            }
            leave(&mut state);
        }
    }

    /// Runs something once more if there was no memory for it, after other clients of the process have given back what
    /// they keep.
    fn retried<T>(&self, mut run: impl FnMut() -> Result<T, PoolError>) -> Result<T, PoolError> {
        match run() {
            Err(PoolError::NoMemory { .. }) => {
                self.shared.upgrade().iter().for_each(|shared| shared.reclaim());
                run()
            }
            done => done,
        }
    }

    /// Gives back what the client keeps. Waits for nobody.
    pub fn reclaim(&self) {
        if let Ok(state) = self.state.try_lock()
            && let Some(open) = &*state
        {
            // If it fails, the client does it later by itself.
            let _ = open.client.reclaim();
        }
    }

    fn opened<'s>(&self, state: &'s mut Option<Open>) -> Result<&'s mut Open, Failure> {
        state.as_mut().filter(|open| open.side.is_some()).ok_or(self.closed())
    }

    fn closed(&self) -> Failure {
        Failure::Closed(self.what)
    }

    fn notify(&self, client: &Joined, has_changed: bool, is_sender: bool) -> Result<(), Failure> {
        if has_changed {
            let entry = Directory::entry(client.core().pool(), self.number)?;
            let [sent, received] = entry.counts()?;
            let [receiver_waits, sender_waits] = entry.waits();
            if is_sender {
                wait::notify(sent, receiver_waits);
            } else {
                wait::notify(received, sender_waits);
            }
        }
        Ok(())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if let Err(poisoned) = self.state.get_mut() {
            // The client may have half of something. It is recovered when this process has ended.
            forget(poisoned.into_inner().take());
        }
    }
}

/// A closed end without messages has no client.
fn leave(state: &mut Option<Open>) {
    if state.as_ref().is_some_and(|open| open.side.is_none() && open.messages == 0) {
        *state = None;
    }
}

impl Owner for End {
    fn release(&self, reference: Ref<'static>) -> Result<(), Failure> {
        let mut state = match self.lock() {
            Ok(state) => state,
            Err(failure) => {
                // It is released when this process has ended.
                forget(reference);
                return Err(failure);
            }
        };
        let released = reference.release();
        if let Some(open) = &mut *state {
            open.messages -= 1;
        }
        leave(&mut state);
        Ok(released?)
    }
}

const RELEASED: Failure = Failure::Closed("the buffer");

fn has_room(client: &Joined, number: usize) -> Result<bool, Failure> {
    let [sent, received] = Directory::entry(client.core().pool(), number)?.counts()?;
    let on_way = sent.load(Ordering::Relaxed).wrapping_sub(received.load(Ordering::Acquire));
    Ok(on_way < RING as u64)
}

/// Where the bytes of a message are in its data, and how many: what another process has written is checked.
fn place_of(words: &[std::sync::atomic::AtomicU64]) -> Result<(usize, usize), Failure> {
    let all = words.len() as u64 * 8;
    let [length, place] = [0, 1].map(|n: usize| words.get(n).map(|w| w.load(Ordering::Acquire)));
    let (length, place) = length.zip(place).ok_or_else(damaged)?;
    let end = place.checked_add(length).filter(|end| *end <= all);
    if end.is_none() || place < HEADER || length > LENGTH_MAX as u64 {
        return Err(damaged());
    }
    Ok((place as usize, length as usize))
}

fn damaged() -> Failure {
    Failure::Pool(Reason::Damaged, "the pool is damaged: no message is in this object".into())
}

/// # Safety
/// What borrows from the result is dropped before the client, which keeps the pool.
unsafe fn extended_entry(client: &Joined, number: usize) -> Result<Entry<'static>, Failure> {
    // SAFETY: the caller's promise.
    let pool = unsafe { client.extended_pool() };
    Ok(Directory::entry(pool, number)?)
}

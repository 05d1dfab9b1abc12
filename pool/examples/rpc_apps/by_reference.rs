//! Calls by reference: data is in the pool, and messages refer to it.

use crate::common::board::Board;
use crate::common::zipf::Random;
use crate::common::{Nothing, Shared, clock};
use crate::jobs::{Runner, Words};
use crate::{Executor, Task, sums};
use pool::{Message, Pool, Ref, RefClient, RefReceiver, RefSender, Ring};
use std::collections::VecDeque;
use std::hint::spin_loop;
use std::process::Child;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

const RINGS_AT: u64 = 24 << 10;
const RING: usize = 16;
/// Calls that a worker has at a time.
const DEPTH: usize = 4;
/// Instead of a function: the worker ends.
const LAST: u64 = u64::MAX;

fn ring(pool: &Pool, seat: usize, way: u64) -> Ring<'_> {
    let at = pool.data() + RINGS_AT + 512 * (2 * seat as u64 + way);
    Ring::new(pool, at, RING).expect("the reserved part")
}

/// Waits a little.
struct Pause(u32);

impl Pause {
    fn turn(&mut self) {
        self.0 += 1;
        if self.0 < 200 { spin_loop() } else { thread::sleep(Duration::from_micros(200)) }
    }
}

/// A worker, as the driver sees it.
struct Seat<'c> {
    child: Child,
    sender: RefSender<'c>,
    receiver: RefReceiver<'c>,
    /// Tasks that it was sent, and has not answered.
    open: Vec<usize>,
    answered: usize,
    is_alive: bool,
}

/// The driver.
pub struct ByReference<'c> {
    client: &'c RefClient<'c>,
    shared: &'c Shared,
    board: &'c Board<'c>,
    seats: Vec<Seat<'c>>,
    /// Chunks of the job.
    chunks: Vec<Ref<'c>>,
    /// In the place of a result that is not there yet.
    empty: Ref<'c>,
    /// Kills a worker in each round, if there is one.
    random: Option<Random>,
    /// Workers that were killed, tasks that one of them had in hand, and tasks that it had not received.
    pub kills: u64,
    pub redone: u64,
    pub returned: u64,
}

impl<'c> ByReference<'c> {
    pub fn new(
        (client, shared, board): (&'c RefClient<'c>, &'c Shared, &'c Board<'c>),
        workers: usize,
        chunks: &[Vec<u64>],
        kills: bool,
    ) -> ByReference<'c> {
        let chunks = chunks.iter().map(|chunk| put(client, chunk)).collect();
        let empty = client.alloc(8, 0).expect("memory");
        let random = kills.then(|| Random::new(u64::from(std::process::id())));
        let seats = (0..workers).map(|n| {
            let [to, from] = [0, 1].map(|way| ring(&shared.pool, n, way));
            let sender = client.sender(&to).expect("it is the only sender");
            let receiver = client.receiver(&from).expect("it is the only receiver");
            let child = start(shared, n);
            Seat { child, sender, receiver, open: vec![], answered: 0, is_alive: true }
        });
        let seats = seats.collect();
        let [kills, redone, returned] = [0; 3];
        ByReference { client, shared, board, seats, chunks, empty, random, kills, redone, returned }
    }

    fn message(&self, task: &Task, n: usize, more: &Ref) -> Message<'c> {
        let chunk = &self.chunks[task.chunk];
        let arguments = [chunk, more];
        let arguments = if task.more { &arguments[..] } else { &arguments[..1] };
        let function = task.function | (n as u64) << 8;
        self.client.message(function, arguments, &self.empty).expect("memory")
    }

    /// The worker in a seat has died: what it had is released, and its tasks are to be done again.
    fn bury(&mut self, n: usize, accept: &mut impl FnMut(usize, Ref<'c>)) -> Vec<usize> {
        let (client, seat) = (self.client, &mut self.seats[n]);
        seat.is_alive = false;
        let done = client.recover(&Nothing).expect("a recovery");
        assert_eq!(done.clients, 1, "the worker is dead, and no other client");
        // What it sent before it died is done.
        while let Some(answer) = seat.receiver.receive().expect("a ring") {
            let (task, result) = open_answer(client, answer);
            seat.open.retain(|open| *open != task);
            accept(task, result);
        }
        let mut rest = client.receiver(&ring(&self.shared.pool, n, 0)).expect("the worker is dead");
        let mut returned = 0;
        while rest.receive().expect("a ring").is_some() {
            returned += 1;
        }
        self.kills += 1;
        self.returned += returned;
        self.redone += seat.open.len() as u64 - returned;
        std::mem::take(&mut seat.open)
    }
}

fn start(shared: &Shared, seat: usize) -> Child {
    shared.start(&["worker", &seat.to_string()])
}

fn put<'c>(client: &'c RefClient, words: &[u64]) -> Ref<'c> {
    let object = client.alloc(8 * words.len() as u64, 0).expect("memory");
    for (to, word) in object.data().expect("an object").iter().zip(words) {
        to.store(*word, Ordering::Relaxed);
    }
    object
}

/// The task and the result of a message that came back.
fn open_answer<'c>(client: &'c RefClient, answer: Ref<'c>) -> (usize, Ref<'c>) {
    let message = Message::of(answer).expect("a message");
    let task = (message.function().expect("an object") >> 8) as usize;
    let last = message.arguments().expect("an object") as u32;
    let message = message.into_ref();
    let result = client.get(&message, last).expect("a reference").expect("a result");
    (task, result)
}

impl Executor for ByReference<'_> {
    fn run(
        &mut self,
        tasks: &[Task],
        more: &[u64],
        accept: &mut dyn FnMut(&mut dyn Iterator<Item = u64>),
    ) {
        let more = put(self.client, more);
        let mut pending: VecDeque<usize> = (0..tasks.len()).collect();
        let (mut is_done, mut done) = (vec![false; tasks.len()], 0);
        let mut accept = |task: usize, result: Ref<'_>| {
            assert!(!std::mem::replace(&mut is_done[task], true), "task {task} is done twice");
            accept(&mut result.data().expect("an object").words());
            done += 1;
            done
        };
        for n in 0..self.seats.len() {
            if !self.seats[n].is_alive {
                self.seats[n].child = start(self.shared, n);
                self.seats[n].is_alive = true;
            }
            self.seats[n].answered = 0;
        }
        let victim = self.random.as_mut().map(|random| {
            let (workers, some) = (self.seats.len() as u64, tasks.len() as u64 / 4);
            (random.below(workers) as usize, 1 + random.below(some.max(1)) as usize)
        });
        let (mut pause, mut count) = (Pause(0), 0);
        while count < tasks.len() {
            let mut has_moved = false;
            for n in 0..self.seats.len() {
                while let Some(answer) = self.seats[n].receiver.receive().expect("a ring") {
                    let (task, result) = open_answer(self.client, answer);
                    self.seats[n].open.retain(|open| *open != task);
                    self.seats[n].answered += 1;
                    count = accept(task, result);
                    has_moved = true;
                }
                while self.seats[n].is_alive
                    && self.seats[n].open.len() < DEPTH
                    && let Some(task) = pending.pop_front()
                {
                    let message = self.message(&tasks[task], task, &more).into_ref();
                    let sent = self.seats[n].sender.send(message).expect("a ring");
                    assert!(sent.is_ok(), "the ring has room");
                    self.seats[n].open.push(task);
                    has_moved = true;
                }
                let seat = &mut self.seats[n];
                if victim.is_some_and(|(victim, after)| victim == n && after <= seat.answered)
                    && seat.is_alive
                    && !seat.open.is_empty()
                {
                    seat.child.kill().expect("a child");
                    seat.child.wait().expect("a child");
                    let mut bury = |task, result| count = accept(task, result);
                    pending.extend(self.bury(n, &mut bury));
                }
            }
            if has_moved {
                pause = Pause(0)
            } else {
                pause.turn()
            }
            let is_lost = |seat: &mut Seat| {
                seat.is_alive && seat.child.try_wait().expect("a child").is_some()
            };
            assert!(pause.0 < 1_000 || !self.seats.iter_mut().any(is_lost), "a worker has failed");
        }
    }

    fn end(mut self: Box<Self>) {
        for seat in self.seats.iter_mut().filter(|seat| seat.is_alive) {
            let message = self.client.message(LAST, &[], &self.empty).expect("memory");
            assert!(seat.sender.send(message.into_ref()).expect("a ring").is_ok());
        }
        for seat in &mut self.seats {
            let end = seat.child.wait().expect("a child");
            assert!(end.success() || !seat.is_alive, "a worker has failed: {end}");
        }
        self.board.add(sums::KILLS, self.kills);
        self.board.add(sums::REDONE, self.redone);
        self.board.add(sums::RETURNED, self.returned);
    }
}

/// A worker: until it is sent the last message.
pub fn work(client: &RefClient, pool: &Pool, board: &Board, seat: usize) {
    let mut receiver = client.receiver(&ring(pool, seat, 0)).expect("it is the only receiver");
    let mut sender = client.sender(&ring(pool, seat, 1)).expect("it is the only sender");
    let start = clock();
    let (mut pause, mut runner) = (Pause(0), Runner::default());
    loop {
        let Some(received) = receiver.receive().expect("a ring") else {
            pause.turn();
            continue;
        };
        pause = Pause(0);
        let message = Message::of(received).expect("a message");
        let function = message.function().expect("an object");
        if function == LAST {
            board.add(sums::CPU, clock() - start);
            return;
        }
        let count = message.arguments().expect("an object");
        let data: Vec<_> =
            (0..count).map(|n| message.argument_data(n).expect("an argument")).collect();
        let result = put(client, runner.call(function & 0xff, &data));
        // The message is the worker's now, and so are its references.
        let message = message.into_ref();
        client.set(&message, count as u32, Some(&result)).expect("the place of the result");
        drop(result);
        assert!(sender.send(message).expect("a ring").is_ok(), "the ring has room");
    }
}

const _: () = assert!(DEPTH < RING);

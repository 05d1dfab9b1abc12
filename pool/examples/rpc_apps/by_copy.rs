//! The peer: the same calls with all data copied through Unix sockets.

use crate::common::board::Board;
use crate::common::clock;
use crate::jobs;
use crate::{Executor, Task, sums};
use std::collections::HashMap;
use std::env;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;

/// Instead of the words of a chunk: the worker has it from the last round.
const KEPT: u64 = u64::MAX;
/// Instead of a function: the worker ends.
const LAST: u64 = u64::MAX;

pub struct ByCopy<'c> {
    workers: Vec<(Child, UnixStream)>,
    chunks: &'c [Vec<u64>],
    board: &'c Board<'c>,
    /// Whether workers keep the chunks that they have got.
    keeps: bool,
    rounds: usize,
}

impl<'c> ByCopy<'c> {
    pub fn new(
        path: &Path,
        board: &'c Board<'c>,
        workers: usize,
        chunks: &'c [Vec<u64>],
        keeps: bool,
    ) -> ByCopy<'c> {
        let worker = |_| {
            let (own, other) = UnixStream::pair().expect("a pair of sockets");
            let mut command = Command::new(env::current_exe().expect("this program"));
            command.arg("child").arg(path).arg("copies").stdin(Stdio::from(OwnedFd::from(other)));
            (command.stdout(Stdio::null()).spawn().expect("a child"), own)
        };
        ByCopy { workers: (0..workers).map(worker).collect(), chunks, board, keeps, rounds: 0 }
    }
}

fn send(stream: &mut UnixStream, head: &[u64], data: &[&[u64]]) {
    let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
    for words in data {
        bytes.reserve(8 * words.len());
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    }
    stream.write_all(&bytes).expect("the other side lives");
}

fn receive(stream: &mut UnixStream, bytes: &mut Vec<u8>, count: usize) -> Vec<u64> {
    bytes.resize(8 * count, 0);
    stream.read_exact(bytes).expect("the other side lives");
    bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect()
}

/// Data with its length in front.
fn receive_data(stream: &mut UnixStream, bytes: &mut Vec<u8>) -> Vec<u64> {
    let count = receive(stream, bytes, 1)[0];
    jobs::data(receive(stream, bytes, count as usize))
}

impl Executor for ByCopy<'_> {
    fn run(
        &mut self,
        tasks: &[Task],
        more: &[u64],
        accept: &mut dyn FnMut(&mut dyn Iterator<Item = u64>),
    ) {
        let (count, is_known) = (self.workers.len(), self.keeps && self.rounds > 0);
        self.rounds += 1;
        let (chunks, board, results) = (self.chunks, self.board, Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for (n, (_, stream)) in self.workers.iter_mut().enumerate() {
                let results = &results;
                scope.spawn(move || {
                    let (start, mut bytes) = (clock(), vec![]);
                    for task in tasks.iter().skip(n).step_by(count) {
                        let head = [task.function, task.chunk as u64, u64::from(task.more)];
                        let chunk: &[u64] = if is_known { &[KEPT] } else { &chunks[task.chunk] };
                        send(stream, &head, &[chunk, if task.more { more } else { &[] }]);
                        let result = receive_data(stream, &mut bytes);
                        results.lock().expect("no thread panics").push(result);
                    }
                    board.add(sums::CPU, clock() - start);
                });
            }
        });
        for result in results.into_inner().expect("no thread panics") {
            accept(&mut result[1..].iter().copied());
        }
    }

    fn end(mut self: Box<Self>) {
        for (child, stream) in &mut self.workers {
            send(stream, &[LAST, 0, 0], &[]);
            let end = child.wait().expect("a child");
            assert!(end.success(), "a worker has failed: {end}");
        }
    }
}

/// A worker, whose socket is its standard input.
pub fn work(mut stream: UnixStream, board: &Board) {
    let (start, mut bytes, mut kept) = (clock(), vec![], HashMap::new());
    let mut runner = jobs::Runner::default();
    loop {
        let head = receive(&mut stream, &mut bytes, 3);
        let [function, chunk, has_more] = head[..] else { unreachable!("three words") };
        if function == LAST {
            board.add(sums::CPU, clock() - start);
            return;
        }
        let count = receive(&mut stream, &mut bytes, 1)[0];
        if count != KEPT {
            let words = receive(&mut stream, &mut bytes, count as usize);
            kept.insert(chunk, jobs::data(words));
        }
        let mut data = vec![&kept[&chunk][..]];
        let more = (has_more != 0).then(|| receive_data(&mut stream, &mut bytes));
        data.extend(more.as_deref());
        send(&mut stream, &[], &[runner.call(function, &data)]);
    }
}

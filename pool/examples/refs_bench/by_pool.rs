//! Pairs of processes that send counted objects of a pool through rings.

use super::pairs::{
    Figure, LAST, LINE, Pause, Signs, answer_all, ask_all, call_all, receive_all, receive_each,
    send_all, send_each, serve_all, wait,
};
use super::ring;
use pool::{Message, Pool, RefClient};
use std::sync::atomic::Ordering;

/// What one process of a pair does, with messages of this many bytes. It calls `begin` when it has its ends.
pub fn run(
    role: &str,
    bytes: u64,
    client: &RefClient,
    pool: &Pool,
    signs: Signs,
    begin: impl FnOnce(),
) -> Figure {
    match role {
        "send" | "send-each" => {
            let mut sender = client.sender(&ring(pool, 0)).expect("it is the only sender");
            let send = |message| {
                let mut object = client.alloc(bytes, 0).expect("memory");
                let words = &object.data().expect("an object")[..bytes as usize / 8];
                for word in words.iter().step_by(LINE) {
                    word.store(message, Ordering::Relaxed);
                }
                let mut pause = Pause::new();
                while let Err(back) = sender.send(object).expect("a ring") {
                    object = back;
                    pause.turn();
                }
            };
            begin();
            if role == "send" { send_all(signs, send) } else { send_each(signs, send) }
        }
        "receive" | "receive-each" => {
            let mut receiver = client.receiver(&ring(pool, 0)).expect("it is the only receiver");
            let receive = || {
                let object = wait(|| receiver.receive().expect("a ring"));
                let words = &object.data().expect("an object")[..bytes as usize / 8];
                let lines = words.iter().step_by(LINE).map(|word| word.load(Ordering::Relaxed));
                lines.reduce(same).expect("a line")
            };
            begin();
            if role == "receive" {
                receive_all(signs, receive)
            } else {
                receive_each(signs, receive)
            }
        }
        "ask" => {
            begin();
            ask_all(signs)
        }
        "answer" => {
            begin();
            answer_all(signs)
        }
        "call" => call(bytes, client, pool, signs, begin),
        _ => serve(client, pool, signs, begin),
    }
}

/// Words of all lines of a message are the same.
pub fn same(first: u64, other: u64) -> u64 {
    assert_eq!(first, other);
    first
}

fn call(bytes: u64, client: &RefClient, pool: &Pool, signs: Signs, begin: impl FnOnce()) -> Figure {
    let mut sender = client.sender(&ring(pool, 0)).expect("it is the only sender");
    let mut receiver = client.receiver(&ring(pool, 1)).expect("it is the only receiver");
    let [argument, result] = [0; 2].map(|_| client.alloc(bytes, 0).expect("memory"));
    let mut ready = Some(client.message(1, &[&argument], &result).expect("memory"));
    begin();
    call_all(signs, |function, number| {
        let message = ready.take().expect("it was answered");
        message.set_function(function).expect("an object");
        argument.data().expect("an object")[0].store(number, Ordering::Relaxed);
        assert!(sender.send(message.into_ref()).expect("a ring").is_ok(), "the ring has room");
        if function == LAST {
            return 0;
        }
        let answer = wait(|| receiver.receive().expect("a ring"));
        ready = Some(Message::of(answer).expect("a message"));
        result.data().expect("an object")[0].load(Ordering::Relaxed)
    })
}

fn serve(client: &RefClient, pool: &Pool, signs: Signs, begin: impl FnOnce()) -> Figure {
    let mut receiver = client.receiver(&ring(pool, 0)).expect("it is the only receiver");
    let mut sender = client.sender(&ring(pool, 1)).expect("it is the only sender");
    begin();
    serve_all(signs, || {
        let call = wait(|| receiver.receive().expect("a ring"));
        let message = Message::of(call).expect("a message");
        if message.function().expect("an object") == LAST {
            return false;
        }
        let [argument, result] = [message.argument_data(0), message.result_data()];
        let [argument, result] = [argument, result].map(|found| &found.expect("an object")[0]);
        result.store(argument.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        assert!(sender.send(message.into_ref()).expect("a ring").is_ok(), "the ring has room");
        true
    })
}

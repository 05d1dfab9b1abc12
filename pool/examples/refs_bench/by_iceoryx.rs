//! The same pairs with iceoryx2: its services between processes, with samples that are loaned, and nothing copied.
//!
//! What one side sends is limited to as much as a ring of the pool has, and nothing is replaced that was not received.
//! A sender waits as that of a pool does.

use super::by_pool::same;
use super::pairs::{
    Figure, LAST, LINE, Pause, Signs, call_all, receive_all, receive_each, send_all, send_each,
    serve_all, wait,
};
use super::{CALL_BYTES, RING};
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::{
    BackpressureStrategy, Config, FileName, Node, NodeBuilder, Path as Folder, SemanticString,
    SignalHandlingMode, ipc,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Words of a call, and of its answer: the function, or nothing, and a number.
const CALL_WORDS: usize = CALL_BYTES as usize / 8;

/// What one process of a pair does, with messages of this many bytes. It calls `begin` when it has its ends. All files
/// have the name in front, in shared memory, or are in the folder of that name.
pub fn run(role: &str, bytes: u64, name: &str, signs: Signs, begin: impl FnOnce()) -> Figure {
    let node = node(name);
    match (role, bytes) {
        ("request", _) => request(&node, signs, begin),
        ("respond", _) => respond(&node, signs, begin),
        ("call", _) => call(&node, signs, begin),
        ("serve", _) => serve(&node, signs, begin),
        (_, 64) => messages::<8>(role, &node, signs, begin),
        (_, 1024) => messages::<128>(role, &node, signs, begin),
        _ => panic!("no messages of {bytes} bytes"),
    }
}

/// Where the files are that are not in shared memory.
pub fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(name)
}

/// Removes all files with the name: those of processes that could not.
pub fn remove_files(name: &str) {
    let _ = fs::remove_dir_all(folder(name));
    let Ok(shared) = fs::read_dir("/dev/shm") else { return };
    for file in shared.flatten() {
        if file.file_name().to_string_lossy().starts_with(&prefix(name)) {
            let _ = fs::remove_file(file.path());
        }
    }
}

fn prefix(name: &str) -> String {
    format!("{name}.")
}

type Service = ipc::Service;
type Words<const N: usize> = [u64; N];

fn node(name: &str) -> Node<Service> {
    let mut config = Config::default();
    let text = |path: &Path| path.to_str().expect("a folder with a name of letters").to_string();
    let folder = Folder::new(text(&folder(name)).as_bytes()).expect("a folder");
    config.global.set_root_path(&folder);
    config.global.prefix = FileName::new(prefix(name).as_bytes()).expect("a name");
    let node = NodeBuilder::new().config(&config);
    // An interrupt ends the process.
    let node = node.signal_handling_mode(SignalHandlingMode::Disabled);
    node.create().expect("a node")
}

fn service<const N: usize>(
    node: &Node<Service>,
    name: &str,
) -> iceoryx2::service::port_factory::publish_subscribe::PortFactory<Service, Words<N>, ()> {
    node.service_builder(&name.try_into().expect("a name"))
        .publish_subscribe::<Words<N>>()
        .enable_safe_overflow(false)
        .subscriber_max_buffer_size(RING)
        .max_publishers(1)
        .max_subscribers(1)
        .open_or_create()
        .expect("a service")
}

fn publisher<const N: usize>(node: &Node<Service>, name: &str) -> Publisher<Service, Words<N>, ()> {
    let service = service(node, name);
    let publisher = service.publisher_builder();
    let publisher = publisher.backpressure_strategy(BackpressureStrategy::DiscardData);
    publisher.create().expect("the only publisher")
}

fn subscriber<const N: usize>(
    node: &Node<Service>,
    name: &str,
) -> Subscriber<Service, Words<N>, ()> {
    service(node, name).subscriber_builder().create().expect("the only subscriber")
}

/// Sends a message; `fill` writes it.
fn send<const N: usize>(
    publisher: &Publisher<Service, Words<N>, ()>,
    fill: impl Fn(&mut Words<N>),
) {
    let mut pause = Pause::new();
    loop {
        let sample = publisher.loan_uninit().expect("memory");
        // SAFETY: what is not written has some bytes of shared memory, and any bytes are words.
        let mut sample = unsafe { sample.assume_init() };
        fill(sample.payload_mut());
        if sample.send().expect("a subscriber") == 1 {
            return;
        }
        // The subscriber has as many as it may.
        pause.turn();
    }
}

fn messages<const N: usize>(
    role: &str,
    node: &Node<Service>,
    signs: Signs,
    begin: impl FnOnce(),
) -> Figure {
    if role == "send" || role == "send-each" {
        let publisher = publisher::<N>(node, "there");
        let send = |message| {
            send(&publisher, |words| {
                words.iter_mut().step_by(LINE).for_each(|word| *word = message)
            });
        };
        begin();
        return if role == "send" { send_all(signs, send) } else { send_each(signs, send) };
    }
    let subscriber = subscriber::<N>(node, "there");
    let receive = || {
        let sample = wait(|| subscriber.receive().expect("a publisher"));
        sample.iter().step_by(LINE).copied().reduce(same).expect("a line")
    };
    begin();
    if role == "receive" { receive_all(signs, receive) } else { receive_each(signs, receive) }
}

/// Calls by two services, one for each way.
fn call(node: &Node<Service>, signs: Signs, begin: impl FnOnce()) -> Figure {
    let there = publisher::<CALL_WORDS>(node, "there");
    let back = subscriber::<CALL_WORDS>(node, "back");
    begin();
    call_all(signs, |function, number| {
        send(&there, |words| words[..2].copy_from_slice(&[function, number]));
        if function == LAST {
            return 0;
        }
        wait(|| back.receive().expect("a publisher"))[1]
    })
}

fn serve(node: &Node<Service>, signs: Signs, begin: impl FnOnce()) -> Figure {
    let there = subscriber::<CALL_WORDS>(node, "there");
    let back = publisher::<CALL_WORDS>(node, "back");
    begin();
    serve_all(signs, || {
        let call = wait(|| there.receive().expect("a publisher"));
        if call[0] == LAST {
            return false;
        }
        send(&back, |words| words[1] = call[1] + 1);
        true
    })
}

type Calls = iceoryx2::service::port_factory::request_response::PortFactory<
    Service,
    Words<CALL_WORDS>,
    (),
    Words<CALL_WORDS>,
    (),
>;

fn calls(node: &Node<Service>) -> Calls {
    node.service_builder(&"calls".try_into().expect("a name"))
        .request_response::<Words<CALL_WORDS>, Words<CALL_WORDS>>()
        .enable_safe_overflow_for_requests(false)
        .enable_safe_overflow_for_responses(false)
        .max_clients(1)
        .max_servers(1)
        .open_or_create()
        .expect("a service")
}

/// Calls by requests with responses.
fn request(node: &Node<Service>, signs: Signs, begin: impl FnOnce()) -> Figure {
    let client = calls(node).client_builder().create().expect("the only client");
    begin();
    call_all(signs, |function, number| {
        let request = client.loan_uninit().expect("memory");
        // SAFETY: what is not written has some bytes of shared memory, and any bytes are words.
        let mut request = unsafe { request.assume_init() };
        request.payload_mut()[..2].copy_from_slice(&[function, number]);
        let pending = request.send().expect("a server");
        if function == LAST {
            return 0;
        }
        wait(|| pending.receive().expect("a server"))[1]
    })
}

fn respond(node: &Node<Service>, signs: Signs, begin: impl FnOnce()) -> Figure {
    let server = calls(node).server_builder().create().expect("the only server");
    begin();
    serve_all(signs, || {
        let request = wait(|| server.receive().expect("a client"));
        if request[0] == LAST {
            return false;
        }
        let response = request.loan_uninit().expect("memory");
        // SAFETY: what is not written has some bytes of shared memory, and any bytes are words.
        let mut response = unsafe { response.assume_init() };
        response.payload_mut()[1] = request[1] + 1;
        response.send().expect("a client");
        true
    })
}

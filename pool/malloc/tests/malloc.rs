//! The library in processes of their own: a program in C that tries what is promised, and programs of every day.
//!
//! Needs a C compiler. Python and a JDK are used if they are there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("farheap-malloc-{}-{number}", std::process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The library beside the tests.
fn library() -> PathBuf {
    let deps = env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let library = deps.join("libfarheap_malloc.so");
    assert!(library.is_file(), "{} is missing", library.display());
    library
}

/// The compiled program.
fn exercise() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exercise.c");
        // One for all runs of the tests: it replaces the one before.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (program, new) = (folder.join("exercise"), folder.join(std::process::id().to_string()));
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&new).arg(source);
        assert!(cc.status().expect("a C compiler").success());
        fs::rename(&new, &program).unwrap();
        program
    })
}

/// A command that ends after half a minute at the latest.
fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new("timeout");
    command.arg("30").arg(program.as_ref()).env("LC_ALL", "C");
    command
}

/// The same with the library, but not for `timeout`.
fn preloaded(program: impl AsRef<Path>) -> Command {
    let mut command = command("env");
    command.arg(format!("LD_PRELOAD={}", library().display())).arg(program.as_ref());
    command
}

#[track_caller]
fn assert_ok(output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
}

#[track_caller]
fn passes(part: &str, size: Option<&str>) {
    let mut command = preloaded(exercise());
    command.arg(part);
    if let Some(size) = size {
        command.env("FARHEAP_MALLOC_SIZE", size);
    }
    assert_ok(&command.output().unwrap());
}

#[test]
fn sizes_alignments_and_errors_are_those_of_c() {
    passes("edges", Some("2g"));
}

#[test]
fn a_pool_that_is_used_up_is_an_error_and_can_be_used_again() {
    passes("exhaust", Some("64m"));
}

#[test]
fn blocks_shrink_without_memory_and_seldom_move_when_they_grow() {
    passes("resize", Some("128m"));
}

#[test]
fn a_random_program_finds_its_blocks_as_it_left_them() {
    passes("model", None);
}

#[test]
fn threads_free_blocks_of_each_other() {
    passes("threads", None);
}

#[test]
fn five_thousand_threads_leave_nothing_behind() {
    passes("comings", Some("256m"));
}

#[test]
fn more_threads_than_identities_are_served() {
    passes("many", None);
}

#[test]
fn children_of_fork_go_on_with_a_copy() {
    passes("forks", None);
}

#[test]
fn thirty_generations_of_children_have_the_clients_of_lost_threads() {
    passes("generations", None);
}

#[test]
fn forks_that_take_long_leave_nothing_behind() {
    passes("slow_forks", None);
}

#[test]
fn signal_handlers_that_interrupt_the_allocator_allocate() {
    passes("signals", None);
}

/// Whose memory `malloc` hands out, and what was written to standard error.
fn whose(command: &mut Command) -> (String, String) {
    let output = command.arg("whose").output().unwrap();
    assert!(output.status.success());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn without_a_pool_the_c_library_serves() {
    assert_eq!(whose(&mut command(exercise())), ("libc\n".into(), "".into()));
    assert_eq!(whose(&mut preloaded(exercise())), ("pool\n".into(), "".into()));
    for (size, reason) in [
        ("much", "FARHEAP_MALLOC_SIZE=much is no size, such as 4g"),
        ("4k", "a pool of"),
        ("100000t", "mmap"),
    ] {
        let (whose, stderr) = whose(preloaded(exercise()).env("FARHEAP_MALLOC_SIZE", size));
        assert_eq!(whose, "libc\n", "{size}");
        let said = format!("farheap: no pool for malloc: {reason}");
        assert!(stderr.starts_with(&said) && stderr.lines().count() == 1, "{size}: {stderr}");
    }
}

#[test]
fn a_pool_fits_into_the_address_space_that_is_allowed() {
    let script = "ulimit -v 6000000 && exec \"$0\" whose";
    let output = preloaded("sh").arg("-c").arg(script).arg(exercise()).output().unwrap();
    assert_ok(&output);
    assert_eq!(output.stdout, b"pool\n");
    let script = "ulimit -v 6000000 && exec \"$0\" room";
    assert_ok(&preloaded("sh").arg("-c").arg(script).arg(exercise()).output().unwrap());
    let script = "ulimit -v 120000 && exec \"$0\" whose";
    let output = preloaded("sh").arg("-c").arg(script).arg(exercise()).output().unwrap();
    let said = "farheap: no pool for malloc: the limits leave less than 64 MiB to it\n";
    assert_eq!((&*output.stdout, &*output.stderr), (&b"libc\n"[..], said.as_bytes()));
}

/// Runs the script with and without the library: the same output, and no complaint.
#[track_caller]
fn same(folder: &Folder, script: &str) {
    let run = |mut command: Command| {
        let output = command.args(["-c", script]).current_dir(&folder.0).output().unwrap();
        assert_ok(&output);
        output.stdout
    };
    let (with, without) = (run(preloaded("bash")), run(command("bash")));
    assert!(!without.is_empty());
    assert!(with == without, "{}", String::from_utf8_lossy(&with));
}

#[test]
fn shells_with_pipes_and_subshells_work() {
    let folder = Folder::new();
    same(
        &folder,
        "for n in 1 2 3 4 5; do echo $(echo $n | cat | sed s/^/n/); done | sort -r
         (x=inner; echo $x; (exit 3); echo $?); echo ${x:-outer}
         a=(); for n in $(seq 2000); do a+=(\"$n$n\"); done; echo ${#a[@]} ${a[1999]}
         cat <(echo one) <(echo two); coproc cat; echo three >&\"${COPROC[1]}\"
         read -r line <&\"${COPROC[0]}\"; echo $line; ls -la / | wc -l; sleep 0.01 & wait $!",
    );
}

#[test]
fn a_large_file_is_sorted_by_several_threads() {
    let folder = Folder::new();
    let mut state = 1u64;
    let lines: String = (0..300_000)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            format!("{:x}\n", state >> 20)
        })
        .collect();
    fs::write(folder.0.join("lines"), lines).unwrap();
    same(&folder, "sort --parallel=4 -S 20M -T . lines | cksum");
}

#[test]
fn the_c_compiler_works() {
    let folder = Folder::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exercise.c");
    fs::copy(source, folder.0.join("program.c")).unwrap();
    same(
        &folder,
        "cc -O2 -pthread -o program program.c && ./program whose > /dev/null && cksum < program",
    );
}

#[test]
fn python_works_if_it_is_there() {
    let folder = Folder::new();
    let program = "import json, threading, subprocess
d = {str(n): list(range(n % 50)) for n in range(20000)}
t = [threading.Thread(target=lambda: json.loads(json.dumps(d))) for _ in range(3)]
[x.start() for x in t]; [x.join() for x in t]
print(len(json.dumps(d)), subprocess.run(['echo', 'child'], capture_output=True).stdout)";
    fs::write(folder.0.join("program.py"), program).unwrap();
    same(&folder, "if command -v python3 > /dev/null; then python3 program.py; else echo none; fi");
}

#[test]
fn a_jvm_works_if_it_is_there() {
    let folder = Folder::new();
    let program = "public class Hello {
        public static void main(String[] arguments) throws Exception {
            Thread[] all = new Thread[20];
            for (int n = 0; n < all.length; n++) (all[n] = new Thread(() -> new byte[1 << 20].clone())).start();
            for (Thread thread : all) thread.join();
            System.out.println(\"hello \" + java.nio.ByteBuffer.allocateDirect(1 << 20).capacity());
        }
    }";
    fs::write(folder.0.join("Hello.java"), program).unwrap();
    same(
        &folder,
        "if command -v javac > /dev/null; then javac Hello.java && java -cp . Hello; else echo none; fi",
    );
}

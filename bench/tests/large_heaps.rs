//! Heaps that reach beyond 100 GB on a small machine: arrays that hardly anything touches take addresses and no memory.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use bench::java::vm::{Setting, Vm};
use programs::program;
use std::process::Command;

/// Arrays of 1 GiB with small objects between them; collects, drops every other array, and makes new ones.
const HUNDRED: &str = r#"
import java.util.ArrayList;
import java.util.List;

public class Hundred {
    static final int LENGTH = (1 << 30) - 16;
    static byte[][] large = new byte[100][];
    static List<String> small = new ArrayList<>();

    public static void main(String[] args) {
        for (int i = 0; i < large.length; i++) {
            fill(i);
        }
        System.gc();
        check();
        for (int i = 0; i < large.length; i += 2) {
            large[i] = null;
        }
        System.gc();
        check();
        for (int i = 0; i < large.length; i += 2) {
            fill(i);
        }
        System.gc();
        check();
        System.out.println(small.size() + " strings, " + large.length + " arrays");
    }

    static void fill(int i) {
        large[i] = new byte[LENGTH];
        large[i][at(i)] = (byte) i;
        for (int k = 0; k < 1000; k++) {
            small.add(large[i].length + "-" + i + "-" + k);
        }
    }

    static int at(int i) {
        return i * 4096 * 7;
    }

    static void check() {
        for (int n = 0; n < small.size(); n++) {
            String[] parts = small.get(n).split("-");
            if (Integer.parseInt(parts[0]) != LENGTH || Integer.parseInt(parts[2]) != n % 1000) {
                throw new AssertionError(n + ": " + small.get(n));
            }
        }
        for (int i = 0; i < large.length; i++) {
            byte[] array = large[i];
            if (array != null && (array.length != LENGTH || array[at(i)] != (byte) i
                    || array[at(i) + 4096] != 0 || array[LENGTH - 1] != 0)) {
                throw new AssertionError("array " + i);
            }
        }
    }
}
"#;

struct Program {
    name: &'static str,
    jdk: Jdk,
    classes: Scratch,
}

impl Program {
    fn compile(name: &'static str, source: &str) -> Program {
        let (jdk, classes) = (Jdk::find().unwrap(), Scratch::new("large-heaps").unwrap());
        jdk.compile_text(name, source, classes.path()).unwrap();
        Program { name, jdk, classes }
    }

    /// Runs the program under every collector; it must say `expected`, and end well.
    fn check_all(&self, heap: &str, expected: &str) {
        for collector in COLLECTORS {
            let output = self.command(collector, heap).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(said, expected, "{collector}: {errors}");
            assert!(output.status.success(), "{collector}: {errors}");
        }
    }

    fn command(&self, collector: &str, heap: &str) -> Command {
        let setting = Setting {
            collector: collector.into(),
            local_memory: "64m".into(),
            memory_servers: 2,
            options: vec![format!("-Xmx{heap}")],
        };
        let mut command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &self.jdk);
        command.arg("-cp").arg(self.classes.path()).arg(self.name);
        command
    }
}

const COLLECTORS: [&str; 7] =
    ["serial", "g1", "shenandoah", "semeru", "memliner-g1", "memliner-shenandoah", "mako"];

#[test]
fn a_hundred_gigabytes_of_hardly_anything_are_collected() {
    let program = Program::compile("Hundred", HUNDRED);
    program.check_all("160g", "150000 strings, 100 arrays\n");
}

/// The smallest program, in the largest heap that every collector takes.
#[test]
fn every_collector_takes_four_terabytes() {
    Program::compile("Hello", HELLO).check_all("4t", "4096 GB\n");
}

const HELLO: &str = r#"
public class Hello {
    public static void main(String[] args) {
        System.gc();
        System.out.println((Runtime.getRuntime().maxMemory() >> 30) + " GB");
    }
}
"#;

//! Methods of the class library that the VM computes itself give what the library's own code gives, and each has a
//! switch.
//!
//! Needs the release `vm` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use programs::program;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints how many results of `Math` and `StrictMath` differ, and the largest difference in units in the last place.
const ELEMENTARY: &str = r#"
import java.util.Random;

public class Elementary {
    private static int different;
    private static long largest;

    public static void main(String[] args) {
        Random random = new Random(17);
        for (int i = 0; i < 20_000; i++) {
            double x = random.nextDouble() * 100;
            double y = random.nextDouble() * 10 - 5;
            compare(Math.sin(x), StrictMath.sin(x));
            compare(Math.cos(x), StrictMath.cos(x));
            compare(Math.tan(x), StrictMath.tan(x));
            compare(Math.exp(y), StrictMath.exp(y));
            compare(Math.log(x), StrictMath.log(x));
            compare(Math.log10(x), StrictMath.log10(x));
            compare(Math.pow(x, y), StrictMath.pow(x, y));
        }
        System.out.println(different + " " + largest);
    }

    private static void compare(double a, double b) {
        if (a != b) {
            different++;
            long difference = Double.doubleToLongBits(a) - Double.doubleToLongBits(b);
            largest = Math.max(largest, Math.abs(difference));
        }
    }
}
"#;

struct Runner {
    scratch: Scratch,
}

impl Runner {
    fn new(name: &str) -> Runner {
        Runner { scratch: Scratch::new(name).unwrap() }
    }

    /// Compiles a conformance program.
    fn compile(&self, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/conformance/jit");
        let source: PathBuf = folder.join(format!("{name}.java"));
        Jdk::find().unwrap().compile(&[source], self.scratch.path()).unwrap();
    }

    /// The output of a program with options.
    fn run(&self, options: &[&str], name: &str) -> String {
        let mut command = Command::new(program("vm"));
        command.args(["run", "-XX:+UnlockDiagnosticVMOptions", "-XX:CompileThreshold=100"]);
        command.args(options).arg("-cp").arg(self.scratch.path()).arg(name);
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} with {options:?}: {message}");
        assert!(message.is_empty(), "{name} with {options:?}: {message}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The program's output does not depend on the options, nor on how it is executed.
    fn gives_the_same(&self, name: &str, options: &[&str]) {
        self.compile(name);
        let expected = self.run(&[], name);
        assert!(!expected.is_empty());
        assert_eq!(self.run(&["-Xint"], name), expected, "{name}");
        assert_eq!(self.run(&["-Xbatch", "-XX:CompileThreshold=10"], name), expected, "{name}");
        assert_eq!(self.run(options, name), expected, "{name} with {options:?}");
    }
}

#[test]
fn fused_multiplications_are_those_of_exact_arithmetic() {
    Runner::new("kernels-fma").gives_the_same("HotFma", &["-XX:-UseFMA"]);
}

#[test]
fn checksums_and_digests_are_those_of_the_library() {
    let switches = ["CRC32", "CRC32C", "MD5", "SHA1", "SHA256", "SHA512"];
    let options = switches.map(|name| format!("-XX:-Use{name}Intrinsics"));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Runner::new("kernels-checksums").gives_the_same("HotChecksums", &options);
}

#[test]
fn method_handles_call_the_same_methods_inlined_or_not() {
    Runner::new("kernels-handles")
        .gives_the_same("HotMethodHandles", &["-XX:-InlineMethodHandles"]);
}

#[test]
fn handles_in_constants_do_the_same_looked_into_or_not() {
    Runner::new("kernels-constants")
        .gives_the_same("HotConstantHandles", &["-XX:-FoldStaticFinals"]);
}

/// As `docs/reference/mathematics.md` says.
#[test]
fn elementary_functions_are_those_of_strict_math_if_asked() {
    let runner = Runner::new("kernels-elementary");
    Jdk::find().unwrap().compile_text("Elementary", ELEMENTARY, runner.scratch.path()).unwrap();
    assert_eq!(runner.run(&["-XX:-UseLibmIntrinsic"], "Elementary"), "0 0\n");
    assert_eq!(runner.run(&["-XX:-UseLibmIntrinsic", "-Xint"], "Elementary"), "0 0\n");
    let usually = runner.run(&[], "Elementary");
    let (different, largest) = usually.trim().split_once(' ').unwrap();
    assert!(different.parse::<u32>().unwrap() > 0, "{usually}");
    assert!(["1", "2"].contains(&largest), "{usually}");
}

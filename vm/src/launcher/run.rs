//! From arguments to a running program: the steps of the JDK's launcher, in the same order.

use super::arguments::{Command, Invocation, Mode, Stream};
use super::java_home;
use super::jni::{Library, Thrown, Vm};
use gc::options::parse_bytes;
use jni_sys::jvalue;
use jvm::options::jdk;
use jvm::threads;
use std::path::{Path, PathBuf};

/// Makes the VM on a thread of its own and runs the command there. Returns the exit code.
pub fn start(mut invocation: Invocation) -> i32 {
    let home = match jdk::find(invocation.java_home.as_ref().map(PathBuf::from).as_deref()) {
        Ok(home) => home,
        Err(message) => {
            base::say(format_args!("Error: {message}"));
            return 1;
        }
    };
    if let Command::FullVersion(stream) = invocation.command {
        print_to(stream, &format!("openjdk full version \"{}\"", full_version(&home)));
        return 0;
    }
    let home = java_home(&home, &invocation.vm_options);
    invocation.vm_options.insert(0, format!("-XX:JavaHome={}", home.display()));
    let library = match std::env::current_exe().map(|exe| exe.with_file_name("libjvm.so")) {
        Ok(path) => path,
        Err(error) => {
            base::say(format_args!("Error: cannot find libjvm.so: {error}"));
            return 1;
        }
    };
    // The system's main thread has a stack that grows in ways of its own; Java's is made to measure.
    let main = std::thread::Builder::new().stack_size(stack_bytes(&invocation)).name("java".into());
    let main = main.spawn(move || on_main_thread(&library, &invocation));
    match main.map(|main| main.join()) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => 1,
        Err(error) => {
            base::say(format_args!("Error: cannot start a thread: {error}"));
            1
        }
    }
}

/// The home in which the program runs: one whose `bin/java` is this VM, so that child processes that are started by
/// `java.home` or by `JAVA_HOME` run on this VM, too.
fn java_home(jdk: &Path, vm_options: &[String]) -> PathBuf {
    match java_home::for_children(jdk) {
        Ok(home) => {
            jdk::export(&home, jdk);
            home
        }
        Err(why) => {
            if !vm_options.iter().any(|option| option == "-XX:-PrintWarnings") {
                base::say(format_args!(
                    "OpenJDK 64-Bit Server VM warning: no home of Java can be made, hence VMs that the program \
                     starts by java.home are the JDK's own: {why}"
                ));
            }
            jdk.into()
        }
    }
}

/// Bytes of the main thread's native stack. The value of `-Xss` is checked where the VM reads it.
fn stack_bytes(invocation: &Invocation) -> usize {
    let wished = invocation.stack_size.as_deref().and_then(parse_bytes).unwrap_or(0);
    threads::native_stack_bytes(wished).max(LEAST_STACK_BYTES)
}

fn on_main_thread(library: &std::path::Path, invocation: &Invocation) -> i32 {
    let library = match Library::open(library) {
        Ok(library) => library,
        Err(message) => {
            base::say(format_args!("{message}"));
            return 1;
        }
    };
    let Some(vm) = library.create_vm(&invocation.vm_options) else {
        base::say(format_args!("Error: Could not create the Java Virtual Machine."));
        base::say(format_args!("Error: A fatal exception has occurred. Program will exit."));
        return 1;
    };
    let result = run(&vm, invocation);
    let code = match result {
        Ok(()) => 0,
        Err(Failure::InLauncher) => {
            vm.describe_exception();
            1
        }
        // The main thread's end reports it.
        Err(Failure::InProgram) => 1,
    };
    match vm.destroy() {
        Ok(()) => code,
        Err(()) => {
            base::say(format_args!("Error: Could not detach main thread."));
            1
        }
    }
}

/// The origin of a pending exception.
enum Failure {
    InLauncher,
    InProgram,
}

impl From<Thrown> for Failure {
    fn from(_: Thrown) -> Failure {
        Failure::InLauncher
    }
}

fn run(vm: &Vm, invocation: &Invocation) -> Result<(), Failure> {
    if let Some(stream) = invocation.show_version {
        print_version(vm, stream, "println")?;
    }
    if let Some(option) = &invocation.show_settings {
        show_settings(vm, option)?;
        if option == "-XshowSettings" && matches!(invocation.command, Command::Nothing) {
            return Ok(());
        }
    }
    match &invocation.command {
        Command::Run { mode, what } => run_program(vm, invocation, *mode, what),
        Command::Version(stream) => Ok(print_version(vm, *stream, "print")?),
        Command::ListModules => Ok(helper(vm, "listModules", "()V", &[])?),
        Command::ValidateModules => Ok(helper(vm, "validateModules", "()V", &[])?),
        Command::DescribeModule(module) => {
            let module = jvalue { l: vm.string(module)? };
            Ok(helper(vm, "describeModule", "(Ljava/lang/String;)V", &[module])?)
        }
        Command::FullVersion(_) | Command::Help(_) => Ok(()),
        // As in `java`, only now: options may have asked for something and ended the process.
        Command::Nothing => {
            base::say_part(format_args!("{}", super::help::run()));
            Err(Failure::InProgram)
        }
    }
}

fn run_program(vm: &Vm, invocation: &Invocation, mode: Mode, what: &str) -> Result<(), Failure> {
    let helper = vm.class(HELPER)?;
    let load = vm.method(helper, "checkAndLoadMain", "(ZILjava/lang/String;)Ljava/lang/Class;")?;
    let what = jvalue { l: vm.string(what)? };
    let main_class =
        vm.call_object(helper, load, &[jvalue { z: true }, jvalue { i: mode as i32 }, what])?;
    let application = vm.method(helper, "getApplicationClass", "()Ljava/lang/Class;")?;
    vm.call_object(helper, application, &[])?;
    let main = vm.method(main_class, "main", "([Ljava/lang/String;)V")?;
    let arguments = jvalue { l: vm.string_array(&invocation.arguments)? };
    if invocation.is_dry_run {
        return Ok(());
    }
    vm.call_void(main_class, main, &[arguments]).map_err(|_| Failure::InProgram)
}

fn helper(vm: &Vm, name: &str, descriptor: &str, arguments: &[jvalue]) -> Result<(), Thrown> {
    let helper = vm.class(HELPER)?;
    let method = vm.method(helper, name, descriptor)?;
    vm.call_void(helper, method, arguments)
}

fn print_version(vm: &Vm, stream: Stream, method: &str) -> Result<(), Thrown> {
    let class = vm.class("java/lang/VersionProps")?;
    let method = vm.method(class, method, "(Z)V")?;
    vm.call_void(class, method, &[jvalue { z: stream == Stream::Stderr }])
}

/// Sizes of 0 let Java ask the VM.
fn show_settings(vm: &Vm, option: &str) -> Result<(), Thrown> {
    let arguments = [
        jvalue { z: true },
        jvalue { l: vm.string(option)? },
        jvalue { j: 0 },
        jvalue { j: 0 },
        jvalue { j: 0 },
    ];
    helper(vm, "showSettings", "(ZLjava/lang/String;JJJ)V", &arguments)
}

fn full_version(home: &std::path::Path) -> String {
    let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_RUNTIME_VERSION="));
    line.unwrap_or("unknown").trim_matches('"').to_string()
}

fn print_to(stream: Stream, text: &str) {
    match stream {
        Stream::Stdout => base::print(format_args!("{text}")),
        Stream::Stderr => base::say(format_args!("{text}")),
    }
}

const HELPER: &str = "sun/launcher/LauncherHelper";

/// For the native frames of the main thread, for any value of `-Xss`.
const LEAST_STACK_BYTES: usize = 64 << 20;

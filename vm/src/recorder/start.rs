//! Diagnostic commands of the class library (`jdk.jfr.internal.dcmd`), by which `jcmd` and options start and end
//! recordings.

use crate::java::objects;
use crate::loading::{allocate, boxes, call, strings};
use crate::machine::JavaThread;
use crate::options::recorder::RecorderOption;
use crate::runtime::{Handle, JResult, Throw};
use classfile::BasicType;
use gc::object::ObjectRef;
use gc::object::log::{LogLevel, LogLine};

/// Where a command comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// An option of the command line, whose parts have commas between them.
    Option,
    /// A tool, or the bean; white space is between the parts.
    Tool,
}

/// Whether `-XX:-FlightRecorder` has switched the recorder off.
pub fn is_disabled(t: &JavaThread) -> bool {
    let mut given = t.vm.options.flags.iter().rev();
    let last = given.find(|(name, _)| name == "FlightRecorder");
    last.is_some_and(|(_, value)| value == "false")
}

/// Runs `JFR.start` and its like (`DCmdStart`) with arguments as they are given; the lines of its answer. The module is
/// loaded if the program was started without it. A safepoint, and it runs Java code.
pub fn run(t: &JavaThread, class: &str, arguments: &str, source: Source) -> JResult<Vec<String>> {
    let _scope = t.scope();
    objects::load_module(t, "jdk.jfr")?;
    let class = objects::boot_class(t, &format!("jdk/jfr/internal/dcmd/{class}"))?;
    let command = t.root(allocate::new_instance(t, class)?);
    t.call(call::find(class, "<init>", "()V"), &[command.get().address() as u64])?;
    let (name, delimiter) = match source {
        Source::Option => ("internal", ','),
        Source::Tool => ("attach", ' '),
    };
    let name = t.root(strings::from_str(t, name)?);
    let arguments = t.root(strings::from_str(t, arguments)?);
    let descriptor = "(Ljava/lang/String;Ljava/lang/String;C)[Ljava/lang/String;";
    let execute = call::find(class, "execute", descriptor);
    let objects = [command, name, arguments].map(|handle| handle.get().address() as u64);
    let words: Vec<u64> = objects.into_iter().chain([delimiter as u64]).collect();
    let lines = ObjectRef::from_address(t.call(execute, &words)? as usize);
    if lines.is_null() {
        return Ok(Vec::new());
    }
    let line = |index| t.load_element(lines, index);
    let lines = (0..lines.array_length()).map(line).filter(|line| !line.is_null());
    Ok(lines.map(|line| strings::to_text(t, line)).collect())
}

/// `-XX:FlightRecorderOptions` and `-XX:StartFlightRecording`, before the program begins. Errors are messages for the
/// user.
pub fn start_all(t: &JavaThread) -> Result<(), String> {
    let options = &t.vm.options;
    if is_disabled(t) {
        if !options.recordings.is_empty() {
            base::print(format_args!("{DISABLED}"));
        }
        return Ok(());
    }
    let failed =
        |thrown| format!("{}\nError: the recording could not be started", message(t, thrown));
    for settings in &options.recorder_options {
        configure(t, settings).map_err(failed)?;
    }
    for arguments in &options.recordings {
        let lines = run(t, "DCmdStart", arguments, Source::Option).map_err(failed)?;
        lines.iter().for_each(|line| show(t, line));
    }
    Ok(())
}

/// Without a choice of the user's own, the answers to options are shown.
fn show(t: &JavaThread, message: &str) {
    let (level, tags, log) = (LogLevel::Info, "jfr,startup", &t.vm.options.log);
    if log.wants(tags, level) {
        log.line(LogLine { level, tags, message });
    } else if log.wants(tags, LogLevel::Warning) {
        base::print(format_args!("[{:.3}s][info][{tags}] {message}", t.vm.uptime_s()));
    }
}

/// The message of the exception that is pending, which is taken out: commands of the class library throw what they have
/// to say to the user.
pub fn message(t: &JavaThread, thrown: Throw) -> String {
    let throwable = t.take_pending(thrown);
    let message = t.load_ref(throwable, t.vm.known.fields.throwable_message());
    match message.is_null() {
        true => t.klass_of(throwable).java_name(),
        false => strings::to_text(t, message),
    }
}

/// As `JFR.configure` of HotSpot.
fn configure(t: &JavaThread, settings: &[RecorderOption]) -> JResult<()> {
    let _scope = t.scope();
    objects::load_module(t, "jdk.jfr")?;
    let class = objects::boot_class(t, "jdk/jfr/internal/dcmd/DCmdConfigure")?;
    let command = t.root(allocate::new_instance(t, class)?);
    t.call(call::find(class, "<init>", "()V"), &[command.get().address() as u64])?;
    // Folder of recordings, of dumps, stack depth; count and size of global buffers, size of threads' buffers, of
    // memory, of chunks; sampling.
    let mut values = [const { None }; 9];
    for setting in settings {
        let (index, value) = match setting {
            RecorderOption::Repository(path) => (0, strings::from_str(t, path)?),
            RecorderOption::StackDepth(depth) => {
                (2, boxes::wrap(t, BasicType::Int, *depth as u64)?)
            }
            RecorderOption::GlobalBuffers(count) => {
                (3, boxes::wrap(t, BasicType::Long, *count as u64)?)
            }
            RecorderOption::GlobalBufferSize(bytes) => {
                (4, boxes::wrap(t, BasicType::Long, *bytes as u64)?)
            }
            RecorderOption::ThreadBufferSize(bytes) => {
                (5, boxes::wrap(t, BasicType::Long, *bytes as u64)?)
            }
            RecorderOption::MemorySize(bytes) => {
                (6, boxes::wrap(t, BasicType::Long, *bytes as u64)?)
            }
            RecorderOption::MaxChunkSize(bytes) => {
                (7, boxes::wrap(t, BasicType::Long, *bytes as u64)?)
            }
            RecorderOption::SampleThreads(samples) => {
                (8, boxes::wrap(t, BasicType::Boolean, u64::from(*samples))?)
            }
        };
        values[index] = Some(t.root(value));
    }
    let is_verbose = 0;
    let values = values.map(|value| value.map_or(0, |value: Handle| value.get().address() as u64));
    let words: Vec<u64> =
        [command.get().address() as u64, is_verbose].into_iter().chain(values).collect();
    let execute = call::find(class, "execute", CONFIGURE);
    t.call(execute, &words)?;
    Ok(())
}

/// The answer to everything when it is.
pub const DISABLED: &str = "Flight Recorder is disabled.";

const CONFIGURE: &str = "(ZLjava/lang/String;Ljava/lang/String;Ljava/lang/Integer;Ljava/lang/Long;Ljava/lang/Long;\
                         Ljava/lang/Long;Ljava/lang/Long;Ljava/lang/Long;Ljava/lang/Boolean;)[Ljava/lang/String;";

//! What the command line or the launcher chose.

/// Options of one VM.
#[derive(Clone, Debug)]
pub struct Options {
    /// The JDK's home: `lib/modules` lies below it.
    pub java_home: std::path::PathBuf,
    /// `-Dkey=value`, in order.
    pub properties: Vec<(String, String)>,
    pub heap: gc::options::HeapOptions,
    /// `-Xss`, bytes of Java stack of each thread.
    pub stack_bytes: usize,
    /// All options as given, for `RuntimeMXBean.getInputArguments`.
    pub arguments: Vec<String>,
    /// `-Xverify:none`, `-XX:-BytecodeVerificationRemote`.
    pub verify_remote: bool,
    pub verify_boot: bool,
    /// `--enable-preview`
    pub enable_preview: bool,
    /// `-verbose:class`, `-Xlog:class+load`.
    pub log_class_load: bool,
    pub log_gc: bool,
}

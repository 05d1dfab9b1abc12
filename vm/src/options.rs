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

impl Options {
    /// Reads the options of `JavaVMInitArgs`. Errors are messages as `java` prints them.
    pub fn parse(arguments: &[String], _ignore_unrecognized: bool) -> Result<Options, String> {
        let mut options = Options {
            java_home: std::env::var_os("JAVA_HOME")
                .unwrap_or("/usr/lib/jvm/java-17-openjdk-amd64".into())
                .into(),
            properties: Vec::new(),
            heap: gc::options::HeapOptions { max_bytes: 1 << 30, ..Default::default() },
            stack_bytes: 1 << 20,
            arguments: arguments.to_vec(),
            verify_remote: true,
            verify_boot: false,
            enable_preview: false,
            log_class_load: std::env::var_os("LOG_LOAD").is_some(),
            log_gc: false,
        };
        for argument in arguments {
            if let Some(property) = argument.strip_prefix("-D") {
                let (key, value) = property.split_once('=').unwrap_or((property, ""));
                options.properties.push((key.into(), value.into()));
            }
        }
        Ok(options)
    }
}

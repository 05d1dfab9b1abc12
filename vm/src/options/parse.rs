//! Reading the option strings of `JNI_CreateJavaVM`.

use super::ergonomics::{self, HeapSizes};
use super::log::{self, Log, LogOptions};
use super::{BadOption, JavaAgent, Options, conflicts, xx};
use gc::object::log::{GcLog, LogLevel, LogLine};
use gc::options::parse_bytes;
use std::sync::Arc;
use std::time::Instant;

impl Options {
    /// Reads all options, in order; later ones win. `ignore_unrecognized` is that of `JavaVMInitArgs`.
    /// `java_home` stays empty when no option names it: see [`jdk::find`](super::jdk::find).
    pub fn parse<S: AsRef<str>>(
        arguments: &[S],
        ignore_unrecognized: bool,
    ) -> Result<Options, BadOption> {
        Options::parse_behind(&[], arguments, ignore_unrecognized)
    }

    /// The same, behind the options of the home's file. These are no arguments of the VM: children that are started
    /// from the same home read them for themselves.
    pub fn parse_behind<S: AsRef<str>>(
        of_home: &[String],
        arguments: &[S],
        ignore_unrecognized: bool,
    ) -> Result<Options, BadOption> {
        let mut reader = Reader {
            options: Options::default(),
            logs: LogOptions::default(),
            sizes: HeapSizes::default(),
            numbered: [0; NUMBERED.len()],
            xx: xx::Unlocked { ignore_unrecognized, ..Default::default() },
        };
        let lenient = |argument: &S| argument.as_ref() == "-XX:+IgnoreUnrecognizedVMOptions";
        reader.xx.ignore_unrecognized |= arguments.iter().any(lenient);
        for option in of_home {
            let read = reader.read(option);
            read.map_err(|bad| BadOption(format!("{}: {bad}", super::home_file::PLACE)))?;
        }
        reader.options.arguments.clear();
        for argument in arguments {
            reader.read(argument.as_ref())?;
        }
        reader.finish()
    }
}

struct Reader {
    options: Options,
    logs: LogOptions,
    sizes: HeapSizes,
    /// How often each of [`NUMBERED`] was given.
    numbered: [usize; NUMBERED.len()],
    xx: xx::Unlocked,
}

impl Reader {
    fn read(&mut self, argument: &str) -> Result<(), BadOption> {
        if !IS_LAUNCHERS.iter().any(|name| argument.starts_with(name)) {
            self.options.arguments.push(argument.into());
        }
        if let Some(property) = argument.strip_prefix("-D") {
            return self.property(property);
        }
        if let Some(flag) = argument.strip_prefix("-XX:") {
            return self.xx.read(flag, &mut self.options, &mut self.sizes);
        }
        let is_read = self.options.assertions.parse(argument)
            || self.module_option(argument)
            || self.size_option(argument)?
            || self.verbose_option(argument)?
            || self.compiler_option(argument)
            || self.other_option(argument)?;
        if is_read || self.xx.ignore_unrecognized {
            return Ok(());
        }
        Err(BadOption(format!("Unrecognized option: {argument}")))
    }

    fn property(&mut self, property: &str) -> Result<(), BadOption> {
        let (key, value) = property.split_once('=').unwrap_or((property, ""));
        let is_given = !value.is_empty() && value != "\"\"";
        match key {
            "java.endorsed.dirs" if is_given => {
                return Err(BadOption(format!(
                    "-D{property} is not supported. Endorsed standards and standalone APIs\n\
                     in modular form will be supported via the concept of upgradeable modules."
                )));
            }
            "java.ext.dirs" if is_given => {
                let message = format!("-D{property} is not supported.  Use -classpath instead.");
                return Err(BadOption(message));
            }
            _ if is_modules_own(key) => {
                let message = "Ignoring system property options whose names match the \
                               '-Djdk.module.*'. names that are reserved for internal use.";
                self.options.warn_once(message);
                return Ok(());
            }
            _ => (),
        }
        self.set_property(key, value);
        // As `java` does: such a property starts the agent, for which its module is needed.
        if key.starts_with("com.sun.management") && !self.options.starts_agent {
            self.options.starts_agent = true;
            self.module_option("--add-modules=jdk.management.agent");
        }
        Ok(())
    }

    fn set_property(&mut self, key: &str, value: &str) {
        self.options.properties.retain(|(k, _)| k != key);
        self.options.properties.push((key.into(), value.into()));
    }

    /// `--add-opens=...` and so on become the properties that the boot layer reads.
    fn module_option(&mut self, argument: &str) -> bool {
        for (index, (option, property)) in NUMBERED.iter().enumerate() {
            if let Some(value) = argument.strip_prefix(option) {
                let count = self.numbered[index];
                self.numbered[index] += 1;
                self.set_property(&format!("{property}.{count}"), value);
                return true;
            }
        }
        for (option, property) in SINGLE {
            if let Some(value) = argument.strip_prefix(option) {
                self.set_property(property, value);
                return true;
            }
        }
        false
    }

    fn size_option(&mut self, argument: &str) -> Result<bool, BadOption> {
        let bytes = |prefix: &str, what: &str| -> Option<Result<usize, BadOption>> {
            let text = argument.strip_prefix(prefix)?;
            let invalid = || BadOption(format!("Invalid {what}: {argument}"));
            Some(parse_bytes(text).ok_or_else(invalid))
        };
        if let Some(max) = bytes("-Xmx", "maximum heap size") {
            self.sizes.max_bytes = Some(max?);
        } else if let Some(initial) = bytes("-Xms", "initial heap size") {
            let initial = initial?;
            (self.sizes.min_bytes, self.sizes.initial_bytes) = (Some(initial), Some(initial));
        } else if let Some(young) = bytes("-Xmn", "initial young generation size") {
            let young = Some(young?);
            (self.sizes.young.min_bytes, self.sizes.young.max_bytes) = (young, young);
        } else if let Some(cache) = bytes("-Xmaxjitcodesize", "maximum code cache size") {
            self.options.jit.cache_bytes = cache?;
        } else if let Some(stack) = bytes("-Xss", "thread stack size") {
            let stack = stack?;
            xx::check_stack_bytes(stack)?;
            // 0 is the default, as for `java`.
            if stack != 0 {
                self.options.stack_bytes = stack;
            }
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn verbose_option(&mut self, argument: &str) -> Result<bool, BadOption> {
        let log = match argument {
            "-verbose" | "-verbose:class" => ":class+load",
            "-verbose:gc" => ":gc",
            _ if argument.starts_with("-verbose:") => {
                let message =
                    format!("Ignoring option {argument}: this VM logs nothing of the kind");
                self.options.warn(message);
                return Ok(true);
            }
            _ => match argument.strip_prefix("-Xlog") {
                Some(log) if log.is_empty() || log.starts_with(':') => log,
                _ => match argument.strip_prefix("-Xloggc:") {
                    Some(file) => {
                        let instead = format!("Will use -Xlog:gc:{file} instead.");
                        self.logs.warn("gc", format!("-Xloggc is deprecated. {instead}"));
                        &format!(":gc:file={file}")
                    }
                    None => return Ok(false),
                },
            },
        };
        if log == ":help" {
            base::print_part(format_args!("{}", log::help()));
            std::process::exit(0);
        }
        self.log(log)?;
        Ok(true)
    }

    fn log(&mut self, text: &str) -> Result<(), BadOption> {
        let warnings = self.logs.read(text).map_err(BadOption)?;
        if !self.xx.ignore_unrecognized {
            warnings.into_iter().for_each(|warning| self.options.warn(warning));
        }
        Ok(())
    }

    /// `-XX:+PrintGC` and `-XX:+PrintGCDetails`, the old names of `-Xlog`.
    fn old_log_option(&mut self) -> Result<(), BadOption> {
        for (name, what) in [("PrintGC", "gc"), ("PrintGCDetails", "gc*")] {
            if self.options.given(name) == Some("true") {
                let message = format!("-XX:+{name} is deprecated. Will use -Xlog:{what} instead.");
                self.logs.warn("gc", message);
                self.log(&format!(":{what}"))?;
            }
        }
        Ok(())
    }

    fn compiler_option(&mut self, argument: &str) -> bool {
        let jit = &mut self.options.jit;
        match argument {
            "-Xint" => jit.is_on = false,
            "-Xmixed" => jit.is_on = true,
            "-Xcomp" => jit.compile_everything(),
            "-Xbatch" => jit.is_background = false,
            _ => return false,
        }
        true
    }

    fn other_option(&mut self, argument: &str) -> Result<bool, BadOption> {
        let options = &mut self.options;
        match argument {
            "--enable-preview" => {
                options.enable_preview = true;
                return Ok(true);
            }
            "-Xverify" | "-Xverify:all" => {
                (options.verify_boot, options.verify_remote) = (true, true);
                return Ok(true);
            }
            "-Xverify:remote" => {
                (options.verify_boot, options.verify_remote) = (false, true);
                return Ok(true);
            }
            "-Xverify:none" | "-noverify" => {
                (options.verify_boot, options.verify_remote) = (false, false);
                let message = "Options -Xverify:none and -noverify were deprecated in JDK 13 and \
                               will likely be removed in a future release.";
                options.warn(message.into());
                return Ok(true);
            }
            "-Xrs" => {
                options.reduce_signals = true;
                return Ok(true);
            }
            "-Xnoclassgc" => {
                self.xx.read("-ClassUnloading", options, &mut self.sizes)?;
                return Ok(true);
            }
            "-Xshare:on" | "-Xshare:dump" => {
                let message = "is not supported: this VM makes and reads no class archives.";
                return Err(BadOption(format!("Error: Option {argument} {message}")));
            }
            "-Xcheck:jni" => {
                self.xx.read("+CheckJNICalls", options, &mut self.sizes)?;
                return Ok(true);
            }
            "-Xprof" => {
                options.warn("Ignoring option -Xprof; support was removed in 10.0".into());
                return Ok(true);
            }
            "-Xinternalversion" => {
                base::print(format_args!(
                    "OpenJDK 64-Bit Server VM (Farheap {}) for linux-{}",
                    env!("CARGO_PKG_VERSION"),
                    std::env::consts::ARCH
                ));
                std::process::exit(0);
            }
            "exit" | "abort" | "vfprintf" => {
                let message = format!(
                    "Ignoring the function for `{argument}`: this VM calls no such function"
                );
                options.warn(message);
                return Ok(true);
            }
            _ if AS_IS.contains(&argument) => return Ok(true),
            _ => (),
        }
        if argument.starts_with("-Xcheck:") {
            return Err(BadOption(format!("Unrecognized check option: {argument}")));
        }
        if argument.starts_with("-Xverify:") {
            return Err(BadOption(format!("Unrecognized verification option: {argument}")));
        }
        if let Some(path) = argument.strip_prefix("-Xbootclasspath/a:") {
            let path = match &options.boot_class_path_append {
                Some(before) => format!("{before}:{path}"),
                None => path.into(),
            };
            options.boot_class_path_append = Some(path.clone());
            self.set_property("jdk.boot.class.path.append", &path);
            return Ok(true);
        }
        if argument.starts_with("-Xbootclasspath") {
            return Err(BadOption("-Xbootclasspath is no longer a supported option.".into()));
        }
        if argument.starts_with("--illegal-access=") {
            options.warn(format!("Ignoring option {argument}; support was removed in 17.0"));
            return Ok(true);
        }
        if let Some(agent) = argument.strip_prefix("-javaagent:") {
            let (jar, given) = match agent.split_once('=') {
                Some((jar, given)) => (jar, Some(given.to_string())),
                None => (agent, None),
            };
            if options.java_agents.is_empty() {
                self.module_option("--add-modules=java.instrument");
            }
            self.options.java_agents.push(JavaAgent { jar: jar.into(), options: given });
            return Ok(true);
        }
        if let Some(kind) = NATIVE_AGENTS.iter().find(|prefix| argument.starts_with(**prefix)) {
            let message =
                format!("Native agents are not supported: {}", kind.trim_end_matches(':'));
            return Err(BadOption(message));
        }
        Ok(false)
    }

    /// The class path has the agents' jars at its end.
    fn append_agents(&mut self) {
        let path = self.options.property("java.class.path").unwrap_or("");
        let entries = std::iter::once(path).filter(|path| !path.is_empty());
        let jars = self.options.java_agents.iter().map(|agent| agent.jar.as_str());
        let path = entries.chain(jars).collect::<Vec<_>>().join(":");
        if !self.options.java_agents.is_empty() {
            self.set_property("java.class.path", &path);
        }
    }

    fn finish(mut self) -> Result<Options, BadOption> {
        self.old_log_option()?;
        ergonomics::apply_resources(&mut self.options);
        let default = ergonomics::default_collector(&self.options);
        self.xx.choose_collector(&mut self.options, default)?;
        self.append_agents();
        self.sizes.apply(&mut self.options)?;
        conflicts::settle(&mut self.options)?;
        if self.options.heap.compressed_oops == Some(true) && !self.options.heap.fits_narrow() {
            self.options.warn("Max heap size too large for Compressed Oops".into());
        }
        let heap = &mut self.options.heap;
        // A child VM may get an address twice: from the environment, and as an argument of its parent.
        for addresses in [&mut heap.memory_server_addresses, &mut heap.spare_memory_servers] {
            let mut seen = Vec::new();
            addresses.retain(|address| {
                let is_new = !seen.contains(address);
                seen.push(address.clone());
                is_new
            });
        }
        if !heap.memory_server_addresses.is_empty() {
            heap.memory_servers = heap.memory_server_addresses.len() as u16;
        }
        if heap.memory_pool.is_some()
            && !heap.has_agents()
            && self.options.flags.iter().any(|(name, _)| name == "MemoryServers")
        {
            let collector = heap.collector.name();
            let message = format!(
                "--memory-servers and --memory-pool exclude each other: {collector} has no agents"
            );
            return Err(BadOption(message));
        }
        if let Some(path) = &heap.token_file {
            let token = rdma::Token::read(path);
            heap.memory_server_token = token.map_err(|error| BadOption(error.to_string()))?;
        }
        let log = Arc::new(Log::new(self.logs, Instant::now()));
        for line in self.options.resources.describe() {
            log.line(LogLine { level: LogLevel::Info, tags: "os,container", message: &line });
        }
        self.options.log = log.clone();
        // Always: a bean may switch it on later.
        self.options.heap.log = GcLog::to(Arc::new(move |line| log.line(line)));
        Ok(self.options)
    }
}

/// Options that may be given several times, and the property of which each becomes a numbered one.
const NUMBERED: [(&str, &str); 6] = [
    ("--add-reads=", "jdk.module.addreads"),
    ("--add-exports=", "jdk.module.addexports"),
    ("--add-opens=", "jdk.module.addopens"),
    ("--add-modules=", "jdk.module.addmods"),
    ("--patch-module=", "jdk.module.patch"),
    ("--enable-native-access=", "jdk.module.enable.native.access"),
];

const SINGLE: [(&str, &str); 3] = [
    ("--limit-modules=", "jdk.module.limitmods"),
    ("--module-path=", "jdk.module.path"),
    ("--upgrade-module-path=", "jdk.module.upgrade.path"),
];

/// Properties that the launcher adds by itself and the beans do not show.
const IS_LAUNCHERS: [&str; 5] = [
    "-Djava.class.path=",
    "-Dsun.java.command=",
    "-Dsun.java.launcher",
    "-Djdk.module.main",
    "-XX:JavaHome=",
];

/// Properties that only options of their own may set.
fn is_modules_own(key: &str) -> bool {
    const OWN: [&str; 9] = [
        "addexports",
        "addopens",
        "addreads",
        "patch",
        "addmods",
        "limitmods",
        "path",
        "upgrade.path",
        "enable.native.access",
    ];
    let is_own = |rest: &str| {
        OWN.iter().any(|own| {
            rest.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    key.strip_prefix("jdk.module.").is_some_and(is_own)
}

/// Options that ask for what this VM does anyway, or that have no effect under HotSpot either.
const AS_IS: [&str; 4] = ["-Xfuture", "-Xdebug", "-Xshare:auto", "-Xshare:off"];

/// Agents that need JVMTI.
const NATIVE_AGENTS: [&str; 3] = ["-agentlib:", "-agentpath:", "-Xrun"];

#[cfg(test)]
mod tests {
    use super::super::log::Topic;
    use super::*;
    use gc::options::{CollectorKind, LocalMemory};

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        Options::parse(arguments, false).map_err(|bad| bad.0)
    }

    #[test]
    fn reads_what_java_reads() {
        let options = parse(&[
            "-Xmx64m",
            "-Xms8m",
            "-Xss512k",
            "-Da=b=c",
            "-Dempty",
            "-ea",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "--add-opens=java.base/java.util=ALL-UNNAMED",
            "--module-path=/m",
            "-XX:+UseStringDeduplication",
            "-XX:MaxDirectMemorySize=4m",
            "-XX:LocalMemory=25%",
            "-XX:LocalMemoryPool=web=2g",
            "-XX:FarLatency=5us",
            "-XX:FarBandwidth=40gbit",
            "-XX:MemoryServer=[::1]:7411",
            "-XX:MemoryServer=unix:other",
            "-XX:Transport=tcp",
            "-XX:+PageChecksums",
            "-XX:FaultTrace=2000",
            "-XX:PageTrace=/tmp/pages",
            "-XX:FaultProfile=/f",
            "-XX:FaultProfileInterval=7",
            "-XX:-MakoOffloadTracing",
            "-XX:MakoEntryBufferSize=256",
            "-XX:MakoPollingPeriod=7",
            "-verbose:gc",
        ])
        .unwrap();
        assert_eq!(options.heap.max_bytes, 64 << 20);
        assert_eq!(options.heap.initial_bytes, 8 << 20);
        assert_eq!(options.stack_bytes, 512 << 10);
        assert_eq!(options.property("a"), Some("b=c"));
        assert_eq!(options.property("empty"), Some(""));
        assert_eq!(options.property("jdk.module.path"), Some("/m"));
        let second = options.property("jdk.module.addopens.1");
        assert_eq!(second, Some("java.base/java.util=ALL-UNNAMED"));
        assert!(options.assertions.default && options.log.is_verbose(Topic::Gc));
        assert_eq!(options.max_direct_memory, Some(4 << 20));
        assert_eq!(options.heap.local_memory, LocalMemory::Percent(25));
        let pool = options.heap.local_memory_pool.unwrap();
        assert_eq!((pool.name.as_str(), pool.bytes), ("web", Some(2 << 30)));
        assert_eq!(options.heap.far_latency.as_nanos(), 5000);
        assert_eq!(options.heap.far_bandwidth, 5_000_000_000);
        assert_eq!(options.heap.memory_server_addresses[0].to_string(), "[::1]:7411");
        assert_eq!(
            (options.heap.memory_server_addresses.len(), options.heap.memory_servers),
            (2, 2)
        );
        assert_eq!(options.heap.transport, rdma::Transport::Tcp);
        assert!(options.heap.page_checksums);
        assert_eq!(options.heap.fault_trace, 2000);
        assert_eq!(options.heap.page_trace.as_deref(), Some("/tmp/pages".as_ref()));
        assert_eq!(options.fault_profile, Some("/f".into()));
        assert_eq!(options.fault_profile_interval, 7);
        let mako = options.heap.mako;
        assert!(!mako.offload_tracing && mako.offload_evacuation && mako.write_through);
        assert_eq!((mako.entry_buffer, mako.polling_period.as_micros()), (256, 7));
        assert_eq!(options.arguments.len(), 27);
    }

    #[test]
    fn options_of_the_home_come_first_and_are_no_arguments() {
        let of_home = |options: &[&str]| {
            let of_home: Vec<String> = options.iter().map(|text| text.to_string()).collect();
            Options::parse_behind(&of_home, &["-XX:Collector=serial", "-Da=b"], false)
        };
        let options = of_home(&["-XX:Collector=mako", "-XX:LocalMemory=25%", "-Da=c"]).unwrap();
        assert_eq!(options.heap.collector, CollectorKind::Serial);
        assert_eq!(options.heap.local_memory, LocalMemory::Percent(25));
        assert_eq!(options.property("a"), Some("b"));
        assert_eq!(options.arguments, ["-XX:Collector=serial", "-Da=b"]);
        let bad = of_home(&["-XX:LocalMemory=no"]).unwrap_err().0;
        assert!(bad.starts_with("conf/farheap.options: "), "{bad}");
    }

    #[test]
    fn a_memory_server_that_is_named_twice_is_one() {
        let (one, other) = ("-XX:MemoryServer=unix:one", "-XX:MemoryServer=unix:other");
        let options = parse(&[one, other, one, other]).unwrap();
        assert_eq!(options.heap.memory_server_addresses.len(), 2);
        assert_eq!(options.heap.memory_servers, 2);
    }

    #[test]
    fn says_what_java_says_of_bad_options() {
        let error = |argument: &str| parse(&[argument]).expect_err(argument);
        assert_eq!(error("-Xfoo"), "Unrecognized option: -Xfoo");
        assert_eq!(error("-eafoo"), "Unrecognized option: -eafoo");
        assert_eq!(error("-Xmxfoo"), "Invalid maximum heap size: -Xmxfoo");
        assert_eq!(error("-XX:+Foo"), "Unrecognized VM option 'Foo'");
        assert_eq!(error("-XX:Foo=3"), "Unrecognized VM option 'Foo=3'");
        assert_eq!(error("-XX:"), "Unrecognized VM option ''");
        let meant = "Unrecognized VM option 'UseG1G'\nDid you mean '(+/-)UseG1GC'?";
        assert_eq!(error("-XX:+UseG1G"), meant);
        let meant = "Unrecognized VM option 'MaxTenuringThreshol=3'\n\
                     Did you mean 'MaxTenuringThreshold=<value>'?";
        assert_eq!(error("-XX:MaxTenuringThreshol=3"), meant);
        let meant = "Did you mean 'MakoAwayTablets=<value>'?";
        assert!(error("-XX:MakoAwayTablet=3").ends_with(meant));
        assert_eq!(
            error("-XX:UseStringDeduplication"),
            "Missing +/- setting for VM option 'UseStringDeduplication'"
        );
        assert_eq!(error("-XX:+MaxHeapSize"), "Unexpected +/- setting in VM option 'MaxHeapSize'");
        assert_eq!(error("-XX:MaxHeapSize=abc"), "Invalid maximum heap size: -XX:MaxHeapSize=abc");
        assert!(error("-XX:+WhiteBoxAPI").contains("must be enabled via -XX:+UnlockDiagnostic"));
        // Unlocking needs no unlocking, and can be taken back.
        let locks = ["-XX:-UnlockDiagnosticVMOptions", "-XX:-UnlockExperimentalVMOptions"];
        assert!(parse(&locks).is_ok());
        let locked = parse(&["-XX:+UnlockDiagnosticVMOptions", locks[0], "-XX:+WhiteBoxAPI"]);
        assert!(locked.unwrap_err().contains("must be enabled via -XX:+UnlockDiagnostic"));
        assert!(error("-Xss1k").contains("Specify at least 136k"));
        assert!(error("-Xss2g").contains("more than 1048576k"));
        assert!(error("-XX:ThreadStackSize=18014398509481985").contains("more than 1048576k"));
        assert!(error("-XX:LocalMemory=0%").contains("local memory"));
        assert!(error("-XX:Transport=post").contains("one of shm, tcp, verbs"));
        assert!(error("-XX:MemoryServer=host").contains("HOST:PORT"));
        let improper = "Improperly specified VM option 'FarLatency=5': not a time such as 5us";
        assert_eq!(error("-XX:FarLatency=5"), improper);
        let improper =
            "Improperly specified VM option 'FarBandwidth=fast': not a rate such as 40gbit";
        assert_eq!(error("-XX:FarBandwidth=fast"), improper);
        assert!(error("-XX:TokenFile=/nowhere/token").contains("/nowhere/token"));
        for (given, least, most) in [
            ("MakoEntryBufferSize=64", 128, 65_536),
            ("MakoPollingPeriod=0", 1, 1_000_000),
            ("ShenandoahMinFreeThreshold=500", 0, 100),
            ("ParallelGCThreads=9999", 0, 1024),
            ("RegionWastePercent=500", 0, 100),
            ("SemeruTracingGrowthPercent=101", 0, 100),
            ("MaxTenuringThreshold=16", 0, 15),
            ("MemLinerEpochBits=9", 1, 8),
            ("MemoryServers=65", 1, 64),
            ("Replicas=3", 1, 2),
            ("RegionSize=1k", 1 << 16, 1 << 30),
            ("CICompilerCount=65", 0, 64),
            ("ActiveProcessorCount=-1", 0, 1 << 16),
        ] {
            let message = format!("{given} is outside the allowed range [ {least} ... {most} ]");
            assert_eq!(error(&format!("-XX:{given}")), message);
        }
        for (given, bytes) in [("1", 1 << 20), ("3m", 4 << 20), ("16m", 16 << 20)] {
            let options = parse(&[&format!("-XX:G1HeapRegionSize={given}")]).unwrap();
            assert_eq!(options.heap.region_bytes, Some(bytes), "{given}");
        }
        assert!(error("-XX:G1HeapRegionSize=2g").contains("outside the allowed range"));
        let missing = "Missing +/- setting for VM option 'MakoTraceOrder=1'";
        assert_eq!(error("-XX:MakoTraceOrder=1"), missing);
        assert_eq!(
            error("-XX:+MakoGroupRegions"),
            "Unexpected +/- setting in VM option 'MakoGroupRegions'"
        );
        let improper = "Improperly specified VM option 'MakoGroupRegions'";
        assert_eq!(error("-XX:MakoGroupRegions"), improper);
        let multiple = parse(&["-XX:+UseG1GC", "-XX:+UseParallelGC"]).unwrap_err();
        assert!(multiple.ends_with("\nMultiple garbage collectors selected"));
        let none = parse(&["-XX:+AlwaysActAsServerClassMachine", "-XX:-UseG1GC"]).unwrap_err();
        assert!(none.contains("Garbage collector not selected"));
        assert!(parse(&["-XX:+UseG1GC", "-XX:-UseG1GC", "-XX:+UseSerialGC"]).is_ok());
        let outside = "intx TieredStopAtLevel=9 is outside the allowed range [ 0 ... 4 ]\n\
                       Improperly specified VM option 'TieredStopAtLevel=9'";
        assert_eq!(error("-XX:TieredStopAtLevel=9"), outside);
        let outside = "intx Tier3DelayOn=-1 is outside the allowed range [ 0 ... 2147483647 ]\n\
                       Improperly specified VM option 'Tier3DelayOn=-1'";
        assert_eq!(error("-XX:Tier3DelayOn=-1"), outside);
        assert!(error("-XX:CompileCommand=foo,bar").contains("Unrecognized option 'foo'"));
        assert_eq!(error("-Xcheck:foo"), "Unrecognized check option: -Xcheck:foo");
        assert!(error("-Djava.ext.dirs=x").contains("Use -classpath instead"));
        assert!(error("-Djava.endorsed.dirs=x").contains("is not supported"));
        assert!(parse(&["-Djava.ext.dirs=", "-XX:#+Foo"]).is_ok());
        assert!(Options::parse(&["-XX:+Foo", "-Xfoo"], true).is_ok());
        assert!(parse(&["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+Foo"]).is_ok());
    }

    #[test]
    fn warns_of_what_has_no_effect() {
        let warnings = |arguments: &[&str]| parse(arguments).unwrap().warnings;
        assert_eq!(
            warnings(&["-XX:+UseBiasedLocking"]),
            ["Ignoring option UseBiasedLocking: locks are not biased"]
        );
        assert!(warnings(&["-XX:-UseBiasedLocking", "-XX:+UseTLAB"]).is_empty());
        let ignoring = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:+UseBiasedLocking"];
        assert!(warnings(&ignoring).is_empty());
        let parallel = "Option UseParallelGC: there is no such collector; g1 runs instead";
        assert_eq!(warnings(&["-XX:+UseParallelGC"]), [parallel]);
        let zgc = parse(&["-XX:+UseZGC"]).unwrap();
        assert_eq!(zgc.heap.collector.name(), "shenandoah");
        assert!(warnings(&["-XX:+UseSerialGC"]).is_empty());
        assert_eq!(warnings(&["-XX:CompileCommand=log,a.B::c"]).len(), 1);
        assert_eq!(warnings(&["-Djdk.module.path=x", "-Djdk.module.patch.0=y"]).len(), 1);
        assert!(warnings(&["-Djdk.module.main=x"]).is_empty());
    }

    #[test]
    fn properties_of_management_start_the_agent() {
        let options = parse(&["--add-modules=a", "-Dcom.sun.management.jmxremote.port=0"]).unwrap();
        assert!(options.starts_agent && !parse(&[]).unwrap().starts_agent);
        assert_eq!(options.property("jdk.module.addmods.1"), Some("jdk.management.agent"));
    }

    #[test]
    fn the_width_of_references_is_the_heaps_choice_unless_told() {
        let chosen = |arguments: &[&str]| parse(arguments).unwrap().heap.compressed_oops;
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&["-XX:-UseCompressedOops"]), Some(false));
        assert_eq!(chosen(&["-XX:+UseCompressedOops", "-Xmx40g"]), Some(true));
        assert!(parse(&["-XX:ObjectAlignmentInBytes=8"]).is_ok());
        for (bytes, word) in [(4, "range"), (512, "range"), (12, "power of 2"), (16, "supported")] {
            let refused = parse(&[&format!("-XX:ObjectAlignmentInBytes={bytes}")]);
            assert!(refused.unwrap_err().to_string().contains(word), "{bytes}");
        }
    }
}

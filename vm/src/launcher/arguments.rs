//! The arguments of `vm run`, in the order of `java`: options, the program to run, its own arguments.

use super::class_path;

/// The meaning of the words after `run`.
#[derive(Debug, PartialEq, Eq)]
pub struct Invocation {
    pub command: Command,
    /// Options for `JNI_CreateJavaVM`.
    pub vm_options: Vec<String>,
    /// For the program.
    pub arguments: Vec<String>,
    /// `-showversion`, `--show-version`: print it, then continue. To stdout or stderr.
    pub show_version: Option<Stream>,
    /// `-XshowSettings[:what]`, as given.
    pub show_settings: Option<String>,
    /// `--dry-run`: load the main class, do not run it.
    pub is_dry_run: bool,
    pub java_home: Option<String>,
    /// The value of `-Xss`, as given.
    pub stack_size: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// Load and run; `what` is a class, a jar file or `module/class`.
    Run {
        mode: Mode,
        what: String,
    },
    Version(Stream),
    /// `-fullversion`, `--full-version`
    FullVersion(Stream),
    ListModules,
    DescribeModule(String),
    ValidateModules,
    /// With a group, `--help=GROUP`.
    Help(Option<String>),
    /// Nothing to run was named.
    Nothing,
}

/// The modes of `sun.launcher.LauncherHelper`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Mode {
    Class = 1,
    Jar = 2,
    Module = 3,
    Source = 4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

impl Invocation {
    /// Reads the words. The error is the message for stderr.
    pub fn parse(words: &[String]) -> Result<Invocation, String> {
        let mut parser = Parser::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                parser.what = Some(word.clone());
                break;
            }
            parser.take(word, &mut words)?;
            if parser.is_complete() {
                break;
            }
        }
        parser.finish(words.cloned().collect())
    }
}

/// Reads words that are options of the VM, and nothing that says what is run or that only the launcher knows. Returns
/// them in the form of `JNI_CreateJavaVM`.
pub fn vm_options(words: &[String]) -> Result<Vec<String>, String> {
    let mut parser = Parser::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let before = parser.vm_options.len();
        if word.starts_with('-') {
            parser.take(word, &mut words).map_err(|why| why.replace("Error: ", ""))?;
        }
        if parser.vm_options.len() == before {
            return Err(format!("{word} is no option of the VM"));
        }
    }
    Ok(parser.vm_options)
}

/// Whether the next word is this option's value.
pub fn takes_value(option: &str) -> bool {
    let is_long = VALUED_LONG.iter().any(|(name, _)| *name == option);
    is_long || VALUED_SHORT.contains(&option) || FAR.iter().any(|(name, _)| *name == option)
}

#[derive(Default)]
struct Parser {
    vm_options: Vec<String>,
    class_path: Option<String>,
    what: Option<String>,
    mode: Option<Mode>,
    command: Option<Command>,
    source: Option<String>,
    show_version: Option<Stream>,
    show_settings: Option<String>,
    is_dry_run: bool,
    is_diagnostic: bool,
    java_home: Option<String>,
    stack_size: Option<String>,
}

impl Parser {
    /// Takes one option and, if it has one, its value: behind `=`, or the next of the words.
    fn take<'a>(
        &mut self,
        word: &str,
        words: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), String> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_string())),
            _ => (word, None),
        };
        let value = match value {
            None if takes_value(name) => words.next().cloned(),
            value => value,
        };
        self.option(word, name, value)
    }

    /// One option with its value, if it takes one.
    fn option(&mut self, word: &str, name: &str, value: Option<String>) -> Result<(), String> {
        if let Some((_, requires)) = VALUED_LONG.iter().find(|(known, _)| *known == name) {
            let value = value.ok_or_else(|| format!("Error: {name} requires {requires}"))?;
            self.valued(name, value);
            return Ok(());
        }
        if let Some((_, xx)) = FAR.iter().find(|(known, _)| *known == name) {
            let value = value.ok_or_else(|| format!("Error: {name} requires a value"))?;
            self.vm_options.push(format!("-XX:{xx}={value}"));
            return Ok(());
        }
        if let Some((_, xx)) = SWITCHES.iter().find(|(known, _)| *known == word) {
            self.vm_options.push(format!("-XX:+{xx}"));
            return Ok(());
        }
        match name {
            "-cp" | "-classpath" => {
                let missing = || format!("Error: {name} requires class path specification");
                self.class_path = Some(value.ok_or_else(missing)?);
            }
            "-p" => {
                let missing = || format!("Error: {name} requires module path specification");
                self.vm_options.push(format!("--module-path={}", value.ok_or_else(missing)?));
            }
            "-m" => {
                self.module(value.ok_or_else(|| format!("Error: {name} requires module name"))?)
            }
            "-d" => {
                let missing = || format!("Error: {name} requires module name");
                self.command = Some(Command::DescribeModule(value.ok_or_else(missing)?));
            }
            "-jar" => {
                let missing = || format!("Error: {name} requires jar file specification");
                (self.mode, self.what) = (Some(Mode::Jar), Some(value.ok_or_else(missing)?));
            }
            "-version" => self.command = Some(Command::Version(Stream::Stderr)),
            "--version" => self.command = Some(Command::Version(Stream::Stdout)),
            "-fullversion" => self.command = Some(Command::FullVersion(Stream::Stderr)),
            "--full-version" => self.command = Some(Command::FullVersion(Stream::Stdout)),
            "-showversion" => self.show_version = Some(Stream::Stderr),
            "--show-version" => self.show_version = Some(Stream::Stdout),
            "--list-modules" if word == name => self.command = Some(Command::ListModules),
            "--validate-modules" => self.command = Some(Command::ValidateModules),
            "--help" if word != name => {
                let group = word.split_once('=').map(|(_, group)| group.to_string());
                self.command = Some(Command::Help(group));
            }
            "-?" | "-h" | "-help" | "--help" | "-X" | "--help-extra" => {
                self.command = Some(Command::Help(None));
            }
            "--dry-run" => self.is_dry_run = true,
            "--show-module-resolution" => {
                self.vm_options.push("-Djdk.module.showModuleResolution=true".into());
            }
            "-Xdiag" => self.is_diagnostic = true,
            "-server" | "-client" => (),
            _ if name.starts_with("-XshowSettings") => self.show_settings = Some(word.into()),
            _ if name.starts_with("-splash:") => {
                let message = "there are no splash screens";
                base::say(format_args!("Warning: Ignoring option {word}: {message}"));
            }
            "-Xfuture" => {
                let message = "is deprecated and may be removed in a future release.";
                base::say(format_args!("Warning: {word} option {message}"));
            }
            _ => self.vm_option(word),
        }
        Ok(())
    }

    fn vm_option(&mut self, word: &str) {
        // Names of the first Java releases.
        let renamed = [
            ("-verbosegc", "-verbose:gc"),
            ("-debug", "-Xdebug"),
            ("-prof", "-Xprof"),
            ("-noclassgc", "-Xnoclassgc"),
        ];
        let old = ["-ms", "-mx", "-ss"].into_iter().find(|old| {
            word.strip_prefix(old)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        let word = match (old, renamed.iter().find(|(from, _)| *from == word)) {
            (Some(_), _) => format!("-X{}", &word[1..]),
            (None, Some((_, to))) => (*to).into(),
            (None, None) => word.into(),
        };
        if let Some(size) = word.strip_prefix("-Xss") {
            self.stack_size = Some(size.into());
        }
        self.vm_options.push(word);
    }

    fn valued(&mut self, name: &str, value: String) {
        match name {
            "--class-path" => self.class_path = Some(value),
            "--module" => self.module(value),
            "--describe-module" => self.command = Some(Command::DescribeModule(value)),
            "--source" => self.source = Some(value),
            "--java-home" => self.java_home = Some(value),
            _ => self.vm_options.push(format!("{name}={value}")),
        }
    }

    fn module(&mut self, value: String) {
        (self.mode, self.what) = (Some(Mode::Module), Some(value));
    }

    /// Whether the program's own arguments follow.
    fn is_complete(&self) -> bool {
        self.what.is_some() || matches!(self.command, Some(Command::Help(_)))
    }

    fn finish(mut self, mut arguments: Vec<String>) -> Result<Invocation, String> {
        let command = match (self.command.take(), self.what.take()) {
            (Some(command), _) => command,
            (None, None) => Command::Nothing,
            (None, Some(what)) => self.program(what, &mut arguments),
        };
        let environment = std::env::var("CLASSPATH").ok();
        let class_path = match self.class_path.take().or(environment) {
            Some(path) => Some(class_path::expand(&path)),
            None => matches!(command, Command::Run { mode: Mode::Class, .. }).then(|| ".".into()),
        };
        let class_path = match &command {
            Command::Run { mode: Mode::Jar, what } => Some(what.clone()),
            _ => class_path,
        };
        if let Some(path) = class_path {
            self.vm_options.push(format!("-Djava.class.path={path}"));
        }
        if let Command::Run { what, .. } = &command {
            let words: Vec<&str> =
                std::iter::once(what).chain(&arguments).map(String::as_str).collect();
            self.vm_options.push(format!("-Dsun.java.command={}", words.join(" ")));
        }
        self.vm_options.push("-Dsun.java.launcher=SUN_STANDARD".into());
        if self.is_diagnostic {
            self.vm_options.push("-Dsun.java.launcher.diag=true".into());
        }
        Ok(Invocation {
            command,
            vm_options: self.vm_options,
            arguments,
            show_version: self.show_version,
            show_settings: self.show_settings,
            is_dry_run: self.is_dry_run,
            java_home: self.java_home,
            stack_size: self.stack_size,
        })
    }

    fn program(&mut self, what: String, arguments: &mut Vec<String>) -> Command {
        let mode = self.mode.unwrap_or(match self.source.is_some() || is_source_file(&what) {
            true => Mode::Source,
            false => Mode::Class,
        });
        let what = match mode {
            Mode::Source => {
                self.vm_options.push("--add-modules=ALL-DEFAULT".into());
                if let Some(version) = &self.source {
                    self.vm_options.push(format!("-Djdk.internal.javac.source={version}"));
                }
                arguments.insert(0, what);
                SOURCE_LAUNCHER.to_string()
            }
            _ => what,
        };
        if matches!(mode, Mode::Module | Mode::Source) {
            let module = what.split('/').next().unwrap_or(&what);
            self.vm_options.push(format!("-Djdk.module.main={module}"));
        }
        Command::Run { mode, what }
    }
}

/// A file that is Java source by its name.
fn is_source_file(what: &str) -> bool {
    what.ends_with(".java") && std::path::Path::new(what).exists()
}

/// Long options with a value, given with `=` or as the next word, and the noun that their error message
/// asks for.
const VALUED_LONG: [(&str, &str); 14] = [
    ("--class-path", "class path specification"),
    ("--module-path", "module path specification"),
    ("--upgrade-module-path", "module path specification"),
    ("--module", "module name"),
    ("--describe-module", "module name"),
    ("--add-modules", "modules to be specified"),
    ("--limit-modules", "modules to be specified"),
    ("--add-exports", "modules to be specified"),
    ("--add-opens", "modules to be specified"),
    ("--add-reads", "modules to be specified"),
    ("--patch-module", "modules to be specified"),
    ("--enable-native-access", "modules to be specified"),
    ("--source", "source version"),
    ("--java-home", "the folder of a JDK"),
];

const VALUED_SHORT: [&str; 6] = ["-cp", "-classpath", "-p", "-m", "-d", "-jar"];

/// Options of far memory, and the `-XX` options that they become.
pub const FAR: [(&str, &str); 16] = [
    ("--gc", "Collector"),
    ("--local-memory", "LocalMemory"),
    ("--local-memory-pool", "LocalMemoryPool"),
    ("--memory-servers", "MemoryServers"),
    ("--memory-server", "MemoryServer"),
    ("--memory-pool", "MemoryPool"),
    ("--replicas", "Replicas"),
    ("--spare-memory-server", "SpareMemoryServer"),
    ("--lost-server-timeout", "LostServerTimeout"),
    ("--token-file", "TokenFile"),
    ("--transport", "Transport"),
    ("--far-latency", "FarLatency"),
    ("--far-bandwidth", "FarBandwidth"),
    ("--stats", "StatsFile"),
    ("--fault-profile", "FaultProfile"),
    ("--metrics", "MetricsAddress"),
];

/// Those without a value.
pub const SWITCHES: [(&str, &str); 1] = [("--page-checksums", "PageChecksums")];

const SOURCE_LAUNCHER: &str = "jdk.compiler/com.sun.tools.javac.launcher.Main";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Invocation, String> {
        Invocation::parse(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>())
    }

    fn has(invocation: &Invocation, option: &str) -> bool {
        invocation.vm_options.iter().any(|o| o == option)
    }

    #[test]
    fn runs_a_class() {
        let words = ["-cp", "a:b", "-Xmx1g", "--gc", "mako", "--local-memory=25%", "p.Main", "-x"];
        let run = parse(&words).unwrap();
        assert_eq!(run.command, Command::Run { mode: Mode::Class, what: "p.Main".into() });
        assert_eq!(run.arguments, ["-x"]);
        for option in [
            "-Xmx1g",
            "-XX:Collector=mako",
            "-XX:LocalMemory=25%",
            "-Djava.class.path=a:b",
            "-Dsun.java.command=p.Main -x",
        ] {
            assert!(has(&run, option), "{option} in {:?}", run.vm_options);
        }
    }

    #[test]
    fn runs_jars_and_modules() {
        let run = parse(&["-cp", "ignored", "-jar", "app.jar", "one"]).unwrap();
        assert_eq!(run.command, Command::Run { mode: Mode::Jar, what: "app.jar".into() });
        assert!(has(&run, "-Djava.class.path=app.jar"));
        assert_eq!(run.arguments, ["one"]);
        let run = parse(&["-p", "mods", "--add-modules", "x", "-m", "m/p.Main", "y"]).unwrap();
        assert_eq!(run.command, Command::Run { mode: Mode::Module, what: "m/p.Main".into() });
        assert!(has(&run, "--module-path=mods") && has(&run, "--add-modules=x"));
        assert!(has(&run, "-Djdk.module.main=m"));
    }

    #[test]
    fn says_what_is_missing() {
        assert_eq!(parse(&["-cp"]).unwrap_err(), "Error: -cp requires class path specification");
        let message = "Error: --add-modules requires modules to be specified";
        assert_eq!(parse(&["--add-modules"]).unwrap_err(), message);
        assert_eq!(parse(&["-jar"]).unwrap_err(), "Error: -jar requires jar file specification");
        assert_eq!(parse(&[]).unwrap().command, Command::Nothing);
        assert_eq!(parse(&["-version"]).unwrap().command, Command::Version(Stream::Stderr));
        assert_eq!(parse(&["--list-modules=1"]).unwrap().command, Command::Nothing);
    }
}

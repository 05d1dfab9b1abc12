//! Help texts.

use base::options::OptionGroup;
use gc::options::CollectorKind;
use jvm::options::Options;

pub const COMMANDS: &str = "\
usage: vm run [options] <main class> [arguments]   run a Java program; `vm run --help` lists the options
       vm -<option> ...                            the same: if the first word is an option, `run` may be omitted
       vm java-home <folder> [-- options]          make a JAVA_HOME whose `java` and `javac` run on this VM
       vm collectors                               list the collectors
       vm version
       vm help
";

/// The options that most users need.
pub fn run() -> String {
    let collectors: Vec<&str> = CollectorKind::ALL.iter().map(|kind| kind.name()).collect();
    let collectors = collectors.join("|");
    let groups: Vec<&str> = groups().into_iter().map(|(name, _)| name).collect();
    let groups = groups.join(", ");
    format!(
        "\
usage: vm run [options] <main class> [arguments]
       vm run [options] -jar <jar file> [arguments]
       vm run [options] -m <module>[/<main class>] [arguments]
       vm run [options] <source file> [arguments]

  -cp, -classpath, --class-path <path>
  -Xmx<size> -Xms<size>     largest and first size of the heap
  --gc {collectors}
                            the collector (also -XX:+UseMakoGC and so on)
  --local-memory 25%|512m   how much of the heap may be resident; 100% (the default): all of it
  --memory-servers <n>      start N memory servers for the rest of the heap (default 2)
  --memory-server <address> use a running memory server instead: HOST:PORT, verbs:HOST:PORT over RDMA, or
                            unix:NAME on this machine; may be repeated
  --memory-pool <file>      keep the rest of the heap in this file or DAX device, a pool, and not in servers
  --token-file <file>       file with the secret that servers on other machines require
  --replicas 2              keep a copy of each page on two memory servers, to survive the loss of one (default 1)
  --java-home <folder>      the JDK 17 to use (else that of JAVA_HOME, else an installed one)
  -D<name>=<value>  -Xss<size>  -ea  --enable-preview  @<file with options>
  -Xlog:gc*, -verbose:gc    log collections
  --stats <file>            write counters and pauses as JSON at the end
  --fault-profile <file>    write which lines of the program fetched pages, for flame graphs
  --metrics 127.0.0.1:<port>  serve counters to Prometheus while the program runs
  -version  --version

`vm run --help=GROUP` lists further options: {groups}, all.
"
    )
}

/// The options of a group, or of `all`. `None`: there is no such group.
pub fn group(wanted: &str) -> Option<String> {
    let groups = groups();
    if wanted == "all" {
        let all = groups.into_iter().map(|(name, text)| format!("{name}:\n{text}"));
        return Some(all.collect::<Vec<_>>().join("\n"));
    }
    groups.into_iter().find(|(name, _)| *name == wanted).map(|(_, text)| text)
}

fn groups() -> Vec<(&'static str, String)> {
    let options = Options::default();
    let mut groups = vec![("java", JAVA.to_string()), ("servers", SERVERS.to_string())];
    for table in options.groups() {
        let title = table.title();
        let written = if title == "compiler" { COMPILER } else { "" };
        groups.push((title, written.to_string() + &listed(table)));
    }
    groups
}

/// A table of options: how each is written, its help text, and in brackets its range and its purpose.
fn listed(table: &dyn OptionGroup) -> String {
    let mut text = String::new();
    for row in table.rows() {
        let limits = row.limits().map_or(String::new(), |limits| limits + ", ");
        text += &format!("  {}\n", row.usage());
        for line in row.help.lines() {
            text += &format!("      {line}\n");
        }
        text += &format!("      [{limits}{}]\n", row.purpose);
    }
    text
}

const JAVA: &str = "  -p, --module-path <path>  --add-modules, --limit-modules <modules>
  --add-opens, --add-exports, --add-reads, --patch-module, --enable-native-access ...
  -ea, -da, -esa, -dsa      assertions of the program, of the class library
  -Xss<size>  --enable-preview  --source <version>
  -verbose:class  -version  --version  -showversion  --list-modules  -d <module>  --dry-run
  @<file>                   options from a file
";

const SERVERS: &str = "  --spare-memory-server <address>
                            with --replicas 2: a running memory server that replaces a lost one if no server
                            listens at the lost one's address; may be repeated
  --lost-server-timeout <seconds>
                            with --replicas 2: end when no server has replaced a lost one for this time
                            (default 0: continue with one copy)
  --transport shm|tcp|verbs transport to servers that the VM starts (default shm)
  --page-checksums          over TCP, verify a checksum of every page
  --far-latency 5us         latency added to every transfer and call
  --far-bandwidth 40gbit    bandwidth limit of the transfers
";

const COMPILER: &str =
    "  -Xint, -Xcomp             only interpret; compile every method at its first call
  -Xbatch                   wait for compiled code
  -XX:CompileCommand=<command>,<method>  print, exclude, compileonly, inline, dontinline
  -XX:CompileOnly=<method>,...
";

pub fn collectors() -> String {
    let line = |kind: &CollectorKind| {
        let note = if kind.collects() { "" } else { "   never frees memory" };
        format!("{}{note}\n", kind.name())
    };
    CollectorKind::ALL.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::arguments::{FAR, SWITCHES};
    use super::*;
    use jvm::options::flags::{self, Treatment};

    /// The text of `docs/reference/options.md`.
    fn reference() -> String {
        let mut text = "# Options\n\nMade from the tables of the programs; do not edit. \
             `WRITE_REFERENCE=1 cargo test -p vm --bin vm` makes it anew.\n\n\
             ## `vm run --help`\n"
            .to_string();
        let quoted = |text: &str| {
            let quote = |line: &str| match line {
                "" => "\n".to_string(),
                line => format!("    {line}\n"),
            };
            text.lines().map(quote).collect::<String>()
        };
        text += &format!("\n{}", quoted(&run()));
        text += &two_dashes();
        let options = Options::default();
        for (name, group) in groups() {
            text += &format!("\n## {name}\n\n");
            if name == "compiler" {
                text += &format!("{}\n", quoted(COMPILER));
            }
            match options.groups().into_iter().find(|table| table.title() == name) {
                None => text += &quoted(&group),
                Some(table) => table.rows().iter().for_each(|row| {
                    let limits = row.limits().map(|limits| format!(", {limits}"));
                    text += &format!(
                        "`{}`{} ({})\n: {}\n\n",
                        row.usage(),
                        limits.unwrap_or_default(),
                        row.purpose,
                        row.help
                    );
                }),
            }
        }
        text = text.trim_end().to_string() + "\n\n## Options of HotSpot\n\n";
        text += &super::super::standard::page();
        text += &hotspots();
        text.trim_end().to_string() + "\n"
    }

    /// The options with two dashes beside their forms for other launchers.
    fn two_dashes() -> String {
        let mut text = "\n## Forms with two dashes\n\n`vm run` has short forms of some options. Those with `-XX:` work \
             everywhere: in `JAVA_TOOL_OPTIONS`, in\n`conf/farheap.options` of a JAVA_HOME, with the JDK's \
             launchers and through JNI.\n\n| `vm run` | everywhere |\n|---|---|\n"
            .to_string();
        for (short, name) in FAR {
            text += &format!("| `{short} <value>` | `-XX:{name}=<value>` |\n");
        }
        for (short, name) in SWITCHES {
            text += &format!("| `{short}` | `-XX:+{name}` |\n");
        }
        text
    }

    #[test]
    fn each_form_with_two_dashes_has_one_that_works_everywhere() {
        let options = Options::default();
        let rows: Vec<_> = options.groups().into_iter().flat_map(OptionGroup::rows).collect();
        for (short, name) in FAR.iter().chain(&SWITCHES) {
            let is_row = rows.iter().any(|row| row.name == *name);
            assert!(is_row || *name == "Collector", "{short}");
        }
        assert!(Options::parse(&["-XX:Collector=mako"], false).is_ok());
    }

    /// HotSpot's `-XX` options by what becomes of them.
    fn hotspots() -> String {
        let mut sections: Vec<(String, Vec<&str>)> = Vec::new();
        for flag in flags::all() {
            let section = match flag.treatment {
                Treatment::Works => "### Work".to_string(),
                Treatment::Ignored { reason, .. } => format!("### Ignored: {reason}"),
                Treatment::Refused { reason } => format!("### Refused: {reason}"),
            };
            match sections.iter_mut().find(|(title, _)| *title == section) {
                Some((_, names)) => names.push(flag.name),
                None => sections.push((section, vec![flag.name])),
            }
        }
        let count = |kind: &str| {
            let of_kind = sections.iter().filter(|(title, _)| title.starts_with(kind));
            of_kind.map(|(_, names)| names.len()).sum::<usize>()
        };
        let (works, ignored, refused) = (count("### W"), count("### I"), count("### R"));
        let mut text = format!(
            "\nOf the {} options of HotSpot 17 that begin with `-XX:`, {works} work, {ignored} are accepted with a \
             warning\nthat says why they have no effect here, and {refused} are refused. None is silent. \
             `-XX:+IgnoreUnrecognizedVMOptions`\nturns the warnings off, and accepts what is refused.\n",
            flags::all().len()
        );
        for (title, names) in sections {
            text += &format!("\n{title}\n\n");
            let mut line = String::new();
            for name in names {
                if line.len() + name.len() > 110 {
                    text += &format!("{}\n", line.trim_end());
                    line.clear();
                }
                line += &format!("`{name}` ");
            }
            text += &format!("{}\n", line.trim_end());
        }
        text
    }

    #[test]
    fn the_reference_is_what_the_tables_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/options.md");
        if std::env::var_os("WRITE_REFERENCE").is_some() {
            std::fs::write(path, reference()).expect("the folder is there");
        }
        let written = std::fs::read_to_string(path).expect("there is a reference");
        assert!(
            written == reference(),
            "WRITE_REFERENCE=1 cargo test -p vm --bin vm makes it anew"
        );
    }

    #[test]
    fn the_first_help_is_short_and_names_all_groups() {
        let first = run();
        assert!(first.lines().count() <= 40, "{} lines", first.lines().count());
        for (name, text) in groups() {
            assert!(first.contains(name), "{name}");
            assert_eq!(group(name), Some(text.clone()));
            assert!(group("all").is_some_and(|all| all.contains(&text)));
            let wide = text.lines().find(|line| line.chars().count() > 120);
            assert_eq!(wide, None, "{name}");
            assert!(!text.contains("]("), "a link in the help of {name}");
        }
        assert!(groups().iter().all(|(_, text)| text.starts_with("  -")));
        assert_eq!(group("cellar"), None);
    }
}

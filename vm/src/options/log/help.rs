//! `-Xlog:help`.

use super::decorators;
use super::tags;

/// The text that `-Xlog:help` prints.
pub fn text() -> String {
    let named =
        |(_, name, short): &(decorators::Decorator, &str, &str)| format!("{name} ({short})");
    let decorators: Vec<String> = decorators::ALL.iter().map(named).collect();
    let sets: Vec<String> = tags::SETS.iter().map(|set| set.replace(',', "+")).collect();
    let known: Vec<&str> = tags::HOTSPOTS.split_ascii_whitespace().collect();
    format!(
        "\
-Xlog[:[what][:[output][:[decorators][:settings]]]]
  what: tag1[+tag2...][*][=level][,...]. Without *, lines with exactly these tags. `all` is all lines.

Levels:
  off, trace, debug, info (the default), warning, error

Decorators:
  {}
  none: no decorators. Default: uptime,level,tags

Tags of the lines that this VM writes:
  {}

Other tags that HotSpot has are accepted with a warning:
  {}

Outputs:
  stdout (the default), stderr, file=<name>
  In a name, %p is the process id and %t the time of the start.
  Settings of files:
    filesize=<size>  size at which a file is put aside (default 20M; 0: never)
    filecount=<n>    number of files that are put aside (default 5; 0: none, and the file is begun anew)

Examples:
  -Xlog                    everything down to info, on stdout
  -Xlog:gc                 collections
  -Xlog:gc*=debug          all about the collector
  -Xlog:gc*:file=gc-%p.log:utctime,pid,level,tags:filecount=3,filesize=10m
  -Xlog:gc*=info,gc+phases=off
  -Xlog:disable -Xlog:safepoint:stderr
                           nothing, not even warnings, but stops of the program
",
        decorators.join(", "),
        sets.join(", "),
        known.join(", "),
    )
}

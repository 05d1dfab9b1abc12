//! The Grafana dashboard asks for what VMs and memory servers export, and for all of it.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/pool_file.rs"]
mod pool_file;
#[path = "support/programs.rs"]
mod programs;
#[path = "support/scrape.rs"]
mod scrape;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use bench::java::vm::{Setting, Vm};
use pool_file::PoolFile;
use programs::program;
use scrape::scrape;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Lives on a heap of 64 MB, of which 24 MB are in use, and says once a round that it does.
const BUSY: &str = r#"
public class Busy {
    public static void main(String[] args) {
        int[][] kept = new int[24 << 8][];
        for (int round = 0; ; round++) {
            for (int i = 0; i < kept.length; i++) {
                kept[i] = new int[1 << 10];
                kept[(i * 31 + round) % kept.length] = kept[i];
            }
            System.out.println("round " + round);
        }
    }
}
"#;

/// Labels that Prometheus adds to all that it scrapes.
const ADDED: &[&str] = &["instance", "job"];

/// Exported only when the pager has taken samples of readahead, which a short run may not.
const SAMPLED: &[&str] = &["farheap_pager_prefetch_accuracy", "farheap_pager_prefetch_coverage"];

/// The ends of the three metrics of a histogram.
const HISTOGRAM: &[&str] = &["_bucket", "_count", "_sum"];

/// A metric as it is exported.
#[derive(Default)]
struct Family {
    /// `gauge`, `counter` or `histogram`.
    kind: String,
    labels: BTreeMap<String, BTreeSet<String>>,
}

type Families = BTreeMap<String, Family>;

#[test]
fn the_dashboard_shows_what_is_exported() {
    let mut exported = exported();
    for name in SAMPLED {
        exported.entry(name.to_string()).or_default().kind = "gauge".into();
    }
    let mut shown = BTreeSet::new();
    for query in queries() {
        let selectors = selectors(&query);
        assert!(!selectors.is_empty(), "{query} selects nothing");
        let mut known: BTreeSet<&str> = ADDED.iter().copied().collect();
        for Selector { name, matchers, is_range } in &selectors {
            let (family, of) = family(&exported, name)
                .unwrap_or_else(|| panic!("{query}: {name} is not exported"));
            shown.insert(family.to_string());
            assert_eq!(of.kind != "gauge", *is_range, "{query}: {name} is a {}", of.kind);
            known.extend(of.labels.keys().map(String::as_str));
            for (label, value) in matchers {
                let is_known = ADDED.contains(label)
                    || of.labels.get(*label).is_some_and(|values| values.contains(*value));
                assert!(is_known, "{query}: {name} has no {label}=\"{value}\"");
            }
        }
        for label in groups(&query) {
            assert!(known.contains(label), "{query}: no label {label}");
        }
    }
    let missing: Vec<_> = exported.keys().filter(|name| !shown.contains(*name)).collect();
    assert!(missing.is_empty(), "exported and not shown: {missing:?}");
}

#[test]
fn the_documents_name_what_is_shown() {
    let text = std::fs::read_to_string(root().join("docs/guide/metrics.md")).unwrap();
    // `farheap_heap_max_bytes`, `_used_bytes`: a name, and others that share its beginning.
    for query in queries() {
        for Selector { name: full, .. } in selectors(&query) {
            let ends = HISTOGRAM.iter().find_map(|end| full.strip_suffix(end));
            let name = ends.unwrap_or(full);
            let has = |at: usize| text.contains(&format!("`{}`", &name[at..]));
            let is_named = has(0) || name.match_indices('_').any(|(at, _)| has(at));
            assert!(is_named, "{name} is not in docs/guide/metrics.md");
        }
    }
}

#[test]
fn queries_are_taken_apart() {
    let query =
        r#"sum by (le, cause) (rate(farheap_a_bucket{x=~"$vm", y="z"}[1m])) * on (x) farheap_b"#;
    let found = selectors(query);
    assert_eq!((found[0].name, found[0].is_range), ("farheap_a_bucket", true));
    assert_eq!(found[0].matchers, [("x", "$vm"), ("y", "z")]);
    assert_eq!((found[1].name, found[1].is_range), ("farheap_b", false));
    assert!(found[1].matchers.is_empty());
    assert_eq!(groups(query), ["le", "cause", "x"]);
}

/// One metric that a query selects.
struct Selector<'a> {
    name: &'a str,
    /// Labels and their values.
    matchers: Vec<(&'a str, &'a str)>,
    /// Whether it selects a range, as for a rate.
    is_range: bool,
}

/// The selectors of our metrics in a query. Of the grammar of PromQL they are the part that the test is about; a parser
/// of all of it would change features of crates that the programs share, and have them compiled twice.
fn selectors(query: &str) -> Vec<Selector<'_>> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = query.match_indices("farheap_").map(|(at, _)| &query[at..]);
    let found = starts.map(|rest| {
        let (name, rest) = rest.split_at(rest.find(|c| !is_of_name(c)).unwrap_or(rest.len()));
        let braces = rest.strip_prefix('{').map(|rest| rest.split_once('}').expect("closed"));
        let (inside, rest) = braces.unwrap_or(("", rest));
        let matchers = inside.split(',').filter(|one| !one.is_empty()).map(|one| {
            let (label, value) = one.split_once('=').expect("an equation");
            (label.trim(), value.trim_start_matches('~').trim_matches('"'))
        });
        Selector { name, matchers: matchers.collect(), is_range: rest.starts_with('[') }
    });
    found.collect()
}

/// The labels by which a query groups and joins.
fn groups(query: &str) -> Vec<&str> {
    let lists = ["by (", "on (", "group_left ("]
        .into_iter()
        .flat_map(|word| query.match_indices(word).map(move |(at, _)| &query[at + word.len()..]));
    let labels = lists.flat_map(|list| list.split(')').next().expect("one part").split(','));
    labels.map(str::trim).collect()
}

/// The expressions of all panels, and the metrics whose labels the variables list.
fn queries() -> Vec<String> {
    let path = root().join("packaging/grafana/farheap.json");
    let text = std::fs::read_to_string(path).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let mut found: Vec<String> =
        targets.map(|target| target["expr"].as_str().unwrap().to_string()).collect();
    assert!(found.len() > 30, "{found:?}");
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        if variable["type"] == "query" {
            let query = variable["query"]["query"].as_str().unwrap();
            let metric = query.strip_prefix("label_values(").unwrap().split(',').next().unwrap();
            found.push(metric.to_string());
        }
    }
    found
}

/// The family of a metric: histograms have three metrics each.
fn family<'a>(families: &'a Families, name: &'a str) -> Option<(&'a str, &'a Family)> {
    if let Some(of) = families.get(name) {
        return (of.kind != "histogram").then_some((name, of));
    }
    let histogram = HISTOGRAM.iter().find_map(|end| name.strip_suffix(end))?;
    let of = families.get(histogram).filter(|of| of.kind == "histogram")?;
    Some((histogram, of))
}

/// Everything that a VM with two servers, two copies and a pool exports, and what one of the servers does.
fn exported() -> Families {
    let scratch = Scratch::new("dashboard").unwrap();
    let jdk = Jdk::find().unwrap();
    let classes = scratch.folder("classes").unwrap();
    jdk.compile_text("Busy", BUSY, &classes).unwrap();
    let (servers, addresses): (Vec<_>, Vec<_>) = (0..2).map(|_| server()).unzip();
    let pool = format!("dashboard-{}", std::process::id());
    let _file = PoolFile::of(&pool);
    let mut options = vec!["-Xmx64m".into(), "--replicas".into(), "2".into()];
    for (_, address) in &addresses {
        options.extend(["--memory-server".into(), address.clone()]);
    }
    options.extend(["--local-memory-pool".into(), format!("{pool}=16m")]);
    options.extend(["--metrics".into(), "127.0.0.1:0".into()]);
    let setting = Setting {
        collector: "mako".into(),
        local_memory: "25%".into(),
        memory_servers: 2,
        options,
    };
    let mut command: Command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &jdk);
    command.arg("-cp").arg(&classes).arg("Busy");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut vm = Running(command.spawn().unwrap());
    let metrics = vm.line_after("metrics at http://");
    let mut lines = BufReader::new(vm.0.stdout.take().unwrap()).lines();
    let start = Instant::now();
    // A cycle has ended, so that all kinds of pauses are known.
    let page = loop {
        lines.next().expect("it runs for ever").unwrap();
        let page = scrape(metrics.strip_suffix("/metrics").unwrap());
        if value(&page, "farheap_gc_cycles_total") >= 1.0 {
            break page;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no cycle within a minute");
    };
    let mut families = Families::new();
    read(&page, &mut families);
    let (at, _) = &addresses[0];
    read(&scrape(at), &mut families);
    drop(servers);
    families
}

fn value(page: &str, name: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

/// Families of a page, with the labels of their values.
fn read(page: &str, families: &mut Families) {
    for line in page.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            families.entry(name.to_string()).or_default().kind = kind.to_string();
        } else if !line.starts_with('#')
            && let Some((name, labels)) = line.split_once('{')
        {
            let known = if families.contains_key(name) {
                name.to_string()
            } else {
                name.rsplit_once('_').unwrap().0.to_string()
            };
            let family = families.get_mut(&known).unwrap_or_else(|| panic!("no type: {line}"));
            let (labels, _) = labels.rsplit_once('}').unwrap();
            for label in labels.split(',') {
                let (label, value) = label.split_once('=').unwrap();
                let values = family.labels.entry(label.to_string()).or_default();
                values.insert(value.trim_matches('"').to_string());
            }
        }
    }
}

/// A server over TCP, with the addresses of its metrics and for VMs.
fn server() -> (Running, (String, String)) {
    let mut command = Command::new(program("memory-server"));
    command.args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    let mut server = Running(command.stderr(Stdio::piped()).spawn().unwrap());
    let metrics = server.line_after("memory-server: metrics at http://");
    let address = server.line_after("memory-server: waiting for VMs at ");
    (server, (metrics.strip_suffix("/metrics").unwrap().to_string(), address))
}

/// A running process; killed when dropped.
struct Running(Child);

impl Running {
    /// What follows the prefix in the next line of its standard error.
    fn line_after(&mut self, prefix: &str) -> String {
        let stderr = self.0.stderr.as_mut().unwrap();
        let mut line = String::new();
        // Nothing of the next line may be lost in a buffer.
        BufReader::with_capacity(1, stderr).read_line(&mut line).unwrap();
        let rest = line.trim_end().strip_prefix(prefix);
        rest.unwrap_or_else(|| panic!("{line:?}")).to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

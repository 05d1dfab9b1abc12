//! The files in `packaging/` fit the programs and each other: options, ports, names, the filter of system calls.
//!
//! Schemas are checked by `make check-packages`, the Debian package by `make check-deb`. Needs the release `vm` and
//! `memory-server` beside the test runner's folder (`make build`).

#[path = "support/programs.rs"]
mod programs;

use programs::program;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use yaml_rust2::{Yaml, YamlLoader};

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("packaging").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The objects of a manifest.
fn manifest(name: &str) -> Vec<Yaml> {
    let objects = YamlLoader::load_from_str(&text(name)).unwrap();
    objects.into_iter().filter(|object| !object.is_null()).collect()
}

fn object<'a>(objects: &'a [Yaml], kind: &str) -> &'a Yaml {
    let found = objects.iter().find(|object| object["kind"].as_str() == Some(kind));
    found.unwrap_or_else(|| panic!("no {kind}"))
}

fn pod(object: &Yaml) -> &Yaml {
    &object["spec"]["template"]["spec"]
}

fn container(object: &Yaml) -> &Yaml {
    &pod(object)["containers"][0]
}

fn strings(list: &Yaml) -> Vec<&str> {
    list.as_vec().unwrap().iter().map(|one| one.as_str().unwrap()).collect()
}

/// The value of `--name=value` among arguments.
fn option<'a>(arguments: &[&'a str], name: &str) -> Vec<&'a str> {
    let prefix = format!("--{name}=");
    arguments.iter().filter_map(|one| one.strip_prefix(prefix.as_str())).collect()
}

/// The options with two dashes that a program's help has.
fn known(name: &str, help: &[&str]) -> BTreeSet<String> {
    let output = Command::new(program(name)).args(help).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    let is_of_option = |c: char| c.is_ascii_lowercase() || c == '-';
    let words = text.split(|c| !is_of_option(c)).filter(|word| word.starts_with("--"));
    words.map(str::to_string).collect()
}

#[test]
fn packaged_command_lines_have_known_options() {
    let of_server = known("memory-server", &["--help"]);
    let mut of_vm = known("vm", &["run", "--help=all"]);
    of_vm.extend(known("vm", &["run", "--help"]));
    assert!(
        of_server.contains("--listen") && of_vm.contains("--replicas"),
        "{of_server:?} {of_vm:?}"
    );
    let servers = manifest("kubernetes/memory-servers.yaml");
    let program = manifest("kubernetes/program.yaml");
    let unit = text("systemd/memory-server.service") + &text("debian/memory-server.default");
    // In comments of the second file, too: they say what to write.
    let of_unit = unit.split(|c: char| c.is_whitespace() || "\"=`;".contains(c));
    let mut checked = 0;
    for (words, known) in [
        (strings(&container(object(&servers, "StatefulSet"))["args"]), &of_server),
        (strings(&container(object(&program, "Deployment"))["args"]), &of_vm),
        (of_unit.collect(), &of_server),
    ] {
        for word in words.iter().filter(|word| word.starts_with("--")) {
            let option = word.split('=').next().unwrap();
            assert!(known.contains(option), "{option} is not an option");
            checked += 1;
        }
    }
    assert!(checked > 15, "only {checked} options");
}

#[test]
fn the_program_of_the_cluster_finds_its_servers() {
    let servers = manifest("kubernetes/memory-servers.yaml");
    let (set, service) = (object(&servers, "StatefulSet"), object(&servers, "Service"));
    let program = manifest("kubernetes/program.yaml");
    let deployment = object(&program, "Deployment");
    let name = set["metadata"]["name"].as_str().unwrap();
    let domain = set["spec"]["serviceName"].as_str().unwrap();
    assert_eq!(service["metadata"]["name"].as_str(), Some(domain));
    assert_eq!(service["spec"]["clusterIP"].as_str(), Some("None"), "each server has an address");

    let arguments = strings(&container(set)["args"]);
    let [listen] = option(&arguments, "listen")[..] else { panic!("{arguments:?}") };
    let port = listen.rsplit_once(':').unwrap().1;
    let count = set["spec"]["replicas"].as_i64().unwrap();
    let addresses: Vec<_> = (0..count).map(|n| format!("{name}-{n}.{domain}:{port}")).collect();
    let of_program = strings(&container(deployment)["args"]);
    assert_eq!(option(&of_program, "memory-server"), addresses);

    // Whom the servers admit.
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    let policy = object(&servers, "NetworkPolicy");
    let admitted = &policy["spec"]["ingress"][0]["from"][0]["podSelector"]["matchLabels"];
    for (label, value) in admitted.as_hash().unwrap() {
        assert_eq!(labels.as_hash().unwrap().get(label), Some(value), "{label:?}");
    }
    for selects in [&service["spec"]["selector"], &policy["spec"]["podSelector"]["matchLabels"]] {
        assert_eq!(selects, &set["spec"]["template"]["metadata"]["labels"]);
    }
}

#[test]
fn ports_and_secrets_of_manifests_are_those_of_the_command_lines() {
    let servers = manifest("kubernetes/memory-servers.yaml");
    let program = manifest("kubernetes/program.yaml");
    let mut secrets = BTreeSet::new();
    for object in [object(&servers, "StatefulSet"), object(&program, "Deployment")] {
        let container = container(object);
        let arguments = strings(&container["args"]);
        let ports = container["ports"].as_vec().unwrap();
        let port = |name: &str| {
            let port = ports.iter().find(|port| port["name"].as_str() == Some(name));
            port.unwrap_or_else(|| panic!("no port {name}"))["containerPort"].as_i64().unwrap()
        };
        for (port_name, option_name) in [("metrics", "metrics"), ("pages", "listen")] {
            for address in option(&arguments, option_name) {
                let number = address.rsplit_once(':').unwrap().1;
                assert_eq!(port(port_name).to_string(), number, "{option_name}");
            }
        }
        for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
            let get = &container[probe]["httpGet"];
            if !get.is_badvalue() {
                assert_eq!(get["port"].as_str(), Some("metrics"));
                assert_eq!(get["path"].as_str(), Some("/metrics"));
            }
        }
        let token = Path::new(option(&arguments, "token-file")[0]);
        let mounts = container["volumeMounts"].as_vec().unwrap();
        let mount = mounts
            .iter()
            .find(|mount| mount["mountPath"].as_str().map(Path::new) == token.parent());
        let volume = mount.expect("the token is mounted")["name"].as_str();
        let volumes = pod(object)["volumes"].as_vec().unwrap();
        let secret = volumes.iter().find(|one| one["name"].as_str() == volume).unwrap();
        secrets.insert(secret["secret"]["secretName"].as_str().unwrap());
        let annotated =
            object["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"].as_str();
        assert_eq!(annotated, Some(port("metrics").to_string().as_str()));
    }
    assert_eq!(secrets.len(), 1, "one token for all: {secrets:?}");
}

#[test]
fn the_filter_of_the_cluster_allows_userfaultfd_and_nothing_unsaid() {
    let filter: Value = serde_json::from_str(&text("kubernetes/seccomp.json")).unwrap();
    assert_eq!(filter["defaultAction"], "SCMP_ACT_ERRNO");
    let mut allowed = BTreeSet::new();
    for rule in filter["syscalls"].as_array().unwrap() {
        let is_plain = rule["action"] == "SCMP_ACT_ALLOW" && rule.get("args").is_none();
        for name in rule["names"].as_array().unwrap().iter().filter(|_| is_plain) {
            let name = name.as_str().unwrap();
            assert!(allowed.insert(name.to_string()), "{name} is named twice");
        }
    }
    for name in ["userfaultfd", "mmap", "futex", "memfd_create"] {
        assert!(allowed.contains(name), "{name}");
    }
    for name in ["ptrace", "mount", "bpf", "clone", "unshare", "setns", "io_uring_setup"] {
        assert!(!allowed.contains(name), "{name}");
    }
}

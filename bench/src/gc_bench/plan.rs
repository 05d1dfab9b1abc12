//! The plan of a series of runs, stored beside its rows, so that it can go on as it was begun.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::gc_bench::machine::Machine;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The command line behind `gc-bench run`.
    pub arguments: Vec<String>,
    /// The workloads and contenders that it chose, by name.
    pub workloads: Vec<String>,
    pub contenders: Vec<String>,
    /// These too must be the same for all rows of one table.
    pub vm: String,
    /// The other programs that measure: this one, and the far memory of other JVMs if there is one.
    pub tools: String,
    /// Of the workloads' sources and manifest.
    pub sources: String,
    pub jdk: String,
    pub commit: String,
    pub machine: Machine,
}

impl Plan {
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::write(folder.join(FILE), serde_json::to_string_pretty(self)? + "\n")
    }

    pub fn read(folder: &Path) -> io::Result<Plan> {
        let path = folder.join(FILE);
        let wrong = |what: String| io::Error::other(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(&path)
            .map_err(|error| wrong(format!("no series to resume: {error}")))?;
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
    }

    /// Why runs of `now` may not be put beside those of this plan; `None` if they may.
    pub fn differs(&self, now: &Plan) -> Option<String> {
        let list = |names: &[String]| names.join(",");
        let pairs = [
            ("the command line", list(&self.arguments), list(&now.arguments)),
            ("the list of workloads", list(&self.workloads), list(&now.workloads)),
            ("the list of contenders", list(&self.contenders), list(&now.contenders)),
            ("our VM", self.vm.clone(), now.vm.clone()),
            ("the runner", self.tools.clone(), now.tools.clone()),
            ("the workloads' digest", self.sources.clone(), now.sources.clone()),
            ("the JDK", self.jdk.clone(), now.jdk.clone()),
            ("the commit", self.commit.clone(), now.commit.clone()),
            ("the machine", format!("{:?}", self.machine), format!("{:?}", now.machine)),
        ];
        let (what, then, now) = pairs.into_iter().find(|(_, then, now)| then != now)?;
        Some(format!("{what} has changed: it was {then:?}, and is {now:?}"))
    }
}

const FILE: &str = "plan.json";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::scratch::Scratch;

    fn plan() -> Plan {
        Plan {
            arguments: vec!["--runs".to_string(), "5".to_string()],
            workloads: vec!["h2".to_string()],
            contenders: vec!["serial 25%".to_string()],
            vm: "12 bytes".to_string(),
            tools: "34 bytes".to_string(),
            sources: "5678".to_string(),
            jdk: "17".to_string(),
            commit: "abc".to_string(),
            machine: Machine::this(),
        }
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let scratch = Scratch::new("plan").unwrap();
        let error = Plan::read(scratch.path()).unwrap_err().to_string();
        assert!(error.contains("no series to resume"), "{error}");
        plan().write(scratch.path()).unwrap();
        assert_eq!(Plan::read(scratch.path()).unwrap(), plan());
        assert_eq!(plan().differs(&plan()), None);
    }

    #[test]
    fn what_has_changed_is_named() {
        let mut other = plan();
        other.contenders.push("mako 25%".to_string());
        let reason = plan().differs(&other).unwrap();
        assert!(reason.contains("contenders") && reason.contains("mako"), "{reason}");
        other = plan();
        other.arguments[1] = "6".to_string();
        assert!(plan().differs(&other).unwrap().contains("command line"));
        other = plan();
        other.vm = "13 bytes".to_string();
        assert!(plan().differs(&other).unwrap().contains("our VM"));
        other = plan();
        other.sources = "5679".to_string();
        assert!(plan().differs(&other).unwrap().contains("digest"));
    }
}

//! The limits of the container that this process runs in: those of its cgroups, of version 1, of version 2, or of both
//! side by side.
//!
//! A process is bound by the limits of its own group and of all groups above it. Groups above the root of the
//! container are not visible in it, so what counts is the least limit of those that are. Version 1 names the least
//! limit of the hidden ones, too.
//!
//! Crates that read cgroups (`num_cpus`, `sysinfo`, `cgroups-rs`) read the process's own group only, or expect the
//! hierarchy at one place.

use std::fs;
use std::path::{Path, PathBuf};

/// The groups of this process. Limits and usage are read at each call, since both change. Any thread; no method
/// blocks.
#[derive(Clone, Debug, Default)]
pub struct Container {
    memory: Groups,
    cpu: Groups,
}

/// The groups of one controller.
#[derive(Clone, Debug, Default)]
struct Groups {
    version: Version,
    /// The process's own group first, then those above it as far as they are visible. Empty: there is no controller.
    levels: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Version {
    One,
    #[default]
    Two,
}

/// A limit of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    pub bytes: u64,
    /// The folder of the group that has it.
    pub group: PathBuf,
}

/// Memory that the container may still take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRoom {
    /// Bytes until the limit, if the kernel drops the cached files of the group.
    pub bytes: u64,
    pub limit: MemoryLimit,
}

impl Container {
    /// That of this process. Without cgroups, or if `/proc` is not readable, there are no limits.
    pub fn of_this_process() -> Container {
        Container::below(Path::new("/"))
    }

    /// The same where all files lie below `root`.
    pub fn below(root: &Path) -> Container {
        let read = |name: &str| fs::read_to_string(root.join("proc/self").join(name));
        let (Ok(groups), Ok(mounts)) = (read("cgroup"), read("mountinfo")) else {
            return Container::default();
        };
        let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::parse).collect();
        let find = |controller| Groups::find(controller, &groups, &mounts, root);
        Container { memory: find("memory"), cpu: find("cpu") }
    }

    /// The least limit of memory.
    pub fn memory_limit(&self) -> Option<MemoryLimit> {
        self.memory.limits().min_by_key(|limit| limit.bytes)
    }

    /// The least number of CPUs that a quota stands for, rounded up.
    pub fn cpus(&self) -> Option<usize> {
        let least = self
            .cpu
            .levels
            .iter()
            .filter_map(|level| self.cpu.quota(level))
            .min_by(f64::total_cmp)?;
        Some(least.ceil().max(1.0) as usize)
    }

    /// The memory that may still be taken, where it is least. `None`: there is no limit.
    pub fn memory_room(&self) -> Option<MemoryRoom> {
        let room = |limit: MemoryLimit| {
            let used = self.memory.used_bytes(&limit.group)?;
            Some(MemoryRoom { bytes: limit.bytes.saturating_sub(used), limit })
        };
        self.memory.limits().filter_map(room).min_by_key(|room| room.bytes)
    }

    /// What was found, for logs: a line for each group that has a limit.
    pub fn describe(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (controller, groups) in [("memory", &self.memory), ("cpu", &self.cpu)] {
            let version = groups.version as u8 + 1;
            lines.push(match groups.levels.first() {
                Some(own) => format!("cgroup v{version}, {controller}: {}", own.display()),
                None => format!("no cgroup has the controller {controller}"),
            });
        }
        for MemoryLimit { bytes, group } in self.memory.limits() {
            lines.push(format!("Memory limit {bytes} bytes in {}", group.display()));
        }
        for level in &self.cpu.levels {
            if let Some(cpus) = self.cpu.quota(level) {
                lines.push(format!("CPU quota {cpus} in {}", level.display()));
            }
        }
        lines
    }
}

impl Groups {
    fn find(controller: &str, groups: &str, mounts: &[Mount<'_>], root: &Path) -> Groups {
        // Lines are `number:controllers:path`; version 2 has the number 0 and names no controllers.
        let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let first = lines().find(|(names, _)| names.split(',').any(|name| name == controller));
        let (version, path) = match (first, lines().find(|(names, _)| names.is_empty())) {
            (Some((_, path)), _) => (Version::One, path),
            (None, Some((_, path))) => (Version::Two, path),
            (None, None) => return Groups::default(),
        };
        let is_its = |mount: &&Mount| match version {
            Version::One => {
                mount.kind == "cgroup" && mount.options.split(',').any(|name| name == controller)
            }
            Version::Two => mount.kind == "cgroup2",
        };
        // Where a hierarchy is mounted several times, the mount that shows the group best; else the root of one, which
        // is the container's own.
        let place = |mount: &Mount| {
            let inside = Path::new(path).strip_prefix(&mount.root).map(Path::to_path_buf);
            let inside = inside.ok().filter(|inside| !inside.starts_with(".."));
            (inside.is_some().then_some(mount.root.as_os_str().len()), inside.unwrap_or_default())
        };
        let Some(mount) = mounts.iter().filter(is_its).max_by_key(|mount| place(mount).0) else {
            return Groups::default();
        };
        let top = root.join(mount.point.strip_prefix("/").unwrap_or(&mount.point));
        let own = top.join(place(mount).1);
        let levels = own.ancestors().take_while(|level| level.starts_with(&top));
        let levels = levels.filter(|level| level.is_dir()).map(Path::to_path_buf).collect();
        Groups { version, levels }
    }

    /// The limits of memory of all groups that have one.
    fn limits(&self) -> impl Iterator<Item = MemoryLimit> {
        let limit = move |group: &PathBuf| {
            let bytes = match self.version {
                Version::One => {
                    let own = number(&group.join("memory.limit_in_bytes"));
                    let above = field(&group.join("memory.stat"), "hierarchical_memory_limit");
                    let least = own.into_iter().chain(above).min();
                    least.filter(|bytes| *bytes < UNLIMITED)
                }
                Version::Two => number(&group.join("memory.max")),
            };
            bytes.map(|bytes| MemoryLimit { bytes, group: group.clone() })
        };
        self.levels.iter().filter_map(limit)
    }

    /// The memory that a group takes, without files that the kernel can drop.
    fn used_bytes(&self, group: &Path) -> Option<u64> {
        let (usage, files) = match self.version {
            Version::One => ("memory.usage_in_bytes", ["total_inactive_file", "total_active_file"]),
            Version::Two => ("memory.current", ["inactive_file", "active_file"]),
        };
        let files = files.iter().filter_map(|name| field(&group.join("memory.stat"), name));
        Some(number(&group.join(usage))?.saturating_sub(files.sum()))
    }

    /// CPUs that the quota of a group stands for.
    fn quota(&self, group: &Path) -> Option<f64> {
        let (quota, period) = match self.version {
            Version::One => (
                number(&group.join("cpu.cfs_quota_us"))?,
                number(&group.join("cpu.cfs_period_us"))?,
            ),
            Version::Two => {
                let text = fs::read_to_string(group.join("cpu.max")).ok()?;
                let (quota, period) = text.trim().split_once(' ')?;
                (quota.parse().ok()?, period.parse().ok()?)
            }
        };
        (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
    }
}

/// A line of `mountinfo`.
struct Mount<'a> {
    /// The folder of the file system that is mounted.
    root: PathBuf,
    point: PathBuf,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    /// `36 35 0:32 ROOT POINT OPTIONS ... - KIND SOURCE SUPER-OPTIONS`
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (place, system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (unescape(place.next()?), unescape(place.next()?));
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1).unwrap_or(""));
        Some(Mount { root, point, kind, options })
    }
}

/// A path in which white space and backslashes are written as three octal digits.
fn unescape(text: &str) -> PathBuf {
    let mut parts = text.split('\\');
    let mut path = parts.next().unwrap_or("").to_string();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => path.extend([char::from(code)].into_iter().chain(part[3..].chars())),
            None => path.extend(['\\'].into_iter().chain(part.chars())),
        }
    }
    path.into()
}

/// The number that a file holds. `None`: it does not exist, or holds `max` or -1.
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The number behind a name in a file of lines `name number`.
fn field(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    value.trim().parse().ok()
}

/// Version 1 writes the largest number of whole pages where there is no limit.
const UNLIMITED: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of files as a container shows them, removed at the end.
    struct Fixture(PathBuf);

    impl Fixture {
        fn new(name: &str, files: &[(&str, &str)]) -> Fixture {
            let root = std::env::temp_dir().join(format!("base-{}-{name}", std::process::id()));
            for (file, text) in files {
                let file = root.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Fixture(root)
        }

        fn container(&self) -> Container {
            Container::below(&self.0)
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const UNIFIED: &str =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn the_least_limit_of_all_groups_above_counts() {
        let fixture = Fixture::new(
            "nested",
            &[
                ("proc/self/cgroup", "0::/pods/pod\\1/main\n"),
                ("proc/self/mountinfo", UNIFIED),
                ("sys/fs/cgroup/pods/pod\\1/main/memory.max", "max\n"),
                ("sys/fs/cgroup/pods/pod\\1/main/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/pods/pod\\1/memory.max", "536870912\n"),
                ("sys/fs/cgroup/pods/pod\\1/cpu.max", "250000 100000\n"),
                ("sys/fs/cgroup/pods/memory.max", "8589934592\n"),
                ("sys/fs/cgroup/pods/cpu.max", "400000 100000\n"),
            ],
        );
        let container = fixture.container();
        let limit = container.memory_limit().unwrap();
        assert_eq!(limit.bytes, 512 << 20);
        assert!(limit.group.ends_with("pods/pod\\1"));
        assert_eq!(container.cpus(), Some(3));
        assert_eq!(container.describe().len(), 6, "{:?}", container.describe());
        assert_eq!(container.memory_room(), None, "no group says what it takes");
    }

    #[test]
    fn a_container_that_sees_its_own_groups_as_root() {
        let mounts = "40 30 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                      41 30 0:31 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n";
        let fixture = Fixture::new(
            "docker-v1",
            &[
                (
                    "proc/self/cgroup",
                    "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/docker/abc\n",
                ),
                ("proc/self/mountinfo", mounts),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                (
                    "sys/fs/cgroup/memory/memory.stat",
                    "cache 5\nhierarchical_memory_limit 1073741824\ntotal_inactive_file 1048576\n\
                     total_active_file 1048576\n",
                ),
                ("sys/fs/cgroup/memory/memory.usage_in_bytes", "539492352\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ],
        );
        let container = fixture.container();
        assert_eq!(container.memory_limit().map(|limit| limit.bytes), Some(1 << 30));
        assert_eq!(container.cpus(), Some(1));
        let room = container.memory_room().unwrap();
        assert_eq!(room.bytes, (1 << 30) - 539492352 + (2 << 20));
    }

    #[test]
    fn a_controller_of_version_1_beside_version_2() {
        let mounts = "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let fixture = Fixture::new(
            "hybrid",
            &[
                ("proc/self/cgroup", "4:memory:/a/b\n0::/a\n"),
                ("proc/self/mountinfo", mounts),
                ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "300000000\n"),
                ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "400000000\n"),
                ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "400000000\n"),
                ("sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "100000000\n"),
                ("sys/fs/cgroup/unified/a/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/unified/a/memory.max", "1000\n"),
            ],
        );
        let container = fixture.container();
        assert_eq!(container.memory_limit().map(|limit| limit.bytes), Some(300_000_000));
        assert_eq!(container.cpus(), None);
        assert_eq!(container.memory_room().map(|room| room.bytes), Some(0));
    }

    /// A group that was moved, a path above the root of the name space, and files that are not what they should be.
    #[test]
    fn what_cannot_be_read_is_no_limit() {
        let mounts = "1 2 3\n- \n30 23 0:26 /x\\040y\\ /sys/fs/cgroup rw - cgroup2 cgroup2\n";
        for (name, groups) in
            [("moved", "0::/gone/away\n"), ("above", "0::/../other\n"), ("bad", ":\n::\nx")]
        {
            let files = [
                ("proc/self/cgroup", groups),
                ("proc/self/mountinfo", mounts),
                ("sys/fs/cgroup/memory.max", "much\n"),
                ("sys/fs/cgroup/cpu.max", "0 0\n"),
            ];
            let fixture = Fixture::new(name, &files);
            let container = fixture.container();
            assert_eq!((container.memory_limit(), container.cpus()), (None, None), "{name}");
        }
        assert!(Container::below(Path::new("/nowhere")).describe()[0].starts_with("no cgroup"));
        assert_eq!(unescape("/x\\040y\\"), Path::new("/x y\\"));
    }
}

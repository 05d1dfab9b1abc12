//! A small virtual machine with Debian's own kernel, which has modules that the kernel of this machine may lack.
//!
//! QEMU emulates its CPU, so it needs no rights and no hardware, and says nothing about time. Its userland
//! is that of this machine: the root folder is shared read-only over 9p, and over it lie file systems of its own
//! at `/tmp` and `/run`. It runs shell scripts from a folder that is shared for writing; their output and exit codes
//! come back as files beside them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::apt::Apt;
use crate::harness::cache;
use crate::harness::process::{self, Run};
use crate::harness::scratch::Scratch;

/// The kernel and the few files that it boots with.
pub struct Guest {
    kernel: PathBuf,
    busybox: PathBuf,
    /// In an order in which they can be loaded.
    modules: Vec<PathBuf>,
}

/// A script for the guest.
pub struct Job {
    /// The property that it shows.
    pub name: String,
    /// For `sh`, in the folder in which this program runs.
    pub script: String,
    /// How long it may take.
    pub limit: Duration,
}

/// How a job ended; `None` in both: the guest did not get that far.
pub struct Outcome {
    pub code: Option<i32>,
    pub output: String,
}

impl Guest {
    /// Takes kernel and busybox from the cache folder, downloads them first if need be, and looks for `modules`
    /// with all that they need. The error names what is missing.
    pub fn prepare(modules: &[&str]) -> io::Result<Guest> {
        let found = Command::new(QEMU).arg("--version").stdout(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            return Err(io::Error::other(format!("{QEMU} is not installed (qemu-system-x86)")));
        }
        let folder = cache::folder()?.join("guest");
        let unpacked = folder.join("unpacked");
        if !folder.join("complete").exists() {
            download(&folder, &unpacked)?;
            std::fs::write(folder.join("complete"), "")?;
        }
        let kernel = std::fs::read_dir(unpacked.join("boot"))?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| name_of(path).starts_with("vmlinuz"))
            .ok_or_else(|| io::Error::other("the kernel package has no kernel"))?;
        let known = all_modules(&unpacked.join("lib/modules"))?;
        let mut chosen = Vec::new();
        for name in modules {
            add_with_needed(name, &known, &mut chosen)?;
        }
        Ok(Guest { kernel, busybox: unpacked.join("bin/busybox"), modules: chosen })
    }

    /// Boots, runs the jobs one after the other, and powers off. `done` is called at each job's end. Takes at most
    /// `limit`.
    pub fn run(
        &self,
        jobs: &[Job],
        limit: Duration,
        mut done: impl FnMut(usize, &Outcome),
    ) -> io::Result<(Vec<Outcome>, Run)> {
        let scratch = Scratch::new("guest")?;
        let shared = scratch.folder("shared")?;
        for (number, job) in jobs.iter().enumerate() {
            let seconds = job.limit.as_secs();
            let script = format!("# {seconds}\n{}\n", job.script);
            std::fs::write(shared.join(format!("{number:02}.job")), script)?;
        }
        let here = std::env::current_dir()?.canonicalize()?;
        for own in ["/tmp", "/run"] {
            if here.starts_with(own) {
                let reason =
                    format!("{} is under {own}, of which the guest has its own", here.display());
                return Err(io::Error::other(reason));
            }
        }
        let main = MAIN.replace("@here@", &here.display().to_string());
        std::fs::write(shared.join("main.sh"), main)?;
        let initramfs = self.initramfs(&scratch)?;
        let qemu = self.qemu(&initramfs, &shared);
        let console = scratch.folder("console")?;
        let ended = thread::spawn(move || process::run(qemu, &console, b"", limit));
        let mut outcomes = Vec::new();
        while outcomes.len() < jobs.len() {
            let is_over = ended.is_finished();
            let number = outcomes.len();
            let outcome = Outcome::read(&shared, number);
            if outcome.code.is_some() {
                done(number, &outcome);
            } else if !is_over {
                thread::sleep(Duration::from_millis(100));
                continue;
            }
            outcomes.push(outcome);
        }
        let run = ended.join().map_err(|_| io::Error::other("the thread of the guest panicked"))?;
        Ok((outcomes, run?))
    }

    /// The files that the kernel unpacks into memory at its start: busybox, modules, and the first script.
    fn initramfs(&self, scratch: &Scratch) -> io::Result<PathBuf> {
        let root = scratch.folder("initramfs")?;
        for folder in ["bin", "modules", "proc", "sys", "dev", "host"] {
            std::fs::create_dir_all(root.join(folder))?;
        }
        std::fs::copy(&self.busybox, root.join("bin/busybox"))?;
        for (number, module) in self.modules.iter().enumerate() {
            std::fs::copy(module, root.join(format!("modules/{number:02}.ko")))?;
        }
        std::fs::write(root.join("init"), INIT)?;
        let packed = scratch.path().join("initramfs.cpio");
        let script = "chmod 755 init && find . | \"$0\" cpio -o -H newc > \"$1\"";
        let status = Command::new("sh")
            .args([OsStr::new("-c"), OsStr::new(script), self.busybox.as_os_str()])
            .arg(&packed)
            .current_dir(&root)
            .stderr(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(io::Error::other("the guest's first files cannot be packed"));
        }
        Ok(packed)
    }

    fn qemu(&self, initramfs: &Path, shared: &Path) -> Command {
        let share = |tag: &str, path: &Path, options: &str| {
            let path = path.display();
            format!(
                "local,path={path},mount_tag={tag},security_model=none,multidevs=remap{options}"
            )
        };
        let mut command = Command::new(QEMU);
        command.args(["-machine", "q35", "-accel", "tcg,thread=multi", "-smp", "2", "-m", "3g"]);
        // Without fast string moves the kernel copies words one by one, as adapters do.
        command.args(["-cpu", "max,-erms,-fsrm"]);
        command.args(["-nodefaults", "-nographic", "-no-reboot", "-monitor", "none"]);
        // A machine with much to do gives the guest no CPU for longer than its kernel waits for a timer.
        let kernel = "console=ttyS0 quiet panic=-1 no_timer_check";
        command.args(["-serial", "stdio", "-append", kernel]);
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(initramfs);
        command.args(["-virtfs", &share("host", Path::new("/"), ",readonly=on")]);
        command.args(["-virtfs", &share("shared", shared, "")]);
        command
    }
}

impl Outcome {
    fn read(shared: &Path, number: usize) -> Outcome {
        let file = |ending: &str| shared.join(format!("{number:02}.{ending}"));
        let code = std::fs::read_to_string(file("code")).ok();
        let output = std::fs::read(file("out")).unwrap_or_default();
        Outcome {
            code: code.and_then(|code| code.trim().parse().ok()),
            output: String::from_utf8_lossy(&output).into_owned(),
        }
    }
}

/// Fetches the packages and unpacks them side by side.
fn download(folder: &Path, unpacked: &Path) -> io::Result<()> {
    let packages = folder.join("packages");
    // Of an attempt that was cut short nothing is used.
    for old in [&packages, unpacked] {
        match std::fs::remove_dir_all(old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let apt = Apt::new(&cache::folder()?)?;
    let kernel = apt.depends("linux-image-amd64")?;
    let kernel = kernel.iter().find(|name| name.starts_with("linux-image-"));
    let kernel = kernel.ok_or_else(|| io::Error::other("linux-image-amd64 names no kernel"))?;
    for name in [kernel.as_str(), "busybox-static"] {
        apt.download(name, &packages)?;
    }
    for package in std::fs::read_dir(&packages)? {
        let package = package?.path();
        let status = Command::new("dpkg-deb").arg("-x").arg(&package).arg(unpacked).status()?;
        if !status.success() {
            let reason = format!("{} cannot be unpacked", package.display());
            return Err(io::Error::other(reason));
        }
    }
    Ok(())
}

/// The files of all modules, by name.
fn all_modules(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut modules = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if let Some(name) = name_of(&path).strip_suffix(".ko") {
                modules.insert(name.replace('-', "_"), path.clone());
            }
        }
    }
    Ok(modules)
}

/// Appends the dependencies of a module, and then itself.
fn add_with_needed(
    name: &str,
    known: &BTreeMap<String, PathBuf>,
    chosen: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let path = known.get(&name.replace('-', "_"));
    let path = path.ok_or_else(|| io::Error::other(format!("the kernel package has no {name}")))?;
    if chosen.contains(path) {
        return Ok(());
    }
    for needed in needed_by(&std::fs::read(path)?) {
        add_with_needed(&needed, known, chosen)?;
    }
    chosen.push(path.clone());
    Ok(())
}

/// The dependencies that a module's file states.
fn needed_by(module: &[u8]) -> Vec<String> {
    let key = b"\0depends=";
    let Some(at) = module.windows(key.len()).position(|window| window == key) else {
        return Vec::new();
    };
    let list = module[at + key.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    let list = String::from_utf8_lossy(list).into_owned();
    list.split(',').filter(|name| !name.is_empty()).map(str::to_string).collect()
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

const QEMU: &str = "qemu-system-x86_64";

/// The first process of the guest.
const INIT: &str = "#!/bin/busybox sh
B=/bin/busybox
$B mount -t proc none /proc
$B mount -t sysfs none /sys
$B mount -t devtmpfs none /dev
for module in /modules/*.ko; do $B insmod $module || echo \"$module cannot be loaded\"; done
OPTIONS=trans=virtio,version=9p2000.L,msize=262144
$B mount -t 9p -o $OPTIONS,cache=loose,ro host /host
for folder in proc sys dev; do $B mount --move /$folder /host/$folder; done
$B mount -t tmpfs none /host/tmp
$B mount -t tmpfs none /host/run
$B mkdir /host/run/shared
$B mount -t 9p -o $OPTIONS,cache=none shared /host/run/shared
exec $B chroot /host /bin/sh /run/shared/main.sh
";

/// The second script, which runs in the shared userland. The limit of each job stands in its first line.
const MAIN: &str = "
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8
cd '@here@'
for job in /run/shared/*.job; do
  base=${job%.job}
  read -r hash limit < $job
  timeout -k 5 $limit sh $job > $base.out 2>&1
  echo $? > $base.part && mv $base.part $base.code
done
echo o > /proc/sysrq-trigger
while :; do :; done
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_says_what_it_needs() {
        let file = b"\x7fELF\0license=GPL\0depends=ib_uverbs,ib_core\0retpoline=Y\0";
        assert_eq!(needed_by(file), ["ib_uverbs", "ib_core"]);
        assert_eq!(needed_by(b"\0license=GPL\0depends=\0"), [""; 0]);
        assert_eq!(needed_by(b"no module"), [""; 0]);
    }
}

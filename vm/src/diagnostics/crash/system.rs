//! The summary, and the section `SYSTEM`.

use super::files;
use super::output::{Output, Text};
use super::report::Report;
use std::ffi::CStr;
use std::ops::ControlFlow;

pub fn write_summary(report: &Report<'_>) {
    let (prepared, out) = (report.prepared, report.out);
    out.line(format_args!("\n---------------  S U M M A R Y ------------\n"));
    out.line(format_args!("Command Line: {} {}\n", prepared.arguments, prepared.command));
    out.put(format_args!("Host: "));
    write_field(out, c"/proc/cpuinfo", b"model name");
    // SAFETY: plain query.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    out.put(format_args!(", {cpus} cores, "));
    write_field(out, c"/etc/os-release", b"PRETTY_NAME");
    out.line(format_args!(""));
    // UTC: the local time takes a lock of the C library.
    // SAFETY: plain query.
    let now = unsafe { libc::time(std::ptr::null_mut()) };
    let [year, month, day, hour, minute, second] = civil(now);
    let elapsed = prepared.started.elapsed();
    let (days, hours) = (elapsed.as_secs() / 86_400, elapsed.as_secs() / 3600 % 24);
    let (minutes, seconds) = (elapsed.as_secs() / 60 % 60, elapsed.as_secs() % 60);
    out.line(format_args!(
        "Time: {year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC elapsed time: \
         {}.{:06} seconds ({days}d {hours}h {minutes}m {seconds}s)",
        elapsed.as_secs(),
        elapsed.subsec_micros()
    ));
}

/// Year, month, day, hour, minute and second of a time in UTC.
fn civil(seconds: i64) -> [i64; 6] {
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (mut year, mut left) = (1970, days);
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    while left >= 365 + i64::from(is_leap(year)) {
        left -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + i64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    [year, month, left + 1, of_day / 3600, of_day / 60 % 60, of_day % 60]
}

/// The value of a line `key: value` or `key="value"`.
fn write_field(out: Output, path: &CStr, key: &[u8]) {
    files::for_each_line(path, &mut |line| {
        let Some(rest) = line.strip_prefix(key) else { return ControlFlow::Continue(()) };
        let noise = |byte: &u8| matches!(byte, b'\t' | b' ' | b':' | b'=' | b'"');
        let start = rest.iter().position(|byte| !noise(byte)).unwrap_or(rest.len());
        let end = rest.iter().rposition(|byte| !noise(byte)).map_or(start, |end| end + 1);
        out.put(format_args!("{}", Text(&rest[start..end])));
        ControlFlow::Break(())
    });
}

pub fn write_system(report: &Report<'_>) {
    let out = report.out;
    out.line(format_args!("---------------  S Y S T E M  ---------------\n\nOS:"));
    files::copy(c"/etc/os-release", out);
    // SAFETY: the structure is the caller's.
    let name = unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        libc::uname(&mut name);
        name
    };
    out.put(format_args!("uname:"));
    for field in [&name.sysname, &name.release, &name.version, &name.machine] {
        // SAFETY: `uname` ends the fields by NULs.
        let text = unsafe { CStr::from_ptr(field.as_ptr()) };
        out.put(format_args!(" {}", Text(text.to_bytes())));
    }
    out.put(format_args!("\nrlimit (soft/hard):"));
    for (name, resource) in [
        ("STACK", libc::RLIMIT_STACK),
        ("CORE", libc::RLIMIT_CORE),
        ("NPROC", libc::RLIMIT_NPROC),
        ("NOFILE", libc::RLIMIT_NOFILE),
        ("AS", libc::RLIMIT_AS),
        ("MEMLOCK", libc::RLIMIT_MEMLOCK),
    ] {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: as above.
        unsafe { libc::getrlimit(resource, &mut limit) };
        out.put(format_args!(" {name} "));
        write_limit(out, limit.rlim_cur);
        out.put(format_args!("/"));
        write_limit(out, limit.rlim_max);
    }
    out.put(format_args!("\nload average: "));
    files::copy(c"/proc/loadavg", out);
    out.line(format_args!(""));
}

fn write_limit(out: Output, limit: libc::rlim_t) {
    match limit {
        libc::RLIM_INFINITY => out.put(format_args!("infinity")),
        limit => out.put(format_args!("{limit}")),
    }
}

pub fn write_memory(report: &Report<'_>) {
    report.out.line(format_args!("/proc/meminfo:"));
    files::copy(c"/proc/meminfo", report.out);
    report.out.put(format_args!("\n/sys/kernel/mm/transparent_hugepage/enabled: "));
    files::copy(c"/sys/kernel/mm/transparent_hugepage/enabled", report.out);
    report.out.put(format_args!("/proc/sys/vm/overcommit_memory: "));
    files::copy(c"/proc/sys/vm/overcommit_memory", report.out);
    report.out.put(format_args!("/proc/sys/vm/max_map_count: "));
    files::copy(c"/proc/sys/vm/max_map_count", report.out);
    report.out.put(format_args!("/proc/sys/vm/unprivileged_userfaultfd: "));
    files::copy(c"/proc/sys/vm/unprivileged_userfaultfd", report.out);
    report.out.line(format_args!(""));
}

pub fn write_process_memory(report: &Report<'_>) {
    report.out.line(format_args!("Process Memory:"));
    files::for_each_line(c"/proc/self/status", &mut |line| {
        if line.starts_with(b"Vm") || line.starts_with(b"Rss") || line.starts_with(b"Threads") {
            report.out.line(format_args!("{}", Text(line)));
        }
        ControlFlow::Continue(())
    });
    report.out.line(format_args!(""));
}

pub fn write_container(report: &Report<'_>) {
    report.out.line(format_args!(
        "container (cgroup) information, when the VM started:\n{}\n",
        report.prepared.resources
    ));
}

pub fn write_cpu(report: &Report<'_>) {
    report.out.line(format_args!("CPU Model and flags from /proc/cpuinfo:"));
    for (name, key) in [("model name", &b"model name"[..]), ("flags", b"flags")] {
        report.out.put(format_args!("{name}\t: "));
        write_field(report.out, c"/proc/cpuinfo", key);
        report.out.line(format_args!(""));
    }
    report.out.line(format_args!(""));
}

pub fn write_vm_info(report: &Report<'_>) {
    let (java_vm, jre) = (&report.prepared.java_vm, &report.prepared.jre);
    report.out.line(format_args!("vm_info: {java_vm} for linux-amd64 JRE {jre}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_dates() {
        assert_eq!(civil(0), [1970, 1, 1, 0, 0, 0]);
        assert_eq!(civil(951_782_399), [2000, 2, 28, 23, 59, 59]);
        assert_eq!(civil(951_782_400), [2000, 2, 29, 0, 0, 0]);
        assert_eq!(civil(1_735_689_599), [2024, 12, 31, 23, 59, 59]);
        assert_eq!(civil(4_102_444_800), [2100, 1, 1, 0, 0, 0]);
    }
}

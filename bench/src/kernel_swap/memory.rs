//! How much memory this machine has to give.

use crate::kernel_swap::read;

/// An error if this many bytes cannot be taken for good without the machine itself running short.
pub fn has(bytes: u64) -> Result<(), String> {
    let available =
        available(&read("/proc/meminfo")?).ok_or("/proc/meminfo has no MemAvailable")?;
    match bytes + RESERVE_BYTES <= available {
        true => Ok(()),
        false => Err(format!(
            "the swapped pages take {} MiB of memory, and only {} MiB are free",
            bytes >> 20,
            available >> 20
        )),
    }
}

fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// The memory that must be left to other processes.
const RESERVE_BYTES: u64 = 512 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_refused() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:    17 kB\n"), Some(17 << 10));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        assert!(has(0).is_ok());
        assert!(has(1 << 50).unwrap_err().contains("MiB are free"));
    }
}

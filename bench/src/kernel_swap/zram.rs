//! Compressed memory as a block device.

use crate::kernel_swap::device::BlockDevice;
use crate::kernel_swap::{read, write};

pub struct Zram {
    number: u32,
    path: String,
}

impl Zram {
    /// A new device of this many bytes.
    pub fn new(bytes: u64) -> Result<Zram, String> {
        let number = read("/sys/class/zram-control/hot_add")?;
        let number = number.trim().parse().map_err(|_| "zram gives no device".to_string())?;
        let mut zram = Zram { number, path: format!("/dev/zram{number}") };
        match write(format!("/sys/block/zram{number}/disksize"), &bytes.to_string()) {
            Ok(()) => Ok(zram),
            Err(why) => match zram.remove() {
                Ok(()) => Err(why),
                Err(left) => Err(format!("{why}; then {left}")),
            },
        }
    }
}

impl BlockDevice for Zram {
    fn path(&self) -> &str {
        &self.path
    }

    fn model(&self) -> String {
        let all = read(format!("/sys/block/zram{}/comp_algorithm", self.number));
        let chosen = all.ok().and_then(|all| Some(between(&all)?.to_string()));
        format!("zram, {}", chosen.as_deref().unwrap_or("unknown compression"))
    }

    fn remove(&mut self) -> Result<(), String> {
        write("/sys/class/zram-control/hot_remove", &self.number.to_string())
    }
}

/// The chosen one of a list such as `lzo [lzo-rle] lz4`.
fn between(list: &str) -> Option<&str> {
    Some(list.split_once('[')?.1.split_once(']')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_compression_is_the_one_in_brackets() {
        assert_eq!(between("lzo [lzo-rle] lz4\n"), Some("lzo-rle"));
        assert_eq!(between("lzo lz4"), None);
    }
}

//! Which cores a run may use: those of the machine with the program, and those of the machines with the memory.

use std::io;
use std::str::FromStr;

/// The value of `--pin`: `0-3:4-7`, cores of the program before the colon, cores of the memory servers behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    pub program: Vec<usize>,
    pub servers: Vec<usize>,
}

impl Cores {
    /// One half of this machine's cores each.
    pub fn halves() -> io::Result<Cores> {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        if cores < 2 {
            return Err(io::Error::other(
                "--pin needs at least two cores: one is for the memory servers",
            ));
        }
        let middle = cores.div_ceil(2);
        Ok(Cores { program: (0..middle).collect(), servers: (middle..cores).collect() })
    }

    /// As `--pin` takes it; nothing means halves.
    pub fn parse(text: &str) -> io::Result<Cores> {
        if text.is_empty() {
            return Cores::halves();
        }
        text.parse().map_err(|what| io::Error::other(format!("--pin {text}: {what}")))
    }
}

impl FromStr for Cores {
    type Err = String;

    fn from_str(text: &str) -> Result<Cores, String> {
        let (program, servers) =
            text.split_once(':').ok_or("no colon; use PROGRAM:SERVERS, such as 0-1:2,3")?;
        Ok(Cores { program: list(program)?, servers: list(servers)? })
    }
}

impl std::fmt::Display for Cores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |cores: &[usize]| {
            cores.iter().map(|core| core.to_string()).collect::<Vec<String>>().join(",")
        };
        write!(f, "{}:{}", list(&self.program), list(&self.servers))
    }
}

/// `0-2,5` is 0, 1, 2, 5.
fn list(text: &str) -> Result<Vec<usize>, String> {
    let mut cores = Vec::new();
    for part in text.split(',') {
        let wrong = || format!("{part:?} is neither a core nor a range of cores");
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.parse().map_err(|_| wrong())?;
        let last: usize = last.parse().map_err(|_| wrong())?;
        if first > last || last >= CORES_MAX {
            return Err(wrong());
        }
        cores.extend(first..=last);
    }
    Ok(cores)
}

/// The number of cores that a set can hold (`cpu_set_t`).
const CORES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_are_read() {
        let cores: Cores = "0-2,5:3".parse().unwrap();
        assert_eq!(
            (cores.program.as_slice(), cores.servers.as_slice()),
            (&[0, 1, 2, 5][..], &[3][..])
        );
        assert_eq!(cores.to_string(), "0,1,2,5:3");
        for wrong in ["0", "0:", "1-0:2", "a:1", "0:99999", "0:1:2"] {
            assert!(Cores::parse(wrong).unwrap_err().to_string().contains("--pin"), "{wrong}");
        }
    }
}

//! The network that far memory is behind, as the options of our VM describe it.

use std::time::Duration;

use base::units;

/// Injected latency and bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// The latency of every transfer.
    pub latency: Duration,
    /// Bytes per second of all transfers together; 0: no limit.
    pub bandwidth: u64,
}

impl Network {
    /// The options of our VM and of `far-run` that ask for it.
    pub fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        if !self.latency.is_zero() {
            options.extend(["--far-latency".to_string(), format!("{}ns", self.latency.as_nanos())]);
        }
        if self.bandwidth > 0 {
            options.extend(["--far-bandwidth".to_string(), self.bandwidth.to_string()]);
        }
        options
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} us", self.latency.as_nanos() as f64 / 1e3)?;
        match self.bandwidth {
            0 => write!(f, ", no bandwidth limit"),
            bytes => write!(f, ", {} Gbit/s", bytes as f64 * 8.0 / 1e9),
        }
    }
}

/// `5us`, `300ns`, `2ms`, `1s` (at most a second), as `--far-latency` of our VM takes it.
pub fn latency(text: &str) -> Result<Duration, String> {
    let time = units::parse_duration(text).filter(|time| *time <= Duration::from_secs(1));
    time.ok_or_else(|| format!("{text:?} is not a time such as 5us, at most 1s"))
}

/// `40gbit`, `100mbit`, or bytes per second as sizes are written, as `--far-bandwidth` of our VM takes it.
pub fn bandwidth(text: &str) -> Result<u64, String> {
    units::parse_bandwidth(text).ok_or_else(|| format!("{text:?} is not a rate such as 40gbit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_are_those_of_the_vm() {
        assert_eq!(latency("5us"), Ok(Duration::from_micros(5)));
        assert_eq!(latency("300ns"), Ok(Duration::from_nanos(300)));
        assert_eq!(latency("1.5ms"), Ok(Duration::from_micros(1500)));
        for wrong in ["5", "us", "-1us", "2s", "NaNs"] {
            assert!(latency(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
        assert_eq!(bandwidth("40gbit"), Ok(5_000_000_000));
        assert!(bandwidth("fast").is_err());
    }

    #[test]
    fn it_says_what_it_is() {
        let network = Network { latency: Duration::from_micros(5), bandwidth: 5_000_000_000 };
        assert_eq!(network.to_string(), "5 us, 40 Gbit/s");
        let options = network.options().join(" ");
        assert_eq!(options, "--far-latency 5000ns --far-bandwidth 5000000000");
        assert_eq!(latency("5000ns"), Ok(network.latency));
        assert_eq!(bandwidth("5000000000"), Ok(network.bandwidth));
        assert!(Network::default().options().is_empty());
        assert_eq!(Network::default().to_string(), "0 us, no bandwidth limit");
    }
}

//! `-XX:FlightRecorderOptions=name=value,...`

use base::units::parse_bytes;

/// One of them. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecorderOption {
    /// The folder of the files of running recordings.
    Repository(String),
    StackDepth(i32),
    MemorySize(i64),
    MaxChunkSize(i64),
    ThreadBufferSize(i64),
    GlobalBufferSize(i64),
    GlobalBuffers(i64),
    SampleThreads(bool),
}

impl RecorderOption {
    /// Reads all options of a text. Those that ask for what this VM does not have, as HotSpot may be built without it
    /// too, are left out. The error is a message.
    pub fn list(text: &str) -> Result<Vec<RecorderOption>, String> {
        let mut options = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let bad = || format!("Invalid value '{value}' of the flight recorder's option {name}");
            let bytes =
                || parse_bytes(value).and_then(|bytes| i64::try_from(bytes).ok()).ok_or_else(bad);
            let flag = || match value {
                "" | "true" => Ok(true),
                "false" => Ok(false),
                _ => Err(bad()),
            };
            options.push(match name {
                "repository" if value.is_empty() => return Err(bad()),
                "repository" => RecorderOption::Repository(value.into()),
                "stackdepth" => match value.parse() {
                    Ok(depth @ 1..=2048) => RecorderOption::StackDepth(depth),
                    _ => return Err(bad()),
                },
                "memorysize" => RecorderOption::MemorySize(bytes()?),
                "maxchunksize" => RecorderOption::MaxChunkSize(bytes()?),
                "threadbuffersize" => RecorderOption::ThreadBufferSize(bytes()?),
                "globalbuffersize" => RecorderOption::GlobalBufferSize(bytes()?),
                "numglobalbuffers" => {
                    RecorderOption::GlobalBuffers(value.parse().map_err(|_| bad())?)
                }
                "samplethreads" => RecorderOption::SampleThreads(flag()?),
                "retransform" | "old-object-queue-size" => continue,
                _ => return Err(format!("Unknown argument '{name}' in -XX:FlightRecorderOptions")),
            });
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let all =
            RecorderOption::list("stackdepth=3,maxchunksize=2m,retransform=false,samplethreads");
        let expected = [
            RecorderOption::StackDepth(3),
            RecorderOption::MaxChunkSize(2 << 20),
            RecorderOption::SampleThreads(true),
        ];
        assert_eq!(all, Ok(expected.to_vec()));
        for text in [
            "stackdepth=0",
            "stackdepth",
            "memorysize=x",
            "repository",
            "other=1",
            "samplethreads=2",
        ] {
            assert!(RecorderOption::list(text).is_err(), "{text}");
        }
    }
}

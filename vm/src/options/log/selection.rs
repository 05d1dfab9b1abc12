//! Which lines an output prints: `gc*=debug,safepoint`.

use super::tags;
use gc::object::log::LogLevel;

/// Lines with these tags, down to a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Sorted; empty with `and_more`: all lines.
    tags: Vec<String>,
    /// `gc*`: other tags may be present too.
    and_more: bool,
    /// The lowest level that is printed. `None`: `off`.
    level: Option<LogLevel>,
}

impl Selection {
    /// All lines, down to a level.
    pub fn all(level: LogLevel) -> Selection {
        Selection { tags: Vec::new(), and_more: true, level: Some(level) }
    }

    /// Reads a list. Empty: everything, down to `info`. The error is the reason as HotSpot logs it.
    pub fn list(text: &str) -> Result<Vec<Selection>, String> {
        match text {
            "" => Ok(vec![Selection::all(LogLevel::Info)]),
            _ => text.split(',').map(Selection::parse).collect(),
        }
    }

    fn parse(text: &str) -> Result<Selection, String> {
        let (tags, level) = text.split_once('=').unwrap_or((text, "info"));
        let level = match level {
            "trace" => Some(LogLevel::Trace),
            "debug" => Some(LogLevel::Debug),
            "info" => Some(LogLevel::Info),
            "warning" => Some(LogLevel::Warning),
            "error" => Some(LogLevel::Error),
            "off" => None,
            _ => return Err(format!("Invalid level '{level}' in log selection.")),
        };
        let (tags, and_more) = match tags {
            "all" => ("", true),
            _ => tags.strip_suffix('*').map_or((tags, false), |tags| (tags, true)),
        };
        let is_all = tags.is_empty() && and_more;
        let mut tags: Vec<String> = match is_all {
            true => Vec::new(),
            false => tags.split('+').map(String::from).collect(),
        };
        if let Some(unknown) = tags.iter().find(|tag| !tags::is_known(tag)) {
            return Err(format!("Invalid tag '{unknown}' in log selection."));
        }
        tags.sort_unstable();
        tags.dedup();
        Ok(Selection { tags, and_more, level })
    }

    /// Whether it is about lines with these tags: sorted.
    pub fn matches(&self, own: &[&str]) -> bool {
        let has = |tag: &String| own.contains(&tag.as_str());
        self.tags.iter().all(has) && (self.and_more || self.tags.len() == own.len())
    }

    /// Whether lines of a level are printed that it is about.
    pub fn allows(&self, level: LogLevel) -> bool {
        self.level.is_some_and(|least| level >= least)
    }

    /// Whether it asks for lines that this VM never writes.
    pub fn is_in_vain(&self) -> bool {
        self.level.is_some() && !tags::SETS.iter().any(|set| self.matches(&sorted(set)))
    }
}

/// The tags of `gc,heap`.
pub fn sorted(tags: &str) -> Vec<&str> {
    let mut own: Vec<&str> = tags.split(',').collect();
    own.sort_unstable();
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_levels_are_read() {
        let reads = |text: &str| Selection::list(text).map(|list| list.len());
        assert_eq!(reads(""), Ok(1));
        assert_eq!(reads("gc*,safepoint=debug,all=off"), Ok(3));
        assert_eq!(reads("foo"), Err("Invalid tag 'foo' in log selection.".into()));
        assert_eq!(reads("gc+"), Err("Invalid tag '' in log selection.".into()));
        assert_eq!(reads("gc=loud"), Err("Invalid level 'loud' in log selection.".into()));
        let matches =
            |text: &str, tags: &str| Selection::list(text).unwrap()[0].matches(&sorted(tags));
        assert!(matches("gc+heap", "gc,heap") && matches("heap+gc", "gc,heap"));
        assert!(matches("gc*", "gc,heap") && !matches("gc", "gc,heap"));
        assert!(matches("all", "class,load") && !matches("gc*", "class,load"));
    }

    #[test]
    fn lines_that_never_come_are_noticed() {
        let in_vain = |text: &str| Selection::list(text).unwrap()[0].is_in_vain();
        assert!(in_vain("jit+compilation=debug") && in_vain("gc+jni"));
        assert!(
            !in_vain("gc")
                && !in_vain("class+unload")
                && !in_vain("gc*")
                && !in_vain("")
                && !in_vain("jit=off")
        );
    }
}

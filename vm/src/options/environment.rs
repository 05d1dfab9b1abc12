//! VM options from the environment, and from the files that options name.

use super::BadOption;

/// Options of `JAVA_TOOL_OPTIONS` before the given ones and of `_JAVA_OPTIONS` behind them, each announced on
/// stderr; and instead of options that name files (`-XX:VMOptionsFile=`, `-XX:Flags=`), the options in them.
pub fn with_environment(given: Vec<String>) -> Result<Vec<String>, BadOption> {
    let mut all = picked_up("JAVA_TOOL_OPTIONS")?;
    all.extend(given);
    all.extend(picked_up("_JAVA_OPTIONS")?);
    with_files(all)
}

/// The options of a file named by `-XX:VMOptionsFile=` take its place; there may be one such file. Those of files named
/// by `-XX:Flags=` come first, so that the command line changes them.
fn with_files(given: Vec<String>) -> Result<Vec<String>, BadOption> {
    let (mut settings, mut all, mut has_file) = (Vec::new(), Vec::new(), false);
    for option in given {
        if let Some(path) = option.strip_prefix(OPTIONS_FILE) {
            let again = || BadOption("The VM Options file can only be specified once.".into());
            if std::mem::replace(&mut has_file, true) {
                return Err(again());
            }
            let text = std::fs::read_to_string(path)
                .map_err(|_| BadOption(format!("Could not open options file '{path}'")))?;
            let unmatched = || BadOption(format!("Unmatched quote in {path}"));
            let words = split(&text).ok_or_else(unmatched)?;
            if words.iter().any(|word| word.starts_with(OPTIONS_FILE)) {
                return Err(again());
            }
            all.extend(words);
        } else if let Some(path) = option.strip_prefix("-XX:Flags=") {
            let text = std::fs::read_to_string(path)
                .map_err(|_| BadOption(format!("Could not open settings file {path}")))?;
            let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
            let words = lines.flat_map(str::split_ascii_whitespace);
            settings.extend(words.map(|word| format!("-XX:{word}")));
        } else {
            all.push(option);
        }
    }
    settings.extend(all);
    Ok(settings)
}

const OPTIONS_FILE: &str = "-XX:VMOptionsFile=";

fn picked_up(variable: &str) -> Result<Vec<String>, BadOption> {
    let Ok(text) = std::env::var(variable) else {
        return Ok(Vec::new());
    };
    let unmatched = || BadOption(format!("Unmatched quote in {variable}"));
    let words = split(&text).ok_or_else(unmatched)?;
    base::say(format_args!("Picked up {variable}: {text}"));
    Ok(words)
}

/// Words between white space; quotes keep white space. `None` when a quote has no partner.
pub(super) fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_ascii_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_words_and_quotes() {
        let words = split(" -Da=b  \"-Dc=d e\" -Df='g h' ").unwrap();
        assert_eq!(words, ["-Da=b", "-Dc=d e", "-Df=g h"]);
        assert_eq!(split("'open"), None);
        assert_eq!(split(""), Some(vec![]));
    }

    #[test]
    fn files_hold_options() {
        let name = |what: &str| {
            let file = format!("vm-{what}-{}", std::process::id());
            std::env::temp_dir().join(file).display().to_string()
        };
        let (options, settings) = (name("options"), name("settings"));
        std::fs::write(&options, "-Da='b c'\n -Xmx1g\n").unwrap();
        std::fs::write(&settings, "# Nothing.\n+UseSerialGC MaxHeapFreeRatio=50 # half\n").unwrap();
        let file = format!("-XX:VMOptionsFile={options}");
        let flags = format!("-XX:Flags={settings}");
        let all = |given: &[&str]| with_files(given.iter().map(|text| text.to_string()).collect());
        let expected = [
            "-XX:+UseSerialGC",
            "-XX:MaxHeapFreeRatio=50",
            "-Xms1m",
            "-Da=b c",
            "-Xmx1g",
            "-Dlast",
        ];
        assert_eq!(all(&["-Xms1m", &file, &flags, "-Dlast"]).unwrap(), expected);
        assert!(all(&[&file, &file]).unwrap_err().0.contains("only be specified once"));
        std::fs::write(&options, &file).unwrap();
        assert!(all(&[&file]).unwrap_err().0.contains("only be specified once"));
        let missing = all(&["-XX:VMOptionsFile=/no/file"]).unwrap_err();
        assert_eq!(missing.0, "Could not open options file '/no/file'");
        let missing = all(&["-XX:Flags=/no/file"]).unwrap_err();
        assert_eq!(missing.0, "Could not open settings file /no/file");
        std::fs::remove_file(&options).unwrap();
        std::fs::remove_file(&settings).unwrap();
    }
}

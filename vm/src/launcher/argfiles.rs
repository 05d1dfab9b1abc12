//! `@file` arguments, and options from the environment.

/// Puts the options of `JDK_JAVA_OPTIONS` first and expands `@file` arguments up to the main class.
pub fn with_environment(words: &[String]) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    if let Ok(options) = std::env::var("JDK_JAVA_OPTIONS") {
        base::say(format_args!("NOTE: Picked up JDK_JAVA_OPTIONS: {options}"));
        let given = split(&options).map_err(|_| {
            "Error: Unmatched quote in environment variable JDK_JAVA_OPTIONS".to_string()
        })?;
        all = from_variable(&given)?;
    }
    all.extend(expand(words)?);
    Ok(all)
}

/// The words of `JDK_JAVA_OPTIONS`, with those of files. They are options of a program that the command line names.
fn from_variable(words: &[String]) -> Result<Vec<String>, String> {
    let variable = "environment variable JDK_JAVA_OPTIONS";
    let (mut out, mut takes_value) = (Vec::new(), false);
    for given in words {
        let file = if takes_value { None } else { given.strip_prefix('@') };
        let (read, place) = match file {
            Some(file) if !file.is_empty() && !file.starts_with('@') => {
                (read(file)?, format!(" in {given}"))
            }
            Some(escaped) if !escaped.is_empty() => (vec![escaped.into()], String::new()),
            _ => (vec![given.clone()], String::new()),
        };
        for word in read {
            if !std::mem::take(&mut takes_value) {
                let name = word.split('=').next().unwrap_or_default();
                if NOT_FROM_VARIABLE.contains(&name) {
                    return Err(format!(
                        "Error: Option {word}{place} is not allowed in {variable}"
                    ));
                }
                if !word.starts_with('-') {
                    return Err(format!("Error: Cannot specify main class in {variable}"));
                }
                takes_value = super::arguments::takes_value(&word);
            }
            out.push(word);
        }
    }
    Ok(out)
}

/// The words of a file.
fn read(file: &str) -> Result<Vec<String>, String> {
    let text =
        std::fs::read_to_string(file).map_err(|_| format!("Error: could not open `{file}'"))?;
    split(&text).map_err(|_| format!("Error: Unmatched quote in `{file}'"))
}

/// Options that say what is run, or that end the launcher.
const NOT_FROM_VARIABLE: [&str; 16] = [
    "-jar",
    "-m",
    "--module",
    "--source",
    "--dry-run",
    "-h",
    "-?",
    "-help",
    "--help",
    "-X",
    "--help-extra",
    "-version",
    "--version",
    "-fullversion",
    "--full-version",
    "--disable-@files",
];

/// Replaces `@file` by the words of the file, `@@text` by `@text`, until the main class or
/// `--disable-@files` is seen.
fn expand(words: &[String]) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    let mut words = words.iter();
    let mut takes_value = false;
    for word in words.by_ref() {
        if word == "--disable-@files" {
            break;
        }
        if takes_value {
            takes_value = false;
            out.push(word.clone());
            continue;
        }
        if let Some(escaped) = word.strip_prefix("@@") {
            out.push(format!("@{escaped}"));
            continue;
        }
        if let Some(file) = word.strip_prefix('@').filter(|file| !file.is_empty()) {
            out.extend(read(file)?);
            continue;
        }
        takes_value = super::arguments::takes_value(word);
        out.push(word.clone());
        if !word.starts_with('-') || word == "-jar" {
            break;
        }
    }
    out.extend(words.cloned());
    Ok(out)
}

/// There is a quote without its partner.
struct Unmatched;

/// Words between white space; `#` begins a comment, quotes keep white space, a backslash escapes inside of
/// quotes and joins lines at their end.
fn split(text: &str) -> Result<Vec<String>, Unmatched> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    let mut quote: Option<char> = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), '\\') => match chars.next() {
                Some('n') => word.get_or_insert_default().push('\n'),
                Some('t') => word.get_or_insert_default().push('\t'),
                Some('r') => word.get_or_insert_default().push('\r'),
                Some('f') => word.get_or_insert_default().push('\u{c}'),
                Some('\n') => while chars.next_if(|c| *c == ' ' || *c == '\t').is_some() {},
                Some(other) => word.get_or_insert_default().push(other),
                None => (),
            },
            (Some(_), '\n') => return Err(Unmatched),
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            (None, _) if c.is_ascii_whitespace() => words.extend(word.take()),
            (None, '\\') if chars.peek() == Some(&'\n') => {
                chars.next();
                while chars.next_if(|c| *c == ' ' || *c == '\t').is_some() {}
            }
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(Unmatched);
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_as_java_does() {
        let words = |text: &str| split(text).ok().expect("quotes match");
        assert_eq!(words("-cp a:b  Main # rest\n x"), ["-cp", "a:b", "Main", "x"]);
        assert_eq!(words("\"a b\" 'c\\'d' e\"f\"g"), ["a b", "c'd", "efg"]);
        assert_eq!(words("-cp \"a:\\\n   b\""), ["-cp", "a:b"]);
        assert_eq!(words("\"\""), [""]);
        assert!(split("'open").is_err());
    }

    #[test]
    fn a_variable_holds_options_only() {
        let read = |words: &[&str]| {
            from_variable(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>())
        };
        let error = |words: &[&str]| read(words).unwrap_err();
        let place = "environment variable JDK_JAVA_OPTIONS";
        assert_eq!(read(&["-cp", "x", "-Da=b"]).unwrap(), ["-cp", "x", "-Da=b"]);
        assert_eq!(
            error(&["-cp", ".", "Main"]),
            format!("Error: Cannot specify main class in {place}")
        );
        let not_allowed = format!("Error: Option -version is not allowed in {place}");
        assert_eq!(error(&["-Xint", "-version"]), not_allowed);
        assert!(error(&["--module=x"]).contains("Option --module=x is not"));
        let file = std::env::temp_dir().join(format!("variable-{}", std::process::id()));
        std::fs::write(&file, "-Da=1 -X").unwrap();
        let at = format!("@{}", file.display());
        assert!(error(&[&at]).contains(&format!("Option -X in {at} is not allowed")));
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn expands_files_before_the_main_class_only() {
        let file = std::env::temp_dir().join(format!("argfile-{}", std::process::id()));
        std::fs::write(&file, "-Da=1 -Db=2").unwrap();
        let at = format!("@{}", file.display());
        let expanded = |words: &[&str]| {
            expand(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(expanded(&[&at, "Main", &at]), ["-Da=1", "-Db=2", "Main", &at]);
        assert_eq!(expanded(&["-cp", &at, "Main"]), ["-cp", &at, "Main"]);
        assert_eq!(expanded(&["@@x", "Main"]), ["@x", "Main"]);
        assert_eq!(expanded(&["--disable-@files", &at]), [at.as_str()]);
        std::fs::remove_file(&file).unwrap();
    }
}

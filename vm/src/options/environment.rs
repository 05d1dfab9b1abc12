//! VM options from the environment.

use super::BadOption;

/// Options of `JAVA_TOOL_OPTIONS` before the given ones and of `_JAVA_OPTIONS` behind them, each announced on
/// stderr.
pub fn with_environment(given: Vec<String>) -> Result<Vec<String>, BadOption> {
    let mut all = picked_up("JAVA_TOOL_OPTIONS")?;
    all.extend(given);
    all.extend(picked_up("_JAVA_OPTIONS")?);
    Ok(all)
}

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
fn split(text: &str) -> Option<Vec<String>> {
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
}

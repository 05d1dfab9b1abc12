//! The parameters of commands, and reading them from a line.

use std::collections::BTreeMap;

/// A parameter of a command.
pub struct Parameter {
    pub name: &'static str,
    pub description: &'static str,
    pub kind: Kind,
    pub default: Option<&'static str>,
    pub is_mandatory: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An option that is on or off: `-all`, `-all=true`.
    Switch,
    /// An option with a number: `-gz=1`.
    Number,
    /// An option with a text: `name=value`.
    Text,
    /// A text without a name, by its place.
    Argument,
    /// All of the line behind the command's name, as it is: the only parameter.
    Rest,
}

impl Kind {
    /// As HotSpot's help and bean show it.
    pub fn type_name(self) -> &'static str {
        match self {
            Kind::Switch => "BOOLEAN",
            Kind::Number => "INT",
            Kind::Text | Kind::Argument | Kind::Rest => "STRING",
        }
    }
}

/// The values of parameters that a line gives.
#[derive(Debug)]
pub struct Arguments(BTreeMap<&'static str, String>);

impl Arguments {
    /// Reads the part of a line behind the command's name. The error is a message.
    pub fn parse(parameters: &'static [Parameter], line: &str) -> Result<Arguments, String> {
        let mut values = BTreeMap::new();
        if let [Parameter { name, kind: Kind::Rest, .. }] = parameters {
            values.insert(*name, line.trim().to_string());
            return Ok(Arguments(values));
        }
        let mut places = parameters.iter().filter(|parameter| parameter.kind == Kind::Argument);
        for word in split(line)? {
            let (key, value) = match &word {
                Word { equals: Some(at), text } => (&text[..*at], Some(&text[at + 1..])),
                Word { equals: None, text } => (text.as_str(), None),
            };
            let option = parameters.iter().find(|p| p.kind != Kind::Argument && p.name == key);
            if let Some(option) = option {
                let value = option.read(value)?;
                values.insert(option.name, value);
            } else if let Some(place) = places.next() {
                values.insert(place.name, word.text);
            } else {
                return Err(format!("Unknown argument '{key}' in diagnostic command."));
            }
        }
        for parameter in parameters {
            if parameter.is_mandatory && !values.contains_key(parameter.name) {
                let name = parameter.name;
                return Err(format!("The argument '{name}' is mandatory."));
            }
        }
        Ok(Arguments(values))
    }

    /// The text that was given.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether a switch was given, and is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    /// The given options of kind [`Kind::Text`], names and values.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

impl Parameter {
    fn read(&self, value: Option<&str>) -> Result<String, String> {
        let name = self.name;
        match (self.kind, value) {
            (Kind::Switch, None) => Ok("true".into()),
            (Kind::Switch, Some(text @ ("true" | "false"))) => Ok(text.into()),
            (Kind::Switch, Some(text)) => Err(format!(
                "Boolean parsing error in command argument '{name}'. Could not parse: {text}."
            )),
            (Kind::Number, Some(text)) if text.parse::<u64>().is_ok() => Ok(text.into()),
            (Kind::Number, text) => Err(format!(
                "Integer parsing error in command argument '{name}'. Could not parse: {}.",
                text.unwrap_or_default()
            )),
            (_, text) => Ok(text.unwrap_or_default().into()),
        }
    }
}

/// A word of a line, and where its first `=` outside of quotes is.
struct Word {
    text: String,
    equals: Option<usize>,
}

/// Words between white space; quotes keep white space and `=`, and are taken off.
fn split(line: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    let new = || Word { text: String::new(), equals: None };
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_with(new).text.push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_with(new);
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => {
                let word = word.get_or_insert_with(new);
                if c == '=' && word.equals.is_none() {
                    word.equals = Some(word.text.len());
                }
                word.text.push(c);
            }
        }
    }
    words.extend(word);
    if quote.is_some() {
        return Err("Format error in diagnostic command arguments".into());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    static PARAMETERS: [Parameter; 4] = [
        parameter("-all", Kind::Switch, false),
        parameter("-gz", Kind::Number, false),
        parameter("port", Kind::Text, false),
        parameter("filename", Kind::Argument, true),
    ];

    const fn parameter(name: &'static str, kind: Kind, is_mandatory: bool) -> Parameter {
        Parameter { name, description: "", kind, default: None, is_mandatory }
    }

    fn parse(line: &str) -> Result<Vec<(String, String)>, String> {
        let arguments = Arguments::parse(&PARAMETERS, line)?;
        Ok(arguments.pairs().map(|(k, v)| (k.to_string(), v.to_string())).collect())
    }

    #[test]
    fn options_and_arguments_come_in_any_order() {
        let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
        assert_eq!(parse("a.hprof"), Ok(vec![pair("filename", "a.hprof")]));
        let all = vec![
            pair("-all", "true"),
            pair("-gz", "3"),
            pair("filename", "a b=c"),
            pair("port", "x=y"),
        ];
        assert_eq!(parse(" -gz=3 'a b=c'  -all port=x=y"), Ok(all));
        assert_eq!(parse("f -all=false").map(|all| all[0].1.clone()), Ok("false".into()));
    }

    #[test]
    fn a_command_may_read_its_line_itself() {
        static REST: [Parameter; 1] = [parameter("arguments", Kind::Rest, false)];
        for line in ["", "a=b 'c d", "x=1 x=2"] {
            let arguments = Arguments::parse(&REST, &format!(" {line} ")).unwrap();
            assert_eq!(arguments.text("arguments"), Some(line));
        }
    }

    #[test]
    fn wrong_lines_are_refused_with_a_reason() {
        for (line, reason) in [
            ("", "The argument 'filename' is mandatory."),
            ("a b", "Unknown argument 'b' in diagnostic command."),
            ("a -gz", "Could not parse: ."),
            ("a -gz=x", "Could not parse: x."),
            ("a -all=1", "Boolean parsing error in command argument '-all'"),
            ("'a", "Format error"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }
}

//! Which methods an option means: `java/lang/String::hashCode`, `*.main`, `com.example.*::get*`.

/// A pattern over class and method names, with `*` at either end of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodPattern {
    /// In internal form.
    class: Glob,
    method: Glob,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Glob {
    text: Vec<u8>,
    open_start: bool,
    open_end: bool,
}

impl MethodPattern {
    /// `Class::method`, `Class.method` (with slashes or dots in the class), or only a class. `None` for nothing.
    pub fn parse(text: &str) -> Option<MethodPattern> {
        // A descriptor may follow.
        let text = text.trim();
        let text = text.split_once('(').map_or(text, |(before, _)| before);
        if text.is_empty() {
            return None;
        }
        let (class, method) = match text.split_once("::") {
            Some(parts) => parts,
            // With slashes in the class, the only dot is before the method.
            None if text.contains('/') => text.split_once('.').unwrap_or((text, "*")),
            None => match text.rsplit_once('.') {
                Some((class, method)) if !starts_upper(method) => (class, method),
                _ => (text, "*"),
            },
        };
        Some(MethodPattern {
            class: Glob::parse(&class.replace('.', "/")),
            method: Glob::parse(method),
        })
    }

    /// Whether it means the method of this name in the class of this internal name.
    pub fn matches(&self, class: &[u8], method: &[u8]) -> bool {
        self.class.matches(class) && self.method.matches(method)
    }
}

fn starts_upper(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_uppercase)
}

impl Glob {
    fn parse(text: &str) -> Glob {
        let open_start = text.starts_with('*');
        let rest = text.strip_prefix('*').unwrap_or(text);
        let open_end = rest.ends_with('*') || rest.is_empty() && open_start;
        let rest = rest.strip_suffix('*').unwrap_or(rest);
        Glob { text: rest.as_bytes().to_vec(), open_start, open_end }
    }

    fn matches(&self, name: &[u8]) -> bool {
        let text = self.text.as_slice();
        match (self.open_start, self.open_end) {
            (false, false) => name == text,
            (false, true) => name.starts_with(text),
            (true, false) => name.ends_with(text),
            (true, true) => {
                text.is_empty() || name.windows(text.len()).any(|window| window == text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::options::pattern::*;

    #[test]
    fn reads_what_java_reads() {
        let matches = |pattern: &str, class: &str, method: &str| {
            let pattern = MethodPattern::parse(pattern).expect("a pattern");
            pattern.class.matches(class.as_bytes()) && pattern.method.matches(method.as_bytes())
        };
        assert!(matches("java/lang/String.hashCode", "java/lang/String", "hashCode"));
        assert!(matches("java.lang.String::hashCode", "java/lang/String", "hashCode"));
        assert!(matches("java.lang.String.hashCode", "java/lang/String", "hashCode"));
        assert!(matches("java.lang.String", "java/lang/String", "length"));
        assert!(!matches("java.lang.String", "java/lang/StringBuilder", "length"));
        assert!(matches("java.lang.*::get*", "java/lang/Integer", "getChars"));
        assert!(matches("*::main", "Hello", "main"));
        assert!(matches("*.main", "a/Hello", "main"));
        assert!(!matches("*.main", "a/Hello", "mainly"));
        assert!(matches("Hello::run()V", "Hello", "run"));
        assert_eq!(MethodPattern::parse(" "), None);
    }
}

//! The words of documents, help texts, messages and comments: the field's, not our own.

use super::files;
use proc_macro2::{TokenStream, TokenTree};
use syn::{Lit, LitStr};

/// Words that documents and messages must not have, and the words to write instead.
const FOR_USERS: &[(&str, &str)] =
    &[("is told", "is notified, knows"), ("whoever", "the one that")];

/// Words that messages and help texts must not have either.
const MESSAGES: &[(&str, &str)] = &[
    ("besides", "in addition"),
    ("go on", "continue"),
    ("goes on", "continues"),
    ("is worth", "the effect of"),
    ("is the least", "the minimum is"),
    ("is the most", "the maximum is"),
    ("nobody", "no thread, no server"),
    ("somebody", "another process, a thread"),
];

/// How no sentence of a message or a help text begins.
const OPENINGS: &[(&str, &str)] = &[
    ("Who ", "the subject"),
    ("Whose ", "the subject"),
    ("What ", "the subject"),
    ("Of it", "the subject"),
    ("Of these", "the subject"),
];

/// Words that comments must not have either.
const EVERYWHERE: &[(&str, &str)] = &[
    ("processor", "CPU"),
    ("left away", "omitted"),
    ("leave away", "omit"),
    ("so many", "N, this many"),
    ("so much", "this part, this amount"),
    ("told of", "notified of, shown"),
    ("tells of", "reports"),
];

/// Sources whose doc comments are help texts.
const HELP: &[&str] = &[
    "bench/src/bin/",
    "bench/src/gc_bench/commands/",
    "bench/src/gc_bench/contender.rs",
    "bench/src/gc_bench/options.rs",
    "bench/src/gc_bench/suites.rs",
    "bench/src/judge/",
    "far-run/src/main.rs",
    "gc/src/bin/",
    "gc/src/options/",
    "vm/src/launcher/help.rs",
    "vm/src/options/jit.rs",
    "vm/src/options/manageable.rs",
    "vm/src/options/mod.rs",
];

/// String literals that are no text for users: a property of `java`.
const NAMES: &[&str] = &["processors"];

#[test]
fn texts_use_the_words_of_the_field() {
    let mut wrong = Vec::new();
    for (name, text) in files(&[".md", ".rs"]) {
        let is_document = name.ends_with(".md");
        let is_help = HELP.iter().any(|place| name.starts_with(place));
        for (number, line) in text.lines().enumerate() {
            let text = if is_document { Some(line) } else { comment(line) };
            let kind = match (is_document, is_help && line.trim_start().starts_with("///")) {
                (true, _) => Kind::Document,
                (_, true) => Kind::Message,
                _ => Kind::Comment,
            };
            for bad in bad_words(text.unwrap_or_default(), kind) {
                wrong.push(format!("{name}:{}: {bad}", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "words of our own: {wrong:#?}");
}

#[test]
fn messages_use_the_words_of_the_field() {
    let mut wrong = Vec::new();
    // This folder has the words themselves.
    let is_checked = |name: &str| !name.starts_with("bench/tests/tidy/");
    for (name, text) in files(&[".rs"]).into_iter().filter(|(name, _)| is_checked(name)) {
        let tokens = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        for literal in strings(tokens) {
            let bad = bad_words(&literal, Kind::Message);
            wrong.extend(bad.into_iter().map(|bad| format!("{name}: {bad} in {literal:?}")));
        }
    }
    assert!(wrong.is_empty(), "words of our own: {wrong:#?}");
}

#[test]
fn bad_words_are_found_in_messages() {
    let source = r##"
        /// Nobody reads doc comments.
        fn f() {
            println!("a {besides}: {}", [r#"leave away
                it"#]);
            let _ = ("Who waits", b"so much", "ActiveProcessorCount", "wait. What is \
                      worth it", "`besides`");
        }
    "##;
    let found = strings(source.parse().unwrap());
    let bad = found.iter().flat_map(|literal| bad_words(literal, Kind::Message));
    let found: Vec<String> = bad.map(|bad| bad.split('"').nth(1).unwrap().to_string()).collect();
    assert_eq!(found, ["leave away", "Who ", "is worth", "What "]);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Comment,
    Document,
    Message,
}

/// The words of a text that must not be in it, with the words to write instead.
fn bad_words(text: &str, kind: Kind) -> Vec<String> {
    if NAMES.contains(&text) {
        return Vec::new();
    }
    // Names in code are not checked, nor what a message has in braces.
    let prose: String = text.split('`').step_by(2).collect();
    let prose = match kind {
        Kind::Message => {
            prose.split('}').map(|part| part.split('{').next().unwrap_or("")).collect()
        }
        _ => prose,
    };
    let lower = prose.to_lowercase();
    let starts = |at: usize| !lower[..at].ends_with(|c: char| c.is_alphanumeric());
    let has = |word: &str| match kind {
        // `ActiveProcessorCount` is a name.
        Kind::Message => lower.match_indices(word).any(|(at, _)| starts(at)),
        _ => lower.contains(word),
    };
    let begins = |word: &str| {
        let text = prose.trim_start_matches(['/', ' ', '\n']);
        text.starts_with(word) || text.contains(&format!(". {word}"))
    };
    let lists: &[&[(&str, &str)]] = match kind {
        Kind::Comment => &[EVERYWHERE],
        Kind::Document => &[EVERYWHERE, FOR_USERS],
        Kind::Message => &[EVERYWHERE, FOR_USERS, MESSAGES],
    };
    let openings = OPENINGS.iter().filter(|(word, _)| kind == Kind::Message && begins(word));
    let words = lists.iter().copied().flatten().filter(|(word, _)| has(word));
    words.chain(openings).map(|(word, other)| format!("\"{word}\": write {other}")).collect()
}

/// The string literals of a source, without its doc comments.
fn strings(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if !is_doc(&group.stream()) => {
                found.extend(strings(group.stream()));
            }
            TokenTree::Literal(literal) => {
                if let Lit::Str(text) = Lit::new(literal) {
                    found.push(LitStr::value(&text));
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether this is what a doc comment is to the compiler: `[doc = "text"]`, without the brackets.
fn is_doc(attribute: &TokenStream) -> bool {
    let mut tokens = attribute.clone().into_iter();
    matches!(tokens.next(), Some(TokenTree::Ident(name)) if name == "doc")
        && matches!(tokens.next(), Some(TokenTree::Punct(sign)) if sign.as_char() == '=')
}

/// A line's comment, of which the address of a page is none.
fn comment(line: &str) -> Option<&str> {
    let at = line.find("//")?;
    let is_address = line[..at].ends_with(':');
    (!is_address).then(|| &line[at..])
}

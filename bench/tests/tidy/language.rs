//! The words of documents, help texts and comments: the field's, not our own.

use super::files;

/// Words that texts for users must not have, and the words to write instead.
const FOR_USERS: &[(&str, &str)] =
    &[("is told", "is notified, knows"), ("whoever", "the one that")];

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

/// Sources whose comments and strings are help texts.
const HELP: &[&str] = &["vm/src/launcher/help.rs", "gc/src/options/"];

#[test]
fn texts_use_the_words_of_the_field() {
    let mut wrong = Vec::new();
    for (name, text) in files(&[".md", ".rs"]) {
        let is_document = name.ends_with(".md");
        let is_for_users = is_document || HELP.iter().any(|place| name.starts_with(place));
        for (number, line) in text.lines().enumerate() {
            let text = if is_document { Some(line) } else { comment(line) };
            // Names in code are not checked.
            let code = text.unwrap_or_default().split('`').step_by(2);
            let prose = code.collect::<String>().to_lowercase();
            let for_users = FOR_USERS.iter().filter(|_| is_for_users);
            for (word, instead) in EVERYWHERE.iter().chain(for_users) {
                if prose.contains(word) {
                    wrong.push(format!("{name}:{}: \"{word}\": write {instead}", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "words of our own: {wrong:#?}");
}

/// A line's comment, of which the address of a page is none.
fn comment(line: &str) -> Option<&str> {
    let at = line.find("//")?;
    let is_address = line[..at].ends_with(':');
    (!is_address).then(|| &line[at..])
}

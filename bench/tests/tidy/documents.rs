//! Files and commands that the documents name exist.

use super::{files, root};
use std::collections::BTreeSet;

#[test]
fn links_of_documents_lead_somewhere() {
    let root = root();
    let mut wrong = Vec::new();
    for (name, text) in files(&[".md"]) {
        let folder = root.join(&name).parent().expect("a file is in a folder").to_path_buf();
        for link in links(&text).filter(|link| !link.contains("://") && !link.is_empty()) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { root.join(&name) } else { folder.join(path) };
            let has_anchor = || {
                let text = std::fs::read_to_string(&target).unwrap_or_default();
                headings(&text).any(|heading| heading == anchor)
            };
            if !target.exists() || !anchor.is_empty() && !has_anchor() {
                wrong.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere: {wrong:#?}");
}

#[test]
fn source_files_that_documents_and_comments_name_exist() {
    let members = members();
    assert!(members.contains("gc"), "{members:?}");
    let root = root();
    let mut wrong = Vec::new();
    for (name, text) in files(&[".md", ".rs", "Makefile"]) {
        // Its samples are no files.
        if name.starts_with("bench/tests/tidy/") {
            continue;
        }
        let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        for word in text.split(|c| !is_of_path(c)) {
            let path = word.trim_matches(|c| c == '.' || c == '/');
            let mut parts = path.split('/');
            let is_source = parts.next().is_some_and(|first| members.contains(first))
                && parts.next().is_some_and(|second| {
                    ["src", "tests", "benches", "examples"].contains(&second)
                });
            let is_pattern = path.contains("/NAME");
            if is_source
                && !is_pattern
                && !word.starts_with(['.', '/'])
                && !root.join(path).exists()
            {
                wrong.push(format!("{name}: {path}"));
            }
        }
    }
    assert!(wrong.is_empty(), "source files that are named and do not exist: {wrong:#?}");
}

#[test]
fn the_book_has_every_document() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).expect("a book");
    let listed: BTreeSet<_> = links(&summary).map(|link| format!("docs/{link}")).collect();
    let missing: Vec<_> = files(&[".md"])
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("docs/") && name != "docs/SUMMARY.md")
        .filter(|name| !listed.contains(name))
        .collect();
    assert!(missing.is_empty(), "documents that the book's summary lacks: {missing:#?}");
}

/// Targets of Markdown links outside of code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let is_code = |line: &&str| line.starts_with("    ") && !line.trim_start().starts_with('-');
    let lines = text.lines().filter(move |line| !is_code(line));
    lines.flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split(')').next())
}

/// Anchors of a document's headings.
fn headings(text: &str) -> impl Iterator<Item = String> + '_ {
    let titles = text.lines().filter_map(|line| line.strip_prefix('#'));
    titles.map(|title| {
        let title = title.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Folders of the workspace's crates.
fn members() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).expect("there is a workspace");
    let manifest: toml::Table = toml::from_str(&text).expect("cargo reads it");
    let listed = manifest["workspace"]["members"].as_array().expect("a list");
    listed.iter().filter_map(|name| name.as_str()).map(str::to_string).collect()
}

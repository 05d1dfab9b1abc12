//! Pieces of a page.

use std::fmt::Write;

/// Text in a page.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A table of cells that are HTML already; the first line is the head. It scrolls by itself where it is too wide.
pub fn table(lines: &[Vec<String>]) -> String {
    let mut text = String::from("<div class=\"wide\"><table>");
    for (at, line) in lines.iter().enumerate() {
        let tag = if at == 0 { "th" } else { "td" };
        text += "<tr>";
        for cell in line {
            let _ = write!(text, "<{tag}>{cell}</{tag}>");
        }
        text += "</tr>\n";
    }
    text + "</table></div>\n"
}

/// A link to the element with this id.
pub fn link(id: &str, html: &str) -> String {
    format!("<a href=\"#{id}\">{html}</a>")
}

/// The id of a contender's runs, of all workloads.
pub fn of_contender(contender: usize) -> String {
    format!("k{contender}")
}

/// The id of a contender's runs of a workload.
pub fn of_cell(workload: usize, contender: usize) -> String {
    format!("c{workload}-{contender}")
}

pub fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| word.to_string()).collect()
}

/// The whole page.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style></head>\n<body><main>\n{body}</main>\n\
         <script>{SCRIPT}</script></body></html>\n",
        escape(title)
    )
}

const STYLE: &str = include_str!("style.css");

/// A link into something that is folded unfolds it.
const SCRIPT: &str = "\
function unfold(){var e=location.hash&&document.getElementById(location.hash.slice(1));\
for(var p=e;p;p=p.parentElement)if(p.tagName==='DETAILS')p.open=true;if(e)e.scrollIntoView();}\
addEventListener('hashchange',unfold);unfold();";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_becomes_a_tag() {
        assert_eq!(escape("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
        let page = page("<b>", "");
        assert!(page.contains("<title>&lt;b&gt;</title>"));
    }

    #[test]
    fn the_first_line_is_a_head() {
        let text = table(&[words(&["a", "b"]), words(&["1", "2"])]);
        assert!(text.contains("<th>a</th><th>b</th>") && text.contains("<td>1</td><td>2</td>"));
    }
}

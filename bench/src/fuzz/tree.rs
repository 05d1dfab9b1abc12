//! Java source as a tree of statements and members, so that a failing program can lose parts of itself.

/// A statement, a member, or a class.
#[derive(Clone, Debug)]
pub enum Part {
    /// A line, or several that belong together.
    Line(String),
    /// Heads with what they enclose, such as `if (a) {` and `} else {`, and the text that ends it all.
    Nest { bodies: Vec<(String, Vec<Part>)>, end: String },
}

impl Part {
    pub fn line(text: impl Into<String>) -> Part {
        Part::Line(text.into())
    }

    /// One head, one body, a closing brace.
    pub fn block(head: impl Into<String>, body: Vec<Part>) -> Part {
        Part::Nest { bodies: vec![(head.into(), body)], end: "}".into() }
    }
}

/// The text of `parts`, indented.
pub fn render(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        write(part, 0, &mut text);
    }
    text
}

fn write(part: &Part, depth: usize, text: &mut String) {
    let line = |lines: &str, text: &mut String| {
        for line in lines.lines() {
            text.push_str(&"    ".repeat(depth));
            text.push_str(line);
            text.push('\n');
        }
    };
    match part {
        Part::Line(content) => line(content, text),
        Part::Nest { bodies, end } => {
            for (head, body) in bodies {
                line(head, text);
                body.iter().for_each(|part| write(part, depth + 1, text));
            }
            line(end, text);
        }
    }
}

/// The number of parts, at all depths.
pub fn count(parts: &[Part]) -> usize {
    let inside = |part: &Part| match part {
        Part::Line(_) => 0,
        Part::Nest { bodies, .. } => bodies.iter().map(|(_, body)| count(body)).sum(),
    };
    parts.iter().map(|part| 1 + inside(part)).sum()
}

/// The parts without those numbered `from` to `to - 1`, counting from the top as `count` does; the contents of a
/// removed part are removed with it.
pub fn without(parts: &[Part], from: usize, to: usize) -> Vec<Part> {
    prune(parts, &mut 0, from, to)
}

fn prune(parts: &[Part], next: &mut usize, from: usize, to: usize) -> Vec<Part> {
    let mut kept = Vec::new();
    for part in parts {
        let number = *next;
        *next += 1;
        match part {
            Part::Line(_) if (from..to).contains(&number) => {}
            Part::Line(_) => kept.push(part.clone()),
            Part::Nest { bodies, end } => {
                let bodies = bodies.iter();
                let bodies = bodies.map(|(head, body)| (head.clone(), prune(body, next, from, to)));
                let nest = Part::Nest { bodies: bodies.collect(), end: end.clone() };
                if !(from..to).contains(&number) {
                    kept.push(nest);
                }
            }
        }
    }
    kept
}

/// The parts with the nest of number `at` replaced by the content of its first body; `None` if that is a line.
pub fn unwrapped(parts: &[Part], at: usize) -> Option<Vec<Part>> {
    unwrap_in(parts, &mut 0, at)
}

fn unwrap_in(parts: &[Part], next: &mut usize, at: usize) -> Option<Vec<Part>> {
    for (index, part) in parts.iter().enumerate() {
        let number = *next;
        *next += 1;
        let Part::Nest { bodies, end } = part else {
            continue;
        };
        let mut result = parts.to_vec();
        if number == at {
            let content = bodies[0].1.clone();
            result.splice(index..=index, content);
            return Some(result);
        }
        for (place, (_, body)) in bodies.iter().enumerate() {
            if let Some(changed) = unwrap_in(body, next, at) {
                let mut bodies = bodies.clone();
                bodies[place].1 = changed;
                result[index] = Part::Nest { bodies, end: end.clone() };
                return Some(result);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Part> {
        let inner = vec![Part::line("b;"), Part::line("c;")];
        let branch = Part::Nest {
            bodies: vec![("if (x) {".into(), inner), ("} else {".into(), vec![Part::line("d;")])],
            end: "}".into(),
        };
        vec![Part::line("a;"), branch, Part::line("e;")]
    }

    #[test]
    fn text_is_indented() {
        let text = "a;\nif (x) {\n    b;\n    c;\n} else {\n    d;\n}\ne;\n";
        assert_eq!(render(&sample()), text);
        assert_eq!(count(&sample()), 6);
    }

    #[test]
    fn parts_can_be_left_out_and_unwrapped() {
        let parts = sample();
        assert_eq!(render(&without(&parts, 3, 6)), "a;\nif (x) {\n    b;\n} else {\n}\n");
        assert_eq!(render(&without(&parts, 1, 2)), "a;\ne;\n");
        assert_eq!(render(&unwrapped(&parts, 1).unwrap()), "a;\nb;\nc;\ne;\n");
        assert!(unwrapped(&parts, 2).is_none());
    }
}

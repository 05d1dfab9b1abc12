//! `-ea` and its kin: which classes run with assertions.

/// The switches in command line order; later ones win.
#[derive(Clone, Debug, Default)]
pub struct Assertions {
    /// `-ea` / `-da` without a name.
    pub default: bool,
    /// `-esa` / `-dsa`
    pub system: bool,
    /// `-ea:p.Name`: class names with dots.
    pub classes: Vec<(String, bool)>,
    /// `-ea:p...`: package names with dots, without the `...`; empty for the unnamed package.
    pub packages: Vec<(String, bool)>,
}

impl Assertions {
    /// Takes an option if it is one of these.
    pub fn parse(&mut self, option: &str) -> bool {
        let (enable, rest) = match option {
            "-esa" | "-enablesystemassertions" => {
                self.system = true;
                return true;
            }
            "-dsa" | "-disablesystemassertions" => {
                self.system = false;
                return true;
            }
            _ => match NAMES.iter().find_map(|(n, on)| Some((*on, option.strip_prefix(n)?))) {
                Some(found) => found,
                None => return false,
            },
        };
        if rest.is_empty() {
            self.default = enable;
            return true;
        }
        let Some(name) = rest.strip_prefix(':') else {
            return false;
        };
        match name.strip_suffix("...") {
            Some(package) => self.packages.push((package.into(), enable)),
            None => self.classes.push((name.into(), enable)),
        }
        true
    }

    /// Whether a class (name with dots) that is not the boot loader's runs with assertions.
    pub fn enabled(&self, class: &str) -> bool {
        if let Some((_, on)) = self.classes.iter().rev().find(|(name, _)| name == class) {
            return *on;
        }
        if self.packages.is_empty() {
            return self.default;
        }
        let mut package = class.rsplit_once('.').map_or("", |(package, _)| package);
        loop {
            if let Some((_, on)) = self.packages.iter().rev().find(|(name, _)| name == package) {
                return *on;
            }
            match package.rsplit_once('.') {
                Some((outer, _)) => package = outer,
                None => return self.default,
            }
        }
    }
}

/// Longer names first: one is the prefix of the other in no case.
const NAMES: [(&str, bool); 4] =
    [("-enableassertions", true), ("-disableassertions", false), ("-ea", true), ("-da", false)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_and_narrower_switches_win() {
        let mut assertions = Assertions::default();
        for option in ["-ea", "-da:p...", "-ea:p.q...", "-da:p.q.C", "-ea:..."] {
            assert!(assertions.parse(option), "{option}");
        }
        assert!(assertions.enabled("x.Y"));
        assert!(!assertions.enabled("p.Y"));
        assert!(!assertions.enabled("p.r.Y"));
        assert!(assertions.enabled("p.q.Y"));
        assert!(!assertions.enabled("p.q.C"));
        assert!(assertions.enabled("Main"));
        assert!(!assertions.parse("-eafoo"));
        assert!(!assertions.parse("-Xmx1g"));
    }
}

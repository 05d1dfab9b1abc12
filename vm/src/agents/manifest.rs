//! Main attributes of a jar's manifest (JAR File Specification, "Manifest Specification").

use std::collections::BTreeMap;

/// The main section: names, in lower case, and values.
pub struct Manifest(BTreeMap<String, String>);

impl Manifest {
    /// Reads the bytes of a manifest. Lines that are no attributes are left out.
    pub fn parse(bytes: &[u8]) -> Manifest {
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
        let main = text.split("\n\n").next().unwrap_or_default();
        // A line that begins with a space goes on with the one before.
        let whole = main.replace("\n ", "");
        let attributes = whole.lines().filter_map(|line| line.split_once(':'));
        Manifest(
            attributes.map(|(name, value)| (name.to_lowercase(), value.trim().into())).collect(),
        )
    }

    /// The value of an attribute, which is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(&name.to_lowercase()).map(String::as_str).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_main_section_are_found() {
        let text = b"Manifest-Version: 1.0\r\nPremain-Class: some.long.pa\r\n ckage.Agent\r\n\
                     Boot-Class-Path: \r\nnonsense\r\n\r\nName: x\r\nAgent-Class: y\r\n";
        let manifest = Manifest::parse(text);
        assert_eq!(manifest.get("premain-class"), Some("some.long.package.Agent"));
        assert_eq!(manifest.get("Manifest-Version"), Some("1.0"));
        assert_eq!((manifest.get("Boot-Class-Path"), manifest.get("Agent-Class")), (None, None));
        assert!(Manifest::parse(b"\xff\n:\n").get("x").is_none());
    }
}

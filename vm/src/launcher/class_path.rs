//! Class path wildcards.

/// Replaces each element `dir/*` by the jar files of the folder. An element without any stays.
pub fn expand(path: &str) -> String {
    let elements = path.split(':').map(|element| {
        let folder = match element {
            "*" => Some("."),
            _ => element.strip_suffix("/*"),
        };
        let jars = folder.map(|folder| jars(folder, element == "*")).unwrap_or_default();
        if jars.is_empty() { element.to_string() } else { jars.join(":") }
    });
    elements.collect::<Vec<_>>().join(":")
}

fn jars(folder: &str, is_bare: bool) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut jars: Vec<String> = names
        .filter(|name| name.ends_with(".jar") || name.ends_with(".JAR"))
        .map(|name| if is_bare { name } else { format!("{folder}/{name}") })
        .collect();
    jars.sort();
    jars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_jars_of_a_folder() {
        let folder = std::env::temp_dir().join(format!("class-path-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["b.jar", "a.jar", "c.txt"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let shown = folder.display();
        let expanded = expand(&format!("x:{shown}/*:no/such/*"));
        assert_eq!(expanded, format!("x:{shown}/a.jar:{shown}/b.jar:no/such/*"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

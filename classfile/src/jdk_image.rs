//! For tests: the classes of the installed JDK 17.

use ristretto_jimage::Image;
use std::path::PathBuf;

/// Opens `lib/modules` of the JDK; `None`, with a note, where there is no JDK 17.
pub fn open() -> Option<Image> {
    Some(Image::from_file(&home()?.join("lib/modules")).expect("the JDK's image can be opened"))
}

/// The folder of the JDK 17.
pub fn home() -> Option<PathBuf> {
    let homes = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter();
    let installed = std::fs::read_dir("/usr/lib/jvm").ok();
    let installed = installed.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_17 = |home: &PathBuf| {
        let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
        release.contains("JAVA_VERSION=\"17")
    };
    let found = homes.chain(installed).find(is_17);
    if found.is_none() {
        eprintln!("skipped: no JDK 17 found by JAVA_HOME or in /usr/lib/jvm");
    }
    found
}

/// Calls with module, internal class name and bytes of every class in the image, module
/// descriptors left out.
pub fn for_each_class(image: &Image, mut visit: impl FnMut(&str, &str, &[u8])) {
    for resource in image.iter() {
        let resource = resource.expect("the JDK's image is sound");
        if resource.extension() == "class" && resource.base() != "module-info" {
            let name = format!("{}/{}", resource.parent(), resource.base());
            visit(resource.module(), &name, resource.data());
        }
    }
}

/// The bytes of one class of `java.base`.
pub fn java_base(image: &Image, name: &str) -> Vec<u8> {
    let resource = image.get_resource(&format!("/java.base/{name}.class"));
    resource.expect("a class of java.base").data().to_vec()
}

//! The JDK's `lib/modules` image: classes and resources of the boot modules.

use std::path::Path;

/// The opened image.
pub struct ClassImage {
    image: ristretto_jimage::Image,
    /// Module by package (`java/lang` to `java.base`).
    packages: rustc_hash::FxHashMap<Vec<u8>, String>,
}

/// Why an image cannot be used.
#[derive(Debug)]
pub struct ImageError(pub String);

impl std::fmt::Display for ImageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl ClassImage {
    pub fn open(_path: &Path) -> Result<ClassImage, ImageError> {
        panic!("ClassImage::open is not there yet")
    }
}

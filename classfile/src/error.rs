//! Why bytes are not a class.

use std::fmt;

/// The Java error that a bad class file becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    ClassFormatError,
    UnsupportedClassVersionError,
    /// Also for a class whose name is not the one that was asked for.
    NoClassDefFoundError,
    IncompatibleClassChangeError,
    VerifyError,
}

impl ErrorKind {
    /// Internal name of the Java class.
    pub fn class_name(self) -> &'static str {
        match self {
            ErrorKind::ClassFormatError => "java/lang/ClassFormatError",
            ErrorKind::UnsupportedClassVersionError => "java/lang/UnsupportedClassVersionError",
            ErrorKind::NoClassDefFoundError => "java/lang/NoClassDefFoundError",
            ErrorKind::IncompatibleClassChangeError => "java/lang/IncompatibleClassChangeError",
            ErrorKind::VerifyError => "java/lang/VerifyError",
        }
    }
}

/// A class file that cannot become a class: which Java error to throw, and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFormat {
    pub kind: ErrorKind,
    pub message: String,
}

impl ClassFormat {
    pub fn format_error(message: impl Into<String>) -> ClassFormat {
        ClassFormat { kind: ErrorKind::ClassFormatError, message: message.into() }
    }
}

impl fmt::Display for ClassFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.class_name(), self.message)
    }
}

impl std::error::Error for ClassFormat {}

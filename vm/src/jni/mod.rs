//! The Java Native Interface.
//!
//! [`entry`] is how native code comes into the VM; start there.
pub mod entry;
pub mod env;
pub mod globals;
pub mod table;
pub mod types;

//! The Java Native Interface.
pub mod env;
pub mod globals;

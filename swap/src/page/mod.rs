//! Pages: the word that holds the state of each, and which were ever used.

pub mod page_state;
pub mod used;

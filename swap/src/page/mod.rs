//! Pages: the word that holds the state of each, and which were ever used.

pub mod kept_page;
pub mod page_state;
pub mod page_table;
pub mod used;
pub mod written;

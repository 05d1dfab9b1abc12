//! The errors of this crate.

use std::io;

/// Errors when a pager is created or used. Failures inside a page fault have no caller to return
/// to: they end the process (see the crate's essay).
#[derive(Debug, thiserror::Error)]
pub enum SwapError {
    /// An option makes no sense.
    #[error("{0}")]
    Options(String),
    /// userfaultfd is missing, forbidden or too old on this machine.
    #[error("userfaultfd is not usable ({what}): {source}")]
    Userfaultfd { what: &'static str, source: io::Error },
    /// The operating system refused.
    #[error("{what}: {source}")]
    Os { what: &'static str, source: io::Error },
    /// Pins leave too little of the budget for everything else.
    #[error("{pinned} of the {budget_pages} pages of local memory are pinned, too many")]
    PinnedTooMuch { pinned: usize, budget_pages: usize },
    /// A pool of local memory cannot be joined.
    #[error("local memory pool {name}: {reason}")]
    Pool { name: String, reason: String },
    /// A memory server failed.
    #[error(transparent)]
    Rdma(#[from] rdma::RdmaError),
}

impl SwapError {
    /// The last operating system error of this thread, with the operation that was tried.
    pub(crate) fn last_os(what: &'static str) -> SwapError {
        SwapError::Os { what, source: io::Error::last_os_error() }
    }
}

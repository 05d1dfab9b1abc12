//! Why a heap could not be made.

use swap::SwapError;

/// Why a heap could not be made. The texts are for the command line.
#[derive(Debug)]
pub enum HeapError {
    Reserve { bytes: usize },
    Options(String),
    MemoryServer(rdma::RdmaError),
    MemoryPool(rdma::RdmaError),
    Pager(SwapError),
}

impl std::fmt::Display for HeapError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HeapError::Reserve { bytes } => {
                write!(f, "Could not reserve enough space for {}KB object heap", bytes / 1024)
            }
            HeapError::Options(message) => f.write_str(message),
            HeapError::MemoryServer(error) => write!(f, "memory servers: {error}"),
            HeapError::MemoryPool(error) => write!(f, "{error}"),
            HeapError::Pager(error @ SwapError::Userfaultfd { .. }) => write!(
                f,
                "remote memory: {error}; without it all of the heap must be local, and no agents collect it \
                 (--local-memory 100% --gc g1)"
            ),
            HeapError::Pager(error) => write!(f, "remote memory: {error}"),
        }
    }
}

impl std::error::Error for HeapError {}

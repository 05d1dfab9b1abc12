//! What goes wrong, as Java sees it.

use pool::PoolError;

/// Why a call did not do what it should. Each becomes one exception.
#[derive(Debug)]
pub enum Failure {
    /// `PoolException`.
    Pool(Reason, String),
    /// `IllegalArgumentException`.
    Argument(String),
    /// `IllegalStateException`: the object is closed.
    Closed(&'static str),
    /// Java has an exception already.
    Pending,
}

/// The constants of `PoolException.Reason`, in their order. Java has one more, which it throws itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    File,
    NotAPool,
    Memory,
    Clients,
    Names,
    Damaged,
    System,
    Internal,
}

impl Failure {
    /// After a panic: the client that it met is not used any more.
    pub fn internal(what: &str) -> Failure {
        Failure::Pool(Reason::Internal, format!("internal error: {what}"))
    }

    /// This process has no memory for a copy.
    pub fn no_memory(bytes: usize) -> Failure {
        Failure::Pool(Reason::Memory, format!("no memory of the process for {bytes} bytes"))
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Failure {
        use PoolError::*;
        let reason = match &error {
            File { .. } | Exists { .. } | NotMemory { .. } => Reason::File,
            TooShort { .. } | NotAPool { .. } | Version { .. } | Layout { .. } | Size { .. } => {
                Reason::NotAPool
            }
            Namespace { .. } | NewLayer | OwnReclaim | Coherence => Reason::NotAPool,
            Bytes { .. } | Key { .. } | NotACounter { .. } | Kind { .. } => {
                return Failure::Argument(error.to_string());
            }
            Names { .. } => Reason::Names,
            Closed => return Failure::Closed("the map"),
            NoMemory { .. } | Bucket { .. } => Reason::Memory,
            Full { .. } | Clients { .. } => Reason::Clients,
            Kernel { .. } | Cpu | Unfenced { .. } => Reason::System,
            _ => Reason::Damaged,
        };
        Failure::Pool(reason, error.to_string())
    }
}

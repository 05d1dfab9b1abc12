//! Java exceptions as values.

/// Says that a Java exception is pending in the current thread (`JavaThread::pending`). Carries nothing: the
/// throwable itself is a root of the thread. A function that returns it has set the exception; the code that
/// handles it takes the exception out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Throw {
    _made_by_thread: (),
}

impl Throw {
    /// Only for code that has just made an exception pending.
    pub(crate) const PENDING: Throw = Throw { _made_by_thread: () };
}

/// The result of anything that can throw.
pub type JResult<T> = Result<T, Throw>;

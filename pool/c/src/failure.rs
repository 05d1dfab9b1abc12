//! Errors as codes, and what the last one of a thread says.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pool::PoolError;

/// Why a call did nothing.
pub enum Failure {
    Pool(PoolError),
    /// A code of the C library, and why.
    Code(c_int, &'static str),
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Failure {
        Failure::Pool(error)
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// What the thread's last failure says.
pub fn message() -> *const c_char {
    // A thread that is ending has none any more.
    let gone = c"the thread is ending, and keeps no message".as_ptr();
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(gone)
}

/// Runs a function of the interface: 0, or a negative code. A panic is one, too.
pub fn guarded(call: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return 0,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::Code(libc::ENOTRECOVERABLE, "an internal error"),
    };
    let (code, text) = match failure {
        Failure::Pool(error) => (code_of(&error), error.to_string()),
        Failure::Code(code, why) => (code, why.to_string()),
    };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // A thread that is ending has no place for it any more.
    let _ = MESSAGE.try_with(|message| *message.borrow_mut() = text);
    -code
}

fn code_of(error: &PoolError) -> c_int {
    use PoolError::*;
    match error {
        File { source, .. } | Kernel { source, .. } => source.raw_os_error().unwrap_or(libc::EIO),
        Exists { .. } => libc::EEXIST,
        NotMemory { .. } | TooShort { .. } | NotAPool { .. } => libc::EMEDIUMTYPE,
        Version { .. } | Layout { .. } => libc::ENOTSUP,
        Size { .. } | Damaged { .. } => libc::EUCLEAN,
        Namespace { .. } => libc::EXDEV,
        Cpu => libc::ENOSYS,
        Full { .. } => libc::EUSERS,
        NoMemory { .. } => libc::ENOMEM,
        NotABlock { .. } => libc::EFAULT,
        Unfinished { .. } | Recovering { .. } | NewLayer | Unfenced { .. } => libc::EAGAIN,
        OwnReclaim => libc::EPERM,
        _ => libc::EINVAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn said() -> String {
        // SAFETY: it is this thread's message.
        unsafe { CStr::from_ptr(message()) }.to_str().unwrap().to_string()
    }

    #[test]
    fn panics_and_errors_are_codes_with_messages() {
        assert_eq!(said(), "");
        assert_eq!(guarded(|| panic!("on purpose")), -libc::ENOTRECOVERABLE);
        assert_eq!(said(), "an internal error");
        assert_eq!(guarded(|| Err(PoolError::NoMemory { bytes: 7 }.into())), -libc::ENOMEM);
        assert_eq!(said(), "no memory for 7 bytes");
        assert_eq!(guarded(|| Ok(())), 0);
        assert_eq!(said(), "no memory for 7 bytes");
    }
}

//! Interposed: the functions that have the kernel read and write the program's memory.
//!
//! Calls that the C library makes itself (`fread` with a large buffer) are not seen, nor are
//! system calls that a program makes on its own; they fail with EFAULT where pages are missing.

use std::{mem, slice};

use libc::{c_int, c_void, iovec, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t};

use crate::bounce::{self, Gathered};
use crate::ranges::RANGES;
use crate::real::next;

fn is_far(buffer: *const c_void, bytes: size_t) -> bool {
    RANGES.is_far(buffer.addr(), bytes)
}

/// Reading from a file gives all of its bytes; from anything else a second call could wait for ever.
fn is_file(fd: c_int) -> bool {
    // SAFETY: all-zero is a valid stat, and the kernel fills it.
    let stat = unsafe {
        let mut stat = mem::zeroed::<libc::stat>();
        (libc::fstat(fd, &mut stat) == 0).then_some(stat)
    };
    stat.is_some_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFREG)
}

/// Interposes a function that reads into one buffer: its arguments after the buffer and its length.
macro_rules! input {
    ($name:ident, $symbol:literal, whole: $whole:expr $(, $more:ident: $type:ty)*; $offset:expr) => {
        /// Interposed.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            fd: c_int, to: *mut c_void, bytes: size_t $(, $more: $type)*
        ) -> ssize_t {
            // SAFETY: promised by the caller.
            unsafe {
                let next = next!($symbol as fn(c_int, *mut c_void, size_t $(, $type)*) -> ssize_t);
                if !is_far(to, bytes) {
                    return next(fd, to, bytes $(, $more)*);
                }
                #[allow(clippy::redundant_closure_call)]
                let whole = $whole(fd);
                bounce::input(to, bytes, whole, |buffer, count, _done| {
                    $(let $more = $offset($more, _done);)*
                    next(fd, buffer, count $(, $more)*)
                })
            }
        }
    };
}

/// Interposes a function that writes one buffer.
macro_rules! output {
    ($name:ident, $symbol:literal, steps: $steps:expr $(, $more:ident: $type:ty)*; $offset:expr) => {
        /// Interposed.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            fd: c_int, from: *const c_void, bytes: size_t $(, $more: $type)*
        ) -> ssize_t {
            // SAFETY: promised by the caller.
            unsafe {
                let next =
                    next!($symbol as fn(c_int, *const c_void, size_t $(, $type)*) -> ssize_t);
                if !is_far(from, bytes) {
                    return next(fd, from, bytes $(, $more)*);
                }
                bounce::output(from, bytes, $steps, |buffer, count, _done| {
                    $(let $more = $offset($more, _done);)*
                    next(fd, buffer, count $(, $more)*)
                })
            }
        }
    };
}

/// The offset of a later step.
fn advance(offset: off_t, done: usize) -> off_t {
    offset + done as off_t
}

/// Flags are the same in every step.
fn same(flags: c_int, _done: usize) -> c_int {
    flags
}

input!(read, c"read", whole: is_file; same);
input!(pread, c"pread", whole: is_file, offset: off_t; advance);
input!(pread64, c"pread64", whole: is_file, offset: off_t; advance);
input!(recv, c"recv", whole: |_| false, flags: c_int; same);
output!(write, c"write", steps: true; same);
output!(pwrite, c"pwrite", steps: true, offset: off_t; advance);
output!(pwrite64, c"pwrite64", steps: true, offset: off_t; advance);
output!(send, c"send", steps: false, flags: c_int; same);

/// Interposed: `read` of programs that are compiled with checks.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __read_chk(
    fd: c_int,
    to: *mut c_void,
    bytes: size_t,
    room: size_t,
) -> ssize_t {
    // SAFETY: promised by the caller.
    unsafe {
        match bytes <= room && is_far(to, bytes) {
            true => read(fd, to, bytes),
            false => next!(c"__read_chk" as fn(c_int, *mut c_void, size_t, size_t) -> ssize_t)(
                fd, to, bytes, room,
            ),
        }
    }
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
    fd: c_int,
    to: *mut c_void,
    bytes: size_t,
    flags: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    // SAFETY: promised by the caller.
    unsafe {
        let next = next!(
            c"recvfrom"
                as fn(c_int, *mut c_void, size_t, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t
        );
        match is_far(to, bytes) {
            true => bounce::input(to, bytes, false, |buffer, count, _| {
                next(fd, buffer, count, flags, address, length)
            }),
            false => next(fd, to, bytes, flags, address, length),
        }
    }
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendto(
    fd: c_int,
    from: *const c_void,
    bytes: size_t,
    flags: c_int,
    address: *const sockaddr,
    length: socklen_t,
) -> ssize_t {
    // SAFETY: promised by the caller.
    unsafe {
        let next = next!(
            c"sendto"
                as fn(c_int, *const c_void, size_t, c_int, *const sockaddr, socklen_t) -> ssize_t
        );
        match is_far(from, bytes) {
            true => bounce::output(from, bytes, false, |buffer, count, _| {
                next(fd, buffer, count, flags, address, length)
            }),
            false => next(fd, from, bytes, flags, address, length),
        }
    }
}

/// The list, if one of its buffers or the list itself is in far memory.
///
/// # Safety
/// `list` points to `count` buffers, or the count is wrong: then the kernel says so.
unsafe fn far_list<'a>(list: *const iovec, count: usize) -> Option<&'a [iovec]> {
    if list.is_null() || count > libc::UIO_MAXIOV as usize {
        return None;
    }
    // SAFETY: promised by the caller.
    let buffers = unsafe { slice::from_raw_parts(list, count) };
    let far = is_far(list.cast(), size_of_val(buffers))
        || buffers.iter().any(|one| is_far(one.iov_base, one.iov_len));
    far.then_some(buffers)
}

/// Interposes a function that reads into a list of buffers.
macro_rules! scatter {
    ($name:ident, $symbol:literal $(, $more:ident: $type:ty)*) => {
        /// Interposed.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            fd: c_int, list: *const iovec, count: c_int $(, $more: $type)*
        ) -> ssize_t {
            // SAFETY: promised by the caller.
            unsafe {
                let next = next!($symbol as fn(c_int, *const iovec, c_int $(, $type)*) -> ssize_t);
                let Some(far) = far_list(list, usize::try_from(count).unwrap_or(usize::MAX)) else {
                    return next(fd, list, count $(, $more)*);
                };
                let Some(gathered) = Gathered::new(far) else { return -1 };
                let got = next(fd, &gathered.local(), 1 $(, $more)*);
                gathered.scatter(usize::try_from(got).unwrap_or(0));
                got
            }
        }
    };
}

/// Interposes a function that writes a list of buffers.
macro_rules! gather {
    ($name:ident, $symbol:literal $(, $more:ident: $type:ty)*) => {
        /// Interposed.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            fd: c_int, list: *const iovec, count: c_int $(, $more: $type)*
        ) -> ssize_t {
            // SAFETY: promised by the caller.
            unsafe {
                let next = next!($symbol as fn(c_int, *const iovec, c_int $(, $type)*) -> ssize_t);
                let Some(far) = far_list(list, usize::try_from(count).unwrap_or(usize::MAX)) else {
                    return next(fd, list, count $(, $more)*);
                };
                let Some(gathered) = Gathered::new(far) else { return -1 };
                gathered.gather();
                next(fd, &gathered.local(), 1 $(, $more)*)
            }
        }
    };
}

scatter!(readv, c"readv");
scatter!(preadv, c"preadv", offset: off_t);
scatter!(preadv64, c"preadv64", offset: off_t);
gather!(writev, c"writev");
gather!(pwritev, c"pwritev", offset: off_t);
gather!(pwritev64, c"pwritev64", offset: off_t);

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: promised by the caller.
    unsafe {
        let next = next!(c"recvmsg" as fn(c_int, *mut msghdr, c_int) -> ssize_t);
        let Some(far) = far_list((*message).msg_iov, (*message).msg_iovlen) else {
            return next(fd, message, flags);
        };
        let Some(gathered) = Gathered::new(far) else { return -1 };
        let (mut local, mut copy) = (gathered.local(), *message);
        (copy.msg_iov, copy.msg_iovlen) = (&mut local, 1);
        let got = next(fd, &mut copy, flags);
        gathered.scatter(usize::try_from(got).unwrap_or(0));
        (copy.msg_iov, copy.msg_iovlen) = ((*message).msg_iov, (*message).msg_iovlen);
        *message = copy;
        got
    }
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: promised by the caller.
    unsafe {
        let next = next!(c"sendmsg" as fn(c_int, *const msghdr, c_int) -> ssize_t);
        let Some(far) = far_list((*message).msg_iov, (*message).msg_iovlen) else {
            return next(fd, message, flags);
        };
        let Some(gathered) = Gathered::new(far) else { return -1 };
        gathered.gather();
        let (mut local, mut copy) = (gathered.local(), *message);
        (copy.msg_iov, copy.msg_iovlen) = (&mut local, 1);
        next(fd, &copy, flags)
    }
}

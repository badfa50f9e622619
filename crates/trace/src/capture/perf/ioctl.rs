//! Two requests to perf's descriptors that its crate does not have: into whose ring, and through
//! which filter.
//!
//! Source: include/uapi/linux/perf_event.h.

#![allow(unsafe_code, reason = "system calls; each block carries its safety argument")]

use perf_event::Counter;
use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;

/// `_IO('$', 5)`.
const SET_OUTPUT: libc::Ioctl = 0x2405;
/// `_IOW('$', 6, char *)`.
const SET_FILTER: libc::Ioctl = 0x4008_2406;

/// Puts a counter's samples into another's ring.
pub(super) fn set_output(counter: &Counter, into: &Counter) -> io::Result<()> {
    // SAFETY: both descriptors are open while they are borrowed, and the kernel takes the second by
    // its number.
    let done = unsafe { libc::ioctl(counter.as_raw_fd(), SET_OUTPUT, into.as_raw_fd()) };
    told(done)
}

/// Lets only those events of a tracepoint through for which a filter holds
/// (Documentation/trace/events.rst).
pub(super) fn set_filter(counter: &Counter, filter: &CStr) -> io::Result<()> {
    // SAFETY: the kernel reads the text up to its terminating zero, and it lives until the call
    // returns.
    let done = unsafe { libc::ioctl(counter.as_raw_fd(), SET_FILTER, filter.as_ptr()) };
    told(done)
}

fn told(done: libc::c_int) -> io::Result<()> {
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

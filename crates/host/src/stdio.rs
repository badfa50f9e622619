//! Whether standard output was closed when the process began (`lbolt … >&-`).
//!
//! Rust's runtime opens /dev/null in the place of a closed standard stream before `main`, so that
//! output would vanish without an error. So this looks earlier: the loader calls what stands in
//! `.init_array` before all that.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: asks for a descriptor's flags, which touches no memory; a closed one is an error and
    // nothing else.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    WAS_STDOUT_CLOSED.store(is_closed, Ordering::Relaxed);
}

// SAFETY: `.init_array` is an array of pointers to functions of the C calling convention that the
// loader calls once, in the only thread, before `main`; arguments that it passes are ignored.
// `look` makes one system call and stores a flag: nothing of it needs what the runtime sets up
// later.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Whether standard output was closed when the process began.
pub fn was_stdout_closed() -> bool {
    WAS_STDOUT_CLOSED.load(Ordering::Relaxed)
}

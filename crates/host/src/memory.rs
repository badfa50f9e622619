//! What becomes of memory that was freed: it goes back to the machine, or it stays for the next
//! buffer; and what is said where there is none ([`Spoken`]). The test of the former is
//! a process of its own (`tests/memory.rs`), since others' memory counts too.
//!
//! Non-goals: how much there is (`machine`); allocators other than glibc's, for which nothing is
//! done.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;

/// The system's allocator. Where it has no memory left the process ends with a sentence and the
/// exit code of a machine's failure, and does not abort.
#[derive(Debug)]
pub struct Spoken;

// SAFETY: each call goes on to the system's allocator as it came, which keeps to the contract; what
// it gives is returned as it is, unless the process ends.
unsafe impl GlobalAlloc for Spoken {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: our caller keeps to the same contract.
        there(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: our caller keeps to the same contract.
        there(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: our caller keeps to the same contract.
        there(unsafe { System.realloc(place, layout, bytes) }, bytes)
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: our caller keeps to the same contract.
        unsafe { System.dealloc(place, layout) }
    }
}

#[inline]
fn there(place: *mut u8, bytes: usize) -> *mut u8 {
    if place.is_null() { end(bytes) } else { place }
}

/// Says that there is no memory, in memory that is there, and ends the process.
#[cold]
fn end(bytes: usize) -> ! {
    let mut said = [0; 160];
    let mut left = &mut said[..];
    let _ = writeln!(
        left,
        "lbolt: failed to get {bytes} bytes of memory; raise the limit (ulimit -v, the cgroup's \
         memory.max) or free memory"
    );
    let left = left.len();
    let said = &said[..said.len() - left];
    // SAFETY: write(2) reads as many bytes as there are, and touches nothing else. _exit(2) ends
    // the process without running anything of it, which may need memory.
    unsafe {
        libc::write(libc::STDERR_FILENO, said.as_ptr().cast(), said.len());
        libc::_exit(OUT_OF_MEMORY)
    }
}

/// The exit code of what the machine refuses.
const OUT_OF_MEMORY: libc::c_int = 1;

/// Bytes of stack that the first thread is to have.
const STACK_BYTES: u64 = 8 << 20;

/// Sees to it that the first thread has room enough on its stack, as far as the limit can be raised
/// (ulimit -s). Whether it has.
pub fn has_stack() -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Stack);
    let is_enough = |bytes: Option<u64>| bytes.is_none_or(|bytes| bytes >= STACK_BYTES);
    if is_enough(limit.current) {
        return true;
    }
    let maximum = if is_enough(limit.maximum) { limit.maximum } else { Some(STACK_BYTES) };
    setrlimit(Resource::Stack, Rlimit { current: Some(STACK_BYTES), maximum }).is_ok()
}

/// Larger buffers go back to the kernel when they are freed, in bytes.
#[cfg(target_env = "gnu")]
const BUFFER_BYTES: libc::c_int = 32 << 20;
/// As much freed memory is kept.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 128 << 20;
/// What a process that goes on gives back: the size at which the library begins, and other C
/// libraries stay.
#[cfg(target_env = "gnu")]
const RETURNED_BYTES: libc::c_int = 128 << 10;

/// Gives what was freed back to the kernel, as far as the C library can: it would keep it for
/// later. To be called after what needs much memory once, such as reading the kernel's types.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim(3) takes no pointer, may be called at any time and by any thread, and
    // touches memory that nobody has.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Gives back what is freed now, and from now on each buffer of 128 KiB and more when it is freed:
/// for a process that goes on for good. The library does so by itself only until it frees the first
/// one. Then it takes buffers of that size from its heap, where one small piece keeps all that lies
/// before it.
pub fn return_freed() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes plain numbers, locks the allocator itself, and changes nothing of
    // memory that is in use. What it refuses stays as it was.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_BYTES);
    }
    give_back();
}

/// From now on freed memory is kept, within bounds: for a process that reads and ends. What reads
/// millions of rows gets and frees the same buffers for each batch, and the kernel clears every
/// page of them anew: a fifth of the time of a history of a year.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes plain numbers, locks the allocator itself, and changes nothing of
    // memory that is in use. What it refuses stays as it was.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, BUFFER_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
    }
}

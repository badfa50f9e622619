//! What becomes of memory that was freed: it goes back to the machine, or it stays for the next
//! buffer. Its test is a process of its own (`tests/memory.rs`), since others' memory counts too.
//!
//! Non-goals: how much there is (`machine`); allocators other than glibc's, for which nothing is
//! done.

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

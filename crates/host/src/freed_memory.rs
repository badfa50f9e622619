//! Whether memory that was freed goes back to the kernel at once. What reads millions of rows gets
//! and frees the same buffers for each batch, and the kernel clears every page of them anew: a
//! fifth of the time of a history of a year.
//!
//! Non-goals: allocators other than glibc's, for which nothing is done.

/// Larger buffers go back to the kernel when they are freed, in bytes.
#[cfg(target_env = "gnu")]
const BUFFER_BYTES: libc::c_int = 32 << 20;
/// As much freed memory is kept.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 128 << 20;

/// From now on freed memory is kept, within bounds: for a process that reads and ends.
pub fn keep() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes plain numbers, locks the allocator itself, and changes nothing of
    // memory that is in use. What it refuses stays as it was.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, BUFFER_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn memory_can_be_had_and_freed_as_before() {
        super::keep();
        let buffers: Vec<Vec<u8>> = (0..20).map(|power| vec![power; 1 << power]).collect();
        assert!(buffers.iter().zip(0..).all(|(buffer, power)| buffer.iter().all(|b| *b == power)));
    }
}

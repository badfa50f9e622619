//! Memory that was needed for a moment and is to go back to the machine.
//!
//! Non-goals: how much there is (`machine`).

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

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_env = "gnu")]
    fn what_was_freed_goes_back() {
        let resident = || {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap();
            let pages = text.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap();
            pages * rustix::param::page_size() as u64
        };
        // Small pieces, which the library does not give back by itself.
        let many: Vec<Vec<u8>> = (0..400_000).map(|_| vec![1; 100]).collect();
        let with = resident();
        drop(many);
        super::give_back();
        assert!(resident() + (20 << 20) < with, "{} of {with}", resident());
    }
}

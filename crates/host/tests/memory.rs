//! Whether freed memory goes back to the kernel. A process of its own: what is resident counts
//! what every thread has, and other tests read a kernel's types meanwhile.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

#[cfg(target_env = "gnu")]
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages = text.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap();
    pages * rustix::param::page_size() as u64
}

/// One test, since all of them change the whole process.
#[test]
#[cfg(target_env = "gnu")]
fn a_buffer_stays_where_it_is_to_and_all_goes_back_when_it_is_asked_for() {
    let stays_bytes = || {
        let before = resident_bytes();
        drop(std::hint::black_box(vec![1_u8; 24 << 20]));
        resident_bytes().saturating_sub(before)
    };
    assert!(stays_bytes() < 12 << 20, "a buffer of its own is unmapped");

    // Buffers of the same kind as those that were freed before, and small pieces among them.
    host::memory::return_freed();
    let before = resident_bytes();
    let (mut buffers, mut pieces) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        buffers.push(vec![1_u8; 240 << 10]);
        pieces.push(vec![1_u8; 100]);
    }
    assert!(resident_bytes() > before + (20 << 20));
    drop(buffers);
    let stay = resident_bytes().saturating_sub(before);
    assert!(stay < 4 << 20, "{stay}: a piece keeps the buffers before it");
    drop(pieces);

    host::memory::keep_freed();
    assert!(stays_bytes() > 12 << 20, "it is kept");

    // Small pieces, which the library does not give back by itself.
    let many: Vec<Vec<u8>> = (0..400_000).map(|_| vec![1; 100]).collect();
    let with = resident_bytes();
    drop(many);
    host::memory::give_back();
    assert!(resident_bytes() + (20 << 20) < with, "{} of {with}", resident_bytes());
}

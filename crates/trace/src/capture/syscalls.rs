//! System calls that make files durable: their numbers on this machine, and what they ask for.
//!
//! Source: sync_file_range(2), syncfs(2), msync(2), sync(2).
//!
//! Non-goals: calls of 32-bit programs.

use model::record::CallKind;

/// By the places of syscall.h: first those with a file's descriptor.
const CALLS: [(libc::c_long, CallKind); 6] = [
    (libc::SYS_fsync, CallKind::Fsync),
    (libc::SYS_fdatasync, CallKind::Fdatasync),
    (libc::SYS_sync_file_range, CallKind::SyncFileRange),
    (libc::SYS_syncfs, CallKind::Syncfs),
    (libc::SYS_msync, CallKind::Msync),
    (libc::SYS_sync, CallKind::Sync),
];

/// The words of `waiting_calls`.
pub(super) type Numbers = [u64; CALLS.len()];

/// Their values.
pub(super) fn numbers() -> Numbers {
    CALLS.map(|(number, _)| number as u64)
}

/// What a call asks for, by its place.
pub(super) fn kind(place: u32) -> Option<CallKind> {
    CALLS.get(place as usize).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_are_those_of_the_header() {
        const HEADER: &str = include_str!("syscall.h");
        assert!(HEADER.contains(&format!("#define WAITING_CALLS {}\n", CALLS.len())));
        let with_descriptor = CALLS.iter().take_while(|(_, kind)| *kind != CallKind::Msync);
        assert!(HEADER.contains(&format!("#define WITH_DESCRIPTOR {}\n", with_descriptor.count())));
        assert_eq!((kind(0), kind(6)), (Some(CallKind::Fsync), None));
    }
}

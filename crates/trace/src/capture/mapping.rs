//! A map of the kernel's in our memory.
//!
//! Source: BPF_F_MMAPABLE of Documentation/bpf/map_array.rst.
//!
//! Non-goals: what is in it.

#![allow(
    unsafe_code,
    reason = "memory that the kernel writes; each block carries its safety argument"
)]

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU64;

/// A map of the kernel's in our memory.
#[derive(Debug)]
pub(super) struct Mapping {
    begin: *mut c_void,
    length: usize,
}

// SAFETY: the memory belongs to the process and not to a thread, and is only touched through
// `&self` by atomic operations, or in cells that the kernel has handed over and that only the one
// owner of `Rings` reads.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Errors: a map that cannot be mapped (BPF_F_MMAPABLE).
    pub(super) fn new(
        map: BorrowedFd<'_>,
        length: usize,
        access: ProtFlags,
    ) -> rustix::io::Result<Self> {
        Self::of(map, 0..length, access)
    }

    /// Bytes of a map; the first of them begins a page.
    /// Errors: as `new`.
    pub(super) fn of(
        map: BorrowedFd<'_>,
        bytes: Range<usize>,
        access: ProtFlags,
    ) -> rustix::io::Result<Self> {
        let length = bytes.len().next_multiple_of(rustix::param::page_size());
        let from = bytes.start as u64;
        // SAFETY: a new mapping, at an address of the kernel's choice, replaces none.
        let begin =
            unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, map, from)? };
        Ok(Self { begin, length })
    }

    /// A word, which the kernel may write at any time.
    pub(super) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.length);
        // SAFETY: within the mapping, which begins at a page, hence aligned; it lives as long as
        // `self`; and all whom it is shared with access it by single instructions of that width.
        unsafe { AtomicU64::from_ptr(self.begin.byte_add(offset).cast()) }
    }

    /// Bytes that nobody writes meanwhile.
    ///
    /// # Safety
    /// The kernel must have handed them over.
    pub(super) unsafe fn copy<const N: usize>(&self, offset: usize) -> [u8; N] {
        assert!(offset + N <= self.length);
        // SAFETY: within the mapping; bytes have no alignment and no forbidden values; the caller
        // has seen that nobody writes them.
        unsafe { self.begin.byte_add(offset).cast::<[u8; N]>().read() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and no reference into it outlives `self`. A refusal would leave it
        // to the end of the process.
        let _ = unsafe { munmap(self.begin, self.length) };
    }
}

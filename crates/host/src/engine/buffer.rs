//! Buffers that direct I/O accepts: aligned to a page, filled with bytes that
//! no layer beneath can compress or take for zeros.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;

/// Direct I/O needs the device's logical block; a page serves every device.
const ALIGNMENT: usize = 4096;

/// One buffer for each request that can be outstanding, in one allocation.
pub(crate) struct Buffers {
    start: NonNull<u8>,
    layout: Layout,
    /// Bytes of one buffer, and the distance to the next.
    length: usize,
    stride: usize,
}

// SAFETY: the allocation is owned by this value alone and is reached only through `&mut self`
// or, for a ring's requests in flight, by the kernel.
unsafe impl Send for Buffers {}

impl Buffers {
    pub(crate) fn new(count: u32, length: u32) -> io::Result<Self> {
        let length = length as usize;
        let stride = length.next_multiple_of(ALIGNMENT);
        let too_much = || io::Error::from(io::ErrorKind::OutOfMemory);
        let size = stride.checked_mul(count.max(1) as usize).ok_or_else(too_much)?;
        let layout =
            Layout::from_size_align(size.max(ALIGNMENT), ALIGNMENT).map_err(io::Error::other)?;
        // SAFETY: the layout's size is at least one page, hence not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(too_much)?;
        let mut buffers = Self { start, layout, length, stride };
        buffers.fill();
        Ok(buffers)
    }

    /// Fills all with a xorshift generator's output (Marsaglia 2003).
    fn fill(&mut self) {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        // SAFETY: start and size are those of the allocation, initialised to zero above.
        let all =
            unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) };
        for chunk in all.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            chunk.copy_from_slice(&state.to_le_bytes());
        }
    }

    /// The buffer of a token, shortened to a request's length. A token or length
    /// out of range gives an empty slice, which no request can be served with.
    #[inline(always)]
    pub(crate) fn get(&mut self, token: u32, length: u32) -> &mut [u8] {
        let (start, length) = (token as usize * self.stride, length as usize);
        if length > self.length || start + length > self.layout.size() {
            return &mut [];
        }
        // SAFETY: start..start + length lies inside the allocation (checked above), is initialised,
        // and is borrowed from `&mut self`, so that no other slice of it exists.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(start), length) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `alloc_zeroed` with this very layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_apart_and_full() {
        let mut buffers = Buffers::new(3, 5000).unwrap();
        let starts: Vec<usize> =
            (0..3).map(|token| buffers.get(token, 5000).as_ptr() as usize).collect();
        assert!(starts.iter().all(|s| s % ALIGNMENT == 0));
        assert_eq!(starts[1] - starts[0], 8192);
        let first = buffers.get(0, 5000);
        assert!(first.iter().filter(|b| **b == 0).count() < 100, "not compressible zeros");
        assert!(buffers.get(0, 5001).is_empty() && buffers.get(3, 1).is_empty());
    }
}

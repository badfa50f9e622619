//! The keys that were requested last, in front of a table: rows come from few devices, few
//! processes, few kinds of requests, in any order.

/// So many that few hundred keys seldom meet; those that are not in use take nothing of a cache.
const SLOTS: usize = 1 << BITS;
const BITS: u32 = 10;
/// Of a slot that holds nothing.
const NONE: u32 = u32::MAX;

/// Where the keys that were requested last are in their table.
#[derive(Debug)]
pub(super) struct Recent<K>(Box<[(K, u32); SLOTS]>);

impl<K: Copy + Default> Default for Recent<K> {
    fn default() -> Self {
        Self(Box::new([(K::default(), NONE); SLOTS]))
    }
}

impl<K: Copy + Eq> Recent<K> {
    /// The place of a key, which `look` finds where it was not requested lately. `mixed` is
    /// anything that differs where keys do.
    #[inline(always)]
    pub(super) fn place(&mut self, key: K, mixed: u64, look: impl FnOnce() -> usize) -> usize {
        // Knuth, The Art of Computer Programming, section 6.4: multiplicative hashing.
        let slot = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BITS);
        let (known, place) = &mut self.0[slot as usize];
        if *place == NONE || *known != key {
            (*known, *place) = (key, look() as u32);
        }
        *place as usize
    }
}

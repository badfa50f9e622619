//! When something was in flight, of requests that are known as sums: to 2 ms, a bit each.
//!
//! Source: summed.h of crate `trace` keeps the same.
//! Non-goals: how many were.

/// What a bit is of, in ns: a power of two of CLOCK_MONOTONIC.
pub const BIT_NS: i64 = 1 << 21;

/// Times of [`BIT_NS`] one after the other, in which something was in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Busy {
    /// When the first one begins, in ns.
    pub from_ns: i64,
    /// A bit for it, the lowest one, and for each behind it.
    pub bits: u64,
}

impl Busy {
    /// Nothing yet, from the bit behind that of a moment on.
    pub fn since(from_ns: i64) -> Self {
        Self { from_ns: (from_ns.div_euclid(BIT_NS) + 1) * BIT_NS, bits: 0 }
    }

    /// One from a moment to another; none where there are not so many bits.
    pub fn of(from_ns: i64, until_ns: i64) -> Option<Self> {
        let (first, last) = (from_ns.div_euclid(BIT_NS), until_ns.div_euclid(BIT_NS));
        let others = u32::try_from(last - first).ok().filter(|others| *others < u64::BITS)?;
        Some(Self { from_ns: first * BIT_NS, bits: u64::MAX >> (u64::BITS - 1 - others) })
    }

    /// Adds others. Where they go on beyond the last bit, the first ones are forgotten: there are
    /// bits for so long a time only.
    pub fn add(&mut self, others: &Self) {
        let after = others.from_ns.saturating_sub(self.from_ns).div_euclid(BIT_NS);
        let beyond = (after - i64::from(others.bits.leading_zeros())).max(0);
        let beyond = if others.bits == 0 { 0 } else { beyond };
        self.from_ns = self.from_ns.saturating_add(beyond.saturating_mul(BIT_NS));
        self.bits = later(self.bits, -beyond) | later(others.bits, after - beyond);
    }

    /// For how long something was in flight.
    pub fn ns(&self) -> u64 {
        u64::from(self.bits.count_ones()) * BIT_NS as u64
    }

    /// Its begins and ends, where shorter gaps than this are none.
    pub fn runs(&self, gap_ns: i64) -> Vec<(i64, i64)> {
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for bit in (0..u64::BITS).filter(|bit| self.bits >> bit & 1 == 1) {
            let from_ns = self.from_ns + i64::from(bit) * BIT_NS;
            match runs.last_mut() {
                Some((_, until_ns)) if from_ns - *until_ns < gap_ns => *until_ns = from_ns + BIT_NS,
                _ => runs.push((from_ns, from_ns + BIT_NS)),
            }
        }
        runs
    }
}

/// Bits that begin so many later, as far as they are still there.
fn later(bits: u64, by: i64) -> u64 {
    let shift = u32::try_from(by.unsigned_abs()).unwrap_or(u32::MAX);
    let shifted = if by < 0 { bits.checked_shr(shift) } else { bits.checked_shl(shift) };
    shifted.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_at_several_places_at_once_counts_once() {
        let bit = |number: i64, bits| Busy { from_ns: number * BIT_NS, bits };
        let mut busy = Busy::since(1000 * BIT_NS + 7);
        assert_eq!(busy, bit(1001, 0));
        busy.add(&bit(1003, 0b1011));
        busy.add(&bit(1004, 0b11));
        busy.add(&bit(999, 0b100));
        assert_eq!(busy.ns(), 5 * BIT_NS as u64);
        busy.add(&bit(938, u64::MAX));
        busy.add(&bit(937, u64::MAX));
        assert_eq!(busy, bit(1001, 0b11_1101), "one of them reaches there");
        busy.add(&bit(10, 1));
        assert_eq!(busy, bit(1001, 0b11_1101));
        busy.add(&bit(1064, 1));
        assert_eq!(busy, bit(1001, 1 << 63 | 0b11_1101));
        busy.add(&bit(1063, 0b100));
        assert_eq!(busy, bit(1002, 1 << 63 | 1 << 62 | 0b1_1110), "the first one is forgotten");
        busy.add(&bit(2000, 0));
        assert_eq!(busy.from_ns, 1002 * BIT_NS);
        busy.add(&bit(2000, 1));
        assert_eq!(busy, bit(1937, 1 << 63));
    }

    #[test]
    fn what_takes_longer_than_there_are_bits_is_not_known() {
        let of = |from: i64, until: i64| Busy::of(from * BIT_NS + 9, until * BIT_NS + 3);
        assert_eq!(of(5, 5), Some(Busy { from_ns: 5 * BIT_NS, bits: 1 }));
        assert_eq!(of(5, 7), Some(Busy { from_ns: 5 * BIT_NS, bits: 0b111 }));
        assert_eq!(of(5, 68), Some(Busy { from_ns: 5 * BIT_NS, bits: u64::MAX }));
        assert_eq!((of(5, 69), of(5, 3)), (None, None));
    }

    #[test]
    fn runs_are_divided_by_long_gaps() {
        let busy = Busy { from_ns: 5, bits: 1 << 63 | 0b1101 };
        let at = |bit: i64| 5 + bit * BIT_NS;
        let told = |gap: i64| busy.runs(gap * BIT_NS);
        assert_eq!(told(1), [(at(0), at(1)), (at(2), at(4)), (at(63), at(64))]);
        assert_eq!(told(2), [(at(0), at(4)), (at(63), at(64))]);
        assert_eq!(told(60), [(at(0), at(64))]);
        assert_eq!(Busy::default().runs(1), []);
    }
}

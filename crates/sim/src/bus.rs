//! A bus that drives share: it moves data at a rate, after so long a preparation for each transfer,
//! one at a time.
//!
//! A drive reserves the bus for when it will have its data ready, before others ask; another may
//! have the time up to then, if its transfer fits in.

use crate::profile::{ProfileError, Reader};

/// A shared bus.
#[derive(Debug, Clone, PartialEq)]
pub struct Bus {
    /// What it moves in a second, bytes.
    pub rate_bytes_per_s: f64,
    /// What each transfer takes besides, ns.
    pub overhead_ns: f64,
    /// Reserved times in order, ns; what is over is forgotten.
    reserved: Vec<(f64, f64)>,
    /// Reserved in all, ns.
    pub busy_ns: f64,
    /// Moved in all, bytes.
    pub moved_bytes: u64,
}

impl Bus {
    /// Reads `rate` and `overhead`.
    pub fn read(reader: &Reader) -> Result<Self, ProfileError> {
        let rate = reader.rate_bytes_per_s("rate")?;
        Ok(Self::new(rate, reader.time_ns_or("overhead", 0.0)?))
    }

    /// A bus of that rate.
    pub fn new(rate_bytes_per_s: f64, overhead_ns: f64) -> Self {
        Self { rate_bytes_per_s, overhead_ns, reserved: vec![], busy_ns: 0.0, moved_bytes: 0 }
    }

    /// What it takes to move so much, without the preparation, ns.
    #[inline]
    pub fn move_ns(&self, bytes: u64) -> f64 {
        bytes as f64 * 1e9 / self.rate_bytes_per_s
    }

    /// Forgets what was over by then. Nobody may ask for an earlier time afterwards.
    pub fn forget(&mut self, before_ns: f64) {
        self.reserved.retain(|(_, to_ns)| *to_ns > before_ns);
    }

    /// Reserves the first time that is free for so long from a moment on; returns its beginning,
    /// ns.
    pub fn reserve(&mut self, from_ns: f64, length_ns: f64, bytes: u64) -> f64 {
        let mut begin_ns = from_ns;
        let mut index = 0;
        for (from, to) in &self.reserved {
            if begin_ns + length_ns <= *from {
                break;
            }
            begin_ns = begin_ns.max(*to);
            index += 1;
        }
        self.reserved.insert(index, (begin_ns, begin_ns + length_ns));
        self.busy_ns += length_ns;
        self.moved_bytes += bytes;
        begin_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_transfer_goes_where_it_fits() {
        let mut bus = Bus::new(1e6, 0.0);
        assert_eq!(bus.move_ns(1000), 1e6);
        assert_eq!(bus.reserve(100.0, 50.0, 0), 100.0);
        assert_eq!(bus.reserve(0.0, 100.0, 0), 0.0);
        assert_eq!(bus.reserve(20.0, 10.0, 0), 150.0);
        bus.forget(155.0);
        assert_eq!(bus.reserve(155.0, 1.0, 0), 160.0);
    }

    proptest! {
        #[test]
        fn no_two_have_it_at_once(
            wanted in proptest::collection::vec((0u32..1000, 1u32..50), 0..60),
        ) {
            let mut bus = Bus::new(1.0, 0.0);
            let reserve = |(from, length): (u32, u32)| {
                let begin = bus.reserve(f64::from(from), f64::from(length), 1);
                assert!(begin >= f64::from(from));
                (begin, begin + f64::from(length))
            };
            let mut given: Vec<_> = wanted.into_iter().map(reserve).collect();
            given.sort_by(|a, b| a.0.total_cmp(&b.0));
            prop_assert!(given.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
}

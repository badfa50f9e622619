//! The write buffer and its draining, from bursts of writes.
//!
//! Once a buffer of B bytes is full, what was taken by time t of a burst is B + d t, where d is the
//! rate at which it drains: the line through the later part of the burst meets the beginning at B,
//! whatever came before. After a pause p it meets it at d' p, where d' is the rate at which it
//! drains while nobody writes, as long as that is less than B. Non-goals: why it is so.

use super::{LEAST, Range};
use model::calibration::Burst;

/// A write buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// What it holds.
    pub size_bytes: Range,
    /// How fast it drains while it is written to, a second.
    pub drain_bytes_per_s: Range,
    /// How fast while nobody writes, a second; none where no pause tells.
    pub idle_drain_bytes_per_s: Option<Range>,
}

/// Why no buffer is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoBuffer {
    /// Nothing was written.
    NotWritten,
    /// Writes are taken at one rate from the first to the last.
    NotSeen,
    /// The rate still changed at a burst's end.
    NotSteady,
}

/// The line of what was taken by time: bytes at its beginning, and bytes a second.
#[derive(Debug, Clone, Copy)]
struct Line {
    begin_bytes: f64,
    bytes_per_s: f64,
}

/// Fewer completions are no line.
const COUNT_LEAST: usize = 64;
/// The last two quarters of a steady burst have the same rate within this share.
const SAME: f64 = 0.15;
/// Until the buffer is full, writes come at the least so many times as fast as it drains.
const FASTER: f64 = 1.3;
/// A buffer holds at the least so many writes.
const WRITES_LEAST: f64 = 16.0;
/// A pause tells the draining if it made room for less than this share of the buffer.
const ROOM_SHARE: f64 = 0.8;

/// The buffer that bursts show.
pub fn buffer(bursts: &[Burst]) -> Result<Buffer, NoBuffer> {
    let long: Vec<&Burst> = bursts.iter().filter(|burst| burst.pause_ns.is_none()).collect();
    if long.is_empty() {
        return Err(NoBuffer::NotWritten);
    }
    let found: Vec<Line> = long.iter().map(|burst| filled(burst)).collect::<Result<_, _>>()?;
    // A burst counts whole writes: no interval is narrower than one.
    let grain = long.iter().map(|burst| burst.block_bytes).max().unwrap_or(0) as f64;
    let end_s = long.iter().filter_map(|burst| burst.taken_ns.last()).min();
    let end_s = end_s.map_or(1.0, |ns| *ns as f64 / 1e9).max(1e-3);
    let of = |number: &dyn Fn(&Line) -> f64, grain: f64| {
        let values: Vec<f64> = found.iter().map(number).collect();
        let Range { value, low, high } = Range::of(&values, LEAST).ok_or(NoBuffer::NotWritten)?;
        Ok(Range { value, low: low.min(value - grain), high: high.max(value + grain) })
    };
    let size_bytes = of(&|line| line.begin_bytes, grain)?;
    let drain_bytes_per_s = of(&|line| line.bytes_per_s, grain / end_s)?;
    let idle = bursts.iter().filter_map(|burst| {
        let pause_s = burst.pause_ns? as f64 / 1e9;
        let room_bytes = filled(burst).ok()?.begin_bytes;
        (room_bytes < ROOM_SHARE * size_bytes.value).then_some(room_bytes / pause_s)
    });
    let idle: Vec<f64> = idle.collect();
    let idle_drain_bytes_per_s = Range::of(&idle, LEAST).filter(|_| idle.len() > 2);
    Ok(Buffer { size_bytes, drain_bytes_per_s, idle_drain_bytes_per_s })
}

/// The line of a burst behind the moment at which the buffer is full.
fn filled(burst: &Burst) -> Result<Line, NoBuffer> {
    let count = burst.taken_ns.len();
    let end_ns = burst.taken_ns.last().copied().unwrap_or(0);
    let at = |quarters: u64| burst.taken_ns.partition_point(|ns| *ns < end_ns / 4 * quarters);
    if count - at(3) < COUNT_LEAST {
        return Err(NoBuffer::NotSeen);
    }
    let [third, last, whole] = [at(2)..at(3), at(3)..count, at(2)..count].map(|of| line(burst, of));
    if (last.bytes_per_s / third.bytes_per_s - 1.0).abs() > SAME {
        return Err(NoBuffer::NotSteady);
    }
    if whole.begin_bytes < WRITES_LEAST * burst.block_bytes as f64 {
        return Err(NoBuffer::NotSeen);
    }
    // What was taken in the time in which half of the buffer was.
    let half = (whole.begin_bytes / 2.0 / burst.block_bytes as f64) as usize;
    let half_s = burst.taken_ns.get(half).map_or(0.0, |ns| *ns as f64 / 1e9);
    let early = whole.begin_bytes / 2.0 / half_s.max(1e-9);
    if early < FASTER * whole.bytes_per_s {
        return Err(NoBuffer::NotSeen);
    }
    Ok(whole)
}

/// The line of least squares through some of the completions.
fn line(burst: &Burst, range: std::ops::Range<usize>) -> Line {
    let points = range.filter_map(|place| {
        let at_s = *burst.taken_ns.get(place)? as f64 / 1e9;
        Some((at_s, (place + 1) as f64 * burst.block_bytes as f64))
    });
    let (mut n, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (at_s, bytes) in points {
        (n, x, y) = (n + 1.0, x + at_s, y + bytes);
        (xx, xy) = (xx + at_s * at_s, xy + at_s * bytes);
    }
    let slope = (n * xy - x * y) / (n * xx - x * x).max(f64::MIN_POSITIVE);
    Line { begin_bytes: (y - slope * x) / n.max(1.0), bytes_per_s: slope }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BLOCK_BYTES: u64 = 65_536;

    /// A burst on a buffer with so much room.
    fn burst(room: f64, (link, drain): (f64, f64), pause_ns: Option<u64>, end_s: f64) -> Burst {
        let mut taken_ns = vec![];
        // At time t min(link t, room + drain t) is taken.
        loop {
            let bytes = (taken_ns.len() + 1) as f64 * BLOCK_BYTES as f64;
            let at_s = (bytes / link).max((bytes - room) / drain);
            if at_s > end_s {
                return Burst { round: 0, pause_ns, block_bytes: BLOCK_BYTES, taken_ns };
            }
            taken_ns.push((at_s * 1e9) as u64);
        }
    }

    proptest! {
        #[test]
        fn what_was_planted_is_found(
            size in 2e6f64..2e8, drain in 1e8f64..8e8, faster in 1.8f64..10.0,
        ) {
            let rates = (drain * faster, drain);
            // A burst is at the least twice as long as the filling.
            prop_assume!(size / (drain * (faster - 1.0)) < 0.5);
            let mut bursts = vec![burst(size, rates, None, 2.0)];
            for pause_ms in [2, 8, 32, 128, 512] {
                let room = (drain * f64::from(pause_ms) / 1e3).min(size);
                bursts.push(burst(room, rates, Some(pause_ms as u64 * 1_000_000), 0.3));
            }
            let found = buffer(&bursts).unwrap();
            prop_assert!((found.size_bytes.value / size - 1.0).abs() < 0.02, "{:?}", found);
            let off = found.drain_bytes_per_s.value / drain - 1.0;
            prop_assert!(off.abs() < 0.02, "{:?}", found);
            if let Some(idle) = found.idle_drain_bytes_per_s {
                prop_assert!((idle.value / drain - 1.0).abs() < 0.1, "{:?}", found);
            }
        }

        #[test]
        fn no_buffer_is_invented(rate in 1e8f64..4e9, jitter in 0u64..1_000_000) {
            let mut even = burst(0.0, (rate, rate), None, 2.0);
            even.taken_ns.iter_mut().enumerate().for_each(|(place, at)| {
                *at += (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % (jitter + 1);
            });
            even.taken_ns.sort_unstable();
            prop_assert_eq!(buffer(&[even]), Err(NoBuffer::NotSeen));
        }
    }

    #[test]
    fn a_rate_that_still_changes_is_said() {
        let taken_ns = (1..4000u64).map(|place| place * place * 100).collect();
        let burst = Burst { round: 0, pause_ns: None, block_bytes: BLOCK_BYTES, taken_ns };
        assert_eq!(buffer(&[burst]), Err(NoBuffer::NotSteady));
        assert_eq!(buffer(&[]), Err(NoBuffer::NotWritten));
    }
}

//! A load of three classes at moments by chance, the same each time: reads, writes that somebody
//! waits for, and bursts of writes in the background. And the same with the bursts dribbled, as a
//! host would that holds them back.

use super::super::turn::Turn;
use super::rows;
use anyhow::bail;
use model::record::{Flags, Op, Request};
use sim::random::Random;
use std::path::Path;

/// READS SYNC ASYNC BURST MIB SECONDS TO: so many reads and writes a second, the asynchronous ones
/// in bursts every so many seconds, in the first MiB of a device.
pub(in super::super) fn load(words: &[&str], _: &mut Turn) -> anyhow::Result<()> {
    let [numbers @ .., to] = words else { bail!("load READS SYNC ASYNC BURST MIB SECONDS TO") };
    let numbers = numbers.iter().map(|word| word.parse()).collect::<Result<Vec<f64>, _>>()?;
    let [reads_per_s, sync_writes_per_s, async_writes_per_s, burst_every_s, mib, seconds] =
        numbers[..]
    else {
        bail!("load READS SYNC ASYNC BURST MIB SECONDS TO");
    };
    let area_bytes = (mib as u64) << 20;
    let load =
        Load { reads_per_s, sync_writes_per_s, async_writes_per_s, burst_every_s, area_bytes };
    rows::write(Path::new(to), &load.rows(seconds))
}

/// PER_S FROM TO: a load with its bursts dribbled.
pub(in super::super) fn dribble(words: &[&str], _: &mut Turn) -> anyhow::Result<()> {
    let [per_s, from, to] = words else { bail!("dribble PER_S FROM TO") };
    rows::write(Path::new(to), &dribbled(&rows::read(Path::new(from))?, per_s.parse()?))
}

/// What the load asks for. No burst is larger than what a device has at once: else a device that
/// orders its requests itself has others in its queue than the model.
#[derive(Debug, Clone, Copy)]
struct Load {
    reads_per_s: f64,
    sync_writes_per_s: f64,
    /// On average; they come in bursts.
    async_writes_per_s: f64,
    burst_every_s: f64,
    area_bytes: u64,
}

const LENGTH_BYTES: u32 = 4096;
/// Between the requests of a burst.
const BURST_GAP_S: f64 = 50e-6;

impl Load {
    /// The requests of so many seconds, in the order of their coming.
    fn rows(&self, seconds: f64) -> Vec<Request> {
        let mut random = Random::new(7);
        let mut rows: Vec<Request> = Vec::new();
        let mut add = |at_s: f64, op: Op, flags: Flags, place: u64| {
            rows.push(Request {
                op,
                flags,
                offset_bytes: Some(place * u64::from(LENGTH_BYTES)),
                length_bytes: LENGTH_BYTES,
                queued_ns: Some((at_s * 1e9) as i64),
                ..Request::default()
            });
        };
        let places = self.area_bytes / u64::from(LENGTH_BYTES);
        let streams = [(Op::Read, self.reads_per_s), (Op::Write, self.sync_writes_per_s)];
        for (op, rate) in streams {
            let mut at_s = random.exponential(1.0 / rate);
            while at_s < seconds {
                add(at_s, op, Flags::SYNC, random.below(places));
                at_s += random.exponential(1.0 / rate);
            }
        }
        let each = (self.async_writes_per_s * self.burst_every_s).round() as u64;
        let mut burst_s = self.burst_every_s / 2.0;
        while burst_s < seconds {
            for place in 0..each {
                let at_s = burst_s + place as f64 * BURST_GAP_S;
                add(at_s, Op::Write, Flags::BACKGROUND, random.below(places));
            }
            burst_s += self.burst_every_s;
        }
        rows.sort_by_key(|row| row.queued_ns);
        rows.iter_mut().enumerate().for_each(|(number, row)| row.request_id = number as u64);
        rows
    }
}

/// The same requests, of which no more than so many writes of the background go on a second: the
/// others are held back, first come, first served.
fn dribbled(rows: &[Request], per_s: f64) -> Vec<Request> {
    let interval_ns = (1e9 / per_s).round() as i64;
    let mut next_ns = 0;
    let mut dribbled = rows.to_vec();
    for row in dribbled.iter_mut().filter(|row| row.flags.contains(Flags::BACKGROUND)) {
        let at_ns = row.queued_ns.unwrap_or(0).max(next_ns);
        next_ns = at_ns + interval_ns;
        row.queued_ns = Some(at_ns);
    }
    dribbled.sort_by_key(|row| row.queued_ns);
    dribbled
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load {
        reads_per_s: 100.0,
        sync_writes_per_s: 30.0,
        async_writes_per_s: 50.0,
        burst_every_s: 2.0,
        area_bytes: 1 << 20,
    };

    #[test]
    fn a_load_has_its_rates_and_is_the_same_each_time() {
        let rows = LOAD.rows(20.0);
        let count = |flags, op| {
            let is_it = |row: &&Request| row.op == op && row.flags.contains(flags);
            rows.iter().filter(is_it).count()
        };
        assert!((1850..2150).contains(&count(Flags::SYNC, Op::Read)));
        assert!((520..680).contains(&count(Flags::SYNC, Op::Write)));
        assert_eq!(count(Flags::BACKGROUND, Op::Write), 1000);
        assert!(rows.windows(2).all(|pair| pair[0].queued_ns <= pair[1].queued_ns));
        assert_eq!(rows, LOAD.rows(20.0));
    }

    #[test]
    fn dribbled_writes_are_apart_and_nothing_else_is_held_back() {
        let rows = LOAD.rows(10.0);
        let dribbled = dribbled(&rows, 60.0);
        assert_eq!(dribbled.len(), rows.len());
        let writes = dribbled.iter().filter(|row| row.flags.contains(Flags::BACKGROUND));
        let at: Vec<i64> = writes.filter_map(|row| row.queued_ns).collect();
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= 16_666_666));
        let held_ns = |row: &Request| {
            let came = &rows[row.request_id as usize];
            row.queued_ns.unwrap() - came.queued_ns.unwrap()
        };
        for row in &dribbled {
            let ns = held_ns(row);
            assert!(ns >= 0 && (ns == 0 || row.flags.contains(Flags::BACKGROUND)));
        }
        assert!(dribbled.iter().any(|row| held_ns(row) > 100_000_000));
    }
}

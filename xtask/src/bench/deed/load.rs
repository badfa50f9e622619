//! A load of three classes at moments by chance, the same each time: reads, writes that somebody
//! waits for, and bursts of writes in the background. And the same with the bursts dribbled, as a
//! host would that holds them back.

use model::record::{Flags, Op, Request};
use sim::random::Random;

/// What the load asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) reads_per_s: f64,
    pub(super) sync_writes_per_s: f64,
    /// On average; they come in bursts.
    pub(super) async_writes_per_s: f64,
    pub(super) burst_every_s: f64,
    pub(super) area_bytes: u64,
}

const LENGTH_BYTES: u32 = 4096;
/// Between the requests of a burst.
const BURST_GAP_S: f64 = 50e-6;

impl Load {
    /// The requests of so many seconds, in the order of their coming.
    pub(super) fn rows(&self, seconds: f64) -> Vec<Request> {
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
/// others are held back, first come, first served. And by how long each request is held back, ns,
/// by its number.
pub(super) fn dribbled(rows: &[Request], per_s: f64) -> (Vec<Request>, Vec<i64>) {
    let interval_ns = (1e9 / per_s).round() as i64;
    let (mut next_ns, mut held_ns) = (0, vec![0; rows.len()]);
    let mut dribbled = rows.to_vec();
    for row in dribbled.iter_mut().filter(|row| row.flags.contains(Flags::BACKGROUND)) {
        let came_ns = row.queued_ns.unwrap_or(0);
        let at_ns = came_ns.max(next_ns);
        next_ns = at_ns + interval_ns;
        held_ns[row.request_id as usize] = at_ns - came_ns;
        row.queued_ns = Some(at_ns);
    }
    dribbled.sort_by_key(|row| row.queued_ns);
    (dribbled, held_ns)
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
        let (dribbled, held_ns) = dribbled(&rows, 60.0);
        assert_eq!(dribbled.len(), rows.len());
        let writes = dribbled.iter().filter(|row| row.flags.contains(Flags::BACKGROUND));
        let at: Vec<i64> = writes.filter_map(|row| row.queued_ns).collect();
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= 16_666_666));
        for row in &rows {
            let held_ns = held_ns[row.request_id as usize];
            assert!(held_ns >= 0 && (held_ns == 0 || row.flags.contains(Flags::BACKGROUND)));
        }
        assert!(held_ns.iter().any(|ns| *ns > 100_000_000));
    }
}

//! A drive of which only its times are known: a cloud's volume, a loop device, memory. A request
//! takes a time by its direction, and whether it continues the one before, and its bytes by a rate;
//! so many at once; all within limits of requests and bytes a second, with bursts (see `limit`).
//!
//! Non-goals: anything within the drive.
//!
//! Writes may have a `buffer`: they are taken at their own times while it has room, and then as
//! fast as it drains, which is a bucket again; a flush waits until it is empty.
//!
//! What was measured at several depths is given by `load` (see `load`): how much longer a request
//! takes by how many are outstanding when it comes, and how its times are spread.

mod limit;
mod load;

pub use limit::{Allowance, Limits};

use super::{Access, Capacity, Drive, Operation};
use crate::bus::Bus;
use crate::profile::{ProfileError, Reader};
use crate::random::Random;
use limit::Bucket;
use load::Service;

/// Between parts times are whole nanoseconds.
const ROUNDED_NS: f64 = 1.0;

/// A drive of known times.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualDrive {
    capacity: Capacity,
    depth: usize,
    /// Reads and writes.
    services: [Service; 2],
    flush_ns: f64,
    limits: Limits,
    /// What has been written drains from it; without limit where there is none.
    buffer: Bucket,
    /// The ends of the last read and of the last write.
    ends: [Option<u64>; 2],
    /// When what is outstanding completes, ns.
    outstanding_ns: Vec<f64>,
    /// Requests served: the number of the next one's share of its distribution.
    served: u64,
}

impl VirtualDrive {
    /// Reads `capacity`, `service`, `read`, `write` and, where they are given, `limit` and
    /// `buffer`.
    pub fn read(drive: &Reader) -> Result<Self, ProfileError> {
        let service = drive.below("service");
        let capacity = Capacity::read(&drive.below("capacity"))?;
        let buffer = drive.below("buffer");
        let drain = buffer.or("drain", 0.0, Reader::rate_bytes_per_s)?;
        let buffer_bytes = buffer.or("size", 0, Reader::size_bytes)?;
        if (drain > 0.0) != (buffer_bytes > 0) {
            return Err(buffer.error("size", "and `drain` are given together"));
        }
        Ok(Self {
            capacity,
            depth: service.count_in("depth", 1..=65_536)? as usize,
            services: [Service::read(&drive.below("read"))?, Service::read(&drive.below("write"))?],
            flush_ns: service.time_ns("flush")?,
            limits: Limits::read(drive, capacity.bytes())?,
            buffer: Bucket::of(drain, buffer_bytes as f64),
            ends: [None; 2],
            outstanding_ns: vec![],
            served: 0,
        })
    }
}

/// A bus is not used.
impl Drive for VirtualDrive {
    fn capacity(&self) -> Capacity {
        self.capacity
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn serve(&mut self, given_ns: f64, access: Access, _: &mut Bus) -> f64 {
        if access.operation == Operation::Flush {
            return (given_ns + self.flush_ns).max(self.buffer.full_ns());
        }
        let bytes = access.blocks as f64 * f64::from(self.capacity.sector_bytes);
        let direction = usize::from(access.is_write());
        let is_next = self.ends[direction].replace(access.end()) == Some(access.block);
        let mut begin_ns = self.limits.take(given_ns, (direction, is_next), bytes);
        if access.is_write() {
            begin_ns = begin_ns.max(self.buffer.take(given_ns, bytes));
        }
        let durable_ns = match access.operation {
            Operation::Write { fua: true } => self.flush_ns,
            _ => 0.0,
        };
        // A completion was rounded to the whole nanosecond at which the next request came.
        self.outstanding_ns.retain(|end_ns| *end_ns > given_ns + ROUNDED_NS);
        let load = self.outstanding_ns.len() + 1;
        self.served += 1;
        let share = Random::new(self.served).unit();
        let service_ns = self.services[direction].time_ns((is_next, load), bytes, share);
        let end_ns = begin_ns + service_ns + durable_ns;
        self.outstanding_ns.push(end_ns);
        end_ns
    }

    fn fresh(&self) -> Box<dyn Drive> {
        let (limits, buffer) = (self.limits.fresh(), self.buffer.fresh());
        let (ends, outstanding_ns, rest) = ([None; 2], vec![], self.clone());
        Box::new(Self { ends, limits, buffer, outstanding_ns, served: 0, ..rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CATALOG;

    const VOLUME: &str = "kind = 'drive'
        [design]\nassumed = 'x'\nkind = 'virtual'
        [capacity]\nassumed = 'x'\nsize = '1 GiB'\nsector_size = '512 B'
        [service]\nassumed = 'x'\ndepth = 8\nflush = '2 ms'
        [read]\nassumed = 'x'\nrandom = '500 us'\nsequential = '100 us'\nrate = '512 MB/s'
        [write]\nassumed = 'x'\nrandom = '700 us'\nrate = '256 MB/s'\n";

    fn serve(drive: &mut dyn Drive, at_us: f64, access: Access) -> f64 {
        drive.serve(at_us * 1e3, access, &mut Bus::new(1e12, 0.0)) / 1e3 - at_us
    }

    fn drive(more: &str) -> Box<dyn Drive> {
        let text = format!("{VOLUME}{more}");
        let profile = CATALOG.load_text("v", "v.toml", &text).unwrap();
        let drive = crate::drive::read(&profile.reader().below("drive")).unwrap();
        assert_eq!((drive.depth(), drive.capacity().bytes()), (8, 1 << 30));
        drive.fresh()
    }

    #[test]
    fn a_request_takes_its_time_and_its_bytes() {
        let mut drive = drive("");
        assert_eq!(serve(&mut *drive, 0.0, Access::read(0, 8)), 508.0);
        assert_eq!(serve(&mut *drive, 0.0, Access::read(8, 8)), 108.0);
        assert_eq!(serve(&mut *drive, 0.0, Access::read(8, 8)), 508.0);
        assert_eq!(serve(&mut *drive, 0.0, Access::write(16, 8)), 716.0);
        assert_eq!(serve(&mut *drive, 0.0, Access::write(24, 8)), 716.0);
        assert_eq!(serve(&mut *drive, 0.0, Access::FLUSH), 2000.0);
        let durable = Access { block: 0, blocks: 8, operation: Operation::Write { fua: true } };
        assert_eq!(serve(&mut *drive, 0.0, durable), 2716.0);
    }

    #[test]
    fn a_burst_is_served_and_then_the_limit_holds() {
        let limit = "[limit]\nassumed = 'x'\nrequests_per_s = 1000\nburst_requests = 3\n";
        let mut drive = drive(limit);
        let mut at = |at_us| (serve(&mut *drive, at_us, Access::read(80, 8)) - 508.0).round();
        assert_eq!([at(0.0), at(0.0), at(0.0), at(0.0), at(0.0)], [0.0, 0.0, 0.0, 1e3, 2e3]);
        // After 10 ms without any, the bucket is full again.
        assert_eq!([at(15e3), at(15e3), at(15e3), at(15e3)], [0.0, 0.0, 0.0, 1e3]);
    }

    /// One at a time is one, although its end is no whole nanosecond.
    #[test]
    fn what_is_completed_is_not_outstanding() {
        let row = |outstanding: u32, factor: f64| {
            let spread = ["1.0"; model::calibration::SHARES.len()].join(", ");
            format!("[{outstanding}, {factor:.1}, 1.0, {spread}]")
        };
        let load = format!("load = [{}, {}]\n[write]", row(1, 1.0), row(2, 9.0));
        let text = VOLUME.replace("500 us", "500.0003 us").replace("[write]", &load);
        let profile = CATALOG.load_text("v", "v.toml", &text).unwrap();
        let drive = crate::drive::read(&profile.reader().below("drive")).unwrap();
        let mut drive = drive.fresh();
        let mut bus = Bus::new(1e12, 0.0);
        let mut at_ns = 0.0;
        for _ in 0..9 {
            let end_ns = drive.serve(at_ns, Access::read(80, 8), &mut bus).round();
            assert!(end_ns - at_ns < 520e3, "{at_ns} {end_ns}");
            at_ns = end_ns;
        }
    }

    #[test]
    fn a_buffer_takes_writes_until_it_is_full_and_a_flush_waits_until_it_is_empty() {
        let buffer = "[buffer]\nassumed = 'x'\nsize = '12288 B'\ndrain = '4096 kB/s'\n";
        let mut drive = drive(buffer);
        let mut at = |at_us, access| serve(&mut *drive, at_us, access).round();
        let write = Access::write(16, 8);
        let waits = [0.0; 5].map(|at_us| at(at_us, write) - 716.0);
        assert_eq!(waits, [0.0, 0.0, 0.0, 1e3, 2e3]);
        // Reads do not meet it; a flush waits for all five.
        assert_eq!(at(0.0, Access::read(80, 8)), 508.0);
        assert_eq!(at(0.0, Access::FLUSH), 5e3);
        assert_eq!(at(9e3, Access::FLUSH), 2e3);
    }

    #[test]
    fn bytes_are_limited_too() {
        let mut drive = drive("[limit]\nassumed = 'x'\nbytes_per_s = 4096000\n");
        let mut at = || (serve(&mut *drive, 0.0, Access::read(80, 8)) - 508.0).round();
        assert_eq!([at(), at(), at()], [0.0, 1e3, 2e3]);
    }

    /// The volumes of clouds: each published number with its page and its year, and a latency that
    /// lies between bounds.
    #[test]
    fn volumes_of_clouds_say_where_their_numbers_are_from_and_what_is_not_known() {
        let is_volume =
            |name: &str| ["aws-", "azure-", "gcp-"].iter().any(|of| name.starts_with(of));
        let volumes: Vec<_> = CATALOG.profiles().filter(|known| is_volume(known.name)).collect();
        assert!(volumes.len() >= 10);
        for known in volumes {
            let profile = CATALOG.load(known.name).unwrap();
            let reader = profile.reader();
            let drive = reader.below("drive");
            crate::drive::read(&drive).unwrap();
            assert_eq!(reader.finish(), Ok(()), "{}", known.name);
            let bytes = drive.below("capacity").size_bytes("size").unwrap();
            let limits = Limits::read(&drive, bytes).unwrap();
            assert!(limits.iops.rate > 0.0 && limits.throughput.rate > 0.0, "{}", known.name);
            for (key, leaf) in profile.leaves().filter(|(key, _)| key.starts_with("drive.")) {
                let Some(crate::profile::Source::Published(text)) = &leaf.source else { continue };
                let is_dated = text.contains(".com/") && text.contains(" 202");
                assert!(is_dated, "{}: {key}: {text}", known.name);
            }
            for key in ["drive.read.random", "drive.write.random", "drive.read.variation"] {
                let leaf = profile.leaves().find(|(name, _)| *name == key).unwrap().1;
                assert!(leaf.low.is_some() && leaf.high.is_some(), "{}: {key}", known.name);
            }
        }
    }

    #[test]
    fn times_vary_about_their_mean_as_the_profile_says() {
        let text = VOLUME.replace("rate = '512 MB/s'", "rate = '512 GB/s'\nvariation = '50 %'");
        let profile = CATALOG.load_text("v", "v.toml", &text).unwrap();
        let drive = crate::drive::read(&profile.reader().below("drive")).unwrap();
        let mut drive = drive.fresh();
        let mut times: Vec<f64> =
            (0..100_000).map(|_| serve(&mut *drive, 0.0, Access::read(80, 8))).collect();
        times.sort_by(f64::total_cmp);
        let mean = times.iter().sum::<f64>() / 1e5;
        let variance = times.iter().map(|us| (us - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean / 500.0 - 1.0).abs() < 0.01, "{mean}");
        assert!((variance.sqrt() / mean - 0.5).abs() < 0.01, "{variance}");
        assert!(times[0] > 249.0 && (times[99_000] / 500.0 - 2.8).abs() < 0.1, "{}", times[0]);
    }
}

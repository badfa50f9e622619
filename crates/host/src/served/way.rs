//! The way to a served device and back: what the kernel's layers and the server's waking take
//! before the modelled device gets a request, and after it has completed it. Measured at depth 1:
//! with requests that are completed as they come, and with requests that take a millisecond. During
//! these the CPUs fall asleep, as they do before a device that is alone with its request, and the
//! way is longer by their waking.

use super::Wanted;
use super::clerk::{Clerk, Stamps, now_ns};
use crate::engine::Buffers;
use crate::subject::failed;
use model::seam::SubjectError;
use rustix::fs::{Mode, OFlags, fdatasync, open};
use rustix::io::{pread, pwrite};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::path::Path;

/// A small and a large request, bytes.
const LENGTHS: [u32; 2] = [4096, 128 << 10];
/// How a way is measured.
#[derive(Debug, Clone, Copy)]
struct Measure {
    /// What a request takes at the device, ns.
    takes_ns: u64,
    /// How often one is made; the first ones are for the caches.
    times: usize,
    left_out: usize,
    /// So many must have been alone.
    pairs_least: usize,
}

const BUSY: Measure = Measure { takes_ns: 0, times: 450, left_out: 50, pairs_least: 200 };
const ALONE: Measure = Measure { takes_ns: 1_000_000, times: 90, left_out: 10, pairs_least: 40 };
/// The way is the least of the medians of so many batches: what disturbs a batch is not the way.
const BATCHES: usize = 8;

/// The two parts of the way for one kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WayPart {
    /// To the device and back, for a request without data, ns.
    pub fixed_ns: [f64; 2],
    /// And for each byte, ns.
    pub byte_ns: [f64; 2],
}

impl WayPart {
    /// What a request of this length takes to come, ns.
    pub fn in_ns(&self, length_bytes: u32) -> u64 {
        self.one_ns(0, length_bytes)
    }

    /// What it takes to come back, ns.
    pub fn out_ns(&self, length_bytes: u32) -> u64 {
        self.one_ns(1, length_bytes)
    }

    fn one_ns(&self, direction: usize, length_bytes: u32) -> u64 {
        let ns = self.fixed_ns[direction] + self.byte_ns[direction] * f64::from(length_bytes);
        ns.max(0.0) as u64
    }

    /// The line through what the small and the large requests took, ns.
    fn through(small: [f64; 2], large: [f64; 2]) -> Self {
        let [short, long] = LENGTHS.map(f64::from);
        let slope =
            |direction: usize| ((large[direction] - small[direction]) / (long - short)).max(0.0);
        let byte_ns = [slope(0), slope(1)];
        let fixed = |direction: usize| small[direction] - byte_ns[direction] * short;
        Self { fixed_ns: [fixed(0), fixed(1)], byte_ns }
    }
}

/// The way of each kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WayParts {
    /// Of a read.
    pub read: WayPart,
    /// Of a write.
    pub write: WayPart,
    /// Of a flush.
    pub flush: WayPart,
}

/// The way among other requests, and of one that is alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// Where the CPUs are awake.
    pub busy: WayParts,
    /// Where nothing else is at the device.
    pub alone: WayParts,
}

impl Way {
    /// The way of what is wanted.
    pub fn of(&self, wanted: Wanted, is_alone: bool) -> &WayPart {
        let parts = if is_alone { &self.alone } else { &self.busy };
        match wanted {
            Wanted::Read => &parts.read,
            Wanted::Write => &parts.write,
            Wanted::Flush => &parts.flush,
        }
    }

    /// What a read of 4 KiB takes there and back, ns.
    pub fn read_4k_ns(&self) -> u64 {
        self.alone.read.in_ns(4096) + self.alone.read.out_ns(4096)
    }
}

/// Measures it on a device that nobody else uses yet. Writes zeros over its beginning.
/// Errors: the device's.
pub(super) fn measure(path: &Path, clerk: &Clerk) -> Result<Way, SubjectError> {
    // A thread of the usual priority, as those of the device's users are.
    let measured = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
            let device = open(path, flags, Mode::empty()).map_err(failed("open the device"))?;
            let busy = parts(&device, clerk, BUSY)?;
            let alone = parts(&device, clerk, ALONE)?;
            Ok(Way { busy, alone })
        });
        thread.join()
    });
    measured.unwrap_or_else(|_| {
        Err(SubjectError::Failed(
            "failed to measure the kernel's \
                                                          latency"
                .into(),
        ))
    })
}

fn parts(device: &OwnedFd, clerk: &Clerk, measure: Measure) -> Result<WayParts, SubjectError> {
    clerk.take_for(measure.takes_ns);
    let of = |wanted| part(device, clerk, wanted, measure);
    Ok(WayParts { read: of(Wanted::Read)?, write: of(Wanted::Write)?, flush: of(Wanted::Flush)? })
}

fn part(
    device: &OwnedFd,
    clerk: &Clerk,
    wanted: Wanted,
    measure: Measure,
) -> Result<WayPart, SubjectError> {
    let of = |length| medians(device, clerk, (wanted, length), measure);
    Ok(match wanted {
        Wanted::Flush => WayPart { fixed_ns: of(0)?, byte_ns: [0.0; 2] },
        _ => WayPart::through(of(LENGTHS[0])?, of(LENGTHS[1])?),
    })
}

/// The medians of both directions.
fn medians(
    device: &OwnedFd,
    clerk: &Clerk,
    (wanted, length): (Wanted, u32),
    measure: Measure,
) -> Result<[f64; 2], SubjectError> {
    let mut buffers = Buffers::new(1, length.max(512))
        .map_err(|error| SubjectError::Failed(format!("failed to get a buffer: {error}")))?;
    let buffer = buffers.get(0, length);
    buffer.fill(0);
    clerk.take_stamps();
    let mut own: Vec<Stamps> = Vec::with_capacity(measure.times);
    for _ in 0..measure.times {
        let began_ns = now_ns();
        match wanted {
            Wanted::Read => pread(device, &mut *buffer, 0).map(drop),
            Wanted::Write => pwrite(device, &*buffer, 0).map(drop),
            Wanted::Flush => fdatasync(device),
        }
        .map_err(failed("use the device"))?;
        own.push((began_ns, now_ns()));
    }
    let pairs = paired(&own, &clerk.take_stamps());
    if pairs.len() < measure.pairs_least {
        let sentence = format!(
            "failed to measure the kernel's latency: only {} of {} requests were alone on the \
             device; stop its other users",
            pairs.len(),
            own.len()
        );
        return Err(SubjectError::Failed(sentence));
    }
    let pairs = pairs.iter().skip(measure.left_out);
    let to = pairs.clone().map(|(own, their)| their.0 - own.0);
    let back = pairs.map(|(own, their)| own.1 - their.1);
    Ok([least_median(&to.collect::<Vec<_>>()), least_median(&back.collect::<Vec<_>>())])
}

/// Each of our requests with its stamps at the device. Others may look at a new device meanwhile
/// (udev does): a request within which there are stamps of two is left out.
fn paired(own: &[Stamps], theirs: &[Stamps]) -> Vec<(Stamps, Stamps)> {
    let mut theirs = theirs.to_vec();
    theirs.sort_unstable();
    let of = |own: &Stamps| {
        let first = theirs.partition_point(|their| their.0 < own.0);
        let mut within = theirs[first..].iter().take_while(|their| their.1 <= own.1);
        within.next().filter(|_| within.next().is_none()).map(|their| (*own, *their))
    };
    own.iter().filter_map(of).collect()
}

fn least_median(times: &[u64]) -> f64 {
    let batches = times.chunks(times.len().div_ceil(BATCHES).max(1));
    batches.map(|batch| median(batch.to_vec())).fold(f64::INFINITY, f64::min)
}

fn median(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_do_meanwhile_is_left_out() {
        let own = [(100, 200), (200, 300), (300, 400), (400, 500)];
        // The second met another's; of the third nothing is known; the last is another's too.
        let theirs = [(410, 420), (150, 160), (210, 220), (230, 240), (600, 700)];
        let expected = [((100, 200), (150, 160)), ((400, 500), (410, 420))];
        assert_eq!(paired(&own, &theirs), expected);
    }

    #[test]
    fn the_way_is_a_line_through_both_lengths() {
        let part = WayPart::through([30_000.0, 40_000.0], [60_000.0, 30_000.0]);
        assert_eq!((part.in_ns(4096), part.in_ns(128 << 10)), (30_000, 60_000));
        let disturbed = [vec![5000; 60], vec![40; 20], vec![5000; 20], vec![41; 60]].concat();
        assert_eq!(least_median(&disturbed), 40.0);
        // A longer one does not come back sooner.
        assert_eq!((part.out_ns(4096), part.out_ns(128 << 10)), (40_000, 40_000));
    }
}

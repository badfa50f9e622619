//! The way to a served device and back, measured at depth 1: with requests that are completed as
//! they come, and with requests that take a millisecond. During these the CPUs fall asleep, as they
//! do before a device that is alone with its request, and the way is longer by their waking.

use super::Wanted;
use super::clerk::{Clerk, Stamps, now_ns};
use super::way::{LENGTHS, Way, WayPart, WayParts};
use crate::engine::Buffers;
use crate::subject::failed;
use model::seam::SubjectError;
use rustix::fs::{Mode, OFlags, fdatasync, open};
use rustix::io::{pread, pwrite};
use std::fmt::Display;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread::ScopedJoinHandle;

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

/// Measures it on a device that nobody else uses yet. Writes zeros over its beginning.
/// Errors: the device's.
pub(super) fn measure(path: &Path, clerk: &Clerk) -> Result<Way, SubjectError> {
    // A thread of the usual priority, as those of the device's users are.
    let measured = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || {
            let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
            let device = open(path, flags, Mode::empty()).map_err(failed("open the device"))?;
            let busy = parts(&device, clerk, BUSY)?;
            let alone = parts(&device, clerk, ALONE)?;
            Ok(Way { busy, alone })
        });
        thread.map(ScopedJoinHandle::join)
    });
    let failed = |why: &dyn Display| {
        SubjectError::Failed(format!("failed to measure the kernel's latency: {why}"))
    };
    match measured {
        Ok(measured) => measured.unwrap_or_else(|_| Err(failed(&"its thread ended early"))),
        Err(refused) => Err(failed(&refused)),
    }
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
    fn what_disturbs_a_batch_is_not_the_way() {
        let disturbed = [vec![5000; 60], vec![40; 20], vec![5000; 20], vec![41; 60]].concat();
        assert_eq!(least_median(&disturbed), 40.0);
    }
}

//! A long trace of our own records, made by rule: each run makes the same rows. Four devices, eight
//! processes or more; random reads at chance intervals, a sequential writer, one that syncs, and a
//! storm of writing back every five seconds. It is plausible enough for the analysis to do all its
//! work, and nothing more is meant by it.

use model::record::requests::{Provenance, RequestWriter};
use model::record::{
    Commands, Context, FileKey, FileKind, FileNumber, Flags, NamedFile, Op, Request,
};
use sim::random::Random;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Mean time between arrivals.
const GAP_NS: u64 = 20_000;
/// A storm begins so often, and lets so many requests loose.
const STORM_NS: i64 = 5_000_000_000;
const STORM_REQUESTS: u64 = 4_000;
const DEVICES: u64 = 4;
const COMMANDS: [&str; 4] = ["postgres", "fio", "tar", "kworker/u4:1+flush"];

/// A device is cut into files of so much, if rows are to be of files.
const FILE_BYTES: u64 = 1 << 30;
const FILES: u64 = DEVICES * ((1 << 36) / FILE_BYTES + 1);

/// The file that a place of a device belongs to.
fn file_of(device: u32, place: u64) -> FileKey {
    let inode = 1 + place / FILE_BYTES;
    let number = FileNumber { file_system: device, inode, generation: 0 };
    FileKey { kind: FileKind::Regular, number }
}

/// The number of a device.
fn number_of(device: u64) -> u32 {
    8 << 20 | (device as u32) << 4
}

/// Names all files, beside the rows.
fn name_files(directory: &Path) -> anyhow::Result<()> {
    let files = (0..FILES).map(|number| {
        let (device, inode) = (number % DEVICES, 1 + number / DEVICES);
        let path = Some(format!("/data{device}/file-{inode}"));
        let file_system = u64::from(number_of(device));
        NamedFile { file_system, inode, path, ..NamedFile::default() }
    });
    let context = Context { files: files.collect(), ..Context::default() };
    Ok(context.write(directory, &BTreeMap::new())?)
}

/// What is made.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Wanted {
    pub(in super::super) rows: u64,
    /// With the files that they are of.
    pub(in super::super) of_files: bool,
    /// Programs besides the kernel's thread: three, or some of each of these three kinds.
    pub(in super::super) programs: usize,
}

/// Writes rows.
pub(in super::super) fn make(path: &Path, wanted: Wanted) -> anyhow::Result<()> {
    let Wanted { rows, of_files, programs } = wanted;
    if of_files {
        name_files(path.parent().unwrap_or(Path::new(".")))?;
    }
    let mut commands = Commands::default();
    let names: Vec<_> = COMMANDS.iter().map(|name| commands.number(name.as_bytes())).collect();
    let letter = |place: usize| char::from(b'a' + (place % 26) as u8);
    let others =
        (3..programs).map(|n| format!("{}-{}{}", COMMANDS[n % 3], letter(n / 26), letter(n)));
    let others: Vec<_> = others.map(|name| commands.number(name.as_bytes())).collect();
    let mut numbers = Random::new(1);
    let mut writer = RequestWriter::new(BufWriter::with_capacity(1 << 20, File::create(path)?))?;
    let (mut arrival_ns, mut next_storm_ns, mut storm) = (0i64, STORM_NS, 0);
    let mut ends = [0u64; DEVICES as usize];
    for request_id in 0..rows {
        if storm == 0 && arrival_ns >= next_storm_ns {
            (storm, next_storm_ns) = (STORM_REQUESTS, next_storm_ns + STORM_NS);
        }
        arrival_ns += numbers.below(if storm > 0 { GAP_NS / 20 } else { 2 * GAP_NS }) as i64;
        let program = if storm > 0 { 3 } else { numbers.below(programs.max(3) as u64) as usize };
        let who = if storm > 0 { 3 } else { program % 3 };
        let device = if storm > 0 { 0 } else { numbers.below(DEVICES) };
        let place = if who == 2 { ends[device as usize] } else { numbers.below(1 << 24) * 4096 };
        let length_bytes = 4096u32 << if who == 2 { 5 } else { numbers.below(3) };
        ends[device as usize] = place + u64::from(length_bytes);
        let is_write = who >= 2 || numbers.below(5) == 0;
        let wait_ns = 800 + numbers.below(2_000) as i64 + storm as i64 * 700;
        let device_ns = 40_000 + numbers.below(120_000) as i64 + i64::from(length_bytes);
        storm = storm.saturating_sub(1);
        let row = Request {
            request_id,
            device: number_of(device),
            op: if is_write { Op::Write } else { Op::Read },
            flags: [Flags::DIRECT, Flags::SYNC, Flags(0), Flags::BACKGROUND][who],
            offset_bytes: Some(place),
            length_bytes,
            queued_ns: Some(arrival_ns),
            started_ns: Some(arrival_ns + 400),
            issued_ns: Some(arrival_ns + wait_ns),
            completed_ns: Some(arrival_ns + wait_ns + device_ns),
            cpu: Some(numbers.below(2) as u16),
            pid: Some(1000 + program as u32 * 2 + numbers.below(2) as u32),
            cgroup: Some(1 + who as u64),
            command: Some(
                others
                    .get(program.wrapping_sub(3))
                    .filter(|_| storm == 0)
                    .copied()
                    .unwrap_or(names[who]),
            ),
            file: of_files.then(|| file_of(number_of(device), place)),
            ..Request::default()
        };
        writer.push(&row, &commands)?;
    }
    let provenance = Provenance { origin: "capture".into(), ..Provenance::default() };
    writer.finish(&commands, &provenance, &Default::default())?;
    Ok(())
}

//! Requests that are told of at their end, and have none while the capture goes on.

use super::lab::{BLOCK_BYTES, Loop, Zram, capture_of, end, open, run, wait_for, write_block};
use super::{RING_BYTES, of};
use model::record::Op;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use trace::capture::device_number;
use trace::event::Event;
use trace::intake::Collected;

/// A device over a file of a file system that is frozen until this is dropped: what is written to
/// it is on its way until then.
struct Frozen {
    node: PathBuf,
    number: u32,
    shell: Child,
    /// The mount goes with it, too.
    _folder: tempfile::TempDir,
}

impl Frozen {
    /// The mount is in a namespace of the shell's own, and goes with it.
    fn over(disk: &Loop) -> Option<Self> {
        const LINES: &str = "mount \"$0\" \"$1\" && fallocate -l 4M \"$1/file\" || exit
            node=$(losetup --find --show --direct-io=off \"$1/file\") || exit
            exec 9<$node; losetup --detach $node; sync; fsfreeze -f \"$1\" && echo $node
            read -r line; fsfreeze -u \"$1\"";
        run("mkfs.ext4", &["-q", "-F", disk.text()])?;
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut shell = Command::new("unshare");
        shell.args(["-m", "sh", "-c", LINES, disk.text()]).arg(folder.path());
        let shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut frozen = Self { node: PathBuf::new(), number: 0, shell, _folder: folder };
        let mut line = String::new();
        BufReader::new(frozen.shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        frozen.node = PathBuf::from(line.trim());
        frozen.number = device_number(frozen.node.metadata().ok()?.rdev());
        Some(frozen)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = self.shell.stdin.take().map(|mut input| input.write_all(b"\n"));
        let _ = self.shell.wait();
    }
}

#[test]
fn what_is_on_its_way_when_the_capture_stops_is_told() {
    let Some(disk) = Loop::new(32) else { return };
    let Some(frozen) = Frozen::over(&disk) else {
        return println!("skipped: needs mkfs.ext4, unshare and fsfreeze");
    };
    let Some(capture) = capture_of(&[frozen.number], RING_BYTES) else { return };
    let node = frozen.node.clone();
    let writer = std::thread::spawn(move || write_block(&open(&node, true), 3));
    wait_for("the write to be on its way", || capture.on_way() == 1);
    let captured = end(capture);
    drop(frozen);
    writer.join().unwrap();
    let lives = of(&captured, Op::Write);
    assert_eq!(lives.len(), 1, "{lives:?}");
    let start = lives[0].start.unwrap();
    assert_eq!(start.extent.offset_bytes, Some(3 * BLOCK_BYTES as u64));
    assert!(lives[0].queued_ns().is_some() && lives[0].complete.is_none(), "{lives:?}");
}

#[test]
fn what_was_completed_is_on_its_way_no_more() {
    let Some(disk) = Loop::new(8) else { return };
    let Some(capture) = capture_of(&[disk.number], RING_BYTES) else { return };
    let file = open(&disk.node, true);
    (0..100).for_each(|number| write_block(&file, number));
    wait_for("all to be completed", || capture.on_way() == 0);
    assert_eq!(of(&end(capture), Op::Write).len(), 100);
}

/// Nobody pays for the ends of bios before there is a disk that needs them.
#[test]
fn the_ends_of_bios_are_told_of_a_disk_that_comes_later() {
    let Some(mut capture) = capture_of(&[], RING_BYTES) else { return };
    let Some(disk) = Zram::new() else { return };
    let file = open(&disk.node, true);
    let is_of = |device: u32| move |event: &Event| event.device == device;
    let mut steps = Collected::default();
    write_block(&file, 0);
    wait_for("its first bio to be told", || {
        capture.drain(&mut steps).unwrap();
        steps.events.iter().any(is_of(disk.number))
    });
    (1..=20).for_each(|number| write_block(&file, number));
    drop(file);
    let captured = end(capture);
    let lives = of(&captured, Op::Write).into_iter();
    let lives: Vec<_> =
        lives.filter(|life| life.start.as_ref().is_some_and(is_of(disk.number))).collect();
    let ended = lives.iter().filter(|life| life.complete.is_some()).count();
    assert!(lives.len() >= 20 && ended * 20 >= lives.len() * 19, "{ended} of {}", lives.len());
}

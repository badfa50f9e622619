//! Threads that wait, as they are seen while they do.

use super::RING_BYTES;
use super::lab::{Loop, Mounted, capture, run, wait_for};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use trace::capture::{Capture, CaptureOptions};

const LEAST_NS: u64 = 10_000_000;

/// A `head` that writes to a frozen file system, until this is dropped.
struct Hanging {
    head: Child,
    at: PathBuf,
}

impl Hanging {
    /// None where nothing can be frozen.
    fn at(at: &Path) -> Option<Self> {
        const LINES: &str = "exec 9>$0/log; fsfreeze -f $0 || exit; exec head -c 9 /dev/zero >&9";
        run("fsfreeze", &["--version"])?;
        let head = Command::new("sh").arg("-c").arg(LINES).arg(at).spawn().unwrap();
        Some(Self { head, at: at.to_owned() })
    }

    fn is_seen(&self, capture: &Capture) -> bool {
        capture.going_on(LEAST_NS).iter().any(|wait| wait.pid == self.head.id())
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.at).status();
        let _ = self.head.wait();
    }
}

#[test]
fn root_who_waits_is_seen_at_each_look_until_it_is_over() {
    let Some(disk) = Loop::new(32) else { return };
    let Some(mounted) = Mounted::over(&disk) else {
        return println!("skipped: needs mkfs.ext4 and unshare");
    };
    let options = CaptureOptions {
        devices: vec![disk.number],
        ring_bytes: RING_BYTES,
        calls: true,
        ..CaptureOptions::default()
    };
    let Some(capture) = capture(options) else { return };
    let file = mounted.file();
    // The second time the part of the table where it waits was found to be still.
    for _ in 0..2 {
        let Some(hanging) = Hanging::at(file.parent().unwrap()) else {
            return println!("skipped: needs fsfreeze");
        };
        wait_for("head to be seen", || hanging.is_seen(&capture));
        assert!((0..3).all(|_| hanging.is_seen(&capture)));
        let pid = hanging.head.id();
        drop(hanging);
        for _ in 0..2 {
            assert!(capture.going_on(LEAST_NS).iter().all(|wait| wait.pid != pid));
        }
    }
}

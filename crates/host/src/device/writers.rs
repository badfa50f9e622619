//! Processes that have a block device open for writing: the kernel tells of none of them when a
//! device is claimed, for they claim nothing. So do the servers of network block devices, virtual
//! machines, and whatever writes to a disk by its node.
//!
//! Source: proc(5): /proc/PID/fd, /proc/PID/fdinfo; drivers/block/nbd.c (the attribute `pid`).
//!
//! Non-goals: processes of other users where we are not root, and those outside of our namespace
//! of processes: neither can be seen. Files that are mapped and closed, or registered with
//! io_uring and closed.

use super::tree::names;
use super::{DeviceError, DeviceNumber, Tree};
use crate::process;
use model::process::Stat;
use std::path::Path;

/// A process with a device open for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) pid: u32,
    /// Its name.
    pub(crate) command: String,
    pub(crate) device: DeviceNumber,
}

/// Of the flags of an open file: how it may be used, and of these reading alone.
const ACCESS: u32 = 3;
const READING: u32 = 0;

impl Tree {
    /// A process that has one of the devices open for writing: none of ours, and none that is
    /// what serves the device.
    /// Errors: the processes cannot be listed.
    pub(crate) fn writer(&self, devices: &[DeviceNumber]) -> Result<Option<Writer>, DeviceError> {
        let own = std::process::id();
        for pid in self.pids()? {
            let found = self.opened_by(pid, devices);
            if let Some(device) = found.filter(|_| !self.is_of(pid, own)) {
                let command = process::command_in(&self.path("proc"), pid);
                let command = command.unwrap_or_else(|| "a process".to_owned());
                return Ok(Some(Writer { pid, command, device }));
            }
        }
        Ok(None)
    }

    /// Which of the devices a process has open for writing, if it has one. Whose files cannot be
    /// seen, or who has ended, has none.
    fn opened_by(&self, pid: u32, devices: &[DeviceNumber]) -> Option<DeviceNumber> {
        let process = Path::new("/proc").join(pid.to_string());
        let here = self.path("proc").join(pid.to_string());
        let files = names(&here.join("fd")).unwrap_or_default();
        let device = |file: String| {
            // Sockets and pipes are no paths.
            std::fs::read_link(here.join("fd").join(&file))
                .ok()
                .filter(|path| path.is_absolute())?;
            let info = std::fs::read_to_string(here.join("fdinfo").join(&file)).ok()?;
            let device = is_for_writing(&info).then(|| self.facts(&process.join("fd").join(file)));
            let device = device?.ok()?.block.filter(|device| devices.contains(device))?;
            (!self.is_served_by(device, pid)).then_some(device)
        };
        files.into_iter().find_map(device)
    }

    /// Whether the process is what serves the device: nbd's client keeps it open meanwhile. The
    /// kernel names a thread of it.
    fn is_served_by(&self, device: DeviceNumber, pid: u32) -> bool {
        let thread = || -> Option<u32> {
            let folder = self.folder(self.whole_disk(device).ok()?).ok()?;
            super::tree::read_parsed(&folder.join("pid")).ok()
        };
        let task = self.path("proc").join(pid.to_string()).join("task");
        thread().is_some_and(|thread| thread == pid || task.join(thread.to_string()).exists())
    }

    /// Whether a process is this one or was started by it, at whatever remove.
    fn is_of(&self, pid: u32, own: u32) -> bool {
        let mut pid = pid;
        // A number that comes again meanwhile might lead in a circle.
        for _ in 0..64 {
            if pid == own {
                return true;
            }
            let stat = self.path("proc").join(pid.to_string()).join("stat");
            let stat = std::fs::read_to_string(stat).ok();
            match stat.and_then(|line| Stat::parse(&line)).map(|stat| stat.parent) {
                Some(parent) if parent > 1 => pid = parent,
                _ => return false,
            }
        }
        false
    }
}

/// Of the text in /proc/PID/fdinfo, whose flags are octal.
fn is_for_writing(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & ACCESS != READING)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;

    const SDB: DeviceNumber = DeviceNumber::new(8, 16);
    const NBD0: DeviceNumber = DeviceNumber::new(43, 0);

    fn disks() -> Fixture {
        Fixture::new().disk("sda", 8, 0).disk("sdb", 8, 16).disk("nbd0", 43, 0)
    }

    fn writer(fixture: Fixture, device: DeviceNumber) -> Option<(u32, String)> {
        let found = fixture.tree().writer(&[device]).unwrap();
        found.map(|Writer { pid, command, .. }| (pid, command))
    }

    #[test]
    fn who_has_it_open_for_writing_is_named_and_readers_are_not() {
        let server = |flags| disks().opened(812, "nbd-server", 5, "sdb", flags);
        let named = Some((812, "nbd-server".to_owned()));
        for flags in ["0100002", "0100001", "02100002"] {
            assert_eq!(writer(server(flags), SDB), named, "{flags}");
        }
        assert_eq!(writer(server("0100000"), SDB), None);
        assert_eq!(writer(server("0100002"), NBD0), None);
        assert_eq!(writer(server("nothing"), SDB), None);
    }

    #[test]
    fn who_serves_a_device_is_no_user_of_it() {
        let client = || disks().opened(90, "nbd-client", 3, "nbd0", "02");
        assert!(writer(client(), NBD0).is_some());
        assert_eq!(writer(client().attribute("nbd0", "pid", "90\n"), NBD0), None);
        assert!(writer(client().attribute("nbd0", "pid", "91\n"), NBD0).is_some());
        let thread = client().attribute("nbd0", "pid", "91\n").thread(90, 91);
        assert_eq!(writer(thread, NBD0), None);
    }

    #[test]
    fn what_we_started_ourselves_is_ours() {
        let own = std::process::id();
        let child = || disks().opened(99_999_999, "job", 3, "sdb", "02");
        assert!(writer(child().child_of(99_999_999, 1), SDB).is_some());
        assert_eq!(writer(child().child_of(99_999_999, own), SDB), None);
        let grandchild = child().child_of(99_999_999, 99_999_998).child_of(99_999_998, own);
        assert_eq!(writer(grandchild, SDB), None);
    }
}

//! This machine's storage as subjects. What a directory, a device and a fresh
//! file system have in common is here: running jobs, counting; what sets them
//! apart is a *backend*: where the files are, how they become cold, what is removed.

mod block_device;
mod directory;
mod fresh;
mod image;
pub(crate) mod loop_device;
mod loop_disk;
mod mkfs;
mod mount;
mod nowhere;
mod regular_file;

pub use block_device::BlockDevice;
pub use directory::Directory;
pub use fresh::{Fresh, FreshPlan, may_be_made};
pub use image::probe_write_bytes_per_s;
pub use loop_disk::LoopDisk;
pub(crate) use mkfs::is_installed;
pub use mkfs::{FILE_SYSTEMS, FileSystem};
pub(crate) use mount::{kernels_words, set_option};
pub use nowhere::Nowhere;
pub use regular_file::{RegularFile, used_by};

use crate::account::Accounts;
use crate::clock::HostClock;
use crate::device::{DeviceError, DeviceNumber, Tree};
use crate::drive::{self, Control};
use crate::engine::JobFile;
use model::seam::{
    Accounting, Clock, Counters, DeviceCounters, DeviceRole, Job, JobCpu, JobPlacement,
    PreparedTarget, Subject, SubjectError, TracedCpu,
};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A device that is counted, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedDevice {
    /// The device.
    pub number: DeviceNumber,
    /// What it is counted for.
    pub role: DeviceRole,
}

/// What sets one kind of subject apart.
pub trait Backend: Send {
    /// Makes a fresh place to work in.
    fn prepare(&mut self, control: &Control) -> Result<PreparedTarget, SubjectError>;
    /// Where a drive's file is: a directory and a path in it.
    fn file(&self, drive: usize, name: &str) -> Result<(Arc<OwnedFd>, PathBuf), SubjectError>;
    /// Whether jobs may write there at all.
    fn is_writable(&self) -> bool {
        true
    }
    /// Empties the caches of these files.
    fn make_cold(&mut self, files: &[(usize, String)]) -> Result<(), SubjectError>;
    /// The devices to count, once prepared.
    fn devices(&self) -> &[CountedDevice];
    /// Whether a test bed works beneath the device.
    fn has_test_bed(&self) -> bool {
        false
    }
    /// CPU time of the test bed's own workers so far, where there are any and it can be told.
    fn test_bed_ns(&self) -> Option<u64> {
        None
    }
    /// Removes what was made.
    fn clean_up(&mut self) -> Result<(), SubjectError>;
}

/// A subject of this machine.
pub struct Host<S> {
    backend: S,
    clock: HostClock,
    control: Arc<Control>,
    tree: Tree,
    /// What the devices were called when it was prepared.
    names: BTreeMap<DeviceNumber, String>,
    accounts: Accounts,
    trace: Trace,
}

/// A trace of where CPU time goes: switched on by the first reading and off by dropping it. Where
/// this machine has none, the reason.
pub trait CpuTrace: Send {
    /// Counts from here on.
    /// Errors: what the kernel refuses.
    fn start(&mut self) -> std::io::Result<()>;
    /// CPU time by kind since the start.
    /// Errors: what the kernel refuses.
    fn read(&mut self) -> std::io::Result<TracedCpu>;
    /// Counts no more, and is ready to start again.
    /// Errors: what the kernel refuses.
    fn stop(&mut self) -> std::io::Result<()>;
    /// Takes everything out of the kernel until the next start.
    fn release(&mut self);
}

/// The trace of a subject, and whether it counts at the moment.
struct Trace {
    source: Result<Box<dyn CpuTrace>, String>,
    is_on: bool,
}

impl Trace {
    /// Reads what was counted, and goes on as requested.
    fn read(&mut self, accounting: Accounting) -> Result<Option<TracedCpu>, SubjectError> {
        let source = match (&mut self.source, accounting) {
            (Ok(source), _) => source,
            (Err(_), Accounting::Difference) => return Ok(None),
            (Err(reason), Accounting::Trace) => {
                return Err(SubjectError::Unavailable(reason.clone()));
            }
        };
        let wants = accounting == Accounting::Trace;
        let failed = |e: std::io::Error| {
            SubjectError::Failed(format!("failed to trace where CPU time goes: {e}"))
        };
        if wants && !self.is_on {
            source.start().map_err(failed)?;
            self.is_on = true;
        }
        let counted = self.is_on.then(|| source.read()).transpose().map_err(failed)?;
        match (self.is_on, wants) {
            (true, false) => source.stop().map_err(failed)?,
            // Two readings without it: nothing of it is to run during what comes.
            (false, false) => source.release(),
            _ => {}
        }
        self.is_on = wants;
        Ok(counted)
    }
}

impl<S> Host<S> {
    fn over(backend: S, clock: HostClock, control: Arc<Control>) -> Self {
        let none = Trace { source: Err("no trace was requested".into()), is_on: false };
        let (tree, accounts) = (Tree::system(), Accounts::default());
        let names = BTreeMap::new();
        Self { backend, clock, control, tree, names, accounts, trace: none }
    }

    /// The same subject, whose CPU time can be traced by this source, or the reason why not.
    #[must_use]
    pub fn traced_by(self, source: Result<Box<dyn CpuTrace>, String>) -> Self {
        Self { trace: Trace { source, is_on: false }, ..self }
    }
}

impl<S: Backend> Host<S> {
    fn count(&self, device: CountedDevice) -> Result<DeviceCounters, SubjectError> {
        let refused = |e: DeviceError| {
            let number = device.number;
            let name = self.names.get(&number).cloned().unwrap_or_else(|| number.to_string());
            SubjectError::Failed(match e {
                DeviceError::Unknown(_) => format!(
                    "{name} vanished during the measurement (the kernel has no device {number} \
                     any more): finished cells are kept; attach it and measure again"
                ),
                e => format!("failed to read the counters of {name}: {e}"),
            })
        };
        let stat = self.tree.stat(device.number).map_err(refused)?;
        Ok(DeviceCounters {
            name: self.tree.name(device.number).map_err(refused)?,
            role: device.role,
            read_bytes: stat.read_bytes,
            write_bytes: stat.write_bytes,
            requests: stat.read_requests + stat.write_requests,
            flushes: self.tree.flushes(device.number).map_err(refused)?,
            in_flight_ns: stat.in_flight_ms * 1_000_000,
        })
    }
}

impl<S: Backend> Subject for Host<S> {
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
        let place = self.backend.prepare(&self.control)?;
        let named = |d: &CountedDevice| Some((d.number, self.tree.name(d.number).ok()?));
        self.names = self.backend.devices().iter().filter_map(named).collect();
        let tested = self.backend.devices().iter().filter(|d| d.role == DeviceRole::Tested);
        let devices = tested.filter_map(|d| self.names.get(&d.number).cloned()).collect();
        Ok(PreparedTarget { devices, ..place })
    }

    fn run<J: Job>(
        &mut self,
        jobs: Vec<(JobPlacement, J)>,
    ) -> Result<Vec<(J, JobCpu)>, SubjectError> {
        let mut placed = Vec::with_capacity(jobs.len());
        for (placement, job) in jobs {
            let (directory, path) = self.backend.file(placement.drive, &placement.file)?;
            let file = JobFile::new(directory, path, &placement);
            let file = if self.backend.is_writable() { file } else { file.read_only() };
            placed.push((placement, file, job));
        }
        drive::run_all(placed, &self.clock, &self.control)
    }

    fn make_cold(&mut self, files: &[(usize, String)]) -> Result<(), SubjectError> {
        self.backend.make_cold(files)
    }

    fn counters(&mut self, accounting: Accounting) -> Result<Counters, SubjectError> {
        let mut cpu = self
            .accounts
            .read()
            .map_err(|e| SubjectError::Failed(format!("failed to read CPU counters: {e}")))?;
        cpu.setup_ns = self.control.setup_cpu_ns.load(Ordering::Relaxed);
        cpu.has_test_bed = self.backend.has_test_bed();
        cpu.test_bed_ns = self.backend.test_bed_ns();
        cpu.traced = self.trace.read(accounting)?;
        let devices = self.backend.devices().iter().map(|d| self.count(*d));
        let devices = devices.collect::<Result<_, _>>()?;
        Ok(Counters { at_ns: self.clock.now_ns(), devices, cpu })
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        self.backend.clean_up()
    }
}

/// A refused system call as an I/O failure, with what was tried.
pub(crate) fn failed(
    action: impl std::fmt::Display,
) -> impl FnOnce(rustix::io::Errno) -> SubjectError {
    let action = action.to_string();
    move |errno| SubjectError::Failed(format!("failed to {action}: {errno}"))
}

/// Where a file is that was opened: by its descriptor, so that it is the one that was looked at,
/// and absolute, so that the directory beside it does not matter.
fn by_descriptor(open: Option<&Arc<OwnedFd>>) -> Result<(Arc<OwnedFd>, PathBuf), SubjectError> {
    let open = open.ok_or_else(|| SubjectError::Failed("not prepared".into()))?;
    Ok((open.clone(), PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()))))
}

/// Writes a file's dirty pages and drops its pages from the cache.
pub(crate) fn drop_cached(file: &OwnedFd) -> Result<(), SubjectError> {
    rustix::fs::fsync(file).map_err(failed("write back a scratch file"))?;
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)
        .map_err(failed("drop a scratch file from the page cache"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A subject on nothing but a device.
    struct OnDevice([CountedDevice; 1]);

    impl Backend for OnDevice {
        fn prepare(&mut self, _: &Control) -> Result<PreparedTarget, SubjectError> {
            Ok(PreparedTarget::default())
        }
        fn file(&self, _: usize, _: &str) -> Result<(Arc<OwnedFd>, PathBuf), SubjectError> {
            Err(SubjectError::Failed("no files".into()))
        }
        fn make_cold(&mut self, _: &[(usize, String)]) -> Result<(), SubjectError> {
            Ok(())
        }
        fn devices(&self) -> &[CountedDevice] {
            &self.0
        }
        fn clean_up(&mut self) -> Result<(), SubjectError> {
            Ok(())
        }
    }

    #[test]
    fn a_device_that_vanishes_is_called_by_its_name() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/dev/block/8:0");
        std::fs::create_dir_all(folder.join("queue")).unwrap();
        std::fs::write(folder.join("uevent"), "DEVNAME=sda\n").unwrap();
        std::fs::write(folder.join("stat"), "1 0 8 0 0 0 0 0 0 0 0\n").unwrap();
        let number = DeviceNumber::new(8, 0);
        let device = CountedDevice { number, role: DeviceRole::Tested };
        let (clock, control) = (HostClock::new(), Arc::new(Control::default()));
        let mut host = Host::over(OnDevice([device]), clock, control);
        host.tree = Tree::new(root.path());
        assert_eq!(host.prepare().unwrap().devices, ["sda"]);
        host.count(device).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let said = host.count(device).unwrap_err().to_string();
        assert!(said.starts_with("sda vanished during the measurement"), "{said}");
    }
}

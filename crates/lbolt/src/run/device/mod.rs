//! A modelled drive as a block device of this machine ([`ModelDevice`]).
//!
//! It takes two processes, so that nothing hangs and nothing stays, whichever is killed. The *part*
//! ([`part`]) serves the requests; this one holds the device. If this one ends, the kernel
//! writes what its page cache still has of the device, and the part is there to take it; if the
//! part ends, its connection to the kernel does, and whoever waits for the device gets an error.
//!
//! Non-goals: the device itself (`host::served`), its times (`sim::replay::Live`).

mod message;
pub(crate) mod part;
mod timing;

use crate::resolve::device::DevicePlan;
use capture::leftover::{Kept, Note};
use capture::wire::{read_frame, write_frame};
use host::served::{Lateness, Way};
use message::{Order, Told};
use messages::fault::{Fault, failure, unable};
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// The name of the part that serves, as a command.
pub(crate) const PART: &str = "device-part";
const START: &str = "start the device process";
/// How long the kernel may take to let go of the device when its last user has.
const PATIENCE: Duration = Duration::from_secs(3);

/// A device that is there while this lives.
pub(crate) struct ModelDevice {
    child: Child,
    input: BufReader<UnixStream>,
    orders: BufWriter<UnixStream>,
    path: PathBuf,
    way: Way,
    /// Open for as long as the device is to stay.
    held: Option<File>,
    /// What a killed run would leave.
    kept: Kept,
}

impl ModelDevice {
    /// Makes a device.
    /// Errors: what this machine has not (root, FUSE, loop devices); a model that is quicker than
    /// this machine can serve it.
    pub(crate) fn begin(plan: &DevicePlan) -> anyhow::Result<Self> {
        let (child, ours) = capture::part::start(PART, "serves the device")?;
        let (input, orders) = capture::part::line(ours)?;
        let mut device = Self {
            child,
            input,
            orders,
            path: PathBuf::new(),
            way: Way::default(),
            held: None,
            kept: Kept::nothing(),
        };
        write_frame(&mut device.orders, plan, &[]).map_err(unable(START))?;
        let Told::Made { path } = device.told()? else { return Err(not_understood()) };
        let held = File::open(&path).map_err(|error| {
            failure(Fault::Io, format!("failed to open {}: {error}", path.display()))
        })?;
        if let Ok(kept) = Kept::note(Note::of_device(&path)) {
            device.kept = kept;
        }
        (device.path, device.held) = (path, Some(held));
        device.order(Order::Serve)?;
        let Told::Serving { way } = device.told()? else { return Err(not_understood()) };
        device.way = way;
        Ok(device)
    }

    /// Its node.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The way through the kernel, which is taken off of each request.
    pub(crate) fn way(&self) -> &Way {
        &self.way
    }

    /// Completes requests as they come, so that files can be laid out; or as the model does again.
    /// Errors: the part has ended.
    pub(crate) fn hurry(&mut self, is_hurried: bool) -> anyhow::Result<()> {
        self.order(Order::Hurry(is_hurried))
    }

    /// The model as new, at rest, from when this returns.
    /// Errors: the part has ended.
    pub(crate) fn renew(&mut self) -> anyhow::Result<()> {
        self.hurry(false)?;
        // Orders are done in turn: when it answers, the new model serves.
        self.lateness().map(drop)
    }

    /// How late requests were since the last time.
    /// Errors: the part has ended.
    pub(crate) fn lateness(&mut self) -> anyhow::Result<Lateness> {
        self.order(Order::Report)?;
        match self.told()? {
            Told::Lateness { lateness } => Ok(lateness),
            _ => Err(not_understood()),
        }
    }

    /// Whether the part that serves it has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Lets go of the device; says whether somebody else still uses it after a while.
    pub(crate) fn let_go(&mut self) -> bool {
        self.held = None;
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if !self.is_attached() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }

    /// Whether the kernel still has the device, for whoever uses it.
    pub(crate) fn is_attached(&self) -> bool {
        host::served::is_used(&self.path)
    }

    fn order(&mut self, order: Order) -> anyhow::Result<()> {
        write_frame(&mut self.orders, &order, &[]).map_err(|_| self.ended())
    }

    fn told(&mut self) -> anyhow::Result<Told> {
        match read_frame(&mut self.input) {
            Ok(Some((Told::Failed(failure), _))) => Err(failure.into()),
            Ok(Some((told, _))) => Ok(told),
            Err(error) if error.kind() == ErrorKind::InvalidData => Err(not_understood()),
            _ => Err(self.ended()),
        }
    }

    fn ended(&mut self) -> anyhow::Error {
        let how = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
        failure(Fault::Io, format!("the device process ended early ({how})"))
    }
}

impl Drop for ModelDevice {
    fn drop(&mut self) {
        self.held = None;
        let began = Instant::now();
        // While the kernel writes what it still has, somebody must take it.
        while self.is_attached() && began.elapsed() < PATIENCE && !self.is_over() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        // What its users still have stays, and `doctor --clean` removes it.
        if !self.path.as_os_str().is_empty() {
            let _ = host::served::remove(&self.path);
        }
        self.kept = Kept::nothing();
    }
}

fn not_understood() -> anyhow::Error {
    failure(Fault::Io, "failed to read a message of the device process")
}

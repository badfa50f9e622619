//! Commands to the driver: make, start, stop and remove a device.

use super::abi::{
    ADD_DEV, ANY_DEVICE, ControlCommand, DEL_DEV, DeviceInfo, GET_DEV_INFO, Parameters, SET_PARAMS,
    START_DEV, STOP_DEV,
};
use crate::served::data::errno_of;
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::os::fd::{AsRawFd as _, OwnedFd};

const PATH: &str = "/dev/ublk-control";

/// Says things to the driver.
pub(super) struct Control {
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
    driver: OwnedFd,
}

impl Control {
    /// None where the driver is not loaded, or io_uring is not allowed.
    pub(super) fn open() -> Option<Self> {
        let driver = open(PATH, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let ring = IoUring::builder().build(4).ok()?;
        Some(Self { ring, driver })
    }

    /// Makes a device: its number, and what the driver makes of what is wanted.
    pub(super) fn add(&mut self, mut wanted: DeviceInfo) -> Result<DeviceInfo, Errno> {
        wanted.device = ANY_DEVICE;
        let of = ControlCommand::of(ANY_DEVICE);
        // SAFETY: the driver reads and writes one `struct ublksrv_ctrl_dev_info`, which DeviceInfo
        // is, and has done so when the command is completed.
        unsafe { self.command(ADD_DEV, with(of, &raw mut wanted))? };
        Ok(wanted)
    }

    /// Says what the device is.
    pub(super) fn set(&mut self, device: u32, mut parameters: Parameters) -> Result<(), Errno> {
        let of = ControlCommand::of(device);
        // SAFETY: the driver reads as many bytes as Parameters says it has.
        unsafe { self.command(SET_PARAMS, with(of, &raw mut parameters)) }
    }

    /// Starts it: its block device is there then. Its server must have asked for requests before.
    pub(super) fn start(&mut self, device: u32) -> Result<(), Errno> {
        let data = u64::from(std::process::id());
        // SAFETY: the command has no address.
        unsafe { self.command(START_DEV, ControlCommand { data, ..ControlCommand::of(device) }) }
    }

    /// What became of it.
    pub(super) fn info(&mut self, device: u32) -> Result<DeviceInfo, Errno> {
        let mut info = DeviceInfo::default();
        // SAFETY: as in `add`.
        unsafe {
            self.command(GET_DEV_INFO, with(ControlCommand::of(device), &raw mut info))?;
        }
        Ok(info)
    }

    /// Takes its block device away, when all requests are completed.
    pub(super) fn stop(&mut self, device: u32) -> Result<(), Errno> {
        // SAFETY: the command has no address.
        unsafe { self.command(STOP_DEV, ControlCommand::of(device)) }
    }

    /// Removes it. Waits until its character device is closed.
    pub(super) fn remove(&mut self, device: u32) -> Result<(), Errno> {
        // SAFETY: the command has no address.
        unsafe { self.command(DEL_DEV, ControlCommand::of(device)) }
    }

    /// Gives a command, and waits until it is completed.
    ///
    /// # Safety
    /// The command's address is 0, or that of so many bytes as the driver reads and writes.
    unsafe fn command(&mut self, number: u32, command: ControlCommand) -> Result<(), Errno> {
        let driver = types::Fd(self.driver.as_raw_fd());
        let entry = opcode::UringCmd80::new(driver, number).cmd(command.bytes()).build();
        // SAFETY: what the command points to is the caller's promise, and lives until this returns.
        unsafe { self.ring.submission().push(&entry) }.map_err(|_| Errno::BUSY)?;
        loop {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                    return Err(errno_of(&error));
                }
                _ => {}
            }
            if let Some(done) = self.ring.completion().next() {
                return match done.result() {
                    0.. => Ok(()),
                    result => Err(Errno::from_raw_os_error(-result)),
                };
            }
        }
    }
}

/// The command with something of the server's.
fn with<T>(command: ControlCommand, of: *mut T) -> ControlCommand {
    let length = u16::try_from(size_of::<T>()).unwrap_or(u16::MAX);
    ControlCommand { address: of as u64, length, ..command }
}

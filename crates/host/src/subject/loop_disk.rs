//! A block device of our own: a loop device with direct I/O over a nameless image. It ends with
//! this, or with the process, however that ends.
//!
//! Non-goals: file systems on it ([`super::Fresh`]).

use super::image;
use super::loop_device::LoopDevice;
use crate::drive::Control;
use model::seam::SubjectError;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

/// A loop device over an image that nobody else has.
#[derive(Debug)]
pub struct LoopDisk {
    device: LoopDevice,
}

impl LoopDisk {
    /// Makes one of `size` bytes (a multiple of 1 MiB), its image in a directory, all of it
    /// written.
    /// Errors: no space, no right to it, no loop device, a file system that grants no direct I/O,
    /// interruption.
    pub fn make(directory: &Path, size: u64, control: &Control) -> Result<Self, SubjectError> {
        let image = image::make(directory, size, control)?;
        // The loop device holds the image from here on.
        Ok(Self { device: LoopDevice::attach(image.as_fd())? })
    }

    /// Its node.
    pub fn path(&self) -> &PathBuf {
        &self.device.path
    }
}

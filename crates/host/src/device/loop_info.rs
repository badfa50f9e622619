//! The kernel's status of a loop device. Source: include/uapi/linux/loop.h.

use rustix::ioctl::{Getter, Opcode, ioctl};
use std::os::fd::AsFd;

const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// What a loop device over a modelled device's file calls it.
const SERVED: &[u8] = b"lbolt model\0";

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LoopInfo {
    /// The file system that holds the backing file: its `st_dev`.
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// The device that the backing file is the node of: its `st_rdev`; 0 for a regular file.
    pub(crate) rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    pub(crate) flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

impl LoopInfo {
    /// What is requested of a new device: flags, and nothing else.
    pub(crate) fn with_flags(flags: u32) -> Self {
        // SAFETY: all fields are integers or arrays of them, for which zero is a value.
        let zeroed: Self = unsafe { std::mem::zeroed() };
        Self { flags, ..zeroed }
    }

    /// The same of a device over the one file of a modelled device, whose name says so.
    pub(crate) fn served(self) -> Self {
        let mut file_name = self.file_name;
        file_name.iter_mut().zip(SERVED).for_each(|(to, of)| *to = *of);
        Self { file_name, ..self }
    }

    /// Whether root gave it the name of a modelled device.
    pub(crate) fn is_served(&self) -> bool {
        self.file_name.starts_with(SERVED)
    }

    /// Asks an open loop device; `ENXIO` where it is not set up.
    pub(crate) fn of(device: impl AsFd) -> rustix::io::Result<Self> {
        // SAFETY: LOOP_GET_STATUS64 fills one `struct loop_info64`, whose layout this type has; and
        // only a loop device knows a request of that number ('L', 5) as anything.
        unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, Self>::new()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_kernels_size() {
        assert_eq!(size_of::<LoopInfo>(), 232);
    }
}

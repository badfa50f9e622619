//! What the driver `ublk` and its server say to each other.
//!
//! Source: include/uapi/linux/ublk_cmd.h of Linux 6.5 and later: commands are ioctl-encoded
//! (UBLK_F_CMD_IOCTL_ENCODE), and data are copied by reads and writes of the character device
//! (UBLK_F_USER_COPY).

/// UBLK_F_CMD_IOCTL_ENCODE and UBLK_F_USER_COPY.
pub(super) const FLAGS: u64 = 1 << 6 | 1 << 7;
/// In `DeviceInfo::server_flags`, which the driver does not read: the device is lbolt's.
pub(super) const OURS: u64 = u64::from_be_bytes(*b"lbolt\0\0\0");
/// Any number; no queue.
pub(super) const ANY_DEVICE: u32 = u32::MAX;
const NO_QUEUE: u16 = u16::MAX;
/// UBLK_S_DEV_LIVE.
pub(super) const LIVE: u16 = 1;

/// A command's number, as `_IOR` and `_IOWR` of the letter 'u' encode it.
const fn encoded(direction: u32, number: u32, size: u32) -> u32 {
    direction << 30 | size << 16 | (b'u' as u32) << 8 | number
}

const fn control(direction: u32, number: u32) -> u32 {
    encoded(direction, number, 32)
}

pub(super) const GET_DEV_INFO: u32 = control(2, 0x02);
pub(super) const ADD_DEV: u32 = control(3, 0x04);
pub(super) const DEL_DEV: u32 = control(3, 0x05);
pub(super) const START_DEV: u32 = control(3, 0x06);
pub(super) const STOP_DEV: u32 = control(3, 0x07);
pub(super) const SET_PARAMS: u32 = control(3, 0x08);
pub(super) const FETCH: u32 = encoded(3, 0x20, 16);
pub(super) const COMMIT_AND_FETCH: u32 = encoded(3, 0x21, 16);

pub(super) const OP_READ: u32 = 0;
pub(super) const OP_WRITE: u32 = 1;
pub(super) const OP_FLUSH: u32 = 2;

pub(super) const ATTR_ROTATIONAL: u32 = 1 << 1;
pub(super) const ATTR_VOLATILE_CACHE: u32 = 1 << 2;
const PARAM_BASIC: u32 = 1;

/// Where the data of a request lie in the character device's file, bytes.
pub(super) fn data_at(tag: u16) -> u64 {
    0x8000_0000 + (u64::from(tag) << 25)
}

/// `struct ublksrv_ctrl_cmd`, 32 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ControlCommand {
    pub(super) device: u32,
    /// A structure of the server's, and its size.
    pub(super) address: u64,
    pub(super) length: u16,
    pub(super) data: u64,
}

impl ControlCommand {
    pub(super) fn of(device: u32) -> Self {
        Self { device, address: 0, length: 0, data: 0 }
    }

    /// In the place that a large submission has for it.
    pub(super) fn bytes(self) -> [u8; 80] {
        let mut bytes = [0; 80];
        bytes[0..4].copy_from_slice(&self.device.to_ne_bytes());
        bytes[4..6].copy_from_slice(&NO_QUEUE.to_ne_bytes());
        bytes[6..8].copy_from_slice(&self.length.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.address.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.data.to_ne_bytes());
        bytes
    }
}

/// `struct ublksrv_ctrl_dev_info`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DeviceInfo {
    pub(super) queues: u16,
    pub(super) depth: u16,
    pub(super) state: u16,
    pub(super) pad0: u16,
    pub(super) request_bytes_most: u32,
    pub(super) device: u32,
    pub(super) server_pid: i32,
    pub(super) pad1: u32,
    pub(super) flags: u64,
    pub(super) server_flags: u64,
    pub(super) owner: [u32; 2],
    pub(super) reserved: [u64; 2],
}

/// The beginning of `struct ublk_params`, with its `ublk_param_basic`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameters {
    length: u32,
    types: u32,
    attributes: u32,
    logical_block_shift: u8,
    physical_block_shift: u8,
    io_opt_shift: u8,
    io_min_shift: u8,
    sectors_most: u32,
    chunk_sectors: u32,
    device_sectors: u64,
    virt_boundary_mask: u64,
}

impl Parameters {
    /// Of a device of so many sectors of 512 bytes, with that logical block.
    pub(super) fn new(attributes: u32, block_bytes: u32, device_sectors: u64, most: u32) -> Self {
        let shift = block_bytes.trailing_zeros() as u8;
        Self {
            length: size_of::<Self>() as u32,
            types: PARAM_BASIC,
            attributes,
            logical_block_shift: shift,
            physical_block_shift: shift,
            io_opt_shift: shift,
            io_min_shift: shift,
            sectors_most: most,
            chunk_sectors: 0,
            device_sectors,
            virt_boundary_mask: 0,
        }
    }
}

/// `struct ublksrv_io_cmd`, 16 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueCommand {
    pub(super) tag: u16,
    /// Bytes done, or the negative number of an error.
    pub(super) result: i32,
}

impl QueueCommand {
    pub(super) fn of(tag: u16, result: i32) -> Self {
        Self { tag, result }
    }

    pub(super) fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[2..4].copy_from_slice(&self.tag.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.result.to_ne_bytes());
        bytes
    }
}

/// `struct ublksrv_io_desc`: a request.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Description {
    op_flags: u32,
    sectors: u32,
    start_sector: u64,
    address: u64,
}

impl Description {
    /// UBLK_IO_OP_*.
    pub(super) fn op(&self) -> u32 {
        self.op_flags & 0xff
    }

    /// Where it begins, and its length, bytes.
    pub(super) fn place(&self) -> (u64, u32) {
        (self.start_sector.saturating_mul(512), self.sectors.saturating_mul(512))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_and_commands_are_the_kernels() {
        assert_eq!(size_of::<DeviceInfo>(), 64);
        assert_eq!(size_of::<Parameters>(), 40);
        assert_eq!(size_of::<Description>(), 24);
        // As a C compiler has them of the kernel's header.
        assert_eq!([ADD_DEV, GET_DEV_INFO], [0xc020_7504, 0x8020_7502]);
        assert_eq!([FETCH, COMMIT_AND_FETCH], [0xc010_7520, 0xc010_7521]);
        assert_eq!(data_at(3), 0x8000_0000 + 3 * (32 << 20));
    }

    #[test]
    fn commands_lie_where_the_driver_reads_them() {
        let command =
            ControlCommand { address: 0x1122, length: 64, data: 9, ..ControlCommand::of(7) };
        let bytes = command.bytes();
        assert_eq!(bytes[..8], [7, 0, 0, 0, 0xff, 0xff, 64, 0]);
        assert_eq!((bytes[8], bytes[9], bytes[16]), (0x22, 0x11, 9));
        let bytes = QueueCommand::of(5, -95).bytes();
        assert_eq!(bytes[..8], [0, 0, 5, 0, 0xa1, 0xff, 0xff, 0xff]);
    }
}

//! A device's number as every record has it: the kernel's own dev_t, which has 12 bits of major and
//! 20 of minor (include/linux/kdev_t.h), and not the one that programs are told (makedev(3)).

const MINOR_BITS: u32 = 20;

/// The number of a device; none if either part is larger than the kernel has any.
#[inline]
pub const fn device_number(major: u32, minor: u32) -> Option<u32> {
    if major >> (u32::BITS - MINOR_BITS) != 0 || minor >> MINOR_BITS != 0 {
        return None;
    }
    Some(major << MINOR_BITS | minor)
}

/// The two parts of a number, major and minor.
#[inline]
pub const fn major_minor(device: u32) -> (u32, u32) {
    (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_two_parts_and_no_more_fits() {
        for device in [0, 1, 7 << 20 | 3, u32::MAX] {
            let (major, minor) = major_minor(device);
            assert_eq!(device_number(major, minor), Some(device));
        }
        assert_eq!(major_minor(259 << 20 | 300), (259, 300));
        assert_eq!((device_number(1 << 12, 0), device_number(0, 1 << 20)), (None, None));
    }
}

//! The generation of a file's inode: what tells it from the files that have had the same inode.
//!
//! By the file's handle, which needs nothing to be opened: of the types that hold an inode and
//! its generation, it is read; of all others it is not known.
//!
//! Source: name_to_handle_at(2); include/linux/exportfs.h (`enum fid_type`), fs/libfs.c
//! (`generic_encode_ino32_fh`), fs/xfs/xfs_export.c of Linux 6.18.
//!
//! Non-goals: opening files by their handles.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// FILEID_INO32_GEN: an inode's number of 32 bits, its generation (ext4, f2fs).
const INO32_GEN: i32 = 1;
/// XFS_FILEID_TYPE_64FLAG with it: an inode's number of 64 bits, its generation.
const INO64_GEN: i32 = 0x81;

/// Bytes of a handle at the most, as name_to_handle_at(2) has them.
const MOST: usize = 128;

/// `struct file_handle`, with room for any.
#[repr(C)]
struct Handle {
    bytes: libc::c_uint,
    kind: libc::c_int,
    handle: [u8; MOST],
}

/// The generation of what a path leads to, through links; none where it is not known.
pub(crate) fn generation(path: &Path) -> Option<u32> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut handle = Handle { bytes: MOST as libc::c_uint, kind: 0, handle: [0; MOST] };
    let mut mount: libc::c_int = 0;
    // SAFETY: the path ends with a zero and lives until the call is over; `handle` is laid out as
    // the kernel's struct file_handle and has as much room behind its head as its first field says;
    // `mount` is a number that is written.
    let result = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw mut handle,
            &raw mut mount,
            libc::AT_SYMLINK_FOLLOW,
        )
    };
    let word = |at: usize| Some(u32::from_ne_bytes(*handle.handle.get(at..)?.first_chunk()?));
    match handle.kind {
        _ if result != 0 => None,
        INO32_GEN => word(4),
        INO64_GEN => word(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_generation_and_what_is_not_there_has_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        assert_eq!(generation(&path), None);
        std::fs::write(&path, "").unwrap();
        let first = generation(&path);
        std::fs::rename(&path, directory.path().join("b")).unwrap();
        assert_eq!(generation(&directory.path().join("b")), first);
        assert_eq!(generation(Path::new("/proc/self/stat")), None);
        assert_eq!(generation(Path::new("a\0b")), None);
    }
}

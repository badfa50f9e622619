//! A disk image without a name: O_TMPFILE, or created and unlinked at once, so that it
//! ends with its last user. It is written in full, past the cache, with bytes that no
//! layer can compress: reading a hole would measure nothing.

use super::directory::{free_bytes, open_directory};
use super::failed;
use crate::drive::Control;
use crate::engine::Buffers;
use crate::scratch::nameless;
use model::seam::SubjectError;
use model::units::show_size;
use rustix::fs::{FallocateFlags, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::Ordering;

const BLOCK_BYTES: u32 = 1 << 20;
/// Left free in the file system beneath.
const RESERVE_BYTES: u64 = 256 << 20;

/// Makes an image of `size` bytes (a multiple of 1 MiB) in a directory.
/// Errors: no space, no right to write there, a file system without direct I/O, an I/O error,
/// interruption.
pub(crate) fn make(
    directory: &Path,
    size: u64,
    control: &Control,
) -> Result<OwnedFd, SubjectError> {
    let open = open_directory(directory).map_err(|errno| {
        SubjectError::Unavailable(format!(
            "at={}: {errno}; name an existing directory",
            directory.display()
        ))
    })?;
    let free = free_bytes(&open).map_err(failed("read the free space"))?;
    if size + RESERVE_BYTES > free {
        return Err(SubjectError::Unavailable(format!(
            "an image of {} does not fit into {} ({} free); give a smaller size= or another at=",
            show_size(size),
            directory.display(),
            show_size(free >> 20 << 20)
        )));
    }
    let image = nameless(&open, OFlags::DIRECT).map_err(|errno| {
        SubjectError::Unavailable(format!(
            "{} cannot hold an image ({errno}); use at= to choose a writable directory on a file \
             system with direct I/O",
            directory.display()
        ))
    })?;
    fill(&image, size, control)?;
    Ok(image)
}

/// How fast a directory's disk takes large direct writes: a nameless file of `size` bytes.
/// Errors: as for an image.
pub fn probe_write_bytes_per_s(
    directory: &Path,
    size: u64,
    control: &Control,
) -> Result<f64, SubjectError> {
    let start = std::time::Instant::now();
    make(directory, size, control)?;
    Ok(size as f64 / start.elapsed().as_secs_f64().max(1e-9))
}

fn fill(image: &OwnedFd, size: u64, control: &Control) -> Result<(), SubjectError> {
    // Allocating first keeps the extents long; some file systems cannot, and need not.
    let _ = rustix::fs::fallocate(image, FallocateFlags::empty(), 0, size);
    let mut buffers = Buffers::new(1, BLOCK_BYTES)
        .map_err(|e| SubjectError::Failed(format!("failed to get a buffer: {e}")))?;
    let buffer = buffers.get(0, BLOCK_BYTES);
    let mut offset = 0;
    while offset < size {
        if control.is_stopped() {
            return Err(SubjectError::Interrupted);
        }
        // No two blocks alike: a layer that shares equal blocks finds none.
        buffer[..8].copy_from_slice(&offset.to_le_bytes());
        let written =
            rustix::io::pwrite(image, buffer, offset).map_err(failed("write the image"))?;
        if written != buffer.len() {
            return Err(SubjectError::Failed("failed to write the image: no space left".into()));
        }
        offset += u64::from(BLOCK_BYTES);
        control.bytes.fetch_add(u64::from(BLOCK_BYTES), Ordering::Relaxed);
    }
    rustix::fs::fdatasync(image).map_err(failed("write the image"))
}

//! Files that are whole or not there: written beside their names, and renamed.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a file under another name and gives it its own when it is whole; else nothing is left of
/// it. It is its owner's alone, and no link is followed.
/// Errors: what `write` says, or a refusal of the file system.
pub fn write_whole<E: From<std::io::Error>>(
    path: &Path,
    write: impl FnOnce(&File) -> Result<(), E>,
) -> Result<(), E> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    // A run has one writer: what is there was left by an earlier failure.
    let _ = std::fs::remove_file(&partial);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
    let written = write(&file).and_then(|()| Ok(std::fs::rename(&partial, path)?));
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    written
}

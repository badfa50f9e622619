//! Files that are whole or not there: written beside their names, and renamed.

use crate::held::Held;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a file under another name and gives it its own when it is whole; else nothing is left of
/// it. It is its owner's alone, and no link of its name is followed. Where others may have put one
/// on the way, the path is of a directory that is held ([`crate::held`]).
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

/// Writes a new file, which is its owner's alone. Nothing that is there is replaced, and of a file
/// that cannot be written whole nothing is left.
/// Errors: something has that name; another user's link leads there; a refusal of the file system.
pub fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(Errno::EXIST.into());
    }
    let (held, name) = Held::of_output(path)?;
    let path = &held.at(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // It is ours, and not whole.
        let _ = std::fs::remove_file(path);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_new_file_replaces_nothing_and_follows_no_link() {
        let root = tempfile::tempdir().unwrap();
        let (path, link) = (root.path().join("new"), root.path().join("link"));
        write_new(&path, "a").unwrap();
        // Whatever the umask is: tests of a process have one.
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7177, 0);
        std::os::unix::fs::symlink(root.path().join("precious"), &link).unwrap();
        for taken in [&path, &link] {
            let error = write_new(taken, "b").unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a");
        assert!(!root.path().join("precious").exists());
        assert!(write_new(Path::new("/dev/full/x"), "").is_err());
        let directory = root.path().join("directory");
        std::os::unix::fs::symlink(root.path(), &directory).unwrap();
        write_new(&directory.join("second"), "a").unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(&directory, Some(1234), None).unwrap();
            let error = write_new(&directory.join("third"), "a").unwrap_err().to_string();
            assert!(error.starts_with("a link of another user leads there"), "{error}");
            assert!(!root.path().join("third").exists());
        }
    }
}

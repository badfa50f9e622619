//! What is swap: `/proc/swaps`.

use super::mounts::unescape;
use super::{DeviceError, DeviceNumber, Tree, malformed};
use std::path::PathBuf;

/// Where swapped pages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwapKind {
    /// A block device of its own, partition or not.
    Device,
    /// A file of a file system.
    File,
}

/// One swap area in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// The device node or the file.
    pub path: PathBuf,
    /// Which of the two.
    pub kind: SwapKind,
}

impl Tree {
    /// Every swap area in use. A kernel without swap has none.
    /// Errors: the list cannot be read or understood.
    pub fn swaps(&self) -> Result<Vec<Swap>, DeviceError> {
        let path = self.path("proc/swaps");
        match std::fs::read(&path) {
            Ok(bytes) => parse(&bytes).map_err(|problem| malformed(&path, problem)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(super::io("read", &path)(e)),
        }
    }

    /// The block device of a swap area that is one. Its node may be gone or
    /// named otherwise here, but the kernel's name for the device still holds.
    pub fn swap_device(&self, swap: &Swap) -> Option<DeviceNumber> {
        match swap.kind {
            SwapKind::Device => self.device_at(&swap.path),
            SwapKind::File => None,
        }
    }
}

/// Reads the table: a heading, then path, type and what does not matter here.
fn parse(bytes: &[u8]) -> Result<Vec<Swap>, String> {
    bytes.split(|&b| b == b'\n').skip(1).filter(|line| !line.is_empty()).map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Result<Swap, String> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let kind = |word: &[u8]| if word == b"file" { SwapKind::File } else { SwapKind::Device };
    match (words.next(), words.next()) {
        (Some(path), Some(word)) => {
            Ok(Swap { path: PathBuf::from(unescape(path)), kind: kind(word) })
        }
        _ => Err(format!("\"{}\" is no swap area", String::from_utf8_lossy(line))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn devices_and_files_are_told_apart() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /dev/sda2                               partition\t8388604\t\t0\t\t-2\n\
            /swap\\040file                           file\t\t8388604\t\t0\t\t-3\n";
        let swaps = parse(text).unwrap();
        assert_eq!(swaps[0], Swap { path: "/dev/sda2".into(), kind: SwapKind::Device });
        assert_eq!(swaps[1], Swap { path: "/swap file".into(), kind: SwapKind::File });
        assert!(parse(b"Filename\n/dev/sda2\n").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }
    }
}

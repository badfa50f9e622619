//! Files of text that a user names or a run has: what is larger than any such file is refused, and
//! not read to its end, which some files do not have.

use std::io::{Error, Read};
use std::path::Path;

/// No list of paths, no list of programs and no profile is nearly as large.
const BYTES_MAX: u64 = 16 << 20;
/// Nor is what a program says of its run.
pub const RUN_BYTES_MAX: u64 = 256 << 20;

/// The text of a small file.
/// Errors: a file that cannot be read, is too large, or is no text.
pub fn read(path: &Path) -> std::io::Result<String> {
    read_most(std::fs::File::open(path)?, BYTES_MAX)
}

/// The text of an open file, of at most so many bytes.
/// Errors: a file that cannot be read, is too large, or is no text.
pub fn read_most(file: impl Read, most: u64) -> std::io::Result<String> {
    let mut text = Vec::new();
    file.take(most + 1).read_to_end(&mut text)?;
    if text.len() as u64 > most {
        let most = most >> 20;
        let sentence = format!("it is larger than {most} MiB, too large for this kind of file");
        return Err(Error::other(sentence));
    }
    String::from_utf8(text).map_err(|_| Error::other("it is no text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_refused() {
        for endless in ["/dev/zero", "/dev/urandom"] {
            let error = read(Path::new(endless)).unwrap_err().to_string();
            assert_eq!(error, "it is larger than 16 MiB, too large for this kind of file");
        }
        assert_eq!(read_most(&b"abc"[..], 3).unwrap(), "abc");
        assert!(read_most(&b"abcd"[..], 3).is_err() && read_most(&b"\xff"[..], 3).is_err());
    }
}

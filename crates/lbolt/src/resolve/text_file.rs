//! A small file of text that the user names: what is larger than any such file is refused, and not
//! read to its end.

use std::io::Read;
use std::path::Path;

/// No list of programs and no profile is nearly as large.
const BYTES_MAX: u64 = 16 << 20;

/// The text of a file.
/// Errors: a file that cannot be read, is too large, or is no text.
pub(crate) fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        let sentence = format!(
            "it is larger than {} MiB, too large for this kind of \
                                file",
            BYTES_MAX >> 20
        );
        return Err(std::io::Error::other(sentence));
    }
    Ok(text)
}

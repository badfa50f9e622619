//! Files of the kernel's own (/proc, /sys): nobody tells how long they are, and to ask for a little
//! at a time costs more than to make room at once.
//!
//! Non-goals: what is in them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Most are shorter.
const ROOM_BYTES: usize = 8 << 10;

/// All of it; what is no text is replaced.
/// Errors: a file that cannot be read.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(ROOM_BYTES);
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

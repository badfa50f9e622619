//! The file that `explore --open` gives to the browser: it redirects to the page's address. Every
//! user can read the arguments of all processes (`ps`), so the address with its token must not be
//! an argument; only the file's owner can read the file.
//!
//! Non-goals: which browser opens it, and whether that may read it (`command::report`).

use capture::leftover::Kept;
use host::scratch::Scratch;
use model::run::SCRATCH_PREFIX;
use std::path::{Path, PathBuf};

/// Scratch removes only files with known names, and `file.` begins one.
const NAME: &str = "file.html";

/// A file that redirects to an address; dropping this removes it.
#[derive(Debug)]
pub(crate) struct Redirect {
    file: PathBuf,
    scratch: Option<Scratch>,
    /// Dropped after the scratch is removed.
    _kept: Kept,
}

impl Redirect {
    /// Makes the file in a scratch directory in TMPDIR. After a kill, `doctor --clean` removes it.
    /// Errors: a refusal of the file system.
    pub(crate) fn make(url: &str) -> std::io::Result<Self> {
        let name = format!("{SCRATCH_PREFIX}explore-{}", std::process::id());
        let path = std::path::absolute(std::env::temp_dir())?.join(name);
        // Without a place for notes, `doctor DIR` finds the scratch by its name.
        let kept = Kept::brief(&path, std::slice::from_ref(&path));
        let kept = kept.unwrap_or_else(|_| Kept::nothing());
        let mut made = Self { file: PathBuf::new(), scratch: None, _kept: kept };
        let scratch = made.scratch.insert(Scratch::make(&path)?);
        made.file = scratch.write(NAME, page(url).as_bytes())?;
        Ok(made)
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.file
    }
}

impl Drop for Redirect {
    fn drop(&mut self) {
        // What stays keeps its note.
        let _ = self.scratch.take().map(Scratch::remove);
    }
}

fn page(url: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\
         <title>lbolt explore</title><a href=\"{url}\">The trace</a></html>\n"
    )
}

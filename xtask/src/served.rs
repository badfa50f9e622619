//! A trace that `lbolt explore` shows, for as long as this lives.
//!
//! Non-goals: what is asked of it.

use anyhow::Context as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server; it ends with this.
pub(crate) struct Served {
    child: Child,
    /// Its host with the port.
    pub(crate) host: String,
    /// What its addresses begin with.
    pub(crate) path: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        // Of no effect where it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// Of a trace as it is called from a directory; waits until it says where it is.
    pub(crate) fn new(lbolt: &Path, directory: &Path, trace: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(lbolt);
        command.args(["explore", trace]).current_dir(directory);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("no output")?;
        let mut served = Self { child, host: String::new(), path: String::new() };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").context("lbolt gave no address")?;
        let (host, path) = address.split_once('/').context("an address has a path")?;
        (served.host, served.path) = (host.to_owned(), format!("/{path}"));
        Ok(served)
    }

    /// Where a browser finds it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }
}

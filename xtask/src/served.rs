//! A trace that `lbolt explore` shows, for as long as this lives.
//!
//! Non-goals: what is asked of it.

use crate::command::Child;
use anyhow::Context as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// A server; it ends with this.
pub(crate) struct Served {
    _child: Child,
    /// Its host with the port.
    pub(crate) host: String,
    /// What its addresses begin with.
    pub(crate) path: String,
}

impl Served {
    /// Of a trace as it is called from a directory; waits until it says where it is.
    pub(crate) fn new(lbolt: &Path, directory: &Path, trace: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(lbolt);
        command.args(["explore", trace]).current_dir(directory).stdout(Stdio::piped());
        let mut child = Child::start("lbolt explore", &mut command, Path::new("/dev/null"))?;
        let output = child.stdout().context("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").context("lbolt gave no address")?;
        let (host, path) = address.split_once('/').context("an address has a path")?;
        Ok(Self { _child: child, host: host.to_owned(), path: format!("/{path}") })
    }

    /// Where a browser finds it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }
}

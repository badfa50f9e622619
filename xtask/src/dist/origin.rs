//! Of what the packages are made: when and by whom. Both are of the last commit, so that the same
//! commit makes the same bytes; who packages may say otherwise, in the usual variables.

use crate::command::output;
use anyhow::Context as _;
use std::env::var;
use std::path::Path;
use std::process::Command;

/// When and by whom.
pub(super) struct Origin {
    /// Seconds since 1970: the time of every file in a package.
    pub(super) epoch: u64,
    /// The same as text of RFC 5322.
    pub(super) date: String,
    /// Name and address.
    pub(super) maintainer: String,
}

/// By the environment (SOURCE_DATE_EPOCH, DEBFULLNAME with DEBEMAIL), else by the last commit.
/// Errors: neither is there.
pub(super) fn origin(root: &Path) -> anyhow::Result<Origin> {
    let commit = |format: &str| {
        let mut git = Command::new("git");
        git.arg("-C").arg(root).args(["log", "-1", &format!("--format={format}")]);
        output(&mut git).map(|text| text.trim().to_owned())
    };
    let epoch = var("SOURCE_DATE_EPOCH").or_else(|_| commit("%ct"));
    let epoch = epoch.context("there is no last commit to be dated by; set SOURCE_DATE_EPOCH")?;
    let epoch = epoch.trim().parse().context("SOURCE_DATE_EPOCH is no number of seconds")?;
    let maintainer = match (var("DEBFULLNAME"), var("DEBEMAIL")) {
        (Ok(name), Ok(address)) => format!("{name} <{address}>"),
        _ => commit("%an <%ae>").context("set DEBFULLNAME and DEBEMAIL")?,
    };
    let mut date = Command::new("date");
    date.env("LC_ALL", "C").args(["-u", "-R", "-d", &format!("@{epoch}")]);
    Ok(Origin { epoch, date: output(&mut date)?.trim().to_owned(), maintainer })
}

//! Where this machine's own Debian comes from, and a root of it that is made by debootstrap.

use crate::command::output;
use anyhow::{Context as _, ensure};
use std::path::Path;
use std::process::Command;

/// What Debian calls this machine's suite.
/// Errors: it is no Debian.
pub(crate) fn codename() -> anyhow::Result<String> {
    let text = std::fs::read_to_string("/etc/os-release")?;
    let name = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    Ok(name.context("/etc/os-release has no VERSION_CODENAME")?.trim_matches('"').to_owned())
}

/// A place of packages: its address, and the suite there.
pub(crate) type Source = (String, String);

/// Where this machine has a suite's main packages from.
/// Errors: nowhere.
pub(crate) fn sources(codename: &str) -> anyhow::Result<Vec<Source>> {
    let format = "$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)";
    let arguments = ["indextargets", "--format", format, "Created-By: Packages"];
    let found = of_suite(&output(Command::new("apt-get").args(arguments))?, codename);
    ensure!(!found.is_empty(), "apt has no source of {codename}; see /etc/apt");
    Ok(found)
}

/// Of what apt lists, the suite, its updates, its security.
fn of_suite(listed: &str, codename: &str) -> Vec<Source> {
    let sources = listed.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["Debian", address, suite, "main"] = words[..] else { return None };
        let is_of = suite == codename || suite.strip_prefix(codename)?.starts_with('-');
        (is_of && !suite.contains("backports")).then(|| (address.to_owned(), suite.to_owned()))
    });
    sources.collect()
}

/// Makes a root of Debian's smallest set of packages, and some more, of this machine's suite. What
/// debootstrap mounts and starts ends with it.
/// Errors: apt has no source of it; debootstrap fails.
pub(crate) fn make_root(root: &Path, packages: &[String]) -> anyhow::Result<()> {
    let suite = codename()?;
    let found = sources(&suite)?.into_iter().find(|(_, of)| *of == suite);
    let (mirror, _) = found.with_context(|| format!("apt has no source of {suite}"))?;
    let mut debootstrap = private();
    debootstrap.args(["debootstrap", "--variant=minbase"]);
    if !packages.is_empty() {
        debootstrap.arg(format!("--include={}", packages.join(",")));
    }
    output(debootstrap.arg(suite).arg(root).arg(mirror)).map(drop)
}

/// A namespace whose mounts nobody else sees, and whose processes end with the first.
pub(crate) fn private() -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--fork", "--kill-child", "--"]);
    unshare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_debians_of_this_release() {
        let listed = "Debian http://a.example/debian bookworm-updates main\n\
            Other http://b.example bookworm main\n\
            Debian http://c.example/debian bookworm main\n\
            Debian http://c.example/debian bookworm contrib\n\
            Debian http://c.example/debian bookworm-backports main\n";
        let source = |at: &str, suite: &str| (format!("http://{at}.example/debian"), suite.into());
        let expected = [source("a", "bookworm-updates"), source("c", "bookworm")];
        assert_eq!(of_suite(listed, "bookworm"), expected);
        assert_eq!(of_suite(listed, "trixie"), []);
    }
}

//! The committed page of crate `report`: built from `viewer/`, which a build of the workspace does
//! not do, so that it needs no Node. The same sources and packages make the same bytes anywhere.

pub(crate) mod packages;

use anyhow::{Context as _, anyhow, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// Where the sources are.
pub(crate) const SOURCES: &str = "viewer";
/// What is built, and where it is committed.
const BUILT: &str = "viewer.html";
const COMMITTED: &str = "crates/report/src/page/viewer.html";

/// Builds the page and puts it where it is committed.
pub(crate) fn build(root: &Path) -> anyhow::Result<()> {
    packages::install(&root.join(SOURCES)).map_err(|sentence| anyhow!(sentence))?;
    npm(root, &["run", "check"])?;
    let page = built(root)?;
    std::fs::write(root.join(COMMITTED), &page)?;
    println!("wrote {COMMITTED}, {} bytes", page.len());
    Ok(())
}

/// The page as its sources make it.
fn built(root: &Path) -> anyhow::Result<Vec<u8>> {
    let into = root.join(SOURCES).join("dist").join(std::process::id().to_string());
    let into_text = into.to_string_lossy();
    npm(root, &["run", "build", "--", "--emptyOutDir", "--outDir", &into_text])?;
    let page = std::fs::read(into.join(BUILT))?;
    std::fs::remove_dir_all(&into)?;
    Ok(page)
}

fn npm(root: &Path, words: &[&str]) -> anyhow::Result<()> {
    let mut npm = Command::new("npm");
    npm.args(words).current_dir(root.join(SOURCES)).stdin(Stdio::null());
    let output = npm.output().context("failed to run npm; install nodejs and npm")?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "npm {} failed: {said}", words.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first version of Node that the bundler runs on.
    const LEAST_NODE: (u32, u32) = (20, 19);

    fn node() -> Option<(u32, u32)> {
        let output = Command::new("node").arg("--version").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let mut parts = text.trim().trim_start_matches('v').split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }

    #[test]
    fn the_page_is_made_from_its_sources() {
        let root = crate::root();
        match node() {
            Some(version) if version >= LEAST_NODE => {}
            Some((major, minor)) => {
                let (least, of) = LEAST_NODE;
                return println!("skipped: needs Node {least}.{of}, and here is {major}.{minor}");
            }
            None => return println!("skipped: needs node"),
        }
        if let Err(sentence) = packages::install(&root.join(SOURCES)) {
            return println!("skipped: {sentence}");
        }
        npm(&root, &["run", "check"]).unwrap();
        let committed = std::fs::read(root.join(COMMITTED)).unwrap_or_default();
        let built = built(&root).unwrap();
        assert!(committed == built, "{COMMITTED} has changed: run cargo xtask viewer");
    }

    #[test]
    fn no_page_names_its_makers_directory_or_a_registry() {
        let root = crate::root();
        let home = std::fs::canonicalize(&root).unwrap();
        let page = std::fs::read_to_string(root.join(COMMITTED)).unwrap();
        assert!(!page.contains(home.to_str().unwrap()));
        let lock = std::fs::read_to_string(root.join(SOURCES).join("package-lock.json")).unwrap();
        assert!(!lock.contains("\"resolved\""));
    }
}

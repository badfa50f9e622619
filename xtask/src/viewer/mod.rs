//! The committed pages of crates `report` and `lbolt`: built from `viewer/`, which a build of the
//! workspace does not do, so that it needs no Node. The same sources and packages make the same
//! bytes anywhere.

pub(crate) mod packages;

use crate::command::output;
use anyhow::anyhow;
use std::path::Path;
use std::process::Command;

/// Where the sources are.
pub(crate) const SOURCES: &str = "viewer";

/// A page: in which mode it is built, what comes of it, and where that is committed.
struct Built {
    mode: &'static str,
    file: &'static str,
    committed: &'static str,
}

const PAGES: [Built; 2] = [
    Built {
        mode: "production",
        file: "viewer.html",
        committed: "crates/report/src/page/viewer.html",
    },
    Built {
        mode: "explore",
        file: "explore.html",
        committed: "crates/lbolt/src/run/explore/explore.html",
    },
];

/// Builds the pages and puts them where they are committed.
pub(crate) fn build(root: &Path) -> anyhow::Result<()> {
    packages::install(&root.join(SOURCES)).map_err(|sentence| anyhow!(sentence))?;
    npm(root, &["run", "check"])?;
    for of in &PAGES {
        let page = built(root, of)?;
        std::fs::write(root.join(of.committed), &page)?;
        println!("wrote {}, {} bytes", of.committed, page.len());
    }
    Ok(())
}

/// A page as its sources make it.
fn built(root: &Path, of: &Built) -> anyhow::Result<Vec<u8>> {
    let own = format!("{}-{}", std::process::id(), of.mode);
    let into = root.join(SOURCES).join("dist").join(own);
    let into_text = into.to_string_lossy();
    let words = ["run", "build", "--", "--mode", of.mode, "--emptyOutDir", "--outDir", &into_text];
    npm(root, &words)?;
    let page = std::fs::read(into.join(of.file))?;
    std::fs::remove_dir_all(&into)?;
    Ok(page)
}

fn npm(root: &Path, words: &[&str]) -> anyhow::Result<()> {
    output(Command::new("npm").args(words).current_dir(root.join(SOURCES))).map(drop)
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
    fn the_pages_are_made_from_their_sources() {
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
        for of in &PAGES {
            let committed = std::fs::read(root.join(of.committed)).unwrap_or_default();
            let built = built(&root, of).unwrap();
            assert!(committed == built, "{} has changed: run cargo xtask viewer", of.committed);
        }
    }

    #[test]
    fn no_page_names_its_makers_directory_or_a_registry() {
        let root = crate::root();
        let home = std::fs::canonicalize(&root).unwrap();
        for of in &PAGES {
            let page = std::fs::read_to_string(root.join(of.committed)).unwrap();
            assert!(!page.contains(home.to_str().unwrap()));
        }
        let lock = std::fs::read_to_string(root.join(SOURCES).join("package-lock.json")).unwrap();
        assert!(!lock.contains("\"resolved\""));
    }
}

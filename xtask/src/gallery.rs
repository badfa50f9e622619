//! The gallery: pages of `lbolt report` from this machine and from the papers' models, and one of
//! `lbolt explore`; and the pictures of them that docs/gallery holds.
//!
//! Non-goals: what the pages show. The pages themselves are not committed.

use super::served::Served;
use super::viewer;
use crate::command;
use anyhow::{anyhow, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A picture: its name, the words for lbolt that make its page (in a directory of its own), the
/// page, what it begins with, and how high it is. A page that is a run is that of `lbolt explore`.
struct Picture {
    name: &'static str,
    words: &'static str,
    page: &'static str,
    at: &'static str,
    height: u32,
}

const PICTURES: [Picture; 7] = [
    Picture { name: "survey", words: SURVEY, page: "survey/report.html", at: "", height: 900 },
    Picture { name: "curve", words: "", page: "survey/report.html", at: "curve", height: 800 },
    Picture {
        name: "papers-1983",
        words: "papers 1983 --page papers-1983.html",
        page: "papers-1983.html",
        at: "",
        height: 900,
    },
    Picture {
        name: "papers-1986",
        words: "papers 1986 --page papers-1986.html",
        page: "papers-1986.html",
        at: "",
        height: 900,
    },
    Picture {
        name: "storm",
        words: "storm model:ra81 --size 32m --simulate --remedies all --report -o storm",
        page: "storm/report.html",
        at: "storm",
        height: 900,
    },
    Picture {
        name: "trace",
        words: "storm . --trace --period 3s --periods 2 --runs 2 --report -o trace",
        page: "trace/report.html",
        at: "response",
        height: 900,
    },
    Picture { name: "explore", words: "", page: "trace", at: "", height: 820 },
];
const SURVEY: &str = "survey --quick -o survey";

/// Where the pictures are committed, and how many bytes they may have together.
const COMMITTED: &str = "docs/gallery";
const BYTES_MOST: u64 = 1_000_000;
const WIDTH: u32 = 1200;

/// Make pages and their pictures, for docs/gallery (needs chromium)
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The program that makes them [default: target/release/lbolt]
    #[arg(long, value_name = "FILE")]
    lbolt: Option<PathBuf>,
}

/// Makes the pages below target/gallery with this program, and takes their pictures.
pub(crate) fn make(root: &Path, options: &Options) -> anyhow::Result<()> {
    let lbolt = command::lbolt(options.lbolt.as_deref())?;
    let made = root.join("target/gallery");
    if made.exists() {
        std::fs::remove_dir_all(&made)?;
    }
    std::fs::create_dir_all(&made)?;
    let made = made.canonicalize()?;
    let viewer = root.join(viewer::SOURCES);
    viewer::packages::install(&viewer).map_err(|sentence| anyhow!(sentence))?;
    let pictures = root.join(COMMITTED).canonicalize()?;
    let mut bytes = 0;
    for picture in &PICTURES {
        eprintln!("gallery: {}", picture.name);
        if !picture.words.is_empty() {
            let words = picture.words.split_whitespace();
            command::output(Command::new(&lbolt).args(words).current_dir(&made))?;
        }
        let into = pictures.join(format!("{}.png", picture.name));
        let page = made.join(picture.page);
        let served = page.is_dir().then(|| Served::new(&lbolt, &made, picture.page)).transpose()?;
        let address = served.as_ref().map_or_else(|| page.into_os_string(), |at| at.url().into());
        take(&viewer, &address, picture, &into)?;
        bytes += std::fs::metadata(&into)?.len();
    }
    println!("{} pictures in {COMMITTED}, {bytes} bytes", PICTURES.len());
    ensure!(bytes <= BYTES_MOST, "the pictures have {bytes} bytes, more than {BYTES_MOST}");
    Ok(())
}

fn take(viewer: &Path, page: &OsStr, picture: &Picture, into: &Path) -> anyhow::Result<()> {
    let numbers = [WIDTH, picture.height].map(|pixels| pixels.to_string());
    let mut node = Command::new("node");
    node.arg("picture.mjs").arg(page).arg(picture.at).args(numbers).arg(into).current_dir(viewer);
    command::output(&mut node).map(drop)
}

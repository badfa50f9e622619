//! A loss of power, as snapshots of an image: whatever says that it is whole is whole.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Loop, Mounted, can_make, is_root, tool, wait_for};
use rustix::process::Signal;
use std::fs;
use std::path::{Path, PathBuf};

/// A file system on an image, which writes names after a second and data long after them.
fn image(lab: &Lab) -> Option<(PathBuf, Mounted)> {
    if !is_root() || !can_make("ext4") {
        return None;
    }
    let image = lab.file("image", "");
    fs::File::options().write(true).open(&image).unwrap().set_len(64 << 20).unwrap();
    let shown = image.display().to_string();
    tool("mkfs.ext4", &["-q", "-F", &shown])?;
    let mounted = Mounted::by("mount -o loop,commit=1 \"$@\" $AT", &[&shown])?;
    Some((image, mounted))
}

/// The files of a directory, by name, with what is in them.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let file = |path: PathBuf| (path.file_name().unwrap().into(), fs::read(&path).unwrap());
    let mut files: Vec<_> = entries.map(file).collect();
    files.sort();
    files
}

/// Has the power fail again and again, until a file with that text is in the directory then: all
/// of the directory is what it was meant to be.
fn assert_whole(lab: &Lab, image: &Path, live: &Path, directory: &str, named: (&str, &str)) {
    let copy = lab.path("copy");
    let (name, text) = named;
    let found = wait_for("a snapshot with the file", || {
        let paths = [image, copy.as_path()].map(|path| path.display().to_string());
        tool("cp", &["--sparse=always", &paths[0], &paths[1]])?;
        let snapshot = Mounted::by("mount -o loop \"$@\" $AT", &[&paths[1]])?;
        let directory = snapshot.seen.join(directory);
        let is_named = fs::read_to_string(directory.join(name)).is_ok_and(|of| of.contains(text));
        is_named.then(|| files(&directory))
    });
    let sizes = |files: &[(PathBuf, Vec<u8>)]| -> Vec<_> {
        files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect()
    };
    let meant = files(&live.join(directory));
    assert!(found == meant, "{:?} in the place of {:?}", sizes(&found), sizes(&meant));
}

#[test]
fn root_a_run_that_says_it_has_ended_is_whole_after_a_loss_of_power() {
    let lab = Lab::new();
    let Some((image, mounted)) = image(&lab) else { return };
    lab.file("one.csv", "128166385295514663,db,0,Read,0,4096,1000\n");
    let run = mounted.seen.join("run");
    assert_eq!(lab.run(&format!("import one.csv -o {}", run.display())).code, 0);
    assert_whole(&lab, &image, &mounted.seen, "run", ("run.json", "\"finished\""));
    drop(mounted);
    lab.assert_clean();
}

#[test]
fn root_an_incident_that_is_listed_is_whole_after_a_loss_of_power() {
    let lab = Lab::new();
    let Some((image, mounted)) = image(&lab) else { return };
    let Some(device) = Loop::new(&lab, "device") else { return };
    let history = mounted.seen.join("history");
    let words = format!("watch -d {} {}", device.node, history.display());
    let mut watch = lab.start(lab.lbolt(&words));
    let err = watch.err_path();
    let said = || fs::read_to_string(&err).unwrap();
    let is_begun = watch.until("the watch", || {
        (said().contains("watching; ") || said().contains("failed to load BPF"))
            .then(|| said().contains("watching; "))
    });
    if !is_begun {
        println!("skipped: {}", watch.wait().err);
        return;
    }
    tool("dd", &[&format!("if={}", device.node), "of=/dev/null", "iflag=direct", "count=9"]);
    watch.signal(Signal::USR1);
    let incidents = watch.until("an incident", || {
        let (found, _) = model::history::incidents(&history).unwrap();
        Some(found.first()?.0.strip_prefix(&mounted.seen).unwrap().display().to_string())
    });
    assert_whole(&lab, &image, &mounted.seen, &incidents, ("incident.json", "why"));
    watch.signal(Signal::INT);
    assert_eq!(watch.wait().code, 0);
    drop((mounted, device));
    lab.assert_clean();
}

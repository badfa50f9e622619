//! The unit of the watch: systemd understands it, and `make install` puts it where it belongs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Everything beneath a directory, by its path from there.
fn files(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![directory.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => open.push(entry.path()),
                false => {
                    let path = entry.path();
                    let path = path.strip_prefix(directory).unwrap();
                    found.insert(path.to_str().unwrap().to_owned());
                }
            }
        }
    }
    found
}

/// Installs a program of this test's, with pages and completions of its own.
fn make(target: &str, to: &Path, built: &Path) {
    let output = Command::new("make")
        .current_dir(root())
        .args(["-s", target, "PREFIX=/usr", "SYSTEMD_UNIT_DIR=/lib/systemd/system"])
        .arg(format!("DESTDIR={}", to.display()))
        .arg(format!("BINARY={}", built.join("lbolt").display()))
        .arg(format!("GENERATED={}", built.display()))
        // A parent's own options and jobs are not this one's.
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_is_installed_is_there_and_goes_again() {
    if Command::new("make").arg("--version").output().is_err() {
        println!("skipped: needs make");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (built, to) = (directory.path().join("built"), directory.path().join("a place"));
    for (path, text) in [
        ("lbolt", "#!/bin/sh\n"),
        ("man/lbolt.1", "page"),
        ("man/lbolt-watch.1", "page"),
        ("completions/lbolt.bash", "words"),
        ("completions/_lbolt", "words"),
        ("completions/lbolt.fish", "words"),
    ] {
        let path = built.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    make("install", &to, &built);
    let expected: BTreeSet<String> = [
        "usr/bin/lbolt",
        "lib/systemd/system/lbolt-watch.service",
        "usr/lib/sysusers.d/lbolt.conf",
        "usr/share/doc/lbolt/dashboard.json",
        "usr/share/doc/lbolt/file-names.conf",
        "usr/share/doc/lbolt/metrics.md",
        "usr/share/man/man1/lbolt.1",
        "usr/share/man/man1/lbolt-watch.1",
        "usr/share/bash-completion/completions/lbolt",
        "usr/share/zsh/site-functions/_lbolt",
        "usr/share/fish/vendor_completions.d/lbolt.fish",
    ]
    .map(str::to_owned)
    .into();
    assert_eq!(files(&to), expected);
    let unit = to.join("lib/systemd/system/lbolt-watch.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/lbolt watch "), "{unit}");
    make("uninstall", &to, &built);
    assert_eq!(files(&to), BTreeSet::new());
}

#[test]
fn systemd_understands_the_unit_and_its_drop_in() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("skipped: needs systemd-analyze");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let unit = directory.path().join("lbolt-watch.service");
    let text = std::fs::read_to_string(root().join("packaging/lbolt-watch.service")).unwrap();
    // It looks whether the program is there.
    std::fs::write(&unit, text.replace("/usr/local/bin/lbolt", "/bin/true")).unwrap();
    let analyze = |arguments: &[&str]| {
        let output = Command::new("systemd-analyze").args(arguments).arg(&unit).output().unwrap();
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
        (output.status.success(), said.concat())
    };
    // Ten times the exposure that may be: 2.0 and 2.5 by systemd 252, others weigh differently.
    for threshold in ["--threshold=30", "--threshold=35"] {
        let (is_fine, said) = analyze(&["verify", "--man=no"]);
        // It complains of what is wrong with other units, too.
        assert!(is_fine && !said.contains("lbolt-watch"), "{said}");
        let (is_fine, said) = analyze(&["security", "--offline=true", "--no-pager", threshold]);
        assert!(is_fine, "{said}");
        let drop_ins = directory.path().join("lbolt-watch.service.d");
        std::fs::create_dir_all(&drop_ins).unwrap();
        let from = root().join("packaging/file-names.conf");
        std::fs::copy(from, drop_ins.join("file-names.conf")).unwrap();
    }
}

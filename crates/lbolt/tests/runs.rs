//! The runs that were kept: listed, shown as they were printed, and removed, and nothing else.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use crate::common::{Lab, QUICK};

#[test]
fn a_run_is_shown_as_it_was_printed() {
    let lab = Lab::new();
    for format in ["table", "json", "csv", "markdown"] {
        let words = format!("throughput d --rw read,rewrite {QUICK} --all --format {format}");
        let printed = lab.run(&format!("{words} -o runs/{format}"));
        assert_eq!(printed.code, 0, "{}", printed.err);
        let shown = lab.run(&format!("runs show {format} --format {format}"));
        assert_eq!((shown.code, shown.err.as_str()), (0, ""));
        assert_eq!(shown.out, printed.out);
        let by_path = lab.run(&format!("runs show runs/{format} --format {format}"));
        assert_eq!(by_path.out, printed.out);
    }
}

#[test]
fn runs_are_listed_with_their_state_and_their_cells() {
    let lab = Lab::new();
    let empty = lab.run("runs list");
    assert_eq!((empty.code, empty.out.as_str()), (0, "no runs in runs\n"));
    lab.directory("runs/no-run");
    lab.measure(&format!("throughput d --rw read,rewrite {QUICK} -o runs/second"));
    lab.measure(&format!("throughput d --rw read {QUICK} -o runs/first"));
    let list = lab.run("runs list");
    assert_eq!(lab.run("runs").out, list.out);
    let rows: Vec<Vec<&str>> =
        list.out.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 2, "{}", list.out);
    assert_eq!(rows[0][..3], ["second", "finished", "2"], "the oldest first");
    assert_eq!(rows[1][..3], ["first", "finished", "1"]);
    assert!(list.out.contains("throughput d --rw read"), "{}", list.out);
    // Elsewhere by option.
    assert_eq!(lab.run("runs list --runs-dir d").out, "no runs in d\n");
}

#[test]
fn two_runs_can_begin_in_one_second() {
    let lab = Lab::new();
    let mut time = jiff::Timestamp::now();
    let mut taken = Vec::new();
    for _ in 0..60 {
        let name = format!("{}-throughput", time.strftime("%Y%m%dT%H%M%SZ"));
        taken.push(lab.directory(&format!("runs/{name}")));
        time = time.checked_add(jiff::SignedDuration::from_secs(1)).unwrap();
    }
    lab.measure(&format!("throughput d --rw read {QUICK}"));
    let new: Vec<_> = lab.runs().into_iter().filter(|run| !taken.contains(run)).collect();
    assert_eq!(new.len(), 1);
    assert!(new[0].display().to_string().ends_with("-throughput-2"), "{new:?}");
    assert!(new[0].join("samples.parquet").exists());
}

#[test]
fn only_runs_are_removed() {
    let lab = Lab::new();
    for name in ["a", "b", "c"] {
        lab.measure(&format!("throughput d --rw read {QUICK} -o runs/{name}"));
    }
    lab.directory("runs/precious");
    lab.file("runs/precious/samples.parquet", "mine");
    lab.file("run.json", "{\"schema\":\"lbolt.run/9\"}");
    // All must be runs before the first is removed.
    for (words, named) in
        [("a precious", "precious"), ("a nothing", "nothing"), ("a d", "read d"), ("a .", "run/9")]
    {
        lab.run(&format!("runs rm {words}")).assert_refused(2, &["failed to read", named]);
        assert!(lab.path("runs/a/run.json").exists());
    }
    assert_eq!(std::fs::read(lab.path("runs/precious/samples.parquet")).unwrap(), b"mine");

    let removed = lab.run("runs rm a runs/b");
    assert_eq!((removed.code, removed.err.as_str()), (0, ""));
    assert_eq!(lab.runs(), [lab.path("runs/c"), lab.path("runs/precious")]);

    // A file that is not a run's stays, and is told of.
    lab.file("runs/c/notes.txt", "mine");
    lab.run("runs rm c").assert_refused(1, &["failed to remove", "runs/c", "not empty"]);
    assert_eq!(std::fs::read(lab.path("runs/c/notes.txt")).unwrap(), b"mine");
    assert!(!lab.path("runs/c/run.json").exists());
}

#[test]
fn a_run_is_removed_without_following_a_link_to_a_part() {
    let lab = Lab::new();
    for name in ["run", "other"] {
        lab.measure(&format!("throughput d --rw read {QUICK} -o runs/{name}"));
    }
    std::os::unix::fs::symlink("../other", lab.path("runs/run/before")).unwrap();
    lab.run("runs rm run").assert_refused(1, &["remove runs/run", "not empty"]);
    assert!(lab.path("runs/other/run.json").exists());
    assert!(lab.path("runs/other/samples.parquet").exists());
}

#[test]
fn what_is_no_file_makes_nobody_wait() {
    let lab = Lab::new();
    lab.directory("runs/stuck");
    let path = lab.path("runs/stuck/run.json").display().to_string();
    crate::common::tool("mkfifo", &[&path]).unwrap();
    assert_eq!(lab.run("runs list").out, "no runs in runs\n");
    lab.run("runs show stuck").assert_refused(2, &["run.json", "no file"]);
}

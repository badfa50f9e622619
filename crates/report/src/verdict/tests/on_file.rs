//! The sentence and the table tell on which file time was lost.

use super::*;

/// A loss of 24 s, so much of it on a file, with rows of other files that are larger.
fn told(on_file_s: f64) -> Vec<Finding> {
    let of_file = Blame {
        cause: "dd".into(),
        device: "vda".into(),
        file: Some("/data/pg_wal/*".into()),
        is_role: true,
        storm: None,
        victim: "postgres: backend".into(),
        wait: "fdatasync".into(),
    };
    let lost = [("lost_ns", 24e9), ("lost_percent", 31.4), ("matters", 1.0)];
    let file = |name: &str, values: &[(&str, f64)]| {
        let (device, file) = ("vda".to_owned(), name.to_owned());
        of(&Subject::File(File { device, file }), values)
    };
    let large = (0..30).flat_map(|n| file(&format!("/data/{n}"), &[("file_read_bytes", 1e9)]));
    let small = [("file_read_bytes", 1e3), ("file_lost_ns", on_file_s * 1e9)];
    [
        of_run(),
        blame("dd", true, &lost, &[]),
        of(&Subject::Blame(of_file), &[("lost_on_file_ns", on_file_s * 1e9)]),
        large.collect(),
        file("/data/pg_wal/*", &small),
    ]
    .concat()
}

#[test]
fn the_file_is_named_that_has_most_of_the_loss() {
    let sentence = sentences(&told(20.0)).remove(0);
    assert!(sentence.contains("), mostly on /data/pg_wal/*, behind dd"), "{sentence}");
    let other = sentences(&told(11.0)).remove(0);
    assert!(!other.contains("mostly") && other.contains("behind dd"), "{other}");
}

#[test]
fn its_row_stands_among_those_of_larger_files() {
    let text = |on_file_s| screen(&told(on_file_s), &Shown::default(), Some(100));
    let is_row = |line: &str| line.contains("/data/pg_wal/*") && line.contains("20.0 s");
    assert!(text(20.0).lines().any(is_row), "{}", text(20.0));
    assert!(!text(11.0).contains("/data/pg_wal"), "{}", text(11.0));
}

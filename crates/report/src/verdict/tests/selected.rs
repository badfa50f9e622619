//! Which rows are shown, of how many, and of which names; and which times are told.

use super::*;

/// What is between two times at which a device stood still is not told as a part of them.
#[test]
fn a_device_is_said_to_stand_still_only_when_it_did() {
    let lost = [("lost_ns", 24e9), ("matters", 1.0)];
    let of = |storms: &[(f64, f64)]| {
        sentences(&[of_run(), blame("device", false, &lost, storms)].concat()).remove(0)
    };
    let text = of(&[(7.0e9, 7.5e9), (7.6e9, 8.2e9), (8.3e9, 8.36e9)]);
    let spans = "Storms: 7.0 to 7.5 s, 7.6 to 8.2 s, 8.30 to 8.36 s.";
    assert!(text.contains("stood still, in 3 storms") && text.ends_with(spans), "{text}");
    let one = of(&[(7.0e9, 7.5e9)]);
    assert!(one.contains("because the device itself stood still, from 7.0 to 7.5 s."), "{one}");
}

#[test]
fn the_rows_that_matter_most_stand_first_and_it_is_said_of_how_many() {
    let file = |name: &str, bytes: f64| {
        let subject = Subject::File(File { device: "vda".into(), file: name.into() });
        of(&subject, &[("file_write_bytes", bytes)])
    };
    let device = |name: &str, bytes: f64| {
        of(&Subject::class("device", name), &[("requested_count", 9.0), ("requested_bytes", bytes)])
    };
    let waited = wait("db", "read", &[("waits_count", 9.0), ("waited_ns", 1e9)]);
    let names = ["a", "b", "c", "d", "e", "f"];
    let files = names.iter().zip(1..).flat_map(|(name, n)| file(&format!("/{name}"), f64::from(n)));
    let devices = names.iter().zip(1..).flat_map(|(name, n)| device(name, f64::from(n)));
    let findings: Vec<Finding> = of_run()
        .into_iter()
        .chain(waited)
        .chain(device("vda", 0.5))
        .chain(devices)
        .chain(files)
        .collect();
    let text = screen(&findings, &Shown { top: Some(3), ..Shown::default() }, None);
    let below = |heading: &str| -> Vec<String> {
        let lines = text.lines().skip_while(|line| !line.contains(heading)).skip(3).take(3);
        lines.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
    };
    assert_eq!(below("Devices, 3 of 7"), ["vda", "f", "e"], "{text}");
    assert_eq!(below(", 3 of 6"), ["/f", "/e", "/d"], "{text}");
}

#[test]
fn a_selection_shows_what_has_the_word_and_no_other() {
    let findings = checkpoint();
    let shown = |shown: Shown| screen(&findings, &shown, None);
    assert!(shown(Shown::default()).contains("/data/pg_wal/*"));
    let none = shown(Shown { file: Some("heap".into()), ..Shown::default() });
    assert!(!none.contains("pg_wal") && none.contains("Who waited"), "{none}");
    for (nothing, known) in [
        (Shown { device: Some("sdz".into()), ..Shown::default() }, "vda"),
        (Shown { role: Some("mysql".into()), ..Shown::default() }, "postgres: checkpointer"),
        (Shown { file: Some("ibdata".into()), ..Shown::default() }, "/data/pg_wal/*"),
    ] {
        let (_, _, names) = absent(&findings, &nothing).unwrap();
        assert!(names.contains(known), "{names:?}");
    }
    let there = Shown { device: Some("vd".into()), role: Some("check".into()), ..Shown::default() };
    assert_eq!(absent(&findings, &there), None);
    let elsewhere = shown(Shown { device: Some("sdz".into()), ..Shown::default() });
    assert!(!elsewhere.contains("lost") && !elsewhere.contains("vda"), "{elsewhere}");
    let calls = Shown { by: Some("call".into()), ..Shown::default() };
    assert_eq!(shown(calls), "The trace tells nothing by call, of what was selected.\n");
    let of_processes = |names: &[&str]| {
        let processes = Some(names.iter().map(|name| (*name).to_owned()).collect());
        shown(Shown { processes, ..Shown::default() })
    };
    let one = of_processes(&["postgres: checkpointer"]);
    assert!(one.starts_with("postgres: backend lost 24.0 s") && !one.contains("Who waited"));
    // Nobody waited who is not there: that is no all-clear.
    let nobody = of_processes(&["postgres: checkp"]);
    assert!(nobody.starts_with("The trace has no wait of what was selected."), "{nobody}");
    let by_cause = shown(Shown { role: Some("checkp".into()), ..Shown::default() });
    assert!(by_cause.contains("Behind whom") && !by_cause.contains("Who waited"), "{by_cause}");
}

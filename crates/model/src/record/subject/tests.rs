//! What must hold of every kind of subject.

use super::*;

fn operation() -> Subject {
    Subject::Operation(Operation {
        access: Access::RandRead,
        arithmetic: None,
        block_bytes: 4096,
        channels: 4,
        direct: 1,
        engine: EngineKind::IoUring,
        target: Some("d".into()),
        test_interval_ns: None,
    })
}

fn routine(arithmetic: Option<Arithmetic>) -> Subject {
    Subject::Routine(Routine {
        access: Access::Read,
        account: "trace".into(),
        arithmetic,
        channels: 1,
        direct: 0,
        engine: EngineKind::Psync,
        target: Some("r".into()),
        test_interval_ns: arithmetic.map(|_| 1000),
    })
}

#[test]
fn routines_are_read_with_whatever_they_compute() {
    for (arithmetic, _) in Arithmetic::ALL {
        let subject = routine(Some(*arithmetic));
        assert_eq!(Subject::from_text(&subject.text()), Some(subject));
    }
    let text = routine(Arithmetic::ALL.first().map(|(kind, _)| *kind)).text();
    let (_, name) = Arithmetic::ALL[0];
    assert_eq!(Subject::from_text(&text.replace(name, "roman")), None);
    assert_eq!(routine(None).target(), Some("r"));
    assert_eq!(routine(None).engine(), Some(EngineKind::Psync));
    assert_eq!(routine(None).without_target().target(), None);
    assert_eq!(Subject::cell("x", "a", 1).target(), Some("x"));
}

#[test]
fn every_kind_survives_its_text() {
    let place = BTreeMap::from([("ticks".to_owned(), "3".to_owned())]);
    let model = ModelOp { device: "sda".into(), model: "eagle".into(), op: "all".into() };
    for subject in [
        Subject::this_run(),
        Subject::cell("ext4:4k", "read_4k", 2),
        operation(),
        Subject::class("op", "read"),
        Subject::device("sda"),
        Subject::device_op("sda", "write"),
        Subject::ModelOp(model),
        Subject::Published(Published { paper: "1986".into(), place }),
    ] {
        assert_eq!(Subject::from_text(&subject.text()), Some(subject));
    }
}

#[test]
fn text_has_sorted_keys_and_numbers() {
    let text = Subject::cell("ext4:4k", "a", 1).text();
    assert_eq!(text, r#"{"drives":1,"program":"a","target":"ext4:4k"}"#);
}

#[test]
fn what_earlier_versions_wrote_is_read() {
    let cell = r#"{"drives":"2","program":"a","target":"x"}"#;
    assert_eq!(Subject::from_text(cell), Some(Subject::cell("x", "a", 2)));
    let text = r#"{"access":"randread","arithmetic":"none","block_bytes":"4096",
        "channels":"4","direct":"1","engine":"io_uring","target":"d",
        "test_interval_ns":"none"}"#;
    assert_eq!(Subject::from_text(text), Some(operation()));
}

#[test]
fn an_unknown_kind_is_none() {
    for text in [r#"{"colour":"red"}"#, "{}", "?", r#"{"device":"a","op":"b","x":"c"}"#] {
        assert_eq!(Subject::from_text(text), None, "{text}");
    }
    let drives = r#"{"drives":"two","program":"a","target":"x"}"#;
    assert_eq!(Subject::from_text(drives), None);
}

#[test]
fn sides_of_different_targets_have_one_subject() {
    let on = |target| Subject::cell(target, "a", 1).without_target();
    assert_eq!(on("x"), on("y"));
    assert_eq!(on("x").target(), None);
    assert_eq!(on("x").get("target"), None);
    assert_eq!(operation().target(), Some("d"));
    assert_eq!(operation().without_target().target(), None);
}

#[test]
fn keys_are_read_as_text() {
    assert_eq!(operation().get("block_bytes").as_deref(), Some("4096"));
    assert_eq!(operation().get("arithmetic").as_deref(), Some("none"));
    assert_eq!(operation().get("colour"), None);
    assert_eq!(operation().engine(), Some(EngineKind::IoUring));
    assert_eq!(Subject::class("op", "read").by_class(), Some(("op", "read")));
    assert_eq!(Subject::this_run().by_class(), None);
}

#[test]
fn every_name_can_be_changed() {
    let mark = |subject: Subject| subject.with_names(|name| format!("<{name}>")).entries();
    let values = |subject| mark(subject).into_iter().map(|(_, v)| v).collect::<Vec<_>>();
    assert_eq!(values(Subject::cell("x", "a", 1)), ["1", "<a>", "<x>"]);
    assert_eq!(values(Subject::class("op", "read")), ["<op>", "<read>"]);
    assert_eq!(values(Subject::device_op("sda", "all")), ["<sda>", "<all>"]);
    assert_eq!(values(Subject::device("sda")), ["<sda>"]);
    let operation = mark(operation());
    assert!(operation.contains(&("target".into(), "<d>".into())), "{operation:?}");
}

/// One of each kind that has names.
fn named(name: &str, number: u64) -> Vec<Subject> {
    let text = || name.to_owned();
    let place = BTreeMap::from([("ticks".to_owned(), text())]);
    let target = Some(text());
    vec![
        Subject::Run(Run { run: text() }),
        Subject::cell(name, name, number),
        Subject::Cell(Cell { drives: number, op: Some(text()), program: text(), target }),
        Subject::Commit(Commit {
            block_bytes: number,
            direct: 1,
            method: text(),
            pattern: text(),
            target: Some(text()),
            writers: 4,
        }),
        Subject::class(name, name),
        Subject::device(name),
        Subject::device_op(name, name),
        Subject::Model(Model { device: text(), model: text() }),
        Subject::ModelOp(ModelOp { device: text(), model: text(), op: text() }),
        Subject::Change(Change { change: text(), device: text(), model: text(), op: text() }),
        // Its year is nobody's name.
        Subject::Published(Published { paper: "1986".into(), place }),
    ]
}

proptest::proptest! {
    #[test]
    fn every_name_and_number_survives_its_text(name in "\\PC{0,9}", number: u64) {
        for subject in named(&name, number) {
            proptest::prop_assert_eq!(Subject::from_text(&subject.text()), Some(subject));
        }
    }
}

#[test]
fn every_name_of_every_kind_is_changed_and_no_number() {
    let changed = |name: &str, number| {
        let marked = |s: Subject| s.with_names(|name| format!("<{name}>"));
        named(name, number).into_iter().map(marked).collect::<Vec<_>>()
    };
    assert_eq!(changed("a", 7), named("<a>", 7));
    let routine = routine(None).with_names(|name| format!("<{name}>"));
    assert_eq!(routine.target(), Some("<r>"));
}

#[test]
fn what_has_no_target_is_the_same_without_it() {
    for subject in named("x", 1) {
        let has_target = matches!(subject, Subject::Cell(_) | Subject::Commit(_));
        assert_eq!(subject.target(), has_target.then_some("x"), "{subject:?}");
        assert_eq!(subject.engine(), None);
        let without = subject.clone().without_target();
        assert_eq!((without.target(), without == subject), (None, !has_target));
        assert_eq!(without.get("target"), None);
    }
}

#[test]
fn a_subject_of_findings_is_the_run_where_none_is_given() {
    assert_eq!(Subject::default().text(), r#"{"run":"this"}"#);
    assert_eq!(Subject::default().entries(), [("run".to_owned(), "this".to_owned())]);
    let device = Subject::device_op("sda", "all").object();
    assert_eq!(device, serde_json::json!({ "device": "sda", "op": "all" }));
}

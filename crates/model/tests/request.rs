//! Requests, their flags and the names of their commands.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use model::record::{Commands, Flags, Op, Request};

#[test]
fn operations_have_names_of_their_own() {
    let names = Op::ALL.map(Op::name);
    assert_eq!(names, ["read", "write", "flush", "discard", "other"]);
    assert_eq!(names.map(|name| Op::named(name).unwrap()), Op::ALL);
    assert_eq!(Op::named("Read"), None);
}

#[test]
fn flags_are_bits_of_their_own_that_join_and_stay() {
    let mut all = Flags::default();
    for (place, (flag, name, _)) in Flags::ALL.into_iter().enumerate() {
        assert_eq!(flag.0, 1 << place, "{name}");
        assert!(!all.contains(flag), "{name}");
        assert_eq!(all.with(flag, false), all);
        assert_eq!(all.with(flag, true), all | flag);
        all |= flag;
        // Once more changes nothing.
        all |= flag;
        assert_eq!(all | flag, all);
        assert!(all.contains(flag) && all.contains(Flags::default()), "{name}");
    }
    assert_eq!(all.0, 0x3fff);
    let two = Flags::SYNC | Flags::FUA;
    assert!(two.contains(Flags::FUA) && all.contains(two));
    assert!(!Flags::SYNC.contains(two) && !two.contains(Flags::SYNC | Flags::META));
}

#[test]
fn a_command_is_kept_once_whatever_comes_between() {
    let mut commands = Commands::default();
    let numbers = [&b"dd"[..], b"dd", b"fio", b"dd", b"\xff", b"fio"].map(|n| commands.number(n).0);
    assert_eq!(numbers, [0, 0, 1, 0, 2, 1]);
    assert_eq!(commands.names(), ["dd", "fio", "\u{fffd}"]);
    assert_eq!(commands.name(model::record::CommandId(1)), "fio");
    assert_eq!(commands.name(model::record::CommandId(3)), "");
}

#[test]
fn a_request_arrives_with_its_first_known_step() {
    let steps = [Some(4), Some(5), Some(6), Some(7)];
    for first in 0..=4 {
        let told = |place: usize| steps[place].filter(|_| place >= first);
        let row = Request {
            queued_ns: told(0),
            started_ns: told(1),
            issued_ns: told(2),
            completed_ns: told(3),
            ..Request::default()
        };
        assert_eq!(row.arrival_ns(), steps.get(first).copied().flatten());
        assert_eq!(row.is_orphan(), first > 2, "{row:?}");
    }
    // Any one step before the completion makes it none.
    assert!(!Request { queued_ns: Some(1), ..Request::default() }.is_orphan());
    assert!(!Request { started_ns: Some(1), ..Request::default() }.is_orphan());
}

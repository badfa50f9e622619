//! The rings' records as event.h declares them: bytes that are too few for a record are none,
//! whatever they are. What follows a record in its cell is nothing.
//!
//! Non-goals: what the numbers mean (`decode`).

use zerocopy::FromBytes;

/// A record: its fields in event.h's order, where there is no space between them. Numbers are as
/// this machine has them: the kernel that wrote them runs on it.
macro_rules! record {
    ($(#[$about:meta])* $record:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes)]
        #[repr(C)]
        pub(super) struct $record { $(pub(super) $field: $type,)* }

        #[cfg(test)]
        impl $record {
            /// Its fields as event.h has them: type and name.
            fn fields() -> Vec<(String, String)> {
                let declared = |of: &str| tests::of_header(of);
                vec![$((declared(stringify!($type)), stringify!($field).to_owned()),)*]
            }
        }
    };
}

record! {
    /// What every record begins with.
    Step {
        time_ns: u64,
        identity: u64,
        sector: u64,
        length_bytes: u32,
        command_flags: u32,
        device: u32,
        cpu: u16,
        kind: u8,
        marks: u8,
    }
}

record! {
    /// A request was allocated, or a bio went to a device without requests; or all of a request
    /// that is finished.
    Start {
        step: Step,
        queued_ns: u64,
        tag: u64,
        cgroup: u64,
        pid: u32,
        tgid: u32,
        inode: u64,
        generation: u32,
        file_system: u32,
        file_kind: u8,
        status: u8,
        apart: u16,
        kernel_stack: u32,
        user_stack: u32,
        started_after_ns: u32,
        command: [u8; 16],
    }
}

record! {
    /// It went to the driver.
    Issue {
        step: Step,
        serves: u64,
    }
}

record! {
    /// The driver completed.
    Complete {
        step: Step,
        done_bytes: u32,
        status: i32,
        started_ns: u64,
        issued_ns: u64,
    }
}

record! {
    /// A call began or ended, or a commit came to a stage.
    Sync {
        step: Step,
        inode: u64,
        transaction: u64,
        cgroup: u64,
        pid: u32,
        tgid: u32,
        result: u32,
        generation: u32,
        command: [u8; 16],
    }
}

record! {
    /// A part of what a file is called.
    Name {
        step: Step,
        inode: u64,
        generation: u32,
        part: u32,
        text: [u8; 64],
    }
}

record! {
    /// A part of a stack.
    Frames {
        step: Step,
        addresses: [u64; FRAMES_EACH],
    }
}

/// Functions in a part of a stack.
pub(super) const FRAMES_EACH: usize = 10;

pub(super) mod kind {
    pub(in super::super) const START: u8 = 1;
    pub(in super::super) const WHOLE_START: u8 = 2;
    pub(in super::super) const ISSUE: u8 = 3;
    pub(in super::super) const REQUEUE: u8 = 4;
    pub(in super::super) const MERGE: u8 = 5;
    pub(in super::super) const COMPLETE: u8 = 6;
    pub(in super::super) const SYNC_BEGIN: u8 = 7;
    pub(in super::super) const SYNC_END: u8 = 8;
    pub(in super::super) const COMMIT: u8 = 9;
    pub(in super::super) const CHANGED: u8 = 10;
    pub(in super::super) const CALLED: u8 = 11;
    pub(in super::super) const RETURNED: u8 = 12;
    pub(in super::super) const ABOVE: u8 = 13;
    pub(in super::super) const BECAME: u8 = 14;
    pub(in super::super) const NAMED: u8 = 15;
    pub(in super::super) const STACK: u8 = 16;
    pub(in super::super) const WAITED: u8 = 17;
    pub(in super::super) const JOURNALED: u8 = 18;
    pub(in super::super) const WOKEN: u8 = 19;
    pub(in super::super) const FINISHED: u8 = 20;
    pub(in super::super) const OVER: u8 = 21;
}

/// A read that goes past the page cache.
pub(super) const MARK_DIRECT: u8 = 1;
/// A step of the data of a flush sequence.
pub(super) const MARK_IN_SEQUENCE: u8 = 2;
/// A call that does not ask for all metadata.
pub(super) const MARK_DATASYNC: u8 = 4;
/// A read of a page that had been evicted from memory.
pub(super) const MARK_REFAULTED: u8 = 4;
/// The same, evicted by the reader's own process.
pub(super) const MARK_BY_ITSELF: u8 = 8;
/// A call of which neither what it asks for nor its end is told.
pub(super) const MARK_UNTOLD: u8 = 8;
/// A request that a cgroup's limit held back.
pub(super) const MARK_THROTTLED: u8 = 16;
/// A part of a name whose component goes on in the next part.
pub(super) const MARK_MORE: u8 = 32;
/// An issue, or what is finished: longer than at its start.
pub(super) const MARK_GREW: u8 = 32;
/// What ends a name.
pub(super) const MARK_WHOLE: u8 = 64;
/// The same of a file that was removed.
pub(super) const MARK_DELETED: u8 = 128;
/// A wait for a request, as the kernel counts it.
pub(super) const MARK_FOR_REQUEST: u8 = 1;
/// A wait that holds a transaction open.
pub(super) const MARK_IN_TRANSACTION: u8 = 2;
/// A sleep as long as usual.
pub(super) const MARK_USUAL: u8 = 4;
/// In `done_bytes`: not known.
pub(super) const ALL_BYTES: u32 = u32::MAX;

/// Where a [`Step`] has its kind.
const KIND: usize = 38;

/// The kind of a record; none of one that is too short to have any.
pub(super) fn kind_of(bytes: &[u8]) -> Option<u8> {
    bytes.get(KIND).copied()
}

/// The record that a cell begins with.
#[inline]
pub(super) fn whole<T: FromBytes>(bytes: &[u8]) -> Option<T> {
    T::read_from_prefix(bytes).ok().map(|(record, _)| record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::ring::RECORD_BYTES;

    const HEADER: &str = include_str!("event.h");

    /// What event.h calls a type.
    pub(super) fn of_header(of: &str) -> String {
        match of.strip_prefix('[').and_then(|of| of.strip_suffix(']')?.split_once("; ")) {
            Some((of, "FRAMES_EACH")) => format!("{of}[{FRAMES_EACH}]"),
            Some((of, count)) => format!("{of}[{count}]"),
            None if of == "i32" => "int".to_owned(),
            None if of == "Step" => "struct step".to_owned(),
            None => of.to_owned(),
        }
    }

    /// The fields of a struct in event.h: type and name.
    fn declared(name: &str) -> Vec<(String, String)> {
        let begin = HEADER.find(&format!("\nstruct {name} {{")).unwrap();
        let body = &HEADER[begin..begin + HEADER[begin..].find("};").unwrap()];
        let field = |line: &str| {
            let (declaration, _comment) = line.split_once(';')?;
            let (kind, name) = declaration.trim().rsplit_once([' ', '\t'])?;
            let (name, array) = name.split_at(name.find('[').unwrap_or(name.len()));
            Some((format!("{}{array}", kind.trim()), name.to_owned()))
        };
        body.lines().skip(2).filter_map(field).collect()
    }

    #[test]
    fn the_records_are_those_of_the_header() {
        assert_eq!(declared("step"), Step::fields());
        assert_eq!(declared("start"), Start::fields());
        assert_eq!(declared("issue"), Issue::fields());
        assert_eq!(declared("complete"), Complete::fields());
        assert_eq!(declared("sync"), Sync::fields());
        assert_eq!(declared("name"), Name::fields());
        assert_eq!(declared("frames"), Frames::fields());
    }

    #[test]
    fn the_numbers_are_those_of_the_header() {
        use kind::*;
        for (name, value) in [
            ("START", START),
            ("WHOLE_START", WHOLE_START),
            ("ISSUE", ISSUE),
            ("REQUEUE", REQUEUE),
            ("MERGE", MERGE),
            ("COMPLETE", COMPLETE),
            ("SYNC_BEGIN", SYNC_BEGIN),
            ("SYNC_END", SYNC_END),
            ("COMMIT", COMMIT),
            ("CHANGED", CHANGED),
            ("CALLED", CALLED),
            ("RETURNED", RETURNED),
            ("ABOVE", ABOVE),
            ("BECAME", BECAME),
            ("NAMED", NAMED),
            ("STACK", STACK),
            ("WAITED", WAITED),
            ("JOURNALED", JOURNALED),
            ("WOKEN", WOKEN),
            ("FINISHED", FINISHED),
        ] {
            assert!(HEADER.contains(&format!("\t{name} = {value},")), "{name}");
        }
        for (name, mark) in [
            ("DIRECT", MARK_DIRECT),
            ("DATASYNC", MARK_DATASYNC),
            ("THROTTLED", MARK_THROTTLED),
            ("REFAULTED", MARK_REFAULTED),
            ("BY_ITSELF", MARK_BY_ITSELF),
            ("USUAL", MARK_USUAL),
            ("UNTOLD", MARK_UNTOLD),
            ("IN_SEQUENCE", MARK_IN_SEQUENCE),
            ("MORE", MARK_MORE),
            ("GREW", MARK_GREW),
            ("WHOLE", MARK_WHOLE),
            ("DELETED", MARK_DELETED),
            ("FOR_REQUEST", MARK_FOR_REQUEST),
        ] {
            assert!(HEADER.contains(&format!("#define MARK_{name} {mark}\n")), "{name}");
        }
        assert!(HEADER.contains(&format!("#define FRAMES_EACH {FRAMES_EACH}\n")));
        assert!(HEADER.contains(&format!("#define ALL_BYTES {ALL_BYTES:#x}\n")));
    }

    #[test]
    fn the_kind_is_where_a_step_has_it() {
        let bytes: Vec<u8> = (0..40).collect();
        assert_eq!(kind_of(&bytes), whole::<Step>(&bytes).map(|step| step.kind));
        assert_eq!(kind_of(&bytes[..KIND]), None);
    }

    #[test]
    fn a_record_has_its_length_at_the_least() {
        let bytes = [7; 128];
        let least = |is_whole: fn(&[u8]) -> bool| (0..=128).find(|&n| is_whole(&bytes[..n]));
        assert_eq!(least(|b| whole::<Step>(b).is_some()), Some(40));
        assert_eq!(least(|b| whole::<Start>(b).is_some()), Some(RECORD_BYTES), "the longest");
        assert_eq!(least(|b| whole::<Sync>(b).is_some()), Some(96));
        assert_eq!(least(|b| whole::<Name>(b).is_some()), Some(RECORD_BYTES), "as long");
        assert_eq!(least(|b| whole::<Frames>(b).is_some()), Some(RECORD_BYTES), "as long");
        assert_eq!(least(|b| whole::<Issue>(b).is_some()), Some(48));
        assert_eq!(least(|b| whole::<Complete>(b).is_some()), Some(64));
    }
}

//! What block tracers say happened, by number, by letters or by the tracepoint's name, and the
//! steps of a request that these are (`include/uapi/linux/blktrace_api.h`, blkparse(1),
//! `include/trace/events/block.h`).

use super::parse::unsigned;
pub(super) use trace::event::Kind;

/// blktrace's actions in the order of their numbers, which begin at 1, with blkparse's letters.
const ACTIONS: [(&[u8], Kind); 19] = [
    (b"Q", Kind::Queue),
    (b"M", Kind::BackMerge),
    (b"F", Kind::FrontMerge),
    (b"G", Kind::Start),
    (b"S", Kind::Nothing),
    (b"R", Kind::Requeue),
    (b"D", Kind::Issue),
    (b"C", Kind::Complete),
    (b"P", Kind::Nothing),
    (b"U", Kind::Nothing),
    (b"UT", Kind::Nothing),
    (b"I", Kind::Nothing),
    (b"X", Kind::Nothing),
    (b"B", Kind::Nothing),
    (b"A", Kind::Nothing),
    // Aborted: the request is completed, with an error, too.
    (b"ABORT", Kind::Nothing),
    (b"DRV_DATA", Kind::Nothing),
    // Of zones, from version 8 on.
    (b"ZP", Kind::Nothing),
    (b"ZU", Kind::Nothing),
];

/// The action of that number.
#[inline]
pub(super) fn numbered(number: u64) -> Option<Kind> {
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    ACTIONS.get(place).map(|(_, kind)| *kind)
}

/// The actions of one letter, by it; `m` is a message.
const BY_LETTER: [Option<Kind>; 256] = {
    let mut kinds = [None; 256];
    kinds[b'm' as usize] = Some(Kind::Nothing);
    let mut place = 0;
    while place < ACTIONS.len() {
        if let ([letter], kind) = ACTIONS[place] {
            kinds[*letter as usize] = Some(kind);
        }
        place += 1;
    }
    kinds
};

/// The action of those letters.
#[inline]
pub(super) fn lettered(letters: &[u8]) -> Option<Kind> {
    match letters {
        [letter] => BY_LETTER[usize::from(*letter)],
        _ => ACTIONS.iter().find(|(known, _)| *known == letters).map(|(_, kind)| *kind),
    }
}

/// The step of one of the kernel's tracepoints `block:block_…`; none if it is no block event at
/// all.
#[inline]
pub(super) fn tracepoint(name: &[u8]) -> Option<Kind> {
    Some(match name {
        b"block_rq_complete" => Kind::Complete,
        b"block_rq_issue" => Kind::Issue,
        b"block_bio_queue" => Kind::Queue,
        b"block_getrq" | b"block_io_start" | b"block_rq_insert" => Kind::Start,
        b"block_bio_backmerge" => Kind::BackMerge,
        b"block_bio_frontmerge" => Kind::FrontMerge,
        // A whole request became the end of another.
        b"block_rq_merge" => Kind::BackMerge,
        b"block_rq_requeue" => Kind::Requeue,
        // Of devices that have no requests, such as dm's.
        b"block_bio_complete" => Kind::Complete,
        _ if name.starts_with(b"block_") => Kind::Nothing,
        _ => return None,
    })
}

/// How many events a line says that ftrace's buffer overran: `CPU:1 [LOST 6384 EVENTS]`; one at the
/// least where ftrace does not know the number. None if the line says nothing of the kind.
pub(super) fn ftrace_lost(line: &[u8]) -> Option<u64> {
    let line = line.strip_prefix(b"CPU:")?;
    let place = line.iter().position(|b| !b.is_ascii_digit())?;
    let count = line[place..].strip_prefix(b" [LOST ")?.strip_suffix(b"EVENTS]")?;
    if count.is_empty() { Some(1) } else { unsigned(count.strip_suffix(b" ")?) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_letters_are_blktraces() {
        for (number, letters, kind) in [
            (1, "Q", Kind::Queue),
            (2, "M", Kind::BackMerge),
            (4, "G", Kind::Start),
            (6, "R", Kind::Requeue),
            (7, "D", Kind::Issue),
            (8, "C", Kind::Complete),
            (12, "I", Kind::Nothing),
            (15, "A", Kind::Nothing),
        ] {
            assert_eq!(numbered(number), Some(kind));
            assert_eq!(lettered(letters.as_bytes()), Some(kind));
        }
        assert_eq!((numbered(0), numbered(20), lettered(b"q")), (None, None, None));
        assert_eq!(tracepoint(b"block_rq_issue"), Some(Kind::Issue));
        assert_eq!(tracepoint(b"block_touch_buffer"), Some(Kind::Nothing));
        assert_eq!(tracepoint(b"sched_switch"), None);
    }
    #[test]
    fn what_ftrace_lost_is_read_out_of_its_line() {
        for (line, lost) in [
            ("CPU:1 [LOST 6384 EVENTS]", Some(6384)),
            ("CPU:11 [LOST EVENTS]", Some(1)),
            ("CPU:1 [LOST 6384 EVENTS", None),
            ("CPU:1 [LOST x EVENTS]", None),
            ("CPU0 (mix):", None),
            ("", None),
        ] {
            assert_eq!(ftrace_lost(line.as_bytes()), lost, "{line}");
        }
    }
}

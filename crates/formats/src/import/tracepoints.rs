//! Lines of ftrace and of `perf script`: `task [cpu] flags time: event: what it says`. The event is
//! one of the tracepoints `block:block_…` (`include/trace/events/block.h`, all versions so far), or
//! what ftrace's `blk` tracer prints (`blk_log_action` in `kernel/trace/blktrace.c`), classic or
//! not.
//!
//! A start is given by two tracepoints, getrq and (from Linux 6.5 on) io_start: the one that is met
//! first counts. Of a trace with neither it is the insertion into the scheduler's queue. Other
//! events are passed over.

use super::lines::each_timed;
use super::marks::find;
use super::parse::{marked, unsigned};
use super::steps::{Kind, lettered, tracepoint};
use super::words::{Said, Words, device};
use super::{ImportError, Input};
use trace::event::Listed;
use trace::intake::Intake;

/// What a task's name and number are parted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parting {
    /// `perf script`.
    Space,
    /// ftrace.
    Dash,
}

/// A line's beginning.
#[derive(Debug, Clone, Copy)]
struct Context<'a> {
    task: &'a [u8],
    cpu: Option<u16>,
    time_ns: i64,
    /// What is behind it.
    words: Words<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    context: Context<'a>,
    device: u32,
    kind: Kind,
    start: Start,
    said: Said<'a>,
}

/// Which tracepoint a start is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Getrq,
    Io,
    Insert,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Line<'a> {
    Step(Step<'a>),
    /// An event of the block layer that is no step.
    NoStep,
    /// Another event.
    Other,
}

/// Takes a line apart; or says why it cannot be.
#[inline]
pub(super) fn read(line: &[u8]) -> Result<Line<'_>, &'static str> {
    let context = context(line).ok_or("no task, CPU and time")?;
    let mut words = context.words;
    let mut name = words.next();
    // How many of them a sample of perf's stands for.
    if unsigned(name).is_some() {
        name = words.next();
    }
    let Some((b':', name)) = name.split_last() else { return read_blk(context, name, words) };
    let name = match name.split_first_chunk() {
        Some((b"block:", rest)) => rest,
        _ => name,
    };
    let Some(kind) = tracepoint(name) else { return Ok(Line::Other) };
    if kind == Kind::Nothing {
        return Ok(Line::NoStep);
    }
    let device = words.device().ok_or("no device")?;
    let said = Said::read(&mut words, kind)?;
    let start = match name {
        b"block_getrq" => Start::Getrq,
        b"block_rq_insert" => Start::Insert,
        _ => Start::Io,
    };
    Ok(Line::Step(Step { context, device, kind, start, said }))
}

/// What the `blk` tracer prints: `maj,min action RWBS …`; its classic form has `cpu s.ns pid`
/// before the action, and with cgroups there is one more word, `/path` or `inode,generation`.
#[inline]
fn read_blk<'a>(
    context: Context<'a>,
    first: &'a [u8],
    mut words: Words<'a>,
) -> Result<Line<'a>, &'static str> {
    let device = device(first).ok_or("no event's name and no device")?;
    let mut action = words.next();
    while action.first().is_some_and(|first| first.is_ascii_digit() || *first == b'/') {
        action = words.next();
    }
    let kind = lettered(action).ok_or("an action that is not known")?;
    if kind == Kind::Nothing {
        return Ok(Line::NoStep);
    }
    let said = Said::read(&mut words, kind)?;
    Ok(Line::Step(Step { context, device, kind, start: Start::Getrq, said }))
}

/// The beginning of a line. The name of a task can be anything: what tells is `[cpu]` with a time
/// behind it.
#[inline]
fn context(line: &[u8]) -> Option<Context<'_>> {
    let mut open = find(line, b'[')?;
    loop {
        if let Some(context) = context_at(line, open) {
            return Some(context);
        }
        open += 1 + find(&line[open + 1..], b'[')?;
    }
}

/// The same, if the bracket there is the CPU's.
#[inline]
fn context_at(line: &[u8], open: usize) -> Option<Context<'_>> {
    let (task, rest) = line.split_at_checked(open)?;
    // Numbers of CPUs are short.
    let length = find(&rest[..rest.len().min(8)], b']')?;
    let cpu = unsigned(rest.get(1..length)?)?;
    let mut words = Words::of(rest.get(length + 1..)?);
    let mut word = words.next();
    if word.last() != Some(&b':') {
        // ftrace's flags.
        word = words.next();
    }
    let Some((b':', time)) = word.split_last() else { return None };
    let time_ns = marked(time, 9, b'.')?;
    let task = task.trim_ascii_end();
    Some(Context { task, cpu: u16::try_from(cpu).ok(), time_ns, words })
}

/// A task's name, with what is before it, and its number.
fn task(text: &[u8], parting: Parting) -> (&[u8], Option<u32>) {
    let (mark, text) = match parting {
        Parting::Space => (b' ', text),
        // The number of the process may follow: `dd-8515    (   8515)`.
        Parting::Dash if text.last() == Some(&b')') => {
            (b'-', last(text, b'(').map_or(text, |open| text[..open].trim_ascii_end()))
        }
        Parting::Dash => (b'-', text),
    };
    let Some(place) = last(text, mark) else { return (b"", None) };
    let name = text[..place].trim_ascii_end();
    if parting == Parting::Space && name.is_empty() {
        return (b"", None);
    }
    let number = &text[place + 1..];
    // A thread behind its process: `8515/8516`.
    let number = last(number, b'/').map_or(number, |slash| &number[slash + 1..]);
    (name, unsigned(number).and_then(|pid| u32::try_from(pid).ok()))
}

/// The name of a task, if it is known.
fn named(task: &[u8]) -> Option<&[u8]> {
    Some(task.trim_ascii_start()).filter(|name| !matches!(*name, b"" | b"<...>"))
}

/// Where a byte is last. It is a few bytes away: nothing is faster than to look.
#[inline]
fn last(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().rposition(|other| *other == byte)
}

/// Reads files of such lines. `lost` says what a line that is no event says was lost;
/// `is_passed_over`, whether it is known to say nothing.
pub(super) fn read_all(
    inputs: &mut [Input],
    intake: &mut Intake,
    parting: Parting,
    lost: fn(&[u8]) -> Option<u64>,
    is_passed_over: fn(&[u8]) -> bool,
) -> Result<(), ImportError> {
    let mut teller = Teller { parting, starts_by: None };
    each_timed(inputs, intake, |(_, number), line, intake| {
        let why = match read(line) {
            Ok(Line::Step(step)) => match teller.event(&step, intake) {
                Ok(event) => return event,
                Err(why) => why,
            },
            Ok(Line::NoStep | Line::Other) => return None,
            Err(why) => match lost(line) {
                Some(lost) => {
                    intake.counts_mut().lost += lost;
                    return None;
                }
                None if is_passed_over(line) => return None,
                None => why,
            },
        };
        intake.reject(number, why);
        None
    })
}

/// Makes events of steps.
#[derive(Debug)]
struct Teller {
    parting: Parting,
    /// Which of them tells of starts.
    starts_by: Option<Start>,
}

impl Teller {
    /// The event of a step; none for a start that comes twice.
    #[inline]
    fn event(&mut self, step: &Step, intake: &mut Intake) -> Result<Option<Listed>, &'static str> {
        let Step { context, device, kind, said, .. } = *step;
        let (mut pid, mut command, mut error) = (None, None, 0);
        if kind == Kind::Start {
            let known = self.starts_by.filter(|known| *known != Start::Insert);
            if *self.starts_by.insert(known.unwrap_or(step.start)) != step.start {
                return Ok(None);
            }
        }
        if kind.tells_who() {
            let name;
            (name, pid) = task(context.task, self.parting);
            command = said.command().or_else(|| named(name)).map(|name| intake.command(name));
        } else if kind == Kind::Complete {
            error = said.error().ok_or("no error's number")?;
        }
        let (time_ns, cpu, extent) = (context.time_ns, context.cpu, said.extent);
        Ok(Some(Listed { time_ns, device, cpu, extent, kind, pid, command, error }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Op;

    fn step(line: &str) -> Step<'_> {
        match read(line.as_bytes()) {
            Ok(Line::Step(step)) => step,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn lines_of_every_version_are_steps() {
        for (line, parting, kind, name, pid) in [
            (
                "dd  8515 [000]  1975.746865:  block:block_rq_issue: 7,0 RS 4096 () 16 + 8 0x2,0,4 \
                 [dd]",
                Parting::Space,
                Kind::Issue,
                "dd",
                8515,
            ),
            (
                " my [0] job 8515/8516 [001] 1975.746865:     1 block:block_rq_issue: 7,0 RS 4096 \
                 () 16 + 8 [x]",
                Parting::Space,
                Kind::Issue,
                "my [0] job",
                8516,
            ),
            (
                "  kworker/u8:1-lo-32      [000] d..1.  1975.746865: block_getrq: 7,0 RS 16 + 8 \
                 [x]",
                Parting::Dash,
                Kind::Start,
                "kworker/u8:1-lo",
                32,
            ),
            (
                "  dd-8515    (   8515) [000] 1975.746865: block_bio_queue: 7,0 RS 16 + 8 [x]",
                Parting::Dash,
                Kind::Queue,
                "dd",
                8515,
            ),
            (
                "  dd-8515 [000] .....  1975.746865:   7,0    Q  RS 16 + 8 [dd]",
                Parting::Dash,
                Kind::Queue,
                "dd",
                8515,
            ),
            (
                "  dd-8515 [000] .....  1975.746865:   7,0  0  1975.746865000  8515  D  RS 16 + 8 \
                 [dd]",
                Parting::Dash,
                Kind::Issue,
                "dd",
                8515,
            ),
        ] {
            let step = step(line);
            let (found_name, found_pid) = task(step.context.task, parting);
            assert_eq!(
                (step.kind, step.device, step.context.time_ns),
                (kind, 7 << 20, 1_975_746_865_000)
            );
            assert_eq!(named(found_name), Some(name.as_bytes()), "{line}");
            assert_eq!(found_pid, Some(pid), "{line}");
            let extent = step.said.extent;
            assert_eq!(
                (extent.op, extent.offset_bytes, extent.length_bytes),
                (Op::Read, Some(8192), 4096)
            );
        }
    }

    #[test]
    fn other_events_are_known_to_be_others_and_bad_lines_to_be_bad() {
        let other = b"dd 1 [000] 1.0: sched:sched_switch: dd:1 [120] S ==> x:2 [120]";
        assert!(matches!(read(other), Ok(Line::Other)));
        let plug = b"dd 1 [000] 1.0: block:block_plug: [dd]";
        assert!(matches!(read(plug), Ok(Line::NoStep)));
        for (line, why) in [
            ("", "no task, CPU and time"),
            ("dd 1 [000] 1: block:block_plug: [dd]", "no task, CPU and time"),
            ("dd 1 [000] 1.0: block:block_rq_issue: 7 R", "no device"),
            ("dd-1 [000] 1.0: 7,0 q R 16 + 8 [dd]", "an action that is not known"),
            ("dd-1 [000] 1.0: tracing_mark", "no event's name and no device"),
        ] {
            assert_eq!(read(line.as_bytes()).unwrap_err(), why, "{line}");
        }
    }
}

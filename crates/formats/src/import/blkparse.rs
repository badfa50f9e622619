//! blkparse's text as it is by default: `maj,min cpu sequence s.ns pid action RWBS sector + sectors
//! [command]` (a completion has its error in the brackets), and a summary at the end, which is
//! passed over. `\x0a` in a name is the byte that our exporter means by it; blkparse itself writes
//! none.
//!
//! `blkparse -f` may print all events in one format, which has the command in the brackets of a
//! completion too (the example of blkparse(1) does): whether it failed is not known then.
//!
//! Non-goals: formats of `blkparse -f` with other words, or in another order.

use super::lines::{each_timed, first_lines};
use super::parse::fixed;
use super::steps::{Kind, lettered};
use super::words::{Said, Words};
use super::{Format, Guess, ImportError, Input, Reading};
use crate::spelling;
use trace::event::Listed;
use trace::intake::{Epoch, Intake};

pub(super) const FORMAT: Format = Format {
    name: "blkparse",
    meaning: "blkparse's text, as it is by default",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let lines = first_lines(head, is_whole, 20);
    let is_understood = |line: &&&[u8]| read(line).is_ok();
    Guess::of(2 * lines.iter().filter(is_understood).count() > lines.len())
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("since the trace's start", Epoch::Unknown);
    let mut names_at_ends = false;
    each_timed(inputs, intake, |(_, number), line, intake| match read(line) {
        Ok(step) => {
            let step = step?;
            names_at_ends |= step.names_at_end();
            Some(step.event(intake))
        }
        Err(_) if is_of_summary(line) => None,
        Err(why) => {
            intake.reject(number, why);
            None
        }
    })?;
    if names_at_ends {
        let unknown = "errors: completions have a name in the place of their error (blkparse -f)";
        intake.note("unknown", unknown.to_owned());
    }
    Ok(())
}

/// What lines of the summary begin with; the text before the numbers.
const SUMMARY: [&[u8]; 18] = [
    b"CPU",
    b"Total (",
    b" Reads Queued:",
    b" Read Dispatches:",
    b" Reads Requeued:",
    b" Reads Completed:",
    b" Read Merges:",
    b" Read depth:",
    b" PC Reads Queued:",
    b" PC Read Disp.:",
    b" PC Reads Req.:",
    b" PC Reads Compl.:",
    b" IO unplugs:",
    b" Allocation wait:",
    b" Dispatch wait:",
    b"Throughput (R/W):",
    b"Events (",
    b"Skips:",
];

fn is_of_summary(line: &[u8]) -> bool {
    SUMMARY.iter().any(|s| line.starts_with(s))
}

struct Step<'a> {
    device: u32,
    cpu: Option<u16>,
    time_ns: i64,
    pid: Option<u32>,
    kind: Kind,
    said: Said<'a>,
}

/// The step of a line; none if it is known to be none.
#[inline]
fn read(line: &[u8]) -> Result<Option<Step<'_>>, &'static str> {
    let mut words = Words::of(line);
    let device = words.device().ok_or("no device")?;
    let cpu = words.number().ok_or("no CPU")?;
    words.number().ok_or("no sequence number")?;
    let time_ns = fixed(words.next(), 9, b'.').ok_or("no time")?;
    let pid = words.number().ok_or("no process")?;
    let kind = lettered(words.next()).ok_or("an action that is not known")?;
    if kind == Kind::Nothing {
        return Ok(None);
    }
    let said = Said::read(&mut words, kind)?;
    let (cpu, pid) = (u16::try_from(cpu).ok(), u32::try_from(pid).ok());
    Ok(Some(Step { device, cpu, time_ns, pid, kind, said }))
}

impl Step<'_> {
    /// Whether it is a completion that does not say whether it is an error.
    #[inline]
    fn names_at_end(&self) -> bool {
        self.kind == Kind::Complete && self.said.error().is_none()
    }

    #[inline]
    fn event(&self, intake: &mut Intake) -> Listed {
        let Self { device, cpu, time_ns, kind, ref said, .. } = *self;
        let (mut pid, mut command, mut error) = (None, None, 0);
        if kind.tells_who() {
            pid = self.pid;
            command = said.command().map(|name| intake.command(&spelling::read(name)));
        } else if kind == Kind::Complete {
            error = said.error().unwrap_or(0);
        }
        Listed { time_ns, device, cpu, extent: said.extent, kind, pid, command, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "no device"),
            ("  7,0    x        1", "no CPU"),
            ("  7,0    0        x", "no sequence number"),
            ("  7,0    0        1     0,5", "no time"),
            ("  7,0    0        1     0.5  x", "no process"),
            ("  7,0    0        1     0.5  1 q", "an action that is not known"),
            ("  7,0    0        1     0.5  1 Q R 16 + 8", "nothing in brackets"),
        ] {
            assert_eq!(read(line.as_bytes()).err(), Some(why), "{line}");
        }
        assert!(
            read(b"  7,0    0        3     0.000026682  8690  P   N [(null)]").unwrap().is_none()
        );
        assert!(
            read(b"  7,0    0        0     0.000000000     0  m   N cfq 123").unwrap().is_none()
        );
    }
}

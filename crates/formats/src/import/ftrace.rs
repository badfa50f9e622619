//! ftrace's text (`trace`, `trace_pipe`): what its `blk` tracer prints, and the tracepoints
//! `block_*`. Lines that say what was lost (`CPU:1 [LOST 6384 EVENTS]`) are counted; other events
//! and the table's head are passed over.

use super::lines::first_lines;
use super::steps::ftrace_lost;
use super::tracepoints::{Line, Parting, read, read_all};
use super::{Format, Guess, ImportError, Input, Reading};
use memchr::memmem;
use trace::intake::{Epoch, Intake};

pub(super) const FORMAT: Format = Format {
    name: "ftrace",
    meaning: "ftrace's text: the blk tracer's, or block_* events",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let lines = first_lines(head, is_whole, 1000);
    // perf script names the group too: block:block_….
    let is_perfs = |line: &[u8]| memmem::find(line, b" block:block_").is_some();
    let is_block =
        |line: &&[u8]| !is_perfs(line) && matches!(read(line), Ok(Line::Step(_) | Line::NoStep));
    Guess::of(lines.iter().any(is_block))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("ftrace's (trace_clock: local unless set otherwise)", Epoch::Unknown);
    read_all(inputs, intake, Parting::Dash, ftrace_lost, is_passed_over)
}

/// Whether a line is a comment or empty, or says where a CPU's buffer begins.
fn is_passed_over(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.is_empty() || text.starts_with(b"#")
}

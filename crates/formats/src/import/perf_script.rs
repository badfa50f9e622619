//! `perf script` of the kernel's tracepoints `block:*`: `comm tid [cpu] s.us: block:EVENT: …`.
//! Other events, call chains and comments are passed over; what perf lost is counted where
//! `--show-lost-events` tells it.

use super::lines::first_lines;
use super::parse::unsigned;
use super::tracepoints::{Line, Parting, read, read_all};
use super::{Format, Guess, ImportError, Input, Reading};
use memchr::memmem;
use trace::intake::{Epoch, Intake};

pub(super) const FORMAT: Format = Format {
    name: "perf-script",
    meaning: "perf script of block:* events",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    let lines = first_lines(head, is_whole, 1000);
    Guess::of(lines.iter().any(|line| {
        let is_perfs = memmem::find(line, b" block:block_").is_some();
        is_perfs && matches!(read(line), Ok(Line::Step(_) | Line::NoStep))
    }))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("perf's (CLOCK_MONOTONIC unless set otherwise)", Epoch::Unknown);
    read_all(inputs, intake, Parting::Space, lost, is_passed_over)
}

/// How many events a line says that perf lost.
fn lost(line: &[u8]) -> Option<u64> {
    let place = memmem::find(line, b"PERF_RECORD_LOST")?;
    unsigned(line[place..].rsplit(|b| *b == b' ').next()?)
}

/// Whether a line is a comment, or of a call chain: `ffffffff8134 __submit_bio+0x1f
/// ([kernel.kallsyms])`, with an address of as many digits as it has, and without what `-F` leaves
/// out of it.
fn is_passed_over(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    if text.starts_with(b"#") {
        return true;
    }
    let is_indented = line.first().is_some_and(u8::is_ascii_whitespace);
    let (address, rest) = text.split_at(text.iter().position(|b| *b == b' ').unwrap_or(0));
    let rest = rest.trim_ascii_start();
    let is_address = (1..=16).contains(&address.len()) && address.iter().all(u8::is_ascii_hexdigit);
    // A task's name may be hexadecimal digits, and a number is behind it.
    let is_symbol = !rest.contains(&b' ') && rest.iter().any(|b| !b.is_ascii_digit());
    is_indented && is_address && (rest.ends_with(b")") || is_symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_events_are_told_apart() {
        assert_eq!(lost(b"swapper 0 [001] 1.000000: PERF_RECORD_LOST lost 133"), Some(133));
        assert_eq!(lost(b"dd 1 [000] 1.0: something"), None);
        for line in [
            "# cmdline : perf script",
            "\tffffffff813425aa submit_bio+0x1a ([k])",
            "            7fffa5a2dc02 blk_update_request ([kernel.kallsyms])",
            "                   db730 write (/lib/x86_64-linux-gnu/libc-2.24.so)",
            "        6566322d30333762 [unknown] ([unknown])",
            "                       0 [unknown] (/usr/bin/my program)",
            "\t    4f2 operator new(unsigned long) (inlined)",
            "\tffffffff813425aa submit_bio+0x1a",
        ] {
            assert!(is_passed_over(line.as_bytes()), "{line}");
        }
        assert!(!is_passed_over(b"deadbeef is a task"));
        assert!(!is_passed_over(b" dd 8515 [000] 1975"));
        assert!(!is_passed_over(b" dd 8515"));
    }
}

//! Traces as text, made by rule: each run makes the same bytes, of any length. What they tell is
//! plausible enough for an importer to do all its work (places, sizes, times and completions vary),
//! and nothing more is meant by it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A format, and how it is written.
#[derive(Debug)]
pub(in super::super) struct Text {
    /// In lbolt's words.
    format: &'static str,
    header: &'static str,
    line: fn(&mut dyn Write, &Made) -> io::Result<()>,
    /// Lines of a request: each is a step of it, or the one line is all of it.
    steps: u64,
}

/// How long a file is to be.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Until {
    Lines(u64),
    Bytes(u64),
}

/// What a line tells.
#[derive(Debug)]
struct Made {
    /// Which step of the request, where steps are lines.
    step: u64,
    /// Since the beginning.
    time_ns: u64,
    response_ns: u64,
    device: u64,
    is_write: bool,
    offset: u64,
    length: u64,
}

const fn row(
    format: &'static str,
    header: &'static str,
    line: fn(&mut dyn Write, &Made) -> io::Result<()>,
) -> Text {
    Text { format, header, line, steps: 1 }
}

/// MSR's time of its week in 2007, in 100 ns since 1601; s since 1970 of the others.
const FILETIME: u64 = 128_166_372_003_061_629;
const UNIX_S: u64 = 1_577_808_000;

/// The text of a format.
pub(in super::super) fn named(format: &str) -> Option<&'static Text> {
    TEXTS.iter().find(|text| text.format == format)
}

/// Every format that is written.
static TEXTS: [Text; 8] = [
    row("msr", "", |out, m| {
        let op = if m.is_write { "Write" } else { "Read" };
        let (ticks, response) = (FILETIME + m.time_ns / 100, m.response_ns / 100);
        writeln!(out, "{ticks},hm,{},{op},{},{},{response}", m.device, m.offset, m.length)
    }),
    row("systor17", "Timestamp,Response,IOType,LUN,Offset,Size\n", |out, m| {
        let (s, ns) = (UNIX_S + m.time_ns / 1_000_000_000, m.time_ns % 1_000_000_000);
        let op = if m.is_write { "W" } else { "R" };
        let us = m.response_ns / 1000;
        writeln!(out, "{s}.{ns:09},0.{us:06},{op},{},{},{}", m.device, m.offset, m.length)
    }),
    row("alibaba", "", |out, m| {
        let op = if m.is_write { "W" } else { "R" };
        let us = UNIX_S * 1_000_000 + m.time_ns / 1000;
        writeln!(out, "{},{op},{},{},{us}", m.device, m.offset, m.length)
    }),
    row("tencent", "", |out, m| {
        let (s, op) = (UNIX_S + m.time_ns / 1_000_000_000, u8::from(m.is_write));
        writeln!(out, "{s},{},{},{op},{}", m.offset / 512, m.length / 512, 1000 + m.device)
    }),
    row("spc", "", |out, m| {
        let op = if m.is_write { "w" } else { "r" };
        let (s, us) = (m.time_ns / 1_000_000_000, m.time_ns / 1000 % 1_000_000);
        writeln!(out, "{},{},{},{op},{s}.{us:06}", m.device, m.offset / 512, m.length)
    }),
    row("fio-iolog", "fio version 3 iolog\n", |out, m| {
        let op = if m.is_write { "write" } else { "read" };
        writeln!(out, "{} /dev/sd{} {op} {} {}", m.time_ns / 1000, m.device, m.offset, m.length)
    }),
    Text { format: "blkparse", header: "", line: blkparse, steps: 4 },
    Text { format: "perf-script", header: "", line: perf_script, steps: 4 },
];

fn rwbs(made: &Made) -> &'static str {
    if made.is_write { "WS" } else { "R" }
}

fn blkparse(out: &mut dyn Write, m: &Made) -> io::Result<()> {
    let (s, ns) = (m.time_ns / 1_000_000_000, m.time_ns % 1_000_000_000);
    let action = ["Q", "G", "D", "C"][m.step as usize % 4];
    let (sector, sectors) = (m.offset / 512, m.length / 512);
    let last = if m.step == 3 { "[0]" } else { "[postgres]" };
    let (cpu, op) = (m.step % 2, rwbs(m));
    writeln!(
        out,
        "  8,{:<3} {cpu:2} {:8} {s:5}.{ns:09} {:5}  {action}  {op:>2} {sector} + {sectors} {last}",
        16 * m.device,
        m.time_ns / 1000,
        2000 + m.device
    )
}

fn perf_script(out: &mut dyn Write, m: &Made) -> io::Result<()> {
    let (s, us) = (m.time_ns / 1_000_000_000, m.time_ns / 1000 % 1_000_000);
    let (sector, sectors, op) = (m.offset / 512, m.length / 512, rwbs(m));
    let device = 16 * m.device;
    let (event, bytes, priority, last) = match m.step {
        0 => ("block:block_bio_queue", "", "", "[postgres]"),
        1 => ("block:block_io_start", "4096 () ", "0x2,0,4 ", "[postgres]"),
        2 => ("block:block_rq_issue", "4096 () ", "0x2,0,4 ", "[postgres]"),
        _ => ("block:block_rq_complete", "() ", "0x2,0,4 ", "[0]"),
    };
    writeln!(
        out,
        "        postgres  2042 [001] {s:5}.{us:06}: {event:>32}: 8,{device} {op} {bytes}{sector} \
         + {sectors} \
         {priority}{last}"
    )
}

/// Steps of this many requests lie between those of one.
const UNDER_WAY: u64 = 16;

impl Text {
    /// Writes a file, and gives back how many lines it has and how many of them tell something.
    pub(in super::super) fn write(&self, path: &Path, until: Until) -> io::Result<(u64, u64)> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        out.write_all(self.header.as_bytes())?;
        let headers = u64::from(!self.header.is_empty());
        let (mut lines, mut line) = (0, Vec::new());
        let mut bytes = self.header.len() as u64;
        loop {
            let is_over = match until {
                Until::Lines(wanted) => lines + headers >= wanted,
                Until::Bytes(wanted) => bytes >= wanted,
            };
            if is_over {
                break;
            }
            line.clear();
            (self.line)(&mut line, &self.made(lines))?;
            out.write_all(&line)?;
            (lines, bytes) = (lines + 1, bytes + line.len() as u64);
        }
        out.flush()?;
        Ok((lines + headers, lines))
    }

    /// What a line is to tell. Steps of a request are apart: those of [`UNDER_WAY`] requests take
    /// turns.
    fn made(&self, line: u64) -> Made {
        let group = UNDER_WAY * self.steps;
        let (step, request) =
            (line % group / UNDER_WAY, line / group * UNDER_WAY + line % UNDER_WAY);
        // Without steps the group is of single lines: then a request is a line.
        let (step, request) = if self.steps == 1 { (0, line) } else { (step, request) };
        let random = mixed(request);
        Made {
            step,
            time_ns: line * 10_000 + mixed(line) % 10_000,
            response_ns: 80_000 + mixed(random) % 900_000,
            device: random % 7,
            is_write: random >> 8 & 3 == 0,
            offset: (random >> 16) % (1 << 27) * 4096,
            length: 4096 << (random >> 44 & 3),
        }
    }
}

/// A number of which no bit tells of its neighbours (splitmix64, Steele et al. 2014).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use formats::import::{self, Input};
    use trace::intake::Intake;

    #[test]
    fn lbolt_understands_every_line_of_every_text() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("text");
        for text in &TEXTS {
            let (lines, telling) = text.write(&path, Until::Lines(6401)).unwrap();
            assert_eq!(lines, 6401, "{}", text.format);
            let mut rows: Vec<model::record::Request> = Vec::new();
            let mut intake = Intake::new(&mut rows, "test");
            let format = import::named(text.format).unwrap();
            let mut inputs = [Input::open(&path).unwrap()];
            import::read(&mut inputs, Some(format), &mut intake).unwrap();
            let counts = *intake.counts();
            assert_eq!((counts.rejected, counts.events), (0, telling), "{}", text.format);
            intake.finish().unwrap();
            // The last request may lack steps.
            let whole = telling / text.steps;
            assert!((whole..=whole + UNDER_WAY).contains(&(rows.len() as u64)), "{}", text.format);
            assert!(rows.iter().any(|r| r.op != rows[0].op), "{}", text.format);
        }
    }

    #[test]
    fn files_are_as_long_as_they_are_to_be() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("text");
        TEXTS[0].write(&path, Until::Bytes(100_000)).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        assert!((100_000..100_100).contains(&length), "{length}");
    }
}

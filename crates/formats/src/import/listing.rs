//! Listings with a column for each fact and a line for each completed request: what biosnoop
//! prints, in all its versions. Columns are given by their names in the head, whatever their order;
//! unknown ones are passed over. The name of a command may have spaces: columns before it are
//! counted from the left, those behind it from the right. A second line may name the words of a
//! column (`MAJOR MINOR` under `DISK`).
//!
//! The time of a line is that of the completion: biosnoop prints when a request completes.

use super::devices::Devices;
use super::lines::each_timed;
use super::parse::{fixed, length, unsigned};
use super::words::Words;
use super::{ImportError, Input};
use memchr::memmem;
use model::record::{Op, Request, device_number};
use trace::intake::Intake;
use trace::rwbs::{letters, offset};

const COLUMNS: usize = 16;
/// Words of a line at the most: the kernel's names of commands have 15 letters.
const WORDS: usize = COLUMNS + 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// When it was completed: a decimal number of 10^-`places` times a ns, so that 9 places are
    /// seconds.
    Time {
        places: u32,
    },
    Command,
    Process,
    Disk,
    /// The second of the two words that are a disk: its minor number.
    DiskPart,
    Letters,
    Sector,
    Bytes,
    /// How long it waited for its issue.
    Wait {
        places: u32,
    },
    /// How long it took from its issue.
    FromIssue {
        places: u32,
    },
    /// How long it took from its start.
    FromStart {
        places: u32,
    },
    Unknown,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Columns(Vec<Column>);

impl Columns {
    /// Those that are given.
    pub(super) fn of(columns: &[Column]) -> Self {
        Self(columns.to_vec())
    }

    /// The columns of a head; none if the line is no head, which tells a time and how long it took.
    pub(super) fn named(line: &[u8], names: &[(&[u8], Column)]) -> Option<Self> {
        let mut words = Words::of(line);
        let mut columns = Vec::new();
        loop {
            let word = words.next();
            if word.is_empty() {
                break;
            }
            let known = names.iter().find(|(name, _)| *name == word);
            let known = known.map_or(Column::Unknown, |(_, column)| *column);
            columns.push(match word {
                b"MAJOR" | b"MAJ" => Column::Disk,
                b"ID" | b"MINOR" | b"MIN" if columns.last() == Some(&Column::Disk) => {
                    Column::DiskPart
                }
                _ => known,
            });
        }
        let tells = |is: fn(&Column) -> bool| columns.iter().any(is);
        // The words of two names of several words could not be distinguished.
        let commands = columns.iter().filter(|column| **column == Column::Command).count();
        let is_head = columns.len() <= COLUMNS
            && commands <= 1
            && tells(|c| matches!(c, Column::Time { .. }))
            && tells(|c| matches!(c, Column::FromIssue { .. } | Column::FromStart { .. }));
        is_head.then_some(Self(columns))
    }

    /// Takes a second line of a head, which names the words of a column above it. Of these we know
    /// the two numbers of a disk. False if the line is none.
    fn name_more(&mut self, line: &[u8]) -> bool {
        let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let is_name = |word: &[u8]| {
            word.first().is_some_and(u8::is_ascii_uppercase)
                && word.iter().all(|b| b.is_ascii_uppercase() || b"()_-:".contains(b))
        };
        let is_disks = words.clone().any(|word| matches!(word, b"MINOR" | b"MIN"));
        let disk = self.0.iter().position(|column| *column == Column::Disk);
        if let Some(disk) = disk.filter(|_| is_disks && !self.0.contains(&Column::DiskPart)) {
            self.0.insert(disk + 1, Column::DiskPart);
        }
        words.clone().next().is_some() && words.clone().all(is_name)
    }

    #[inline]
    pub(super) fn read<'a>(
        &self,
        line: &'a [u8],
        devices: &mut Devices,
    ) -> Result<(Request, &'a [u8]), &'static str> {
        let mut found = Found::default();
        let mut places = [(0, 0); WORDS];
        let count = words(line, &mut places).ok_or("too many words")?;
        // So many words are the command's beyond the first.
        let more = count.checked_sub(self.0.len()).ok_or("too few columns")?;
        let mut next = 0;
        for column in &self.0 {
            let (from, _) = places[next];
            next += if *column == Column::Command { 1 + more } else { 1 };
            let (_, to) = places[next - 1];
            found.take(*column, &line[from..to])?;
        }
        if next != count {
            return Err("too many words");
        }
        found.row.device = found.device(devices)?;
        Ok((found.request()?, found.command))
    }
}

/// Where the words of a line are, and how many.
#[inline]
fn words(line: &[u8], places: &mut [(usize, usize); WORDS]) -> Option<usize> {
    let mut rest = Words::of(line);
    let mut count = 0;
    loop {
        let word = rest.next();
        if word.is_empty() {
            return Some(count);
        }
        let end = line.len() - rest.rest().len();
        *places.get_mut(count)? = (end - word.len(), end);
        count += 1;
    }
}

#[derive(Debug, Default)]
struct Found<'a> {
    time_ns: i64,
    took_ns: i64,
    is_from_start: bool,
    wait_ns: Option<i64>,
    sector: Option<u64>,
    /// Without letters it is not known what the request was.
    letters: Option<(Op, model::record::Flags)>,
    row: Request,
    command: &'a [u8],
    disk: &'a [u8],
    disk_part: Option<&'a [u8]>,
}

impl<'a> Found<'a> {
    #[inline]
    fn take(&mut self, column: Column, word: &'a [u8]) -> Result<(), &'static str> {
        let span = |places| fixed(word, places, b'.').filter(|ns| *ns >= 0).ok_or("no latency");
        match column {
            Column::Time { places } => {
                self.time_ns = fixed(word, places, b'.').ok_or("no time")?;
            }
            Column::Command => self.command = word,
            Column::Process => {
                let pid = unsigned(word).and_then(|pid| u32::try_from(pid).ok());
                self.row.pid = Some(pid.ok_or("no process")?);
            }
            Column::Disk => self.disk = word,
            Column::DiskPart => self.disk_part = Some(word),
            Column::Letters => {
                self.letters = Some(letters(word).ok_or("letters that are no operation's")?);
            }
            Column::Sector => self.sector = Some(unsigned(word).ok_or("no sector")?),
            Column::Bytes => {
                self.row.length_bytes = unsigned(word).and_then(length).ok_or("no bytes")?;
            }
            Column::Wait { places } => self.wait_ns = Some(span(places)?),
            Column::FromIssue { places } => self.took_ns = span(places)?,
            Column::FromStart { places } => {
                (self.took_ns, self.is_from_start) = (span(places)?, true);
            }
            Column::Unknown => {}
        }
        Ok(())
    }

    /// The disk by its two numbers, or by its name; 0 if there is no such column.
    #[inline]
    fn device(&self, devices: &mut Devices) -> Result<u32, &'static str> {
        let Some(minor) = self.disk_part else {
            return Ok(if self.disk.is_empty() { 0 } else { devices.number(&[self.disk]) });
        };
        let number = |word| unsigned(word).and_then(|number| u32::try_from(number).ok());
        let numbers = number(self.disk).zip(number(minor));
        numbers.and_then(|(major, minor)| device_number(major, minor)).ok_or("no disk's numbers")
    }

    #[inline]
    fn request(&self) -> Result<Request, &'static str> {
        let mut row = self.row;
        (row.op, row.flags) = self.letters.unwrap_or((Op::Other, model::record::Flags::default()));
        row.offset_bytes = offset(row.op, self.sector, row.length_bytes, false)?;
        let began_ns = Some(self.time_ns.saturating_sub(self.took_ns));
        if self.is_from_start {
            row.started_ns = began_ns;
        } else {
            row.issued_ns = began_ns;
            row.started_ns = self.wait_ns.and_then(|wait| Some(began_ns?.saturating_sub(wait)));
        }
        row.completed_ns = Some(self.time_ns);
        Ok(row)
    }
}

/// How a kind of listing is read.
pub(super) struct Listing<'a> {
    pub(super) names: &'a [(&'a [u8], Column)],
    /// The columns until there is a head.
    pub(super) columns: Columns,
    /// What lines begin with that are no requests.
    pub(super) passed_over: &'a [&'a [u8]],
}

impl Listing<'_> {
    /// Whether lines are of this kind: there is a head, or most are requests without one.
    pub(super) fn is_of(&self, lines: &[&[u8]]) -> bool {
        let mut devices = Devices::default();
        let is_head = |line: &&[u8]| Columns::named(line, self.names).is_some();
        let is_said = |line: &&&[u8]| !self.is_passed_over(line) && lost(line).is_none();
        let said = lines.iter().filter(is_said);
        let is_request = |line: &&[u8]| self.columns.read(line, &mut devices).is_ok();
        lines.iter().any(is_head)
            || !self.columns.0.is_empty()
                && 2 * said.clone().copied().filter(is_request).count() > said.count()
    }

    pub(super) fn read(self, inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
        let mut devices = Devices::default();
        // By file: the columns, and in which line they were named. A file without a head has those
        // of the first.
        let mut named: Vec<Option<(Columns, u64)>> = vec![None; inputs.len()];
        each_timed(inputs, intake, |(file, number), line, intake| {
            let first = named.iter().flatten().next().map(|(columns, _)| columns);
            let own = named[file].as_ref().map(|(columns, _)| columns);
            let columns = own.or(first).unwrap_or(&self.columns);
            let why = match columns.read(line, &mut devices) {
                Ok((mut row, command)) => {
                    row.command = (!command.is_empty()).then(|| intake.command(command));
                    return Some(row);
                }
                Err(why) => why,
            };
            if let Some(columns) = Columns::named(line, self.names) {
                named[file] = Some((columns, number));
                return None;
            }
            let is_head_of_two = named[file]
                .as_mut()
                .is_some_and(|(columns, head)| *head + 1 == number && columns.name_more(line));
            if let Some(lost) = lost(line) {
                intake.counts_mut().lost += lost;
            } else if !is_head_of_two && !self.is_passed_over(line) {
                intake.reject(number, why);
            }
            None
        })?;
        devices.note(intake);
        Ok(())
    }

    fn is_passed_over(&self, line: &[u8]) -> bool {
        self.passed_over.iter().any(|s| line.starts_with(s))
    }
}

/// How many events a line says were lost: `Possibly lost 133 samples` of bcc, `Lost 133 events` of
/// bpftrace.
fn lost(line: &[u8]) -> Option<u64> {
    let place = memmem::find(line, b"ost ")?;
    let mut words = Words::of(&line[place + 4..]);
    let count = words.number()?;
    matches!(words.next(), b"samples" | b"events").then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column::Time { places: 9 },
        Column::Command,
        Column::Process,
        Column::FromIssue { places: 6 },
    ];

    #[test]
    fn a_command_may_have_spaces() {
        let columns = Columns::of(&COLUMNS);
        let read = |line: &'static str| columns.read(line.as_bytes(), &mut Devices::default());
        let (row, command) = read("1.5   my big  job  77   0.25").unwrap();
        assert_eq!((row.pid, command), (Some(77), &b"my big  job"[..]));
        assert_eq!((row.issued_ns, row.completed_ns), (Some(1_499_750_000), Some(1_500_000_000)));
        for (line, why) in [
            ("1.5 77 0.25", "too few columns"),
            ("x a 77 0.25", "no time"),
            ("1.5 a b 0.25", "no process"),
            ("1.5 a 77 -0.25", "no latency"),
            ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25", "too many words"),
        ] {
            assert_eq!(read(line), Err(why), "{line}");
        }
    }

    #[test]
    fn a_disk_may_be_two_numbers_that_one_line_or_two_name() {
        let names = [
            (&b"TIME(ms)"[..], Column::Time { places: 6 }),
            (b"DISK", Column::Disk),
            (b"COMM", Column::Command),
            (b"PID", Column::Process),
            (b"LAT(ms)", Column::FromStart { places: 6 }),
        ];
        for (head, more) in [
            ("TIME(ms) DISK ID COMM PID LAT(ms)", Some("         MAJOR MINOR")),
            ("TIME(ms) DISK ID COMM PID LAT(ms)", None),
            ("TIME(ms) DISK    COMM PID LAT(ms)", Some("         MAJOR MINOR")),
            ("TIME(ms) MAJ MIN COMM PID LAT(ms)", None),
        ] {
            let mut columns = Columns::named(head.as_bytes(), &names).unwrap();
            assert!(more.is_none_or(|more| columns.name_more(more.as_bytes())));
            let line = b"641 259 4 kworker/0:1 H 77 13";
            let (row, command) = columns.read(line, &mut Devices::default()).unwrap();
            assert_eq!((row.device, row.pid), (259 << 20 | 4, Some(77)), "{head}");
            assert_eq!(command, b"kworker/0:1 H");
        }
        let mut columns = Columns::named(b"TIME(ms) DISK COMM PID LAT(ms)", &names).unwrap();
        assert!(!columns.name_more(b"641 sda bash 77 13"));
        let (row, _) = columns.read(b"641 sda bash 77 13", &mut Devices::default()).unwrap();
        assert_eq!(row.device, 0);
    }

    #[test]
    fn a_head_that_names_two_commands_is_none() {
        let names = [
            (&b"TIME"[..], Column::Time { places: 9 }),
            (b"COMM", Column::Command),
            (b"LAT", Column::FromIssue { places: 6 }),
        ];
        assert!(Columns::named(b"TIME COMM PID LAT", &names).is_some());
        assert!(Columns::named(b"TIME COMM COMM LAT", &names).is_none());
    }

    #[test]
    fn losses_are_told_in_two_ways() {
        assert_eq!(lost(b"Possibly lost 133 samples"), Some(133));
        assert_eq!(lost(b"Lost 8 events"), Some(8));
        assert_eq!(lost(b"0.1 lost 8 7"), None);
    }
}

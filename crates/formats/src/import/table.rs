//! Tables whose columns are data: the five words of simulators and archives, which look alike and
//! differ in their units, and whatever table a user describes (`columns=time,device,offset,…`).
//!
//! - DiskSim's text (Bucy et al., "The DiskSim simulation environment", 4.0, section on input):
//!   `time device block size flags`: ms from the start, blocks of 512 bytes, hexadecimal flags with
//!   bit 0 set for a read.
//! - MQSim (Tavakkol et al., FAST 2018): `time device lba sectors type`: ns, sectors of 512 bytes,
//!   1 for a read. Some have the time in s with nine decimals (`mqsim-seconds`).
//! - The IODA replayer (Li et al., SOSP 2021): `time device offset length type`: ms, bytes, 1 for a
//!   read.
//! - MiDAS (Oh et al., FAST 2024): `time type lba length stream`: s, 0 for a read, 1 for a write, 3
//!   for a discard, blocks of 4096 bytes, bytes.
//!
//! None has completions, or a mark of its own. What tells them apart is what the numbers could mean
//! ([`Facts`]); where more than one meaning is left, a guess is refused with the names of all.

use super::devices::Devices;
use super::lines::{each_line_under, first_lines};
use super::parse::{decimal, device, hexadecimal, length, op, unsigned, whole};
use super::{Format, Guess, ImportError, Input, Reading};
use model::record::{Op, Request};
use trace::intake::{Epoch, Intake};

/// A column, with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// When it was requested: decimal places from the unit to ns.
    Time(u32),
    /// How long it took.
    Response(u32),
    /// A device's number.
    Device,
    /// A device's name, whatever it is.
    Disk,
    /// In units of so many bytes.
    Offset(u64),
    /// In units of so many bytes.
    Length(u64),
    Op(Ops),
    Skipped,
}

/// How an operation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ops {
    /// By its letter or its name.
    Letters,
    /// 1 is a read, 0 a write.
    OneIsRead,
    /// 0 is a read, 1 a write, 2 a flush, 3 a discard.
    ZeroIsRead,
    /// Hexadecimal flags: bit 0 is a read.
    Flags,
}

/// The columns of a table, in their order. Those that a user describes stay as long as the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table(&'static [Column]);

/// Units that a user gives, in the place of a table's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Units {
    /// Decimal places from the unit of times to ns.
    time_places: Option<u32>,
    /// Bytes in the unit of offsets and lengths.
    size_bytes: Option<u64>,
}

/// Units of time by their names, with the decimal places from them to ns.
const TIMES: [(&str, u32); 5] = [("s", 9), ("ms", 6), ("us", 3), ("100ns", 2), ("ns", 0)];
/// Units of offsets and lengths by their names, with their bytes.
const SIZES: [(&str, u64); 6] =
    [("b", 1), ("sector", 512), ("512", 512), ("1k", 1024), ("k", 1024), ("4k", 4096)];

/// The unit of that name.
fn time_places(name: &str) -> Option<u32> {
    TIMES.iter().find(|(known, _)| *known == name).map(|(_, places)| *places)
}

fn size_bytes(name: &str) -> Option<u64> {
    let name = name.to_ascii_lowercase();
    SIZES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

impl Units {
    /// Units by their names.
    /// Errors: names that are no unit's.
    pub fn of(time: Option<&str>, size: Option<&str>) -> Result<Self, ImportError> {
        let unknown =
            |name: &str, known: String| ImportError::UnknownUnit { name: name.to_owned(), known };
        let time_places = time.map(|name| {
            let known = TIMES.map(|(name, _)| name).join(", ");
            time_places(name).ok_or_else(|| unknown(name, known))
        });
        let size_bytes = size.map(|name| {
            let known = "B, sector (512 bytes), 1k, 4k".to_owned();
            size_bytes(name).ok_or_else(|| unknown(name, known))
        });
        Ok(Self { time_places: time_places.transpose()?, size_bytes: size_bytes.transpose()? })
    }

    /// Whether none is given.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

    fn over(&self, column: Column) -> Column {
        match column {
            Column::Time(own) => Column::Time(self.time_places.unwrap_or(own)),
            Column::Response(own) => Column::Response(self.time_places.unwrap_or(own)),
            Column::Offset(own) => Column::Offset(self.size_bytes.unwrap_or(own)),
            Column::Length(own) => Column::Length(self.size_bytes.unwrap_or(own)),
            other => other,
        }
    }
}

/// What a user may write of columns, for messages.
const KNOWN: &str = "time, response, device, offset, length, op and - (a column that is not read), \
                     each with its unit behind a colon, as in \
                     columns=time:ms,device,offset:sector,length:B,op:1=read";

/// The table that a text describes.
/// Errors: what is no column; columns that make no request.
pub(super) fn described(text: &str) -> Result<&'static Format, ImportError> {
    let refused = |why: String| ImportError::Columns { why, known: KNOWN };
    let columns = text.split(',').map(|word| {
        let (name, unit) = match word.trim().split_once(':') {
            Some((name, unit)) => (name, Some(unit)),
            None => (word.trim(), None),
        };
        let places = unit.map_or(Some(9), time_places);
        let bytes = unit.map_or(Some(1), size_bytes);
        let column = match name {
            "time" => places.map(Column::Time),
            "response" => places.map(Column::Response),
            "offset" => bytes.map(Column::Offset),
            "length" => bytes.map(Column::Length),
            "op" => match unit {
                None => Some(Column::Op(Ops::Letters)),
                Some("1=read") => Some(Column::Op(Ops::OneIsRead)),
                Some("0=read") => Some(Column::Op(Ops::ZeroIsRead)),
                Some(_) => None,
            },
            "device" if unit.is_none() => Some(Column::Disk),
            "-" if unit.is_none() => Some(Column::Skipped),
            _ => None,
        };
        column.ok_or_else(|| refused(format!("{word:?} is no column")))
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let count = |is: fn(&Column) -> bool| columns.iter().filter(|c| is(c)).count();
    for (name, count) in [
        ("time", count(|c| matches!(c, Column::Time(_)))),
        ("length", count(|c| matches!(c, Column::Length(_)))),
        ("op", count(|c| matches!(c, Column::Op(_)))),
    ] {
        if count != 1 {
            return Err(refused(format!("{name} is wanted once, and there {count} times")));
        }
    }
    Ok(Box::leak(Box::new(Format {
        name: "columns",
        meaning: "a table of the columns that are named",
        guess: |_, _| Guess::No,
        import: Reading::Table(Table(columns.leak())),
    })))
}

impl Table {
    /// The same with units that a user gives.
    pub(super) fn with(&self, units: &Units) -> Self {
        let columns: Vec<Column> = self.0.iter().map(|column| units.over(*column)).collect();
        Self(columns.leak())
    }

    /// Whether two tables are one with these units.
    pub(super) fn is_with(&self, other: &Self, units: &Units) -> bool {
        // 0 and 1 are flags, too.
        let column = |column: &Column| match units.over(*column) {
            Column::Op(Ops::OneIsRead) => Column::Op(Ops::Flags),
            over => over,
        };
        self.0.iter().map(column).eq(other.0.iter().map(column))
    }

    pub(super) fn import(
        &self,
        inputs: &mut [Input],
        intake: &mut Intake,
    ) -> Result<(), ImportError> {
        intake.set_clock("from the trace's start", Epoch::Unknown);
        if !self.0.iter().any(|column| matches!(column, Column::Response(_))) {
            intake.set_one_sided();
        }
        let mut devices = Devices::default();
        each_line_under(inputs, intake, |line, _| self.row(line, &mut devices))?;
        devices.note(intake);
        Ok(())
    }

    /// The request of a line, or why there is none.
    #[inline]
    pub(super) fn row(&self, line: &[u8], devices: &mut Devices) -> Result<Request, &'static str> {
        let mut row = Request::default();
        let mut response_ns = None;
        let mut words = Cut::of(line);
        for column in self.0.iter() {
            let word = words.next().ok_or("too few columns")?;
            match *column {
                Column::Time(places) => row.queued_ns = Some(time(word, places).ok_or("no time")?),
                Column::Response(places) => {
                    response_ns = Some(time(word, places).ok_or("no response time")?);
                }
                Column::Device => row.device = device(word).ok_or("no device")?,
                Column::Disk => row.device = devices.number(&[word]),
                Column::Offset(unit) => {
                    let bytes = count(word).and_then(|count| count.checked_mul(unit));
                    row.offset_bytes = Some(bytes.ok_or("no offset")?);
                }
                Column::Length(unit) => {
                    let bytes = count(word).and_then(|count| count.checked_mul(unit));
                    row.length_bytes = bytes.and_then(length).ok_or("no length")?;
                }
                Column::Op(ops) => row.op = ops.read(word).ok_or("no operation")?,
                Column::Skipped => {}
            }
        }
        if words.next().is_some() {
            return Err("too many columns");
        }
        if let (Some(took_ns), Some(at_ns)) = (response_ns, row.queued_ns) {
            row.completed_ns = Some(at_ns.checked_add(took_ns).ok_or("no response time")?);
        }
        Ok(row)
    }
}

/// A time in its unit; ns have no decimals. Programs that compute with columns may write `5e-05`.
#[inline]
fn time(word: &[u8], places: u32) -> Option<i64> {
    let time = if places == 0 { whole(word) } else { decimal(word, places) };
    time.or_else(|| {
        let is_scientific = word.first()?.is_ascii_digit() && word.contains(&b'e');
        let number: f64 = std::str::from_utf8(word).ok().filter(|_| is_scientific)?.parse().ok()?;
        let ns = (number * 10_f64.powi(places as i32)).round();
        (0.0..9e18).contains(&ns).then_some(ns as i64)
    })
}

/// A number of units, which may be written as a float.
#[inline]
fn count(word: &[u8]) -> Option<u64> {
    unsigned(word.strip_suffix(b".0").unwrap_or(word))
}

impl Ops {
    #[inline]
    fn read(self, word: &[u8]) -> Option<Op> {
        match self {
            Self::OneIsRead => op(word, &[(b"1", Op::Read), (b"0", Op::Write)]),
            Self::ZeroIsRead => {
                let ops = [Op::Read, Op::Write, Op::Flush, Op::Discard];
                ops.get(usize::try_from(unsigned(word)?).ok()?).copied()
            }
            Self::Flags => {
                let flags = hexadecimal(word).filter(|flags| *flags <= u64::from(u32::MAX))?;
                Some(if flags & 1 == 1 { Op::Read } else { Op::Write })
            }
            Self::Letters => match word.to_ascii_lowercase().as_slice() {
                b"r" | b"read" | b"rs" | b"ra" => Some(Op::Read),
                b"w" | b"write" | b"ws" => Some(Op::Write),
                b"f" | b"flush" | b"sync" => Some(Op::Flush),
                b"d" | b"t" | b"discard" | b"trim" | b"unmap" => Some(Op::Discard),
                _ => None,
            },
        }
    }
}

/// The columns of a line: between commas, semicolons or tabs if it has any, else between blanks.
struct Cut<'a> {
    rest: Option<&'a [u8]>,
    separator: Option<u8>,
}

impl<'a> Cut<'a> {
    fn of(line: &'a [u8]) -> Self {
        let line = line.trim_ascii();
        let separator = line.iter().copied().find(|byte| b",;\t".contains(byte));
        Self { rest: Some(line).filter(|line| !line.is_empty()), separator }
    }
}

impl<'a> Iterator for Cut<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = match self.separator {
            Some(separator) => memchr::memchr(separator, rest),
            None => memchr::memchr(b' ', rest),
        };
        let (word, left) = match end {
            Some(end) => (&rest[..end], Some(&rest[end + 1..])),
            None => (rest, None),
        };
        self.rest =
            if self.separator.is_none() { left.map(<[u8]>::trim_ascii_start) } else { left };
        let word = if self.separator.is_some() { word.trim_ascii() } else { word };
        let quoted = word.strip_prefix(b"\"").and_then(|word| word.strip_suffix(b"\""));
        Some(quoted.unwrap_or(word))
    }
}

macro_rules! five_words {
    ($($format:ident $kind:ident $name:literal, $meaning:literal [$($column:expr),*];)*) => {
        /// The kinds of five words.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Kind { $($kind),* }

        $(pub(super) const $format: Format = Format {
            name: $name,
            meaning: $meaning,
            guess: |head, is_whole| guess(head, is_whole, Kind::$kind),
            import: Reading::Table(Table(&[$($column),*])),
        };)*
    };
}

five_words! {
    MQSIM Mqsim "mqsim",
        "MQSim: five words a line, the first in ns, the last 1 for reads; no completions"
        [Column::Time(0), Column::Device, Column::Offset(512), Column::Length(512),
         Column::Op(Ops::OneIsRead)];
    MQSIM_SECONDS MqsimSeconds "mqsim-seconds",
        "MQSim's five words, time in s with more than six decimals; no completions"
        [Column::Time(9), Column::Device, Column::Offset(512), Column::Length(512),
         Column::Op(Ops::OneIsRead)];
    DISKSIM_ASCII Disksim "disksim-ascii",
        "DiskSim: five words a line, the first in ms and the last flags; no completions"
        [Column::Time(6), Column::Device, Column::Offset(512), Column::Length(512),
         Column::Op(Ops::Flags)];
    REPLAYER Replayer "replayer",
        "IODA's replayer: five words, time in ms, sizes in bytes; no completions"
        [Column::Time(6), Column::Device, Column::Offset(1), Column::Length(1),
         Column::Op(Ops::OneIsRead)];
    MIDAS Midas "midas",
        "MiDAS: five words, s, 0 for reads, block of 4096 bytes, bytes; no completions"
        [Column::Time(9), Column::Op(Ops::ZeroIsRead), Column::Offset(4096), Column::Length(1),
         Column::Skipped];
}

/// A time that is not in ms at the beginning of a file: eleven days.
const TOO_LATE_IN_MS: u64 = 1_000_000_000;
/// Nor are times in ms that are so far apart on average: nobody traces a disk that is asked less
/// than once in ten seconds.
const TOO_RARE_IN_MS: u64 = 10_000;
/// No request of a disk is of more sectors: a number above this is of bytes.
const SECTORS_MAX: u64 = 2048;

/// What the numbers at the beginning of a file of five words could mean.
#[derive(Debug, Default)]
struct Facts {
    rows: usize,
    /// Times with a point; those with more than six decimals, and of these with no more than nine.
    fractions: usize,
    below_a_us: usize,
    whole_ns: usize,
    earliest: u64,
    latest: u64,
    /// Last words that are neither 0 nor 1.
    flagged: usize,
    /// Lines whose second word is a type of MiDAS, and whose last is a number.
    typed: usize,
    /// Lines whose third and fourth words may be bytes: whole sectors.
    offsets: usize,
    lengths: usize,
    least_length: u64,
}

impl Facts {
    /// None where most lines are not five numbers.
    fn of(head: &[u8], is_whole: bool) -> Option<Self> {
        let lines = first_lines(head, is_whole, 1000);
        let mut facts = Self { earliest: u64::MAX, least_length: u64::MAX, ..Self::default() };
        lines.iter().for_each(|line| _ = facts.add(line));
        (2 * facts.rows > lines.len()).then_some(facts)
    }

    fn add(&mut self, line: &[u8]) -> Option<()> {
        // With a comma between them they are another's.
        let mut words =
            Some(Cut::of(line)).filter(|cut| matches!(cut.separator, None | Some(b'\t')))?;
        let [time, second, third, fourth, fifth] = std::array::from_fn(|_| words.next());
        let (time, fifth) = (time?, fifth.filter(|_| words.next().is_none())?);
        let point = time.iter().position(|byte| *byte == b'.');
        let latest = unsigned(&time[..point.unwrap_or(time.len())])?;
        decimal(time, 6)?;
        let (second, offset) = (unsigned(second?)?, unsigned(third?)?);
        let size = unsigned(fourth?)?;
        Ops::Flags.read(fifth)?;
        self.rows += 1;
        self.fractions += usize::from(point.is_some());
        let decimals = point.map_or(0, |point| time.len() - point - 1);
        self.below_a_us += usize::from(decimals > 6);
        self.whole_ns += usize::from((7..=9).contains(&decimals));
        self.earliest = self.earliest.min(latest);
        self.latest = self.latest.max(latest);
        self.flagged += usize::from(!matches!(fifth, b"0" | b"1"));
        self.typed += usize::from(matches!(second, 0 | 1 | 3) && unsigned(fifth).is_some());
        self.offsets += usize::from(offset % 512 == 0);
        self.lengths += usize::from(size % 512 == 0 && size > 0);
        self.least_length = self.least_length.min(size);
        Some(())
    }

    /// Whether times without a point cannot be in ms.
    fn is_too_slow_for_ms(&self) -> bool {
        let span = self.latest - self.earliest;
        self.latest >= TOO_LATE_IN_MS || span / self.rows.max(1) as u64 >= TOO_RARE_IN_MS
    }

    /// The kinds that these numbers can be of.
    fn kinds(&self) -> Vec<Kind> {
        let most = |count: usize| 2 * count > self.rows;
        let has_point = most(self.fractions);
        let are_bytes = self.lengths == self.rows;
        if !are_bytes || self.least_length < 512 {
            return match has_point {
                _ if most(self.flagged) => vec![Kind::Disksim],
                true if self.below_a_us == 0 => vec![Kind::Disksim],
                // Nobody writes ps.
                true if most(self.whole_ns) => vec![Kind::MqsimSeconds],
                // A program's floating point numbers have up to 17 decimals, in whatever unit.
                true => vec![Kind::MqsimSeconds, Kind::Disksim],
                false if self.is_too_slow_for_ms() => vec![Kind::Mqsim],
                false => vec![Kind::Mqsim, Kind::Disksim],
            };
        }
        let mut kinds = Vec::new();
        let are_offsets = self.offsets == self.rows && !most(self.flagged);
        if are_offsets {
            kinds.push(Kind::Replayer);
        }
        // Of the numbers of blocks one in 512 is whole sectors.
        if self.typed == self.rows && has_point && !(are_offsets && self.rows > 1) {
            kinds.push(Kind::Midas);
        }
        if self.least_length <= SECTORS_MAX || kinds.is_empty() {
            kinds.push(if has_point { Kind::Disksim } else { Kind::Mqsim });
        }
        // Of what the times of bytes are without a point, nothing tells.
        if !has_point && kinds == [Kind::Replayer] {
            kinds.push(Kind::Mqsim);
        }
        kinds
    }
}

fn guess(head: &[u8], is_whole: bool, kind: Kind) -> Guess {
    let kinds = Facts::of(head, is_whole).map(|facts| facts.kinds()).unwrap_or_default();
    match (kinds.contains(&kind), kinds.len()) {
        (false, _) => Guess::No,
        (true, 1) => Guess::Yes,
        (true, _) => Guess::NeedMore,
    }
}

#[cfg(test)]
mod tests;

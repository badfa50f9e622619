//! The paper's table 1 as text (papers/routines-1980.csv), and where in it each condition of a
//! footnote or of the text applies.

use super::measure::Waiting;
use super::misread;
use crate::Failure;
use model::workload::Arithmetic;

/// The shortest compute-and-test loop of the paper, ns (section 2: 20 us to 1000 us).
pub(super) const SHORT_LOOP_NS: u64 = 20_000;

/// The operating systems, and the machines that run them.
pub(super) const MODELS: [(&str, &str); 4] = [
    ("CTSS", "cray1-ctss-dd19"),
    ("ALAMOS", "cray1-alamos-dd19"),
    ("COS", "cray1-cos-dd19"),
    ("LTSS", "cdc7600-ltss-819"),
];

/// A row of table 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The computer.
    pub machine: String,
    /// Its operating system.
    pub operating_system: String,
    /// The routine.
    pub routine: String,
    /// The library that it stands in; empty for a system call.
    pub library: String,
    /// It writes.
    pub is_write: bool,
    /// S.
    pub sectors_per_revolution: Option<f64>,
    /// M, as it is printed.
    pub missed_per_call: String,
    /// T_call, us.
    pub t_call_us: Option<f64>,
    /// T_trans, us.
    pub t_trans_us: Option<f64>,
    /// What the footnotes and the text say.
    pub note: String,
}

/// Reads the table.
pub fn table(csv: &str) -> Result<Vec<Published>, Failure> {
    csv.lines().skip(1).filter(|line| !line.trim().is_empty()).map(row).collect()
}

fn row(line: &str) -> Result<Published, Failure> {
    let cells: Vec<&str> = line.splitn(10, ',').map(str::trim).collect();
    let [machine, system, routine, library, direction, sectors, missed, t_call, t_trans, note] =
        cells[..]
    else {
        return Err(misread(format!("{line}: has not ten columns")));
    };
    let number = |text: &str| match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| misread(format!("{line}: {text}?"))),
    };
    Ok(Published {
        machine: machine.into(),
        operating_system: system.into(),
        routine: routine.into(),
        library: library.into(),
        is_write: direction == "write",
        sectors_per_revolution: number(sectors)?,
        missed_per_call: missed.into(),
        t_call_us: number(t_call)?,
        t_trans_us: number(t_trans)?,
        note: note.into(),
    })
}

/// How large M is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Missed {
    /// That.
    Is(f64),
    /// That or more.
    AtLeast(f64),
}

/// A condition under which M was printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// How the program waits.
    pub waiting: Waiting,
    /// From this B to that.
    pub sectors: (u64, u64),
    /// At random addresses.
    pub is_random: bool,
    /// What was printed.
    pub missed: Missed,
}

const ANY: (u64, u64) = (1, u64::MAX);
const TESTING: Waiting = Waiting::Computing(Arithmetic::Scalar, SHORT_LOOP_NS);

fn of(waiting: Waiting, sectors: (u64, u64), missed: f64) -> Condition {
    Condition { waiting, sectors, is_random: false, missed: Missed::Is(missed) }
}

fn both(sectors: (u64, u64), missed: f64) -> Vec<Condition> {
    [TESTING, Waiting::ForAnswer].map(|waiting| of(waiting, sectors, missed)).into()
}

impl Published {
    /// The profile of its machine.
    pub fn model(&self) -> Result<&'static str, Failure> {
        let system = self.operating_system.as_str();
        let found = MODELS.iter().find(|(known, _)| *known == system).map(|(_, model)| *model);
        found.ok_or_else(|| misread(format!("there is no model of {system}")))
    }

    /// The paper's buffer sizes on that computer (section 4), sectors.
    pub fn buffer_sectors(&self) -> &'static [u64] {
        match self.operating_system.as_str() {
            "LTSS" => &[1, 2, 3, 10, 20, 40, 60, 100, 200],
            _ => &[1, 2, 3, 9, 18, 36, 90, 180],
        }
    }

    /// The least B for which the row's costs hold: ALAMOS above 9 (note c), and a system buffer of
    /// 2 costs more (section 4).
    pub fn least_sectors(&self) -> u64 {
        match (self.operating_system.as_str(), self.routine.as_str(), self.library.as_str()) {
            ("ALAMOS", "system call", _) => 10,
            (_, "BUFFER IN" | "BUFFER OUT", "FTWLIB") => 3,
            _ => 1,
        }
    }

    /// The conditions of its M.
    pub fn conditions(&self) -> Result<Vec<Condition>, Failure> {
        let all = (self.least_sectors(), u64::MAX);
        let missed = self.missed_per_call.as_str();
        let mut conditions = match (self.routine.as_str(), self.library.as_str(), missed) {
            // Note b; section 5: non-overlapped reads always miss one.
            ("RDABS", _, _) => vec![
                of(TESTING, (1, 23), 0.0),
                of(TESTING, (31, u64::MAX), 1.0),
                of(Waiting::ForAnswer, ANY, 1.0),
            ],
            // Section 3 and figure 1.
            (_, _, "1 or 2") => [both((1, 16), 1.0), both((18, u64::MAX), 2.0)].concat(),
            // Note a; the rows that print the same without it are taken to mean the same.
            (_, _, "0 or 1") => vec![of(TESTING, all, 0.0), of(Waiting::ForAnswer, all, 1.0)],
            (_, _, ">=1") => [TESTING, Waiting::ForAnswer]
                .map(|waiting| Condition { missed: Missed::AtLeast(1.0), ..of(waiting, all, 1.0) })
                .into(),
            (_, _, printed) => {
                let printed = printed.parse().map_err(|_| misread(format!("M is {printed}?")))?;
                both(all, printed)
            }
        };
        match (self.routine.as_str(), self.library.as_str()) {
            ("RDISK" | "WDISK", "FTWLIB") => {
                conditions.push(Condition { is_random: true, ..of(Waiting::ForAnswer, ANY, 1.4) });
            }
            ("BUFFER IN", "FTWLIB") => conditions.push(of(Waiting::ForAnswer, (2, 2), 4.0)),
            ("BUFFER OUT", "FTWLIB") => conditions.push(of(Waiting::ForAnswer, (2, 2), 9.0)),
            _ => {}
        }
        Ok(conditions)
    }
}

//! One measurement as the paper made it: a routine, a direction, a way of waiting, over the paper's
//! buffer sizes, on a machine in virtual time; and what it read off: S and M from N_revs(B),
//! T_trans and T_call from T_OH(B).

use super::buffers::{Buffers, Found, Program};
use super::line::Line;
use crate::machine::supercomputer::{Parameters, SECTOR_WORDS, Supercomputer};
use model::engine::EngineKind;
use model::seam::{Clock, Job, JobPlacement, Subject, SubjectError, TimedCompletion, Turn};
use model::workload::Arithmetic;
use sim::subject::ModelSubject;

/// Revolutions of both drives in a second.
const REVOLUTIONS_PER_S: f64 = 60.0;
/// The paper's files were of a million words.
const FILE_WORDS: u64 = 1_000_000;
/// Buffers of a run at the least.
const BUFFERS_MIN: u64 = 4;
/// Sectors of a run at random addresses, whose seeks differ, and its buffers at the least; and its
/// buffers where only CPU times are of interest, which do not.
const RANDOM_SECTORS: u64 = 20_000;
const RANDOM_BUFFERS_MIN: u64 = 500;
const RANDOM_BUFFERS_COMPUTING: u64 = 100;
/// Loops that are timed to know one.
const TIMED_LOOPS: u64 = 100;

/// How the program waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// For each completion: non-overlapped, or synchronous.
    ForAnswer,
    /// In compute-and-test loops of that arithmetic and about that time, ns: overlapped, or
    /// asynchronous.
    Computing(Arithmetic, u64),
}

/// What is to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Test {
    /// The routine's place in the machine's list.
    pub routine: usize,
    /// Write, or read.
    pub is_write: bool,
    /// How it waits.
    pub waiting: Waiting,
    /// At random addresses of a file of a million words.
    pub is_random: bool,
    /// Channels at once.
    pub channels: u32,
}

/// One buffer size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// B, sectors.
    pub buffer_sectors: u64,
    /// Revolutions a sector, N_revs(B).
    pub revolutions: f64,
    /// Words a second and channel, R(B, N).
    pub rate_words_per_s: f64,
    /// CPU time a sector, us, by equation 2; none where nothing was computed.
    pub overhead_us: Option<f64>,
}

/// What the paper read off the points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// S.
    pub sectors_per_revolution: f64,
    /// M.
    pub missed_per_call: f64,
}

/// S and M of some points.
pub fn reading(points: &[Point]) -> Option<Reading> {
    let places: Vec<(f64, f64)> =
        points.iter().map(|p| (1.0 / p.buffer_sectors as f64, p.revolutions)).collect();
    let line = Line::through(&places)?;
    Some(Reading { sectors_per_revolution: 1.1 / line.intercept, missed_per_call: line.slope })
}

/// T_trans (the intercept) and T_call (the slope) of some points, us.
pub fn overhead(points: &[Point]) -> Option<Line> {
    let place = |p: &Point| Some((1.0 / p.buffer_sectors as f64, p.overhead_us?));
    Line::through(&points.iter().filter_map(place).collect::<Vec<_>>())
}

/// Runs a test at one buffer size.
pub fn point(
    parameters: &Parameters,
    test: &Test,
    buffer_sectors: u64,
) -> Result<Point, SubjectError> {
    let machine = Supercomputer::new(parameters.clone(), test.routine);
    let mut subject = ModelSubject::new(Box::new(machine));
    let row = parameters.routines.get(test.routine).map(|routine| routine.row(test.is_write));
    let row = row.ok_or_else(|| SubjectError::Failed("there is no such routine".into()))?;
    let sector_bytes = parameters.data_bytes(row);
    let layout = &parameters.mechanics.layout;
    let cylinder =
        u64::from(layout.spot(0).left_on_track / row.spacing) * u64::from(layout.heads());
    // Whole cylinders and whole buffers: every boundary is met in its share.
    let whole = cylinder / gcd(cylinder, buffer_sectors);
    let buffers = whole * BUFFERS_MIN.div_ceil(whole);
    let computing = computing(parameters, test.waiting);
    let program = Program {
        is_write: test.is_write,
        buffer_bytes: buffer_sectors * sector_bytes,
        sector_bytes,
        warming: 1,
        buffers: match test.is_random {
            true if computing.is_some() => RANDOM_BUFFERS_COMPUTING,
            true => (RANDOM_SECTORS / buffer_sectors).max(RANDOM_BUFFERS_MIN),
            false => buffers,
        },
        random_sectors: test.is_random.then_some(FILE_WORDS / SECTOR_WORDS),
        channels: test.channels,
        computing,
    };
    let found = run(&mut subject, program, EngineKind::Libaio)?;
    let time_ns = (found.ended_ns - found.started_ns) as f64;
    let sectors = (program.buffers * buffer_sectors) as f64;
    let overhead_us = match computing {
        None => None,
        Some(_) => {
            let t_loop_ns = timed_loop_ns(&mut subject, program)?;
            let all = sectors * f64::from(test.channels);
            Some((time_ns - found.loops as f64 * t_loop_ns) / all / 1e3)
        }
    };
    Ok(Point {
        buffer_sectors,
        revolutions: time_ns / 1e9 * REVOLUTIONS_PER_S / sectors,
        rate_words_per_s: sectors * SECTOR_WORDS as f64 / time_ns * 1e9,
        overhead_us,
    })
}

/// Runs a test at several buffer sizes.
pub fn points(
    parameters: &Parameters,
    test: &Test,
    sizes: &[u64],
) -> Result<Vec<Point>, SubjectError> {
    sizes.iter().map(|sectors| point(parameters, test, *sectors)).collect()
}

fn run(
    subject: &mut ModelSubject,
    program: Program,
    engine: EngineKind,
) -> Result<Found, SubjectError> {
    let placement = JobPlacement {
        engine,
        direct: true,
        depth: program.channels,
        block_bytes: program.buffer_bytes as u32,
        arithmetic: program.computing.iter().map(|(arithmetic, _)| *arithmetic).collect(),
        ..JobPlacement::default()
    };
    let done = subject.run(vec![(placement, Buffers::new(program, 1))])?;
    let found = done.first().map(|(job, _)| job.found).unwrap_or_default();
    match found.is_failed {
        true => Err(SubjectError::Failed("a buffer lies past the end of the drive".into())),
        false => Ok(found),
    }
}

/// Time of a compute-and-test loop by itself (the paper's appendix A): with buffers that are
/// completed at once.
fn timed_loop_ns(subject: &mut ModelSubject, program: Program) -> Result<f64, SubjectError> {
    let clock = subject.clock();
    let placement = JobPlacement { engine: EngineKind::Null, ..JobPlacement::default() };
    let started_ns = clock.now_ns();
    subject
        .run(vec![(placement, Loops { computing: program.computing, left: 2 * TIMED_LOOPS })])?;
    Ok((clock.now_ns() - started_ns) as f64 / TIMED_LOOPS as f64)
}

/// Nothing but compute-and-test loops.
struct Loops {
    computing: Option<(Arithmetic, u32)>,
    left: u64,
}

impl Job for Loops {
    fn turn<C: Clock>(&mut self, _clock: &C, _completion: Option<TimedCompletion>) -> Turn {
        let (Some((arithmetic, loops)), true) = (self.computing, self.left > 0) else {
            return Turn::Done;
        };
        self.left -= 1;
        match self.left % 2 {
            1 => Turn::Compute { arithmetic, loops },
            _ => Turn::Wait { min: 0, until_ns: 0 },
        }
    }
}

/// Loops between two tests, and of what.
fn computing(parameters: &Parameters, waiting: Waiting) -> Option<(Arithmetic, u32)> {
    let Waiting::Computing(arithmetic, interval_ns) = waiting else { return None };
    let loops = interval_ns as f64 / parameters.arithmetic.loop_ns(arithmetic);
    Some((arithmetic, loops.round().max(1.0) as u32))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

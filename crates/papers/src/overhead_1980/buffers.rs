//! The paper's test program as a job: a file is read or written buffer by buffer, on N channels,
//! either waiting for each completion or computing and testing meanwhile (section 2 and appendix
//! A).
//!
//! The program of crate `experiment` does the same for a time; this one counts buffers, so that its
//! file can be whole cylinders and its result exact.

use model::seam::{Clock, Job, Operation, Request, TimedCompletion, Turn};
use model::workload::Arithmetic;
use sim::random::Random;

#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    /// Write, or read.
    pub(super) is_write: bool,
    /// Bytes of a buffer, and of a sector's data.
    pub(super) buffer_bytes: u64,
    pub(super) sector_bytes: u64,
    /// Buffers on each channel: before the clock is started, and after.
    pub(super) warming: u64,
    pub(super) buffers: u64,
    /// Addresses are drawn from that many sectors; none: one buffer after the other.
    pub(super) random_sectors: Option<u64>,
    pub(super) channels: u32,
    /// Loops between two tests, and of what.
    pub(super) computing: Option<(Arithmetic, u32)>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) started_ns: u64,
    pub(super) ended_ns: u64,
    /// Compute-and-test loops between the two.
    pub(super) loops: u64,
    pub(super) is_failed: bool,
}

pub(super) struct Buffers {
    program: Program,
    random: Random,
    /// Buffers begun and completed, by channel.
    begun: Vec<u64>,
    completed: Vec<u64>,
    ready: Vec<u32>,
    outstanding: u32,
    is_computed: bool,
    loops: u64,
    pub(super) found: Found,
}

impl Buffers {
    pub(super) fn new(program: Program, seed: u64) -> Self {
        let channels = program.channels as usize;
        Self {
            program,
            random: Random::new(seed),
            begun: vec![0; channels],
            completed: vec![0; channels],
            ready: (0..program.channels).rev().collect(),
            outstanding: 0,
            is_computed: false,
            loops: 0,
            found: Found::default(),
        }
    }

    fn request(&mut self, token: u32) -> Option<Request> {
        let program = self.program;
        let begun = self.begun.get_mut(token as usize)?;
        if *begun == program.warming + program.buffers {
            return None;
        }
        let sectors = program.buffer_bytes / program.sector_bytes;
        let sector = match program.random_sectors {
            Some(among) => self.random.below(among.saturating_sub(sectors) + 1),
            None => *begun * sectors,
        };
        *begun += 1;
        self.outstanding += 1;
        let operation = if program.is_write { Operation::Write } else { Operation::Read };
        // Where a buffer begins is told in whole buffers and sectors of data.
        let offset_bytes =
            sector / sectors * program.buffer_bytes + sector % sectors * program.sector_bytes;
        Some(Request { token, operation, offset_bytes, length_bytes: program.buffer_bytes as u32 })
    }

    fn complete(&mut self, completion: TimedCompletion) {
        self.outstanding -= 1;
        self.found.is_failed |= completion.result < 0;
        let Some(completed) = self.completed.get_mut(completion.token as usize) else { return };
        *completed += 1;
        if self.completed.iter().min() == Some(&self.program.warming) && self.found.started_ns == 0
        {
            self.found.started_ns = completion.found_ns;
            self.found.loops = self.loops;
        }
        self.found.ended_ns = completion.found_ns;
        self.ready.push(completion.token as u32);
    }

    fn is_over(&self) -> bool {
        let last = self.program.warming + self.program.buffers;
        self.found.is_failed || self.completed.iter().all(|completed| *completed == last)
    }
}

impl Job for Buffers {
    fn turn<C: Clock>(&mut self, _clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            self.complete(completion);
        }
        while let Some(token) = self.ready.pop() {
            if let Some(request) = self.request(token) {
                return Turn::Submit(request);
            }
        }
        if self.is_over() && self.outstanding == 0 {
            self.found.loops = self.loops - self.found.loops;
            return Turn::Done;
        }
        match self.program.computing {
            None => Turn::Wait { min: 1, until_ns: u64::MAX },
            Some(_) if std::mem::take(&mut self.is_computed) => Turn::Wait { min: 0, until_ns: 0 },
            Some((arithmetic, loops)) => {
                self.is_computed = true;
                self.loops += 1;
                Turn::Compute { arithmetic, loops }
            }
        }
    }
}

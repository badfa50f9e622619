//! One processor: interrupts before jobs, jobs before those that run in the background, and each
//! moment counted once.
//!
//! Non-goals: preemption among jobs, which no program of the paper has.

use model::seam::JobCpu;
use std::collections::VecDeque;

/// What is done with the processor's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Computing in registers, or with single elements of arrays.
    Scalar,
    /// Computing with vectors, which locks the memory.
    Vector,
    /// In the system, for a call.
    System,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) kind: Kind,
    pub(super) left_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Running {
    Interrupt,
    Job(usize),
}

/// A job's share of it.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    work: Option<Work>,
    is_background: bool,
    cpu: JobCpu,
}

/// The processor. `A` is what follows an interrupt.
#[derive(Debug)]
pub(super) struct Processor<A> {
    interrupts: VecDeque<(u64, A)>,
    shares: Vec<Share>,
    /// Who is served first among jobs: they take turns.
    first: usize,
    /// Idle since the machine was made, ns.
    pub(super) idle_ns: u64,
    /// In interrupts since then, ns.
    pub(super) interrupt_ns: u64,
}

impl<A> Default for Processor<A> {
    fn default() -> Self {
        let (interrupts, shares) = (VecDeque::new(), Vec::new());
        Self { interrupts, shares, first: 0, idle_ns: 0, interrupt_ns: 0 }
    }
}

impl<A> Processor<A> {
    /// New jobs; of each whether it runs in the background.
    pub(super) fn start(&mut self, are_background: impl Iterator<Item = bool>) {
        self.interrupts.clear();
        self.first = 0;
        let share = |is_background| Share { is_background, ..Share::default() };
        self.shares = are_background.map(share).collect();
    }

    /// A job has something to do.
    pub(super) fn give(&mut self, job: usize, kind: Kind, ns: f64) {
        if let Some(share) = self.shares.get_mut(job) {
            share.work = Some(Work { kind, left_ns: ns.round() as u64 });
        }
    }

    /// An interrupt comes; what follows it does so when its time is over.
    pub(super) fn interrupt(&mut self, ns: f64, then: A) {
        self.interrupts.push_back((ns.round() as u64, then));
    }

    /// Who has the processor, and for how long yet, ns.
    pub(super) fn running(&self) -> Option<(Running, u64)> {
        if let Some((left_ns, _)) = self.interrupts.front() {
            return Some((Running::Interrupt, *left_ns));
        }
        let count = self.shares.len();
        let job_of = |is_background: bool| {
            let mut in_turn = (0..count).map(|step| (self.first + step) % count);
            let wants = |job: &usize| {
                let share = &self.shares[*job];
                share.work.is_some() && share.is_background == is_background
            };
            in_turn.find(wants)
        };
        let job = job_of(false).or_else(|| job_of(true))?;
        let work = self.shares.get(job)?.work?;
        Some((Running::Job(job), work.left_ns))
    }

    /// Whether vectors are computed now.
    pub(super) fn locks_memory(&self) -> bool {
        match self.running() {
            Some((Running::Job(job), _)) => {
                self.shares[job].work.is_some_and(|work| work.kind == Kind::Vector)
            }
            _ => false,
        }
    }

    /// Time passes.
    pub(super) fn pass(&mut self, ns: u64) {
        match self.running() {
            None => self.idle_ns += ns,
            Some((Running::Interrupt, _)) => {
                self.interrupt_ns += ns;
                if let Some((left_ns, _)) = self.interrupts.front_mut() {
                    *left_ns = left_ns.saturating_sub(ns);
                }
            }
            Some((Running::Job(job), _)) => {
                let share = &mut self.shares[job];
                let Some(work) = &mut share.work else { return };
                work.left_ns = work.left_ns.saturating_sub(ns);
                match work.kind {
                    Kind::System => share.cpu.system_ns += ns,
                    Kind::Scalar | Kind::Vector => share.cpu.user_ns += ns,
                }
            }
        }
    }

    pub(super) fn end_interrupt(&mut self) -> Option<A> {
        self.interrupts.pop_front().map(|(_, then)| then)
    }

    /// The job's work is over; the next job comes first.
    pub(super) fn end_job(&mut self, job: usize) {
        if let Some(share) = self.shares.get_mut(job) {
            share.work = None;
        }
        self.first = job + 1;
    }

    pub(super) fn job_cpu(&self, job: usize) -> JobCpu {
        self.shares.get(job).map_or_else(JobCpu::default, |share| share.cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_come_before_jobs_and_each_moment_is_counted_once() {
        let mut processor = Processor::default();
        processor.start([false, true].into_iter());
        processor.pass(5);
        processor.give(1, Kind::Vector, 100.0);
        assert_eq!(processor.running(), Some((Running::Job(1), 100)));
        assert!(processor.locks_memory());
        processor.pass(10);
        processor.give(0, Kind::System, 50.0);
        assert_eq!(processor.running(), Some((Running::Job(0), 50)));
        processor.pass(20);
        processor.interrupt(7.0, 'a');
        assert_eq!(processor.running(), Some((Running::Interrupt, 7)));
        processor.pass(7);
        assert_eq!(processor.end_interrupt(), Some('a'));
        processor.pass(30);
        processor.end_job(0);
        assert_eq!(processor.running(), Some((Running::Job(1), 90)));
        assert_eq!((processor.idle_ns, processor.interrupt_ns), (5, 7));
        assert_eq!(processor.job_cpu(0), JobCpu { system_ns: 50, ..JobCpu::default() });
        assert_eq!(processor.job_cpu(1), JobCpu { user_ns: 10, ..JobCpu::default() });
    }
}

//! One processor: work of processes, interrupts that pre-empt it, the slowdown while drives take
//! memory cycles, and the accounts of where its time went.
//!
//! Work is given in the time that it takes on an undisturbed processor. Interrupts are of one level
//! and are served in the order of arrival, each to its end (4.2BSD runs its disk drivers at spl5).
//! The time of an interrupt is charged to the process that it hits, as 4.2BSD's clock does, and to
//! nobody where the processor was idle.
//!
//! Non-goals: several processors, levels of priority among interrupts, caches.

use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Account {
    /// A program's own.
    User,
    /// The kernel's on behalf of a program.
    System,
}

/// What came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finished<I> {
    Interrupt(I),
    /// The present work of a process.
    Process(usize),
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ProcessTime {
    /// In its own program.
    pub(crate) user_ns: f64,
    pub(crate) system_ns: f64,
    /// In interrupts that hit it.
    pub(crate) interrupted_ns: f64,
}

/// Where all the time went, ns. The four add up to the time that passed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Accounts {
    pub(crate) user_ns: f64,
    pub(crate) system_ns: f64,
    pub(crate) interrupt_ns: f64,
    pub(crate) idle_ns: f64,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    process: usize,
    account: Account,
    left_ns: f64,
}

#[derive(Debug, Clone)]
pub(crate) struct Processor<I> {
    slowdown: f64,
    settled_ns: u64,
    interrupts: VecDeque<(I, f64)>,
    piece: Option<Piece>,
    accounts: Accounts,
    processes: Vec<ProcessTime>,
}

impl<I: Copy> Default for Processor<I> {
    fn default() -> Self {
        Self {
            slowdown: 1.0,
            settled_ns: 0,
            interrupts: VecDeque::new(),
            piece: None,
            accounts: Accounts::default(),
            processes: Vec::new(),
        }
    }
}

impl<I: Copy> Processor<I> {
    /// Accounts for the time up to now.
    pub(crate) fn settle(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.settled_ns) as f64;
        self.settled_ns = self.settled_ns.max(now_ns);
        if passed_ns == 0.0 {
            return;
        }
        let time = self.piece.and_then(|piece| self.processes.get_mut(piece.process));
        if let Some((_, left_ns)) = self.interrupts.front_mut() {
            *left_ns -= passed_ns / self.slowdown;
            self.accounts.interrupt_ns += passed_ns;
            if let Some(time) = time {
                time.interrupted_ns += passed_ns;
            }
        } else if let (Some(piece), Some(time)) = (&mut self.piece, time) {
            piece.left_ns -= passed_ns / self.slowdown;
            let (of_all, own) = match piece.account {
                Account::User => (&mut self.accounts.user_ns, &mut time.user_ns),
                Account::System => (&mut self.accounts.system_ns, &mut time.system_ns),
            };
            *of_all += passed_ns;
            *own += passed_ns;
        } else {
            self.accounts.idle_ns += passed_ns;
        }
    }

    /// An interrupt comes, with so much work for its handler.
    pub(crate) fn interrupt(&mut self, now_ns: u64, what: I, work_ns: f64) {
        self.settle(now_ns);
        self.interrupts.push_back((what, work_ns));
    }

    /// A process gets the processor for a piece of work. There must be none that has it.
    pub(crate) fn run(&mut self, now_ns: u64, process: usize, account: Account, work_ns: f64) {
        self.settle(now_ns);
        if process >= self.processes.len() {
            self.processes.resize(process + 1, ProcessTime::default());
        }
        self.piece = Some(Piece { process, account, left_ns: work_ns });
    }

    /// How much slower than undisturbed it is from now on: 1 is undisturbed.
    pub(crate) fn set_slowdown(&mut self, now_ns: u64, slowdown: f64) {
        if slowdown != self.slowdown {
            self.settle(now_ns);
            self.slowdown = slowdown.max(1.0);
        }
    }

    /// When its present work ends, if nothing else happens.
    #[inline]
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let left_ns = match (self.interrupts.front(), self.piece) {
            (Some((_, left_ns)), _) => *left_ns,
            (None, Some(piece)) => piece.left_ns,
            (None, None) => return None,
        };
        Some(self.settled_ns + (left_ns.max(0.0) * self.slowdown).ceil() as u64)
    }

    /// Its present work ends now.
    pub(crate) fn finish(&mut self, now_ns: u64) -> Option<Finished<I>> {
        self.settle(now_ns);
        match self.interrupts.pop_front() {
            Some((what, _)) => Some(Finished::Interrupt(what)),
            None => self.piece.take().map(|piece| Finished::Process(piece.process)),
        }
    }

    /// Whether a process has it, interrupted or not.
    #[inline]
    pub(crate) fn has_process(&self) -> bool {
        self.piece.is_some()
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.piece.is_none() && self.interrupts.is_empty()
    }

    /// Where the time went.
    pub(crate) fn accounts(&self) -> Accounts {
        self.accounts
    }

    /// Where a process's time went.
    pub(crate) fn process(&self, process: usize) -> ProcessTime {
        self.processes.get(process).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn step(processor: &mut Processor<char>) -> (u64, Option<Finished<char>>) {
        let at_ns = processor.next_ns().unwrap();
        (at_ns / MS, processor.finish(at_ns))
    }

    #[test]
    fn an_interrupt_stretches_the_process_that_it_hits_and_is_charged_to_it() {
        let mut processor = Processor::default();
        processor.run(0, 0, Account::System, 10e6);
        processor.interrupt(4 * MS, 'a', 2e6);
        processor.interrupt(5 * MS, 'b', 1e6);
        assert_eq!(step(&mut processor), (6, Some(Finished::Interrupt('a'))));
        assert_eq!(step(&mut processor), (7, Some(Finished::Interrupt('b'))));
        assert_eq!(step(&mut processor), (13, Some(Finished::Process(0))));
        assert_eq!(processor.next_ns(), None);
        let time = processor.process(0);
        assert_eq!((time.system_ns, time.interrupted_ns, time.user_ns), (10e6, 3e6, 0.0));
    }

    #[test]
    fn memory_cycles_that_drives_take_slow_all_work() {
        let mut processor = Processor::default();
        processor.run(0, 0, Account::User, 10e6);
        processor.set_slowdown(5 * MS, 1.5);
        assert_eq!(processor.next_ns(), Some(12_500_000));
        processor.set_slowdown(8 * MS, 1.0);
        assert_eq!(step(&mut processor).0, 11);
    }

    #[test]
    fn the_accounts_add_up_to_the_time_that_passed() {
        let mut processor = Processor::default();
        processor.interrupt(3 * MS, 'a', 1e6);
        step(&mut processor);
        processor.run(6 * MS, 1, Account::User, 2e6);
        step(&mut processor);
        processor.settle(20 * MS);
        let accounts = processor.accounts();
        assert_eq!((accounts.user_ns, accounts.interrupt_ns), (2e6, 1e6));
        assert_eq!(accounts.idle_ns + 3e6, 20e6);
        // An interrupt of an idle processor is nobody's.
        assert_eq!(processor.process(1).interrupted_ns, 0.0);
    }
}

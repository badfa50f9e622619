//! What begins in a ledger between requests: calls, waits of threads, and requests that are known
//! as sums, in the order of time.
//!
//! Non-goals: what a wait is for (`super::waits`).

use super::asked::Ahead;
use super::evicted::Again;
use super::stalled::Unplaced;
use super::{Class, Kind, Ledger};
use crate::merge::Merge as _;
use model::record::{Wait, WaitKind};
use std::sync::Arc;

impl Ledger {
    /// Calls, waits and sums that have begun until a moment, in the order of their begins.
    pub(crate) fn begin_waits(&mut self, until_ns: i64) {
        loop {
            let call_ns = self.calls.get(self.begun).map(|call| call.begin_ns);
            let wait_ns = self.waits.get(self.waits_begun).map(|wait| wait.begin_ns);
            let is_call = call_ns.is_some() && wait_ns.is_none_or(|ns| call_ns <= Some(ns));
            let next_ns = if is_call { call_ns } else { wait_ns };
            let many_ns = self.many.front().map(|many| many.from_ns);
            let is_many = many_ns.is_some() && next_ns.is_none_or(|ns| many_ns <= Some(ns));
            let first_ns = if is_many { many_ns } else { next_ns };
            match first_ns {
                Some(ns) if ns > until_ns => break,
                None => break,
                Some(_) if is_many => self.begin_many(),
                Some(_) if is_call => self.begin_call(),
                Some(_) => self.begin_wait(),
            }
        }
        self.end_sleeps(until_ns);
    }

    /// The next call begins.
    fn begin_call(&mut self) {
        let (number, call) = (self.begun, &self.calls[self.begun]);
        self.begun += 1;
        let pid = call.pid as u32;
        let (begin_ns, end_ns) = (call.begin_ns, call.end_ns.unwrap_or(call.begin_ns));
        let (kind, file_system, file) = (Kind::Call(call.kind), call.file_system, call.file());
        let role = self.actors.of_call(call);
        let in_call = self.in_call.entry(pid).or_insert((end_ns, number));
        *in_call = (*in_call).max((end_ns, number));
        if let Some(device) = self.home(file_system) {
            let class = Class { device, role, kind, size: 0 };
            self.stall(Some(pid), (begin_ns, end_ns));
            self.note(pid, (begin_ns, end_ns), class);
            self.note_file(file, class, (begin_ns, end_ns));
            self.wait_for((begin_ns, end_ns), class, None);
        }
    }

    /// The next wait begins.
    fn begin_wait(&mut self) {
        let wait = self.waits[self.waits_begun].clone();
        self.waits_begun += 1;
        let is_selected = self.time_ns.contains(&wait.begin_ns);
        let role = self.actors.of_thread(wait.pid as u32, || wait.command.clone());
        let role = self.actors.of_work(role, &wait.file());
        if wait.for_request != 0 && self.device_of(&wait, role).is_some() {
            self.stall(Some(wait.pid as u32), (wait.begin_ns, wait.end_ns));
        }
        if self.actors.is_kernel(role) {
            return;
        }
        let span = (wait.begin_ns, wait.end_ns);
        if let Some(ahead) = self.ahead_of(&wait).filter(|_| self.may_be_read(&wait)) {
            let Ahead { class, again, .. } = ahead;
            if let Some(flags) = again.filter(|_| is_selected) {
                let (reader, again) = ((class.device, class.role), Again::one(span).of(flags));
                self.evicted.add_again(reader, wait.begin_ns, again);
            }
            self.note(wait.pid as u32, span, class);
            self.note_file(wait.file(), class, span);
            return self.wait_for(span, class, None);
        }
        if wait.kind.is_sleep() {
            return self.sleeps.begin(wait);
        }
        let kind = Kind::of_wait(wait.kind).filter(|kind| !self.is_told(&wait, *kind));
        let Some(device) = self.device_of(&wait, role) else {
            if is_selected && kind.is_some() {
                let sum_ns = wait.end_ns - wait.begin_ns;
                let untraced_ns = if self.is_untraced(&wait) { sum_ns } else { 0 };
                let one = Unplaced { count: 1, sum_ns, untraced_ns };
                self.unplaced.entry(role).or_default().merge(one);
            }
            return;
        };
        if is_selected && self.known.of_files {
            self.ways.add_wait(&wait, device, role);
        }
        if let Some(kind) = kind {
            let class = Class { device, role, kind, size: 0 };
            let holding = match wait.kind {
                WaitKind::Lock => self.holding(&wait, &class),
                WaitKind::Journal => self.holding_journal(&wait, &class),
                _ => None,
            };
            self.note(wait.pid as u32, span, class);
            self.note_file(wait.file(), class, span);
            self.wait_for(span, class, holding);
        }
    }

    /// The next ones of a trace.
    fn begin_many(&mut self) {
        let Some(many) = self.many.pop_front() else { return };
        let known = Arc::clone(&self.known);
        self.bring_many(&many, &known.commands_of_many);
    }

    /// Whether a wait may be for what its thread reads ahead.
    fn may_be_read(&self, wait: &Wait) -> bool {
        let is_in_call = self.call_of(Some(wait.pid as u32), wait.begin_ns).is_some();
        !is_in_call && Kind::of_wait(wait.kind).is_some_and(Kind::may_be_a_request)
    }

    /// Whether a wait is a part of a call, or for a request of the thread's own.
    fn is_told(&self, wait: &Wait, kind: Kind) -> bool {
        let is_in_call = self.call_of(Some(wait.pid as u32), wait.begin_ns).is_some();
        is_in_call || kind.may_be_a_request() && self.has_asked(wait)
    }

    /// Whether the thread itself has a request in flight when it begins to wait.
    fn has_asked(&self, wait: &Wait) -> bool {
        let asked = self.asked.get(&(wait.pid as u32));
        asked.is_some_and(|asked| asked.until_ns > wait.begin_ns)
    }
}

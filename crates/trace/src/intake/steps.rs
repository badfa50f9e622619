//! Where the steps of requests go, before they are rows.

use super::{Intake, RowsError, SeenThread};
use crate::event::{
    Durability, DurabilityEvent, Event, Finished, JournaledEvent, NameEvent, Repeated, WaitEvent,
    WaitTotals,
};
use model::record::{CommandId, Commands};

/// Where the steps of requests go, and the names that they carry.
pub trait Steps {
    /// The number of a command's name.
    fn command(&mut self, name: &[u8]) -> CommandId;

    /// Takes one event in.
    /// Errors: what the output refuses.
    fn event(&mut self, event: Event) -> Result<(), RowsError>;

    /// Takes all steps of one request in.
    /// Errors: what the output refuses.
    fn finished(&mut self, finished: &Finished) -> Result<(), RowsError> {
        finished.each().try_for_each(|event| self.event(event))
    }

    /// Is told what those like the next request are called, of some.
    fn is_called(&mut self, _name: Repeated) {}

    /// Is told, after events were handed over, when the first of those began whose steps are still
    /// to be told at once; none if there are none. To ask costs something.
    fn still_to_come(&mut self, _began_ns: impl FnOnce() -> Option<i64>) {}

    /// Takes in what a second source saw, without identity, where the first may be blind.
    /// Errors: what the output refuses.
    fn second(&mut self, event: Event) -> Result<(), RowsError>;

    /// Takes in a step of a call that makes a file durable, or of a commit.
    fn durability(&mut self, event: DurabilityEvent);

    /// Takes in a wait that has ended.
    fn wait(&mut self, event: &WaitEvent);

    /// Takes in who changed metadata.
    fn journaled(&mut self, event: &JournaledEvent);

    /// Is told at the end how long a thread waited in all.
    fn waited(&mut self, pid: u32, totals: WaitTotals);

    /// Takes in a part of what a file is called.
    fn name(&mut self, event: &NameEvent<'_>);

    /// Is told of a thread.
    fn thread(&mut self, seen: SeenThread);

    /// Is told of a stack of a process's own, or of the [`super::KERNEL`]'s; 0 is none.
    fn stack(&mut self, process: u32, stack: u32);
}

impl Steps for Intake<'_> {
    fn command(&mut self, name: &[u8]) -> CommandId {
        Intake::command(self, name)
    }

    #[inline]
    fn event(&mut self, event: Event) -> Result<(), RowsError> {
        Intake::event(self, &event)
    }

    fn is_called(&mut self, name: Repeated) {
        self.next_name = Some(name);
    }

    #[inline]
    fn finished(&mut self, finished: &Finished) -> Result<(), RowsError> {
        Intake::finished(self, finished)
    }

    fn still_to_come(&mut self, began_ns: impl FnOnce() -> Option<i64>) {
        if self.in_order.is_to_ask() {
            self.in_order.hold_from(began_ns().map(|ns| (ns, 0)));
        }
    }

    fn second(&mut self, event: Event) -> Result<(), RowsError> {
        self.pairing.second(event, &mut self.provenance.counts);
        self.show_done();
        self.collect()
    }

    fn durability(&mut self, event: DurabilityEvent) {
        let is_change = matches!(event.step, Durability::Changed);
        if let Some(watch) = self.watch_changes.as_mut().filter(|_| is_change) {
            let name = event.command.map_or("", |id| self.commands.name(id));
            watch(event.file, event.pid, name);
        }
        let known = self.durable.calls.len();
        self.durable.take(event, &self.commands);
        let new = self.durable.calls.get(known).filter(|call| call.end_ns.is_some());
        if let (Some(watch), Some(call)) = (&mut self.watch_calls, new) {
            watch(call);
        }
    }

    fn wait(&mut self, event: &WaitEvent) {
        let known = self.durable.waits.len();
        self.durable.wait(event, &self.commands);
        if let (Some(watch), Some(wait)) = (&mut self.watch_waits, self.durable.waits.get(known)) {
            watch(wait);
        }
    }

    fn journaled(&mut self, event: &JournaledEvent) {
        let known = self.durable.journal_use.len();
        self.durable.journaled(event, &self.commands);
        let new = self.durable.journal_use.get(known);
        if let (Some(watch), Some(new)) = (&mut self.watch_journal, new) {
            watch(new);
        }
    }

    fn waited(&mut self, pid: u32, totals: WaitTotals) {
        self.durable.waited.insert(pid, totals);
    }

    fn name(&mut self, event: &NameEvent<'_>) {
        self.names.take(event);
    }

    #[inline]
    fn thread(&mut self, seen: SeenThread) {
        self.threads.see(seen);
    }

    #[inline]
    fn stack(&mut self, process: u32, stack: u32) {
        self.stacks.see(process, stack);
    }
}

/// Steps as they came, with the names that they carry.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    /// The steps.
    pub events: Vec<Event>,
    /// Those that a second source saw.
    pub second: Vec<Event>,
    /// Steps of calls and commits.
    pub durability: Vec<DurabilityEvent>,
    /// Waits.
    pub waits: Vec<WaitEvent>,
    /// Who changed metadata.
    pub journaled: Vec<JournaledEvent>,
    /// How long threads waited in all.
    pub waited: Vec<(u32, WaitTotals)>,
    /// What some requests are called.
    pub called: Vec<Repeated>,
    /// Threads, as often as they were told.
    pub threads: Vec<SeenThread>,
    /// How many parts of what files are called.
    pub names: usize,
    /// The names.
    pub commands: Commands,
}

impl Steps for Collected {
    fn command(&mut self, name: &[u8]) -> CommandId {
        self.commands.number(name)
    }

    fn event(&mut self, event: Event) -> Result<(), RowsError> {
        self.events.push(event);
        Ok(())
    }

    fn second(&mut self, event: Event) -> Result<(), RowsError> {
        self.second.push(event);
        Ok(())
    }

    fn is_called(&mut self, name: Repeated) {
        self.called.push(name);
    }

    fn durability(&mut self, event: DurabilityEvent) {
        self.durability.push(event);
    }

    fn wait(&mut self, event: &WaitEvent) {
        self.waits.push(*event);
    }

    fn journaled(&mut self, event: &JournaledEvent) {
        self.journaled.push(*event);
    }

    fn waited(&mut self, pid: u32, totals: WaitTotals) {
        self.waited.push((pid, totals));
    }

    fn name(&mut self, _: &NameEvent<'_>) {
        self.names += 1;
    }

    fn thread(&mut self, seen: SeenThread) {
        self.threads.push(seen);
    }

    fn stack(&mut self, _: u32, _: u32) {}
}

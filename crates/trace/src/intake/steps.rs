//! Where the steps of requests go, before they are rows.

use super::{Intake, RowsError};
use crate::event::Event;
use model::record::{CommandId, Commands};

/// Where the steps of requests go, and the names that they carry.
pub trait Steps {
    /// The number of a command's name.
    fn command(&mut self, name: &[u8]) -> CommandId;

    /// Takes one event in.
    /// Errors: what the output refuses.
    fn event(&mut self, event: Event) -> Result<(), RowsError>;

    /// Takes in what a second source saw, without identity, where the first may be blind.
    /// Errors: what the output refuses.
    fn second(&mut self, event: Event) -> Result<(), RowsError>;
}

impl Steps for Intake<'_> {
    fn command(&mut self, name: &[u8]) -> CommandId {
        Intake::command(self, name)
    }

    #[inline]
    fn event(&mut self, event: Event) -> Result<(), RowsError> {
        Intake::event(self, event)
    }

    fn second(&mut self, event: Event) -> Result<(), RowsError> {
        self.pairing.second(event, &mut self.provenance.counts);
        self.show_done();
        self.collect()
    }
}

/// Steps as they came, with the names that they carry.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    /// The steps.
    pub events: Vec<Event>,
    /// Those that a second source saw.
    pub second: Vec<Event>,
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
}

//! The gate that rows pass on their way: how many there were, and whether the user wants to stop.

use host::drive::Control;
use model::record::{Commands, Request};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trace::intake::{Refused, Rows, RowsError};

/// The user stopped it.
#[derive(Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

impl From<Interrupted> for RowsError {
    fn from(interrupted: Interrupted) -> Self {
        Self(Box::new(interrupted))
    }
}

/// Counts rows, and lets none pass after a signal.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    control: Arc<Control>,
    rows: Arc<AtomicU64>,
}

impl Gate {
    /// By this control.
    pub fn new(control: &Arc<Control>) -> Self {
        Self { control: control.clone(), rows: Arc::default() }
    }

    /// Lets so many rows pass, if the user does not want to stop.
    pub fn pass(&self, rows: usize) -> Result<(), Interrupted> {
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        if self.is_stopped() { Err(Interrupted) } else { Ok(()) }
    }

    /// Whether the user wants to stop.
    pub fn is_stopped(&self) -> bool {
        self.control.is_stopped()
    }

    /// Rows so far, for progress.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// What stops it.
    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }
}

impl Rows for Gate {
    fn push(&mut self, _: &Request, _: &Commands) -> Result<(), RowsError> {
        Ok(self.pass(1)?)
    }

    fn push_all(&mut self, rows: &[Request], _: &Commands) -> Result<(), Refused> {
        self.pass(rows.len()).map_err(|why| Refused { taken: 0, why: why.into() })
    }
}

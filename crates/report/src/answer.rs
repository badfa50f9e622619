//! What an experiment answers the survey's question: its number, its sentences, a small chart and a
//! table; and the same as a card of the page.
//!
//! Non-goals: the questions (`survey`).

use crate::grid::Grid;
use crate::number::CANNOT_TELL;
use crate::ranking::Entrant;
use model::units::show_time_ns;
use serde::Serialize;

/// What is said to a question.
#[derive(Default)]
pub(crate) struct Answer {
    /// The number that answers it, and what it is of.
    pub(crate) headline: (String, String),
    /// What the number is compared with.
    pub(crate) bars: Vec<Bar>,
    pub(crate) sentences: Vec<String>,
    pub(crate) table: Option<Grid>,
    /// The numbers by which one volume is chosen before another.
    pub(crate) facts: Vec<Fact>,
}

/// A number that volumes are compared by.
pub(crate) struct Fact {
    /// Of what it is, the same on every volume.
    pub(crate) what: String,
    /// What a volume does to have it: `reaches`, `needs`.
    pub(crate) verb: &'static str,
    /// The number with its interval.
    pub(crate) entrant: Entrant,
    pub(crate) show: fn(f64) -> String,
    pub(crate) is_greatest_first: bool,
}

impl Fact {
    /// A rate.
    pub(crate) fn rate(what: &str, entrant: Entrant, show: fn(f64) -> String) -> Self {
        Self { what: what.to_owned(), verb: "reaches", entrant, show, is_greatest_first: true }
    }

    /// As a table has it.
    pub(crate) fn shown(&self) -> String {
        match self.entrant.is_open {
            true => CANNOT_TELL.to_owned(),
            false => (self.show)(self.entrant.value),
        }
    }

    /// A time.
    pub(crate) fn time(what: &str, entrant: Entrant) -> Self {
        let is_greatest_first = false;
        Self { verb: "needs", is_greatest_first, ..Self::rate(what, entrant, show_time_ns) }
    }
}

/// An answer as the page shows it first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    /// What it is about.
    pub word: String,
    /// The number; empty where it was not measured.
    pub number: String,
    /// What the number is of.
    pub what: String,
    /// A small chart.
    pub bars: Vec<Bar>,
    /// The answer in words.
    pub sentence: String,
    /// What to do with it.
    pub advice: String,
}

/// A bar of a card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// What it is of.
    pub label: String,
    /// Its length, in the unit of all bars of the card.
    pub value: f64,
    /// The same in words.
    pub text: String,
}

impl Bar {
    pub(crate) fn of(
        label: &str,
        value: Option<f64>,
        show: impl Fn(f64) -> String,
    ) -> Option<Self> {
        let value = value.filter(|value| *value > 0.0)?;
        Some(Self { label: label.to_owned(), value, text: show(value) })
    }
}

//! The six tables as data: columns, rows, their order. Figures become text only where a row is
//! drawn.
//!
//! Non-goals: drawing (`draw`); which row is selected (`screen`).

mod rows;

use crate::number::{decimal, percent, rate, time, time_of_day};
use crate::past::{Kept, Window};
use crate::table::{Key, Name};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Devices,
    Waits,
    Roles,
    Files,
    Calls,
    Storms,
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    None,
    Text(Name),
    Rate(f64),
    Decimal(f64),
    Percent(f64),
    Time(f64),
    Clock(i64),
    Seconds(i64),
}

impl Value {
    /// Its text.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::None => "".into(),
            Self::Text(name) => (&**name).into(),
            Self::Rate(value) => rate(*value).into(),
            Self::Decimal(value) => decimal(*value).into(),
            Self::Percent(value) => percent(*value).into(),
            Self::Time(ns) => time(*ns).into(),
            Self::Clock(second) => time_of_day(*second).into(),
            Self::Seconds(seconds) => format!("{seconds} s").into(),
        }
    }

    fn number(&self) -> f64 {
        match self {
            Self::Rate(v) | Self::Decimal(v) | Self::Percent(v) | Self::Time(v) => *v,
            Self::Clock(seconds) | Self::Seconds(seconds) => *seconds as f64,
            Self::None | Self::Text(_) => f64::NEG_INFINITY,
        }
    }

    /// Figures: the greatest first; texts by the alphabet.
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => other.number().total_cmp(&self.number()),
        }
    }
}

/// A column.
#[derive(Debug)]
pub(crate) struct Column {
    /// With its unit.
    pub(crate) head: &'static str,
    /// Columns on the screen; of a text the least.
    pub(crate) width: u16,
    pub(crate) is_text: bool,
    /// Where there is no room, those with the greatest go first; 0 stays.
    pub(crate) drop: u8,
}

const fn text(head: &'static str, width: u16, drop: u8) -> Column {
    Column { head, width, is_text: true, drop }
}

const fn figure(head: &'static str, width: u16, drop: u8) -> Column {
    Column { head, width, is_text: false, drop }
}

/// What is opened with a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Subject {
    Device(Name),
    Role(Name),
    File(Name),
    Call(Key),
}

/// A row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) key: Key,
    pub(crate) cells: Vec<Value>,
    pub(crate) opens: Option<Subject>,
    /// Stands out: it is marked, and coloured where there are colours.
    pub(crate) is_marked: bool,
}

/// A table with its rows in order.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) rows: Vec<Row>,
    /// Rows that the filter hides.
    pub(crate) hidden: usize,
}

/// By what a table is sorted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order {
    pub(crate) column: usize,
    pub(crate) is_reversed: bool,
}

impl View {
    /// All, in the order of their keys.
    pub(crate) const ALL: [Self; 6] =
        [Self::Devices, Self::Waits, Self::Roles, Self::Files, Self::Calls, Self::Storms];

    /// Its name on its tab.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Devices => "devices",
            Self::Waits => "waits",
            Self::Roles => "roles",
            Self::Files => "files",
            Self::Calls => "calls",
            Self::Storms => "storms",
        }
    }

    /// Its columns.
    pub(crate) fn columns(self) -> &'static [Column] {
        const DEVICES: &[Column] = &[
            text("device", 8, 0),
            text("operation", 9, 0),
            figure("/s", 6, 0),
            figure("MB/s", 6, 0),
            figure("p50", 7, 2),
            figure("p99", 7, 0),
            figure("max", 7, 1),
            figure("depth", 5, 3),
            figure("busy %", 6, 4),
            figure("failed/s", 8, 5),
        ];
        const WAITS: &[Column] = &[
            text("who waits", 20, 0),
            text("for", 9, 0),
            text("on", 6, 1),
            text("because of", 20, 0),
            figure("lost /s", 8, 0),
            figure("% of it", 7, 0),
        ];
        const ROLES: &[Column] = &[
            text("role", 22, 0),
            figure("requests/s", 10, 0),
            figure("MB/s", 6, 0),
            figure("p99", 7, 0),
            figure("calls/s", 7, 1),
            figure("their p99", 9, 1),
            figure("waits /s", 8, 3),
            figure("lost /s", 8, 2),
        ];
        const FILES: &[Column] = &[
            text("file", 20, 0),
            figure("requests/s", 10, 0),
            figure("read MB/s", 9, 0),
            figure("written MB/s", 12, 0),
            figure("mean", 7, 2),
            figure("calls/s", 7, 1),
        ];
        const CALLS: &[Column] = &[
            text("call", 9, 0),
            text("device", 6, 2),
            text("role", 22, 0),
            figure("/s", 6, 0),
            figure("p50", 7, 1),
            figure("p99", 7, 0),
            figure("max", 7, 0),
            figure("waits /s", 8, 3),
            figure("failed/s", 8, 4),
        ];
        const STORMS: &[Column] = &[
            figure("UTC", 8, 0),
            figure("for", 5, 0),
            text("device", 6, 1),
            text("worst", 9, 2),
            figure("p99", 7, 0),
            figure("usual", 7, 2),
            text("who waited", 18, 0),
            text("because of", 18, 0),
            figure("lost s", 6, 3),
        ];
        match self {
            Self::Devices => DEVICES,
            Self::Waits => WAITS,
            Self::Roles => ROLES,
            Self::Files => FILES,
            Self::Calls => CALLS,
            Self::Storms => STORMS,
        }
    }

    /// The order that it begins with: what matters most is first.
    pub(crate) fn first_order(self) -> Order {
        let head = match self {
            Self::Devices => "depth",
            Self::Waits => "lost /s",
            Self::Roles | Self::Files => "requests/s",
            Self::Calls => "waits /s",
            Self::Storms => "UTC",
        };
        let column = self.columns().iter().position(|column| column.head == head).unwrap_or(0);
        Order { column, is_reversed: false }
    }

    /// Its rows, filtered and in order.
    pub(crate) fn sheet(self, kept: &Kept, window: &Window, filter: &str, order: Order) -> Sheet {
        let mut rows = match self {
            Self::Devices => rows::devices(window),
            Self::Waits => rows::waits(window),
            Self::Roles => rows::roles(window),
            Self::Files => rows::files(window),
            Self::Calls => rows::calls(window),
            Self::Storms => rows::storms(kept),
        };
        let all = rows.len();
        if !filter.is_empty() {
            let wanted = filter.to_lowercase();
            rows.retain(|row| {
                row.cells.iter().any(|cell| match cell {
                    Value::Text(name) => name.to_lowercase().contains(&wanted),
                    _ => false,
                })
            });
        }
        rows.sort_by(|a, b| {
            let by = match (a.cells.get(order.column), b.cells.get(order.column)) {
                (Some(a), Some(b)) => a.order(b),
                _ => Ordering::Equal,
            };
            let by = if order.is_reversed { by.reverse() } else { by };
            // What was summed up is last, however great.
            a.key.is_others.cmp(&b.key.is_others).then(by).then_with(|| a.key.cmp(&b.key))
        });
        Sheet { hidden: all - rows.len(), rows }
    }
}

//! The six tables as data: columns, rows, their order. Figures become text only where a row is
//! drawn.
//!
//! Non-goals: drawing (`draw`); which row is selected (`screen`).

mod items;

pub(crate) use items::Item;

use crate::number::{decimal, percent, rate, time, time_of_day};
use crate::past::{Kept, Window};
use crate::table::{Key, Name};
use std::borrow::Cow;
use std::cmp::Ordering;

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Devices,
    Waits,
    Roles,
    Files,
    Calls,
    Storms,
}

/// A table.
struct Table {
    /// On its tab.
    name: &'static str,
    columns: &'static [Column],
    /// The column by which it is sorted first: what matters most is on top.
    first: &'static str,
    items: fn(&Kept, &Window) -> Vec<Item>,
}

/// All, in the order of [`View`].
const TABLES: [Table; 6] = [
    Table { name: "devices", columns: items::DEVICES, first: "depth", items: items::devices },
    Table { name: "waits", columns: items::WAITS, first: "lost /s", items: items::waits },
    Table { name: "roles", columns: items::ROLES, first: "requests/s", items: items::roles },
    Table { name: "files", columns: items::FILES, first: "requests/s", items: items::files },
    Table { name: "calls", columns: items::CALLS, first: "waits /s", items: items::calls },
    Table { name: "storms", columns: items::STORMS, first: "UTC", items: items::storms },
];

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
    /// What a row has there.
    pub(crate) value: fn(&Item) -> Value,
}

type Of = fn(&Item) -> Value;

const fn text(head: &'static str, width: u16, drop: u8, value: Of) -> Column {
    Column { head, width, is_text: true, drop, value }
}

/// A column of figures.
pub(crate) const fn figure(head: &'static str, width: u16, drop: u8, value: Of) -> Column {
    Column { head, width, is_text: false, drop, value }
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

impl Row {
    fn of(item: Item, columns: &[Column]) -> Self {
        let cells = columns.iter().map(|column| (column.value)(&item)).collect();
        Self { key: item.key, cells, opens: item.opens, is_marked: item.is_marked }
    }
}

/// A table with its rows in order.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) rows: Vec<Row>,
    /// Rows that the filter hides.
    pub(crate) hidden: usize,
    /// Whether it is unknown what rows there would be.
    pub(crate) is_unknown: bool,
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

    fn table(self) -> &'static Table {
        &TABLES[self as usize]
    }

    /// Its name on its tab.
    pub(crate) fn name(self) -> &'static str {
        self.table().name
    }

    /// Its columns.
    pub(crate) fn columns(self) -> &'static [Column] {
        self.table().columns
    }

    /// The order that it begins with.
    pub(crate) fn first_order(self) -> Order {
        let Table { columns, first, .. } = self.table();
        let column = columns.iter().position(|column| column.head == *first).unwrap_or(0);
        Order { column, is_reversed: false }
    }

    /// Its rows, filtered and in order.
    pub(crate) fn sheet(self, kept: &Kept, window: &Window, filter: &str, order: Order) -> Sheet {
        let Table { columns, items, .. } = self.table();
        let rows = items(kept, window).into_iter().map(|item| Row::of(item, columns));
        let mut rows: Vec<Row> = rows.collect();
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
        let is_unknown = !matches!(self, Self::Devices) && window.is_counted_alone();
        Sheet { hidden: all - rows.len(), rows, is_unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::past::Past;
    use model::record::{Counted, Rollup};

    /// As in iostat, whose rkB/s and wkB/s are without discards.
    #[test]
    fn a_role_has_the_bytes_that_it_read_and_wrote_and_a_discard_those_that_it_discarded() {
        let row = |operation: &str, bytes| Rollup {
            until_unix_ns: 1_000_000_000,
            counted: Counted::Requests,
            device: Some("vda".into()),
            operation: operation.into(),
            role: Some("fstrim".into()),
            count: 1,
            bytes,
            ..Rollup::default()
        };
        let mut past = Past::default();
        past.put(&[row("read", 1_000_000), row("write", 2_000_000), row("discard", 794_000_000)]);
        let window = past.kept.window(1);
        let megabytes = |view: View| -> Vec<f64> {
            let place = view.columns().iter().position(|column| column.head == "MB/s").unwrap();
            let sheet = view.sheet(&past.kept, &window, "", view.first_order());
            let of = |row: &Row| match &row.cells[place] {
                Value::Decimal(rate) => rate * window.span_ns / 1e9,
                _ => f64::NAN,
            };
            let mut all: Vec<f64> = sheet.rows.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        assert_eq!(megabytes(View::Roles), [3.0]);
        assert_eq!(megabytes(View::Devices), [1.0, 2.0, 794.0]);
    }
}

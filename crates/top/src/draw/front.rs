//! What is in front of the tables: the help, and an opened row.
//!
//! Non-goals: which keys there are (`keys`); what is known of a row (`detail`).

use super::page::Page;
use super::style::Look;
use crate::detail::{Detail, FIGURES, bars};
use crate::keys::BINDINGS;
use crate::number::{cut, time};

/// Words of the tables, for the help.
const WORDS: &[&str] = &[
    "p99: of 100 responses 99 took less",
    "depth: mean number of requests at it",
    "busy %: time with requests, by kernel",
    "lost /s: time beyond calm, each second",
    "% of it: of the waiting for the same",
    "!: stands out, failed, or goes on now",
    "figures are of the time in the corner",
    "times of day are UTC",
];

/// Columns of the help: of a key at the left and at the right, of the left half.
const KEY: (usize, usize) = (10, 8);
const HALF: usize = 40;

/// Draws the help.
pub(crate) fn help(page: &mut Page<'_>, look: Look) {
    page.put(0, 0, "Keys of lbolt top", look.answer);
    let left = BINDINGS.len().min(page.height().saturating_sub(3)).min(20);
    for (place, binding) in BINDINGS.iter().enumerate() {
        let (line, column, key) =
            if place < left { (place, 0, KEY.0) } else { (place - left, HALF, KEY.1) };
        page.put(line + 2, column, binding.shown, look.head);
        page.put(line + 2, column + key, binding.does, look.plain);
    }
    let from = BINDINGS.len().saturating_sub(left) + 3;
    for (line, text) in WORDS.iter().enumerate() {
        page.put(from + line, HALF, text, look.plain);
    }
}

/// Of so many lines one is a sentence of who waits.
const LINES_A_WAIT: usize = 9;
/// Columns of a figure.
const FIGURE: usize = 8;
const LEAST_NAME: usize = 10;

/// Draws an opened row, of which one operation is selected.
pub(crate) fn opened(page: &mut Page<'_>, detail: &Detail, selected: usize, look: Look) {
    page.put(0, 0, &detail.title, look.answer);
    page.put_right(0, page.width(), "Esc back  j k operation", look.plain);
    let figures = FIGURES.len() * FIGURE;
    let name = page.width().saturating_sub(figures).clamp(LEAST_NAME, 40);
    page.put(1, 0, "operation", look.head);
    for (place, column) in FIGURES.iter().enumerate() {
        page.put_right(1, name + (place + 1) * FIGURE, column.head, look.head);
    }
    let most = (page.height() / 3).max(2);
    let first = selected.saturating_sub(most - 1);
    let shown = detail.operations.iter().enumerate().skip(first).take(most);
    let mut line = 2;
    for (place, (operation, item)) in shown {
        page.put(line, 0, &cut(operation, name), look.plain);
        for (place, column) in FIGURES.iter().enumerate() {
            let text = (column.value)(item).text().into_owned();
            page.put_right(line, name + (place + 1) * FIGURE, &text, look.plain);
        }
        if place == selected {
            page.style_line(line, look.selected);
        }
        line += 1;
    }
    if detail.operations.is_empty() {
        page.put(line, 0, "nothing in this time", look.plain);
        line += 1;
    }
    line += 1;
    let waits = detail.waits.len().min(page.height() / LINES_A_WAIT);
    for text in &detail.waits[..waits] {
        line += page.wrap(line, 2, text, look.plain);
    }
    line += usize::from(waits > 0);
    histogram(page, line, detail, selected, look);
}

fn histogram(page: &mut Page<'_>, line: usize, detail: &Detail, selected: usize, look: Look) {
    let Some((operation, item)) = detail.operations.get(selected) else { return };
    let bars = bars(&item.sum.responses);
    if bars.is_empty() {
        return;
    }
    page.put(line, 0, &format!("responses of {operation}, from … on:"), look.head);
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let room = page.width().saturating_sub(24).max(4);
    let lines = page.height().saturating_sub(line + 1);
    // Where there are too many, those of the longest times: they are what is looked for.
    let skipped = bars.len().saturating_sub(lines);
    for (place, (ns, count)) in bars.iter().skip(skipped).enumerate() {
        let at = line + 1 + place;
        page.put_right(at, 8, &time(*ns as f64), look.plain);
        let length = (*count as f64 / most as f64 * room as f64).ceil() as usize;
        page.put(at, 9, &"█".repeat(length), look.line);
        let count = if *count > 0 { count.to_string() } else { String::new() };
        page.put(at, 10 + length, &count, look.plain);
    }
}

//! A table on a page: the columns that fit, heads with the mark of the order, the rows around the
//! selected one.
//!
//! Non-goals: which rows there are (`view`).

use super::page::Page;
use super::style::Look;
use crate::number::{cut, cut_begin, width};
use crate::screen::Panel;
use crate::view::{Column, Row, View};

/// Columns before the first: of the mark.
const MARK: usize = 2;
const GAP: usize = 1;

/// How a table is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// Whether its selected row is shown.
    pub(crate) has_cursor: bool,
    pub(crate) look: Look,
}

/// Draws heads and rows on the whole page.
pub(crate) fn draw(page: &mut Page<'_>, view: View, panel: &Panel, way: Way) {
    let rows = page.height().saturating_sub(1);
    let first = first_row(panel, rows);
    let shown = &panel.sheet.rows[first..panel.sheet.rows.len().min(first + rows)];
    let places = places(view, shown, panel.order.column, page.width());
    heads(page, view, panel, &places, way.look);
    for (line, row) in shown.iter().enumerate() {
        let is_selected = way.has_cursor && first + line == panel.cursor.index;
        draw_row(page, line + 1, row, &places, view, way.look);
        if is_selected {
            page.style_line(line + 1, way.look.selected);
        }
    }
    if shown.is_empty() {
        page.put(1, MARK, nothing(view, panel), way.look.plain);
    }
}

fn nothing(view: View, panel: &Panel) -> &'static str {
    match (panel.sheet.hidden, view) {
        (1.., _) => "the filter hides all rows (Esc clears it)",
        _ if panel.sheet.is_unknown => "unknown: no request was captured",
        (_, View::Waits) => "nobody waits for others",
        (_, View::Storms) => "none",
        _ => "none in this time",
    }
}

/// The first row that is shown: as far up as leaves the selected one in sight.
fn first_row(panel: &Panel, rows: usize) -> usize {
    let most = panel.sheet.rows.len().saturating_sub(rows);
    panel.cursor.index.saturating_sub(rows.saturating_sub(1)).min(most)
}

/// A column's place: which, where, how wide.
#[derive(Debug, Clone, Copy)]
struct Place {
    column: usize,
    from: usize,
    width: usize,
}

/// The columns that fit; texts share what is left, each up to its longest.
fn places(view: View, rows: &[Row], sorted: usize, columns: usize) -> Vec<Place> {
    let all = view.columns();
    let mut kept: Vec<usize> = (0..all.len()).collect();
    // The mark of the order stands before a number's head, and not in the gap.
    let marked = |place: usize| usize::from(place == sorted && !all[place].is_text);
    let least = |place: usize| usize::from(all[place].width) + marked(place);
    let needed = |kept: &[usize]| kept.iter().map(|p| least(*p) + GAP).sum::<usize>() + MARK;
    while needed(&kept) > columns + GAP {
        let can_go = kept.iter().filter(|place| all[**place].drop > 0 && **place != sorted);
        let Some(goes) = can_go.max_by_key(|place| all[**place].drop).copied() else { break };
        kept.retain(|place| *place != goes);
    }
    let mut widths: Vec<usize> = kept.iter().map(|place| least(*place)).collect();
    let mut left = (columns + GAP).saturating_sub(needed(&kept));
    let longest: Vec<usize> =
        kept.iter().map(|place| longest(&all[*place], *place, rows)).collect();
    // Column by column, so that each gets a share.
    while left > 0 {
        let before = left;
        for (width, longest) in widths.iter_mut().zip(&longest) {
            if *width < *longest && left > 0 {
                *width += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    let mut from = MARK;
    let place = |(column, width): (&usize, usize)| {
        let place = Place { column: *column, from, width };
        from += width + GAP;
        place
    };
    kept.iter().zip(widths).map(place).collect()
}

fn longest(column: &Column, place: usize, rows: &[Row]) -> usize {
    match column.is_text {
        true => rows.iter().map(|row| width(&row.cells[place].text())).max().unwrap_or(0),
        false => 0,
    }
}

fn heads(page: &mut Page<'_>, view: View, panel: &Panel, places: &[Place], look: Look) {
    for place in places {
        let column = &view.columns()[place.column];
        let is_sorted = place.column == panel.order.column;
        let mark = match (is_sorted, panel.order.is_reversed) {
            (false, _) => "",
            (true, false) => "▼",
            (true, true) => "▲",
        };
        let head = match column.is_text {
            true => format!("{}{mark}", column.head),
            false => format!("{mark}{}", column.head),
        };
        match column.is_text {
            true => page.put(0, place.from, &cut(&head, place.width + GAP), look.head),
            false => page.put_right(0, place.from + place.width, &head, look.head),
        }
    }
}

fn draw_row(page: &mut Page<'_>, line: usize, row: &Row, places: &[Place], view: View, look: Look) {
    let style = if row.is_marked { look.marked } else { look.plain };
    if row.is_marked {
        page.put(line, 0, "!", style);
    }
    for place in places {
        let text = row.cells[place.column].text();
        match (view.columns()[place.column].is_text, view) {
            // Of a path the end tells.
            (true, View::Files) => {
                page.put(line, place.from, &cut_begin(&text, place.width), style);
            }
            (true, _) => page.put(line, place.from, &cut(&text, place.width), style),
            (false, _) => page.put_right(line, place.from + place.width, &text, style),
        }
    }
}

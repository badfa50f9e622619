//! Draws the screen: the answer, the line of tabs, as many tables as there is room for, the lines
//! of the selected device, and a line of status.
//!
//! Non-goals: the terminal (`terminal`); what is shown (`screen`).

mod front;
mod page;
mod sheet;
mod style;

use crate::number::{rate, sparkline, time, time_of_day, width};
use crate::past::Point;
use crate::screen::{Front, Screen, WINDOWS};
use crate::view::{Subject, View};
use page::{Page, wrapped};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Frame;
use sheet::Way;
use style::Look;

/// The least screen that is drawn.
const LEAST: (u16, u16) = (60, 12);
/// From here on several tables are shown, and all.
const SEVERAL_LINES: u16 = 36;
const ALL_COLUMNS: u16 = 160;
/// Lines of the answer.
const ANSWER: u16 = 2;
/// Rows of each table of a screen as text.
const TEXT_ROWS: usize = 10;
/// Without a row for so long, it is said.
const SILENT_SECONDS: u64 = 3;

impl Screen {
    /// Draws all of it.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        self.paint(&mut Page { buffer: frame.buffer_mut(), area });
    }

    fn look(&self) -> Look {
        Look::new(self.options.no_color)
    }

    fn paint(&self, page: &mut Page<'_>) {
        let Rect { width: columns, height, .. } = page.area;
        let look = self.look();
        if columns < LEAST.0 || height < LEAST.1 {
            let text =
                format!("{columns} × {height} is too small: {} × {} needed", LEAST.0, LEAST.1);
            page.put(0, 0, &text, look.plain);
            return;
        }
        let middle = Rect { y: ANSWER + 1, height: height - ANSWER - 2, ..page.area };
        page.wrap(0, ANSWER.into(), &self.answer, look.answer);
        self.tabs(page, usize::from(ANSWER));
        match &self.front {
            Front::Help => {
                let all = Rect { height: height - 1, ..page.area };
                page.buffer.reset();
                front::help(&mut page.part(all), look);
            }
            Front::Opened(_, place) => {
                front::opened(&mut page.part(middle), &self.detail, *place, look);
            }
            Front::Tables => self.tables(&mut page.part(middle)),
        }
        self.status(page, usize::from(height) - 1);
    }

    /// The tables' names, the window of time and the time of day.
    fn tabs(&self, page: &mut Page<'_>, line: usize) {
        let look = self.look();
        let corner = self.corner();
        let room = page.width().saturating_sub(width(&corner) + 1);
        let mut column = 0;
        for (place, view) in View::ALL.into_iter().enumerate() {
            let tab = format!("{} {}", place + 1, view.name());
            if column + width(&tab) > room {
                break;
            }
            let is_front = view == self.view && self.front == Front::Tables;
            page.put(line, column, &tab, if is_front { look.front } else { look.head });
            column += width(&tab) + 1;
        }
        let stands_out = self.frozen_for().is_some() || self.silent_seconds >= SILENT_SECONDS;
        let style = if stands_out { look.marked } else { look.plain };
        page.put_right(line, page.width(), &corner, style);
    }

    fn corner(&self) -> String {
        let window = WINDOWS[self.window_place].1;
        let until = time_of_day(self.kept().until_unix_ns.div_euclid(1_000_000_000));
        match self.frozen_for() {
            _ if self.kept().is_empty() => format!("last {window}"),
            Some(seconds) => format!("FROZEN {seconds} s ago, {window}"),
            None if self.silent_seconds >= SILENT_SECONDS => {
                format!("NO NEWS for {} s, {until}", self.silent_seconds)
            }
            None => format!("last {window}, {until} UTC"),
        }
    }

    fn status(&self, page: &mut Page<'_>, line: usize) {
        let look = self.look();
        if let Some(said) = &self.said {
            page.put(line, 0, said, look.marked);
            return;
        }
        if self.is_typing {
            page.put(
                line,
                0,
                &format!("/{}_  Enter keeps it, Esc clears it", self.filter),
                look.head,
            );
            return;
        }
        let column = self.view.columns()[self.panel(self.view).order.column].head;
        let filter = match self.filter.is_empty() {
            true => "/ filter".to_owned(),
            false => format!("/{} (Esc clears)", self.filter),
        };
        let sort = format!("s sort: {column}");
        let keys = [
            "q quit",
            "? help",
            &filter,
            &sort,
            "Space freeze",
            "Enter open",
            "w write",
            "+ - time",
        ];
        let mut from = 0;
        for key in keys {
            if from + width(key) <= page.width() {
                page.put(line, from, key, look.plain);
                from += width(key) + 2;
            }
        }
    }

    fn tables(&self, page: &mut Page<'_>) {
        let area = page.area;
        if area.height < SEVERAL_LINES - 4 {
            let lines = if area.height >= 14 { 2 } else { 0 };
            self.table(page, Rect { height: area.height - lines, ..area }, self.view, false);
            let below = Rect { y: area.bottom() - lines, height: lines, ..area };
            self.lines(&mut page.part(below));
            return;
        }
        let lines = 2;
        let above = Rect { height: area.height - lines - 1, ..area };
        if area.width >= ALL_COLUMNS {
            let left = Rect { width: area.width / 2 - 1, ..above };
            let right = Rect { x: left.right() + 2, width: area.width - left.width - 2, ..above };
            self.stack(page, left, &[View::Devices, View::Waits, View::Storms]);
            self.stack(page, right, &[View::Roles, View::Calls, View::Files]);
        } else {
            let others = match self.view {
                View::Devices | View::Waits => View::Roles,
                other => other,
            };
            self.stack(page, above, &[View::Devices, View::Waits, others]);
        }
        let below = Rect { y: area.bottom() - lines, height: lines, ..area };
        self.lines(&mut page.part(below));
    }

    /// Tables one below the other, each with its name.
    fn stack(&self, page: &mut Page<'_>, area: Rect, views: &[View]) {
        let each = area.height / views.len() as u16;
        for (place, view) in views.iter().enumerate() {
            let y = area.y + each * place as u16;
            let height = if place + 1 == views.len() { area.bottom() - y } else { each };
            self.table(page, Rect { y, height, ..area }, *view, true);
        }
    }

    fn table(&self, page: &mut Page<'_>, area: Rect, view: View, is_named: bool) {
        let (look, is_front) = (self.look(), view == self.view);
        let panel = self.panel(view);
        let way = Way { has_cursor: is_front, look };
        if !is_named {
            return sheet::draw(&mut page.part(area), view, panel, way);
        }
        let title = title(view, panel.sheet.rows.len());
        let style = if is_front { look.front } else { look.head };
        page.part(Rect { height: 1, ..area }).put(0, 0, &format!(" {title} "), style);
        // A blank line is left below.
        let rows = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
        sheet::draw(&mut page.part(rows), view, panel, way);
    }

    /// The selected device's last minutes: requests a second and p99.
    fn lines(&self, page: &mut Page<'_>) {
        let Some(device) = self.device() else { return };
        let points = self.kept().points(&device);
        type Figure = (&'static str, fn(&Point) -> f64, fn(f64) -> String);
        let figures: [Figure; 2] =
            [("requests/s", |point| point.requests, rate), ("p99", |point| point.p99_ns, time)];
        let room = page.width().saturating_sub(44).min(points.len());
        for (line, (name, of, show)) in figures.into_iter().enumerate() {
            let values: Vec<f64> = points.iter().map(of).collect();
            let most = values.iter().copied().fold(0.0, f64::max);
            let name = format!("{} {name}", crate::number::cut(&device, 10));
            page.put(line, 0, &name, self.look().head);
            page.put(line, 22, &sparkline(&values, room), self.look().line);
            page.put(line, 23 + room, &format!("5 min, max {}", show(most)), self.look().plain);
        }
    }

    /// The device of the selected row, or the first.
    fn device(&self) -> Option<String> {
        let panel = self.panel(View::Devices);
        let row = panel.sheet.rows.get(panel.cursor.index)?;
        match &row.opens {
            Some(Subject::Device(device)) => Some(device.to_string()),
            _ => None,
        }
    }

    /// One screen as plain text of so many columns, for a file or a pipe: no escape codes.
    pub fn text(&self, columns: u16) -> String {
        let columns = columns.clamp(LEAST.0, 500);
        let until = time_of_day(self.kept().until_unix_ns.div_euclid(1_000_000_000));
        let (_, window) = WINDOWS[self.window_place];
        let mut text = format!("{until} UTC, last {window}\n");
        for line in wrapped(&self.answer, columns.into(), 4) {
            text.push_str(&format!("{line}\n"));
        }
        for view in View::ALL {
            let panel = self.panel(view);
            let rows = panel.sheet.rows.len().clamp(1, TEXT_ROWS) as u16;
            let area = Rect { x: 0, y: 0, width: columns, height: rows + 1 };
            let mut buffer = Buffer::empty(area);
            let way = Way { has_cursor: false, look: Look::new(true) };
            sheet::draw(&mut Page { buffer: &mut buffer, area }, view, panel, way);
            text.push_str(&format!(
                "\n{}\n{}",
                title(view, panel.sheet.rows.len()),
                plain(&buffer)
            ));
        }
        text
    }
}

fn title(view: View, rows: usize) -> String {
    let place = View::ALL.iter().position(|known| *known == view).unwrap_or(0) + 1;
    match view {
        View::Waits => format!("{place} who waits for whom ({rows})"),
        view => format!("{place} {} ({rows})", view.name()),
    }
}

/// The text of a buffer, without styles and blanks at the ends of lines.
fn plain(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in buffer.area.top()..buffer.area.bottom() {
        let mut line = String::new();
        let mut x = buffer.area.left();
        while x < buffer.area.right() {
            let symbol = buffer.cell((x, y)).map_or(" ", |cell| cell.symbol());
            line.push_str(symbol);
            x += width(symbol).max(1) as u16;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

//! What the user sees and does: the window of time, the table in front, its order, the filter, the
//! selected row, an opened row; and what each key changes of it.
//!
//! Non-goals: the terminal (`terminal`); how it looks (`draw`).

use crate::answer;
use crate::detail::{Detail, detail};
use crate::keys::{Action, BINDINGS, Command, command};
use crate::past::{Kept, MOST_SECONDS, Past, Window};
use crate::table::Key;
use crate::view::{Order, Sheet, Subject, View};
use model::record::{Rollup, Wait};
use model::text::visible;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// How a screen is to be.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// No colours: bold and reverse only.
    pub no_color: bool,
    /// The devices that are watched; none: all.
    pub devices: Vec<String>,
}

/// The windows of time, in seconds, with their names.
pub(crate) const WINDOWS: [(i64, &str); 4] =
    [(1, "1 s"), (10, "10 s"), (60, "1 min"), (MOST_SECONDS, "5 min")];
const FIRST_WINDOW: usize = 1;

/// Characters of a filter.
const MOST_FILTER: usize = 60;

/// Which row is selected.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cursor {
    /// None until the user moves: then the first row is, whatever it is of.
    key: Option<Key>,
    pub(crate) index: usize,
}

/// A table with the user's place in it.
#[derive(Debug)]
pub(crate) struct Panel {
    pub(crate) sheet: Sheet,
    pub(crate) order: Order,
    pub(crate) cursor: Cursor,
}

/// What is in front of the tables.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Front {
    Tables,
    Help,
    /// An opened row, and which of its operations has its histogram shown.
    Opened(Subject, usize),
}

/// The screen.
#[derive(Debug)]
pub struct Screen {
    pub(crate) options: Options,
    past: Past,
    /// What was when it was frozen.
    frozen: Option<Kept>,
    pub(crate) window_place: usize,
    window: Window,
    pub(crate) answer: String,
    going_on: Vec<Wait>,
    pub(crate) view: View,
    panels: [Panel; 6],
    pub(crate) front: Front,
    pub(crate) detail: Detail,
    pub(crate) filter: String,
    pub(crate) is_typing: bool,
    pub(crate) said: Option<String>,
    /// Seconds without a row, as the terminal's loop counts them.
    pub(crate) silent_seconds: u64,
}

impl Screen {
    /// A screen of nothing yet.
    pub fn new(options: Options) -> Self {
        let panel = |view: View| Panel {
            sheet: Sheet::default(),
            order: view.first_order(),
            cursor: Cursor::default(),
        };
        let mut screen = Self {
            options,
            past: Past::default(),
            frozen: None,
            window_place: FIRST_WINDOW,
            window: Window::default(),
            answer: String::new(),
            going_on: Vec::new(),
            view: View::Devices,
            panels: View::ALL.map(panel),
            front: Front::Tables,
            detail: Detail::default(),
            filter: String::new(),
            is_typing: false,
            said: None,
            silent_seconds: 0,
        };
        screen.sum_up();
        screen
    }

    /// Adds the rows of a second; late ones may be of earlier seconds.
    pub fn add(&mut self, rows: &[Rollup]) {
        self.put(rows);
        self.settle();
    }

    /// Who waits for long by now: it is shown with the next rows.
    pub fn waiting(&mut self, going_on: Vec<Wait>) {
        self.going_on = going_on;
    }

    /// Puts a part of a second's rows where they belong; what is shown stays.
    pub(crate) fn put(&mut self, rows: &[Rollup]) {
        self.past.put(rows);
        self.silent_seconds = 0;
    }

    /// Shows what was put.
    pub(crate) fn settle(&mut self) {
        self.past.settle();
        if self.frozen.is_none() {
            self.sum_up();
        }
    }

    /// Shows a line of status until the next key.
    pub fn say(&mut self, text: &str) {
        self.said = Some(visible(text).into_owned());
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> Option<Action> {
        self.said = None;
        if self.is_typing && self.typed(&key) {
            return None;
        }
        let Some(command) = command(&key) else {
            self.say("no such key; ? shows the keys");
            return None;
        };
        self.run(command)
    }

    fn run(&mut self, command: Command) -> Option<Action> {
        let is_front = self.front != Front::Tables;
        match command {
            Command::Quit if is_front => self.close(),
            Command::Quit => return Some(Action::Quit),
            Command::Help if self.front == Front::Help => self.close(),
            Command::Help => self.front = Front::Help,
            Command::Back if is_front => self.close(),
            Command::Back => self.set_filter(String::new()),
            Command::Filter => {
                self.close();
                self.is_typing = true;
            }
            Command::Sort => self.sort_by_next(),
            Command::Reverse => {
                let order = &mut self.panel_mut().order;
                order.is_reversed = !order.is_reversed;
                self.fill();
            }
            Command::Freeze => self.freeze(),
            Command::Open => self.open(),
            Command::Window(by) => {
                let place = self.window_place.saturating_add_signed(by);
                self.window_place = place.min(WINDOWS.len() - 1);
                self.sum_up();
            }
            Command::Go(rows) => self.go_by(rows),
            Command::Turn(by) => {
                let place = (self.view as isize + by).rem_euclid(View::ALL.len() as isize);
                self.show(View::ALL[place as usize]);
            }
            Command::Show(view) => self.show(view),
            Command::Act(action) => {
                if action == Action::WriteRun {
                    self.say("writing the last seconds as a run …");
                }
                return Some(action);
            }
        }
        None
    }

    /// Whether the filter took the key.
    fn typed(&mut self, key: &KeyEvent) -> bool {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.set_filter(String::new());
            }
            KeyCode::Backspace => {
                let mut text = self.filter.clone();
                text.pop();
                self.set_filter(text);
            }
            KeyCode::Char('u') if is_control => self.set_filter(String::new()),
            KeyCode::Char(character) if !is_control => {
                if self.filter.chars().count() < MOST_FILTER && !model::text::is_unsafe(character) {
                    self.set_filter(format!("{}{character}", self.filter));
                }
            }
            _ => return false,
        }
        true
    }

    fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        self.fill();
    }

    fn close(&mut self) {
        self.front = Front::Tables;
    }

    fn sort_by_next(&mut self) {
        let columns = self.view.columns().len();
        let order = &mut self.panel_mut().order;
        *order = Order { column: (order.column + 1) % columns, is_reversed: false };
        self.fill();
    }

    fn freeze(&mut self) {
        self.frozen = match self.frozen {
            Some(_) => None,
            None => Some(self.past.kept.clone()),
        };
        self.sum_up();
    }

    fn open(&mut self) {
        let panel = self.panel(self.view);
        let Some(row) = panel.sheet.rows.get(panel.cursor.index) else {
            return self.say("there is no row to open");
        };
        match row.opens.clone() {
            Some(subject) => {
                self.front = Front::Opened(subject, 0);
                self.look_into();
            }
            None => self.say("this row sums up many: there is nothing to open"),
        }
    }

    fn show(&mut self, view: View) {
        self.close();
        self.view = view;
    }

    fn go_by(&mut self, rows: isize) {
        let moved = |index: usize, count: usize| {
            index.saturating_add_signed(rows).min(count.saturating_sub(1))
        };
        if let Front::Opened(_, place) = &mut self.front {
            *place = moved(*place, self.detail.operations.len());
            return;
        }
        let panel = self.panel_mut();
        panel.cursor.index = moved(panel.cursor.index, panel.sheet.rows.len());
        panel.cursor.key = match panel.cursor.index {
            0 => None,
            place => panel.sheet.rows.get(place).map(|row| row.key.clone()),
        };
    }

    /// What is shown: the frozen past, or that of now.
    pub(crate) fn kept(&self) -> &Kept {
        self.frozen.as_ref().unwrap_or(&self.past.kept)
    }

    /// Seconds since it was frozen, by the rows that came since.
    pub(crate) fn frozen_for(&self) -> Option<i64> {
        let frozen = self.frozen.as_ref()?;
        Some((self.past.kept.until_unix_ns - frozen.until_unix_ns) / 1_000_000_000)
    }

    /// A table with the user's place in it.
    pub(crate) fn panel(&self, view: View) -> &Panel {
        &self.panels[view as usize]
    }

    fn panel_mut(&mut self) -> &mut Panel {
        &mut self.panels[self.view as usize]
    }

    /// What the window's sums say, in a sentence.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// Sums of the window, and all that is made of them.
    fn sum_up(&mut self) {
        let (seconds, name) = WINDOWS[self.window_place];
        self.window = self.kept().window(seconds);
        self.answer = match self.kept().is_empty() {
            true if self.options.devices.is_empty() => "Waiting for the first second.".into(),
            true => {
                let devices = visible(&self.options.devices.join(", ")).into_owned();
                format!("Waiting for the first second of {devices}.")
            }
            false => answer::sentence(&self.window, name, &self.going_on),
        };
        self.fill();
        self.look_into();
    }

    fn fill(&mut self) {
        let Self { past, frozen, window, filter, panels, .. } = self;
        let kept = frozen.as_ref().unwrap_or(&past.kept);
        for (view, panel) in View::ALL.into_iter().zip(panels) {
            panel.sheet = view.sheet(kept, window, filter, panel.order);
            let rows = &panel.sheet.rows;
            let found = panel.cursor.key.as_ref();
            let found = found.and_then(|key| rows.iter().position(|row| row.key == *key));
            let last = rows.len().saturating_sub(1);
            let index = if panel.cursor.key.is_none() { 0 } else { panel.cursor.index };
            panel.cursor.index = found.unwrap_or(index.min(last));
        }
    }

    fn look_into(&mut self) {
        if let Front::Opened(subject, place) = &mut self.front {
            self.detail = detail(subject, &self.window);
            *place = (*place).min(self.detail.operations.len().saturating_sub(1));
        }
    }
}

/// The keys and what they do, as the help shows them.
pub fn keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    BINDINGS.iter().map(|binding| (binding.shown, binding.does))
}

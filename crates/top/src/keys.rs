//! The keys: one table, of which the help is made and by which keys are handled.
//!
//! Non-goals: what the commands do (`screen`).

use crate::view::View;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What the screen asks of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// To end.
    Quit,
    /// To write the last seconds as a run, and to say where.
    WriteRun,
    /// To clear the terminal and to draw anew ([`crate::run`] does it).
    Redraw,
    /// To give the terminal back and to stop ([`crate::run`] does it).
    Suspend,
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Ends, or leaves the help and an opened row.
    Quit,
    Help,
    Filter,
    Sort,
    Reverse,
    Freeze,
    Open,
    Back,
    /// Shows the next longer time, or a shorter one.
    Window(isize),
    /// Goes so many rows down, or up.
    Go(isize),
    /// Shows the next table, or one before.
    Turn(isize),
    Show(View),
    /// The caller does it, wherever the key is pressed.
    Act(Action),
}

/// Keys with what they do.
pub(crate) struct Binding {
    pub(crate) keys: &'static [(KeyCode, KeyModifiers)],
    pub(crate) command: Command,
    /// As the help calls them.
    pub(crate) shown: &'static str,
    pub(crate) does: &'static str,
}

const PAGE: isize = 10;
/// More rows than there are.
const ALL: isize = isize::MAX / 2;

const fn plain(code: KeyCode) -> (KeyCode, KeyModifiers) {
    (code, KeyModifiers::NONE)
}

const fn key(character: char) -> (KeyCode, KeyModifiers) {
    plain(KeyCode::Char(character))
}

const fn control(character: char) -> (KeyCode, KeyModifiers) {
    (KeyCode::Char(character), KeyModifiers::CONTROL)
}

macro_rules! bindings {
    ($([$($key:expr),*] $command:expr, $shown:literal, $does:literal;)*) => {
        /// All keys, in the order of the help.
        pub(crate) const BINDINGS: &[Binding] = &[$(Binding {
            keys: &[$($key),*],
            command: $command,
            shown: $shown,
            does: $does,
        }),*];
    };
}

bindings! {
    [key('q')] Command::Quit, "q", "quit; leave help or a row";
    [control('c')] Command::Act(Action::Quit), "Ctrl-C", "quit";
    [key('?'), key('h'), plain(KeyCode::F(1))] Command::Help, "? h", "this help";
    [key('1')] Command::Show(View::Devices), "1", "devices";
    [key('2')] Command::Show(View::Waits), "2", "who waits for whom";
    [key('3')] Command::Show(View::Roles), "3", "roles";
    [key('4')] Command::Show(View::Files), "4", "files";
    [key('5')] Command::Show(View::Calls), "5", "calls: fsync and its like";
    [key('6')] Command::Show(View::Storms), "6", "storms";
    [plain(KeyCode::Tab)] Command::Turn(1), "Tab", "the next table";
    [plain(KeyCode::BackTab), (KeyCode::BackTab, KeyModifiers::SHIFT)]
        Command::Turn(-1), "Shift-Tab", "the table before";
    [plain(KeyCode::Down), key('j')] Command::Go(1), "↓ j", "the next row";
    [plain(KeyCode::Up), key('k')] Command::Go(-1), "↑ k", "the row before";
    [plain(KeyCode::PageDown)] Command::Go(PAGE), "PgDn", "ten rows down";
    [plain(KeyCode::PageUp)] Command::Go(-PAGE), "PgUp", "ten rows up";
    [plain(KeyCode::Home), key('g')] Command::Go(-ALL), "Home g", "the first row";
    [plain(KeyCode::End), key('G')] Command::Go(ALL), "End G", "the last row";
    [plain(KeyCode::Enter)] Command::Open, "Enter", "open the row";
    [plain(KeyCode::Esc)] Command::Back, "Esc", "back; clear the filter";
    [key('/')] Command::Filter, "/", "show only rows with a text";
    [key('s')] Command::Sort, "s", "sort by the next column";
    [key('r')] Command::Reverse, "r", "reverse the order";
    [key('+'), key('=')] Command::Window(1), "+", "a longer time: to 5 min";
    [key('-')] Command::Window(-1), "-", "a shorter time: to 1 s";
    [key(' ')] Command::Freeze, "Space", "freeze; go on";
    [key('w')] Command::Act(Action::WriteRun), "w", "write the last seconds as a run";
    [control('l')] Command::Act(Action::Redraw), "Ctrl-L", "draw anew";
    [control('z')] Command::Act(Action::Suspend), "Ctrl-Z", "suspend";
}

/// The command of a key.
pub(crate) fn command(key: &KeyEvent) -> Option<Command> {
    // A capital letter may or may not come with Shift.
    let modifiers = match key.code {
        KeyCode::Char(_) => key.modifiers.difference(KeyModifiers::SHIFT),
        _ => key.modifiers,
    };
    let is_it = |binding: &&Binding| binding.keys.contains(&(key.code, modifiers));
    BINDINGS.iter().find(is_it).map(|binding| binding.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings_and_each_has_a_help() {
        let all: Vec<_> = BINDINGS.iter().flat_map(|binding| binding.keys).collect();
        for (place, key) in all.iter().enumerate() {
            assert!(!all[..place].contains(key), "{key:?}");
        }
        for binding in BINDINGS {
            assert!(!binding.shown.is_empty() && !binding.does.is_empty());
            for (code, modifiers) in binding.keys {
                assert_eq!(command(&KeyEvent::new(*code, *modifiers)), Some(binding.command));
            }
        }
    }

    #[test]
    fn shift_does_not_hide_a_letter() {
        let key = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(command(&key), Some(Command::Go(ALL)));
        assert_eq!(command(&KeyEvent::new(KeyCode::Char('q'), KeyModifiers::ALT)), None);
    }
}

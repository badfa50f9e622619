//! The keys: one table, of which the help is made and by which keys are handled.
//!
//! Non-goals: what the commands do (`screen`).

use crate::view::View;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Ends, or leaves the help and an opened row.
    Quit,
    /// Ends, wherever it is pressed.
    Interrupt,
    Help,
    Filter,
    Sort,
    Reverse,
    Freeze,
    Open,
    Back,
    Write,
    Longer,
    Shorter,
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    Next,
    Previous,
    Show(View),
    Redraw,
    Suspend,
}

/// Keys with what they do.
pub(crate) struct Binding {
    pub(crate) keys: &'static [(KeyCode, KeyModifiers)],
    pub(crate) command: Command,
    /// As the help calls them.
    pub(crate) shown: &'static str,
    pub(crate) does: &'static str,
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CONTROL: KeyModifiers = KeyModifiers::CONTROL;

const fn plain(character: char) -> (KeyCode, KeyModifiers) {
    (KeyCode::Char(character), NONE)
}

const fn binding(
    keys: &'static [(KeyCode, KeyModifiers)],
    command: Command,
    shown: &'static str,
    does: &'static str,
) -> Binding {
    Binding { keys, command, shown, does }
}

/// All keys, in the order of the help.
pub(crate) const BINDINGS: &[Binding] = &[
    binding(&[plain('q')], Command::Quit, "q", "quit; leave help or a row"),
    binding(&[(KeyCode::Char('c'), CONTROL)], Command::Interrupt, "Ctrl-C", "quit"),
    binding(&[plain('?'), plain('h'), (KeyCode::F(1), NONE)], Command::Help, "? h", "this help"),
    binding(&[plain('1')], Command::Show(View::Devices), "1", "devices"),
    binding(&[plain('2')], Command::Show(View::Waits), "2", "who waits for whom"),
    binding(&[plain('3')], Command::Show(View::Roles), "3", "roles"),
    binding(&[plain('4')], Command::Show(View::Files), "4", "files"),
    binding(&[plain('5')], Command::Show(View::Calls), "5", "calls: fsync and its like"),
    binding(&[plain('6')], Command::Show(View::Storms), "6", "storms"),
    binding(&[(KeyCode::Tab, NONE)], Command::Next, "Tab", "the next table"),
    binding(
        &[(KeyCode::BackTab, NONE), (KeyCode::BackTab, KeyModifiers::SHIFT)],
        Command::Previous,
        "Shift-Tab",
        "the table before",
    ),
    binding(&[(KeyCode::Down, NONE), plain('j')], Command::Down, "↓ j", "the next row"),
    binding(&[(KeyCode::Up, NONE), plain('k')], Command::Up, "↑ k", "the row before"),
    binding(&[(KeyCode::PageDown, NONE)], Command::PageDown, "PgDn", "ten rows down"),
    binding(&[(KeyCode::PageUp, NONE)], Command::PageUp, "PgUp", "ten rows up"),
    binding(&[(KeyCode::Home, NONE), plain('g')], Command::First, "Home g", "the first row"),
    binding(&[(KeyCode::End, NONE), plain('G')], Command::Last, "End G", "the last row"),
    binding(&[(KeyCode::Enter, NONE)], Command::Open, "Enter", "open the row"),
    binding(&[(KeyCode::Esc, NONE)], Command::Back, "Esc", "back; clear the filter"),
    binding(&[plain('/')], Command::Filter, "/", "show only rows with a text"),
    binding(&[plain('s')], Command::Sort, "s", "sort by the next column"),
    binding(&[plain('r')], Command::Reverse, "r", "reverse the order"),
    binding(&[plain('+'), plain('=')], Command::Longer, "+", "a longer time: to 5 min"),
    binding(&[plain('-')], Command::Shorter, "-", "a shorter time: to 1 s"),
    binding(&[plain(' ')], Command::Freeze, "Space", "freeze; go on"),
    binding(&[plain('w')], Command::Write, "w", "write the last seconds as a run"),
    binding(&[(KeyCode::Char('l'), CONTROL)], Command::Redraw, "Ctrl-L", "draw anew"),
    binding(&[(KeyCode::Char('z'), CONTROL)], Command::Suspend, "Ctrl-Z", "suspend"),
];

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
        assert_eq!(command(&key), Some(Command::Last));
        assert_eq!(command(&KeyEvent::new(KeyCode::Char('q'), KeyModifiers::ALT)), None);
    }
}

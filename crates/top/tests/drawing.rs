//! What is drawn, at each size. `LBOLT_BLESS=1` writes the expected screens; read them before they
//! are committed.

use crate::synthetic;
use model::record::Rollup;
use std::path::Path;
use top::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use top::ratatui_core::backend::TestBackend;
use top::ratatui_core::style::Color;
use top::ratatui_core::terminal::Terminal;
use top::{Options, Screen};

/// 53 seconds, of which the last three are a storm.
pub(crate) fn screen() -> Screen {
    until(1053)
}

fn until(end: i64) -> Screen {
    let mut screen = Screen::new(Options::default());
    (1000..end).for_each(|second| screen.add(&synthetic::second(second, 0)));
    screen
}

pub(crate) fn press(screen: &mut Screen, keys: &str) -> Option<top::Action> {
    let code = |character| match character {
        '\n' => KeyCode::Enter,
        '\x1b' => KeyCode::Esc,
        '\t' => KeyCode::Tab,
        other => KeyCode::Char(other),
    };
    let keys = keys.chars().map(|c| KeyEvent::new(code(c), KeyModifiers::NONE));
    keys.map(|key| screen.key(key)).last().flatten()
}

fn terminal(width: u16, height: u16) -> Terminal<TestBackend> {
    Terminal::new(TestBackend::new(width, height)).unwrap()
}

fn text_of(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let lines = (0..buffer.area.height).map(|y| {
        let line: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}

pub(crate) fn drawn(screen: &Screen, width: u16, height: u16) -> String {
    let mut terminal = terminal(width, height);
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    text_of(&terminal)
}

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
    if std::env::var_os("LBOLT_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name}: LBOLT_BLESS=1 rewrites it\n{text}");
}

#[test]
fn screens_are_as_expected() {
    let screen = screen();
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        golden(&format!("{width}x{height}.txt"), &drawn(&screen, width, height));
    }
    golden("batch.txt", &screen.text(80));
    golden("calm-80x24.txt", &drawn(&until(1050), 80, 24));
}

#[test]
fn each_table_the_help_and_an_opened_row_are_as_expected() {
    let mut shown = screen();
    let mut all = String::new();
    for keys in ["1", "2", "3", "4", "5", "6", "?", "\x1b1\n", "\x1b3\n", "\x1b5\n"] {
        press(&mut shown, keys);
        all.push_str(&drawn(&shown, 80, 24));
        all.push_str(&format!("{}\n", "=".repeat(80)));
    }
    golden("tables-80x24.txt", &all);
}

#[test]
fn the_help_has_every_key_at_the_least_size_of_a_terminal() {
    let mut screen = screen();
    press(&mut screen, "?");
    let text = drawn(&screen, 80, 24);
    for (shown, does) in top::keys() {
        assert!(text.contains(shown) && text.contains(does), "{shown}: {does}\n{text}");
    }
    assert!(text.contains("figures are of the time in the corner"), "{text}");
}

#[test]
fn too_small_a_terminal_is_told_in_a_line() {
    for (width, height) in [(40, 10), (80, 5), (10, 60), (1, 1)] {
        let text = drawn(&screen(), width, height);
        assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), 1, "{text}");
    }
    assert!(drawn(&screen(), 40, 10).starts_with("40 × 10 is too small: 60 × 12 needed"));
}

#[test]
fn any_size_and_any_change_of_it_is_drawn() {
    let mut shown = screen();
    for keys in ["1", "2", "3", "4", "5", "6", "?", "\x1b\n", "\x1b3\n"] {
        press(&mut shown, keys);
        let mut terminal = terminal(80, 24);
        for (width, height) in [(80, 24), (200, 60), (61, 13), (300, 14), (60, 200), (80, 24)] {
            terminal.backend_mut().resize(width, height);
            terminal.draw(|frame| shown.draw(frame)).unwrap();
            assert_eq!(text_of(&terminal), drawn(&shown, width, height));
        }
    }
}

#[test]
fn nothing_yet_is_drawn_too() {
    let screen = Screen::new(Options::default());
    assert!(drawn(&screen, 80, 24).starts_with("Waiting for the first second."));
    assert!(screen.text(80).contains("Waiting for the first second."));
}

#[test]
fn no_colour_is_used_where_none_is_wanted() {
    let mut colors = Vec::new();
    for no_color in [false, true] {
        let mut screen = Screen::new(Options { no_color, ..Options::default() });
        (1000..1064).for_each(|second| screen.add(&synthetic::second(second, 0)));
        let mut terminal = terminal(200, 60);
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let cells = terminal.backend().buffer().content.iter();
        let colored = |cell: &&top::ratatui_core::buffer::Cell| {
            cell.fg != Color::Reset || cell.bg != Color::Reset
        };
        colors.push(cells.filter(colored).count());
    }
    assert!(colors[0] > 100 && colors[1] == 0, "{colors:?}");
}

#[test]
fn no_name_steers_the_terminal_or_breaks_a_row() {
    let mut screen = screen();
    let evil = "\x1b[2J\r\n\u{9b}31m漢字\u{202e}".to_owned();
    let mut rows = synthetic::second(1064, 0);
    for row in &mut rows {
        for name in [&mut row.device, &mut row.role, &mut row.file, &mut row.cause] {
            *name = name.is_some().then(|| evil.clone());
        }
        row.operation.push_str(&evil);
    }
    screen.add(&rows);
    screen.say(&evil);
    for (width, height) in [(80, 24), (200, 60)] {
        for keys in ["1", "2", "3", "4", "5", "6", "\n"] {
            press(&mut screen, keys);
            let text = drawn(&screen, width, height);
            assert!(!text.contains(|c| c != '\n' && model::text::is_unsafe(c)), "{text}");
        }
    }
    let text = screen.text(100);
    assert!(!text.contains(|c| c != '\n' && model::text::is_unsafe(c)), "{text}");
}

#[test]
fn ten_thousand_roles_and_files_are_a_screen_with_the_rest_as_others() {
    let mut screen = Screen::new(Options::default());
    (1000..1002).for_each(|second| screen.add(&synthetic::second(second, 10_000)));
    press(&mut screen, "3G");
    let text = drawn(&screen, 80, 24);
    assert!(text.contains("(others)"), "{text}");
    press(&mut screen, "\n");
    assert!(drawn(&screen, 80, 24).contains("sums up many"));
}

#[test]
fn rows_of_nonsense_are_shown_as_far_as_they_go() {
    let mut screen = Screen::new(Options::default());
    let mut rows = synthetic::second(1000, 0);
    for row in &mut rows {
        row.lost_ns = i64::MIN;
        row.buckets.push(u64::MAX);
        (row.count, row.bytes) = (u64::MAX, u64::MAX);
        (row.role, row.device) = (None, None);
    }
    rows.extend([
        Rollup { from_unix_ns: i64::MIN, until_unix_ns: i64::MIN, ..Rollup::default() },
        Rollup::default(),
    ]);
    screen.add(&rows);
    screen.add(&rows);
    for keys in ["1", "2", "3", "4", "5", "6", "\n"] {
        press(&mut screen, keys);
        drawn(&screen, 200, 60);
        drawn(&screen, 80, 24);
    }
}

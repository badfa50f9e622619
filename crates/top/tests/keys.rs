//! What each key does, as the help says it.

use crate::drawing::{drawn, press, screen};
use crate::synthetic;
use top::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use top::{Action, Screen};

fn line(screen: &Screen, place: usize) -> String {
    drawn(screen, 80, 24).lines().nth(place).unwrap_or_default().to_owned()
}

/// The first cells of the rows.
fn rows(screen: &Screen) -> Vec<String> {
    let text = drawn(screen, 80, 24);
    text.lines().skip(4).take(16).map(|l| l.trim_start_matches(['!', ' ']).into()).collect()
}

fn control(screen: &mut Screen, character: char) -> Option<Action> {
    screen.key(KeyEvent::new(KeyCode::Char(character), KeyModifiers::CONTROL))
}

#[test]
fn keys_that_the_caller_handles_are_handed_on() {
    let mut screen = screen();
    assert_eq!(press(&mut screen, "q"), Some(Action::Quit));
    assert_eq!(control(&mut screen, 'c'), Some(Action::Quit));
    assert_eq!(control(&mut screen, 'l'), Some(Action::Redraw));
    assert_eq!(control(&mut screen, 'z'), Some(Action::Suspend));
    assert_eq!(press(&mut screen, "w"), Some(Action::WriteRun));
    assert!(line(&screen, 23).contains("writing the last seconds"));
    screen.say("written: runs/top-3");
    assert!(line(&screen, 23).contains("written: runs/top-3"));
    press(&mut screen, "j");
    assert!(line(&screen, 23).contains("q quit"));
}

#[test]
fn q_leaves_the_help_and_an_opened_row_and_ctrl_c_ends_everywhere() {
    let mut screen = screen();
    for keys in ["?", "\n"] {
        press(&mut screen, keys);
        assert_eq!(press(&mut screen, "q"), None);
        press(&mut screen, keys);
        assert_eq!(control(&mut screen, 'c'), Some(Action::Quit));
        press(&mut screen, "\x1b");
    }
    press(&mut screen, "/");
    assert_eq!(press(&mut screen, "q"), None);
    assert_eq!(control(&mut screen, 'c'), Some(Action::Quit));
}

#[test]
fn each_table_has_its_key_and_tab_goes_around() {
    let mut screen = screen();
    for (key, head) in
        ["device", "who waits", "role", "file", "call", "UTC"].into_iter().enumerate()
    {
        press(&mut screen, &(key + 1).to_string());
        assert!(line(&screen, 3).trim_start_matches([' ', '▼']).starts_with(head), "{head}");
    }
    press(&mut screen, "\t");
    assert!(line(&screen, 3).contains("device"));
    screen.key(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT));
    assert!(line(&screen, 3).contains("UTC"));
}

#[test]
fn sorting_goes_through_the_columns_and_is_reversed() {
    let mut screen = screen();
    press(&mut screen, "3");
    assert!(line(&screen, 3).contains("▼requests/s") && line(&screen, 23).contains("s sort: req"));
    press(&mut screen, "s");
    assert!(line(&screen, 3).contains("▼MB/s"));
    let down = rows(&screen);
    press(&mut screen, "r");
    assert!(line(&screen, 3).contains("▲MB/s"));
    let mut up = rows(&screen);
    let filled = |rows: &[String]| rows.iter().filter(|row| !row.is_empty()).count();
    up.truncate(filled(&up));
    up.reverse();
    assert_eq!(up, down[..filled(&down)]);
    for _ in 0..20 {
        press(&mut screen, "s");
        assert!(line(&screen, 3).contains('▼'));
    }
}

#[test]
fn the_filter_is_typed_and_escape_clears_it() {
    let mut screen = screen();
    press(&mut screen, "3/CHECK");
    assert!(line(&screen, 23).starts_with("/CHECK_"));
    press(&mut screen, "\n");
    let shown = rows(&screen);
    assert!(shown[0].starts_with("postgres: checkpointer") && shown[1].is_empty(), "{shown:?}");
    assert!(line(&screen, 23).contains("/CHECK (Esc clears)"));
    press(&mut screen, "/x");
    assert!(rows(&screen)[0].contains("the filter hides all rows"));
    screen.key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE));
    press(&mut screen, "\n");
    assert!(rows(&screen)[0].starts_with("postgres: checkpointer"));
    press(&mut screen, "\x1b");
    assert!(!rows(&screen)[1].is_empty());
}

#[test]
fn what_is_frozen_stays_and_says_for_how_long() {
    let mut screen = screen();
    press(&mut screen, " ");
    let before = rows(&screen);
    (1053..1069).for_each(|second| screen.add(&synthetic::second(second, 5)));
    assert_eq!(rows(&screen), before);
    assert!(line(&screen, 2).contains("FROZEN 16 s ago"), "{}", line(&screen, 2));
    // Another window of the same time.
    press(&mut screen, "+");
    assert!(line(&screen, 2).contains("1 min"));
    press(&mut screen, "- ");
    assert_ne!(rows(&screen), before);
    assert!(!line(&screen, 2).contains("FROZEN"));
}

#[test]
fn the_time_becomes_longer_and_shorter_within_its_bounds() {
    let mut screen = screen();
    for (key, name) in [("-", "1 s"), ("-", "1 s"), ("+", "10 s"), ("+", "1 min"), ("+", "5 min")] {
        press(&mut screen, key);
        assert!(line(&screen, 2).contains(&format!("last {name},")), "{name}");
    }
    press(&mut screen, "+");
    assert!(line(&screen, 2).contains("last 5 min,"));
}

#[test]
fn the_selected_row_is_followed_where_it_goes() {
    let mut screen = screen();
    press(&mut screen, "3jj\n");
    let title = line(&screen, 3);
    assert!(title.starts_with("role postgres: "), "{title}");
    press(&mut screen, "\x1bssss");
    press(&mut screen, "\n");
    assert_eq!(line(&screen, 3), title);
    press(&mut screen, "\x1bg\n");
    let first = line(&screen, 3);
    press(&mut screen, "\x1bGkkkkkkkk\n");
    assert_eq!(line(&screen, 3), first);
    press(&mut screen, "\x1b");
    for code in [KeyCode::PageDown, KeyCode::PageUp, KeyCode::Down, KeyCode::Up] {
        screen.key(KeyEvent::new(code, KeyModifiers::NONE));
    }
    press(&mut screen, "\n");
    assert_eq!(line(&screen, 3), first);
}

#[test]
fn a_key_that_is_none_says_where_the_keys_are() {
    let mut screen = screen();
    press(&mut screen, "Q");
    assert!(line(&screen, 23).contains("? shows the keys"));
}

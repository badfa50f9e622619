//! The screen with seconds that are made up, to try it: `cargo run -p top --example replay`. With
//! numbers: so many roles, devices and files beside (`replay 10000`). With `--batch` one screen as
//! text; with `--measure` how long a key and its drawing take.

// An example shows what it does, and is no part of what is shipped.
#![allow(clippy::print_stdout)]

#[path = "../tests/synthetic.rs"]
mod synthetic;

use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use top::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use top::ratatui_core::backend::TestBackend;
use top::ratatui_core::terminal::Terminal;
use top::{Action, Message, Options, Screen, Signals};

/// Seconds that are there from the begin.
const BEFORE: i64 = 120;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let beside = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(0);
    if has("--measure") {
        return measure(beside);
    }
    if has("--batch") {
        let mut screen = Screen::new(Options::default());
        (1000..1065).for_each(|second| screen.add(&synthetic::second(second, beside)));
        print!("{}", screen.text(100));
        return Ok(());
    }
    let (rows, taken) = channel();
    let (actions, asked) = channel();
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() as i64;
    let said = rows.clone();
    std::thread::spawn(move || {
        for (place, action) in asked.iter().enumerate() {
            if action == Action::WriteRun {
                let _ = said.send(Message::Say(format!("written: runs/top-{place}")));
            }
        }
    });
    std::thread::spawn(move || {
        for second in now - BEFORE.. {
            let sent = rows.send(Message::Rows(synthetic::second(second, beside)));
            if sent.is_err() {
                return;
            }
            if second >= now {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    });
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let signals = Signals::caught()?;
    Ok(top::run(Options { no_color, ..Options::default() }, &signals, taken, actions)?)
}

/// The longest of a second's rows, a key and its drawing, of a full state.
fn measure(beside: u64) -> Result<(), Box<dyn std::error::Error>> {
    let mut screen = Screen::new(Options::default());
    let mut terminal = Terminal::new(TestBackend::new(200, 60))?;
    let (mut add, mut keys) = (Vec::new(), Vec::new());
    // Of very many a minute is enough to fill every slot that is merged.
    let until = if beside > 1000 { 1040 } else { 1310 };
    for second in 1000..until {
        let rows = synthetic::second(second, beside);
        let from = Instant::now();
        screen.add(&rows);
        add.push(from.elapsed());
    }
    for code in "jjsr+++---/w".chars().map(KeyCode::Char).chain([KeyCode::Enter, KeyCode::Esc]) {
        let from = Instant::now();
        screen.key(KeyEvent::new(code, KeyModifiers::NONE));
        terminal.draw(|frame| screen.draw(frame))?;
        keys.push((from.elapsed(), code));
    }
    add.sort();
    keys.sort_by_key(|(took, _)| *took);
    println!(
        "rows of a second: median {:.1?}, most {:.1?}",
        add[add.len() / 2],
        add[add.len() - 1]
    );
    let (median, most) = (keys[keys.len() / 2].0, keys[keys.len() - 1]);
    println!("a key and its drawing: median {median:.1?}, most {most:.1?}");
    Ok(())
}

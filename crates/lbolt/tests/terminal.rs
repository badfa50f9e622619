//! `lbolt top` and its terminal: it ends with it, and with a signal, whatever the terminal does.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Running, is_root, tool, wait_for};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Stdio;

/// `top` on a terminal that `script` makes.
struct Top {
    script: Running,
    top: Pid,
    capture: Pid,
}

fn is_alive(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
    // One that has ended and that nobody has waited for yet has ended.
    test_kill_process(pid).is_ok() && !stat.contains(") Z ")
}

/// A screen of it is drawn; none where nothing can be captured. `before` runs before it, in the
/// same shell.
fn begun(lab: &Lab, before: &str) -> Option<Top> {
    if !is_root() || tool("script", &["--version"]).is_none() {
        println!("skipped: needs root and script");
        return None;
    }
    let lbolt = env!("CARGO_BIN_EXE_lbolt");
    let job = format!(
        "stty cols 100 rows 30; tty > tty; {before} {lbolt} top 2> said & echo $! > pid.new; \
         mv pid.new pid; wait"
    );
    let mut command = lab.command("script");
    command.args(["--quiet", "--flush", "--command", &job, "/dev/null"]).env("SHELL", "/bin/sh");
    command.stdin(Stdio::piped()).env("TERM", "xterm");
    let mut script = lab.start(command);
    let out = script.out_path();
    let text = |name: &str| fs::read_to_string(lab.path(name)).unwrap_or_default();
    let is_drawn = script.until("a screen", || {
        let screen = String::from_utf8_lossy(&fs::read(&out).unwrap()).into_owned();
        let is_drawn = screen.contains("\u{1b}[?1049h") && screen.contains("devices");
        (is_drawn || text("said").contains("failed")).then_some(is_drawn)
    });
    if !is_drawn {
        println!("skipped: {}", text("said"));
        return None;
    }
    let pid = |text: String| text.trim().parse().ok().and_then(Pid::from_raw);
    let top = pid(text("pid")).unwrap();
    let parent = top.as_raw_pid().to_string();
    let capture = wait_for("the part that captures", || {
        pid(tool("pgrep", &["-P", &parent, "-f", "capture-part"])?)
    });
    Some(Top { script, top, capture })
}

impl Top {
    fn kill(&self, signal: Signal) {
        kill_process(self.top, signal).unwrap();
    }

    fn assert_ends(&self, because: &str) {
        wait_for(because, || (!is_alive(self.top) && !is_alive(self.capture)).then_some(()));
    }
}

#[test]
fn root_top_ends_when_its_terminal_is_gone_whether_a_signal_says_so_or_not() {
    // One that nobody tells of the hang-up finds an end of file.
    for before in ["", "trap '' HUP;"] {
        let lab = Lab::new();
        let Some(mut top) = begun(&lab, before) else { return };
        top.script.child.kill().unwrap();
        top.script.child.wait().unwrap();
        top.assert_ends("the end with its terminal");
        drop(top);
        lab.assert_clean();
    }
}

#[test]
fn root_top_ends_by_a_signal_though_its_terminal_takes_nothing_or_sends_half_a_key() {
    let lab = Lab::new();
    let Some(top) = begun(&lab, "") else { return };
    // Nobody reads what is drawn, and there is no room for more.
    top.script.signal(Signal::STOP);
    let terminal = fs::read_to_string(lab.path("tty")).unwrap();
    let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
    let mut terminal = fs::OpenOptions::new()
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(terminal.trim())
        .unwrap();
    while terminal.write(&[b' '; 4096]).is_ok() {}
    top.kill(Signal::WINCH);
    top.kill(Signal::TERM);
    top.assert_ends("the end by a signal");
    drop(top);
    lab.assert_clean();
    let lab = Lab::new();
    let Some(mut top) = begun(&lab, "") else { return };
    top.script.child.stdin.as_mut().unwrap().write_all(b"\x1b[").unwrap();
    top.kill(Signal::TERM);
    top.assert_ends("the end by a signal after half a key");
    drop(top);
    lab.assert_clean();
}

#[test]
fn root_seconds_that_were_asked_for_are_written_though_top_is_left_at_once() {
    let lab = Lab::new();
    let Some(mut top) = begun(&lab, "") else { return };
    top.script.child.stdin.as_mut().unwrap().write_all(b"wq").unwrap();
    top.assert_ends("the end by a key");
    let said = wait_for("the run's name", || {
        let said = fs::read_to_string(lab.path("said")).unwrap();
        said.contains('\n').then_some(said)
    });
    assert!(said.contains("requests written: lbolt response "), "{said}");
    let (_, run) = said.trim().split_once("lbolt response ").unwrap();
    assert!(lab.path(run).join("requests.parquet").is_file(), "{said}");
    drop(top);
    lab.assert_clean();
}

#[test]
fn root_a_signal_ends_top_though_the_capture_does_not_end_after_it_was_left() {
    let lab = Lab::new();
    let Some(mut top) = begun(&lab, "") else { return };
    // What captures hangs, as it may in the kernel.
    kill_process(top.capture, Signal::STOP).unwrap();
    top.script.child.stdin.as_mut().unwrap().write_all(b"q").unwrap();
    let out = top.script.out_path();
    wait_for("the terminal is given back", || {
        let screen = fs::read(&out).unwrap();
        String::from_utf8_lossy(&screen).contains("\u{1b}[?1049l").then_some(())
    });
    // The first one may come before it is looked for.
    wait_for("the end by a signal", || {
        let _ = kill_process(top.top, Signal::TERM);
        (!is_alive(top.top)).then_some(())
    });
    kill_process(top.capture, Signal::CONT).unwrap();
    top.assert_ends("the end of what captures");
    drop(top);
    lab.assert_clean();
}

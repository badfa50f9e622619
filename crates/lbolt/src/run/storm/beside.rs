//! The user's own load beside the remedies: a command in a process group of its own, and what its
//! reads and its calls that make data durable took, as the tracer's capture sees them.
//!
//! Whose a request is, its thread tells: one of the command's process group. A thread that is gone
//! before it could be asked was the command's if it began after the command did.

use capture::load::Load as Command;
use capture::{Options, Session, now_ns, resolve};
use experiment::storm::{Load, Window};
use host::drive::Control;
use model::histogram::Histogram;
use model::record::{Call, CallKind, Commands, Flags, Op, Request};
use model::seam::SubjectError;
use rustix::process::{Pid, getpgid};
use rustix::time::ClockId;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trace::intake::ForEach;

/// How often the capture's rings are emptied.
const POLL: Duration = Duration::from_millis(20);
/// After a change so much of a window goes by uncounted: what waits then is of the remedy before.
const SETTLE_SHARE: u64 = 10;
/// What a xfs's superblock says of itself (statfs(2)): it does not tell when a sync ends.
const XFS: i64 = 0x5846_5342;

/// A command that is watched.
pub(super) struct Beside {
    command: Vec<String>,
    /// The directory that is the target.
    target: String,
    control: Arc<Control>,
    running: Option<Running>,
}

/// What there is when it has begun.
struct Running {
    command: Command,
    session: Session<'static>,
    seen: Rc<RefCell<Seen>>,
}

impl Beside {
    pub(super) fn new(command: &[String], target: &str, control: Arc<Control>) -> Self {
        Self { command: command.to_vec(), target: target.to_owned(), control, running: None }
    }

    /// Starts the command, when these devices are watched.
    /// Errors: a sentence for what cannot be watched, or started.
    pub(super) fn begin(&mut self, devices: &[String]) -> Result<(), String> {
        if devices.is_empty() {
            return Err("no block device is visible under the target, so the command's requests \
                        cannot be traced; choose a directory on a local disk"
                .into());
        }
        let devices = resolve(devices).map_err(|error| error.to_string())?;
        let seen = Rc::new(RefCell::new(Seen::default()));
        let options = Options {
            zero_ns: Some(0),
            with_context: true,
            // Calls are counted as they end; nobody asks for them later.
            keep: Some(Duration::from_secs(1)),
            with_syscalls: is_xfs(Path::new(&self.target)),
            is_checked: false,
            ..Options::default()
        };
        let mut session = Session::new(options, ForEach::new(|_: &Request| ()));
        let (of_rows, of_calls) = (seen.clone(), seen.clone());
        session.watch(move |row: &Request, _: &Commands| of_rows.borrow_mut().see(row));
        session.watch_calls(move |call: &Call| of_calls.borrow_mut().see_call(call));
        session.resume(&devices).map_err(|error| format!("failed to {error}"))?;
        seen.borrow_mut().know_all();
        let mut command = Command::new(&self.command).apart();
        command.begin().map_err(|error| error.to_string())?;
        let pid = command.pid().and_then(|pid| i32::try_from(pid).ok());
        seen.borrow_mut().group = pid.and_then(Pid::from_raw);
        self.running = Some(Running { command, session, seen });
        Ok(())
    }
}

impl Load for Beside {
    fn watch(&mut self, for_ns: u64) -> Result<Window, SubjectError> {
        let Some(running) = &mut self.running else {
            return Err(SubjectError::Failed("the command was not started; this is a bug".into()));
        };
        running.go_on(Duration::from_nanos(for_ns / SETTLE_SHARE), &self.control)?;
        let began_ns = now_ns(ClockId::Monotonic);
        running.seen.borrow_mut().begin(began_ns);
        running.go_on(Duration::from_nanos(for_ns), &self.control)?;
        let wall_ns = now_ns(ClockId::Monotonic).saturating_sub(began_ns);
        Ok(running.seen.borrow().window(u64::try_from(wall_ns).unwrap_or(0)))
    }
}

impl Running {
    /// Takes what comes for so long.
    fn go_on(&mut self, time: Duration, control: &Control) -> Result<(), SubjectError> {
        let (began, command) = (Instant::now(), &mut self.command);
        self.session.run(|session| {
            if control.is_stopped() {
                return Some(Err(SubjectError::Interrupted));
            }
            if command.is_over() {
                let status = command.status().map_or_else(String::new, |how| format!(" ({how})"));
                return Some(Err(SubjectError::Failed(format!(
                    "the command ended{status} before the passes were over; give a command that \
                     runs until it is stopped"
                ))));
            }
            if session.is_refused() {
                let sentence = "the capture of requests stopped; this is a bug";
                return Some(Err(SubjectError::Failed(sentence.into())));
            }
            if began.elapsed() >= time {
                return Some(Ok(()));
            }
            std::thread::sleep(POLL.min(time.saturating_sub(began.elapsed())));
            None
        })
    }
}

/// What was seen of the command since a window began.
#[derive(Default)]
struct Seen {
    group: Option<Pid>,
    /// Threads, and whether they are the command's.
    threads: HashMap<u32, bool>,
    began_ns: i64,
    reads: Vec<(i64, i64)>,
    syncs: Vec<(i64, i64)>,
}

impl Seen {
    /// Whoever is there now is none of a command that comes later.
    fn know_all(&mut self) {
        let numbers = |path: &Path| -> Vec<u32> {
            let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
        };
        for process in numbers(Path::new("/proc")) {
            let tasks = Path::new("/proc").join(process.to_string()).join("task");
            self.threads.extend(numbers(&tasks).into_iter().map(|thread| (thread, false)));
        }
    }

    fn begin(&mut self, began_ns: i64) {
        self.began_ns = began_ns;
        self.reads.clear();
        self.syncs.clear();
    }

    fn is_of_command(&mut self, thread: u32) -> bool {
        let Some(group) = self.group else { return false };
        *self.threads.entry(thread).or_insert_with(|| {
            let pid = i32::try_from(thread).ok().and_then(Pid::from_raw);
            match pid.map(|pid| getpgid(Some(pid))) {
                Some(Ok(of)) => of == group,
                Some(Err(_)) => true,
                None => false,
            }
        })
    }

    fn see(&mut self, row: &Request) {
        let is_read = row.op == Op::Read && row.is_asked();
        let (Some(begin_ns), Some(end_ns), Some(pid)) =
            (row.arrival_ns(), row.completed_ns, row.pid)
        else {
            return;
        };
        let is_in_time = begin_ns >= self.began_ns && !row.flags.contains(Flags::OWN);
        if is_read && is_in_time && self.is_of_command(pid) {
            self.reads.push((begin_ns, end_ns));
        }
    }

    fn see_call(&mut self, call: &Call) {
        let waits = !matches!(call.kind, CallKind::SyncFileRange);
        let Some(end_ns) = call.end_ns.filter(|_| waits && call.begin_ns >= self.began_ns) else {
            return;
        };
        if u32::try_from(call.pid).is_ok_and(|pid| self.is_of_command(pid)) {
            self.syncs.push((call.begin_ns, end_ns));
        }
    }

    /// What the window holds.
    fn window(&self, wall_ns: u64) -> Window {
        let took_ns = |(begin_ns, end_ns): &(i64, i64)| {
            u64::try_from(end_ns.saturating_sub(*begin_ns)).unwrap_or(0)
        };
        let mut window = Window { wall_ns, ..Window::default() };
        let syncing = united(&self.syncs);
        let into = |histogram: &mut Histogram, span| histogram.record(took_ns(span));
        for read in &self.reads {
            into(&mut window.reads, read);
            // The last one that began before the read ended.
            let last = syncing.partition_point(|sync| sync.0 < read.1).checked_sub(1);
            match last.is_some_and(|place| syncing[place].1 > read.0) {
                true => into(&mut window.in_sync, read),
                false => into(&mut window.between, read),
            }
        }
        for sync in &self.syncs {
            into(&mut window.syncs, sync);
        }
        window.sync_ns = syncing.iter().map(took_ns).sum();
        window
    }
}

/// Times that any of these spans cover, in order.
fn united(spans: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    let mut all: Vec<(i64, i64)> = Vec::new();
    for (begin_ns, end_ns) in sorted {
        match all.last_mut() {
            Some(last) if begin_ns <= last.1 => last.1 = last.1.max(end_ns),
            _ => all.push((begin_ns, end_ns)),
        }
    }
    all
}

fn is_xfs(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type == XFS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_that_met_a_sync_of_the_command_are_told_apart() {
        let seen = Seen {
            reads: vec![(0, 10), (15, 25), (38, 60), (61, 70)],
            syncs: vec![(20, 30), (25, 40), (100, 110)],
            ..Seen::default()
        };
        let window = seen.window(120);
        assert_eq!((window.reads.count(), window.syncs.count()), (4, 3));
        assert_eq!((window.in_sync.count(), window.between.count()), (2, 2));
        assert_eq!(window.sync_ns, 30, "what overlaps counts once");
    }

    #[test]
    fn a_thread_is_the_command_s_by_its_group_and_one_that_is_gone_if_it_began_later() {
        let own = std::process::id();
        let mut seen = Seen { group: Pid::from_raw(i32::MAX), ..Seen::default() };
        seen.know_all();
        assert!(!seen.is_of_command(own), "it was there before");
        assert!(seen.is_of_command(4_194_304), "no thread has a number beyond the kernel's limit");
        let mut seen = Seen { group: getpgid(None).ok(), ..Seen::default() };
        assert!(seen.is_of_command(own));
    }
}

//! The user's own load beside the remedies: a command in a process group of its own, and what its
//! reads and its calls that make data durable took, as the tracer's capture sees them.
//!
//! Whose a request is, its thread tells: one of the command's process, of those that it started,
//! or of theirs. A thread that is gone before it could be asked was the command's if it began after
//! the command did. A client of a server makes no requests itself: if the command makes none while
//! others do, all programs' are counted from then on, and it is said whose they were.

use capture::load::Load as Command;
use capture::{Options, Session, now_ns, resolve};
use experiment::storm::{Load, Window};
use host::Family;
use host::drive::Control;
use messages::output::note;
use model::histogram::Histogram;
use model::process::Stat;
use model::record::{Call, CallKind, Commands, Flags, Op, Request};
use model::seam::SubjectError;
use rustix::time::ClockId;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trace::intake::ForEach;

/// How often the capture's rings are emptied.
const POLL: Duration = Duration::from_millis(20);
/// After a change so much of a window goes by uncounted: what waits then is of the remedy before.
const SETTLE_SHARE: u64 = 10;
/// So long the first window waits for a read or a call, or ten windows.
const BEGIN: Duration = Duration::from_secs(10);
/// What begins so soon after the command may be the reading of its program, from the same disk: it
/// does not show that the command itself is who reads there.
const LOADING_NS: i64 = 1_000_000_000;
/// So many programs are named.
const NAMES: usize = 3;
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
    /// Whether a window was watched.
    has_begun: bool,
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
        {
            let mut seen = seen.borrow_mut();
            seen.know_all();
            seen.loaded_ns = now_ns(ClockId::Monotonic).saturating_add(LOADING_NS);
        }
        let mut command = Command::new(&self.command).apart();
        command.begin().map_err(|error| error.to_string())?;
        seen.borrow_mut().is_the_command(command.pid());
        self.running = Some(Running { command, session, seen, has_begun: false });
        Ok(())
    }
}

impl Beside {
    fn running(&mut self) -> Result<(&mut Running, &Control), SubjectError> {
        let not_started = "the command was not started; this is a bug";
        let running = self.running.as_mut().map(|running| (running, &*self.control));
        running.ok_or_else(|| SubjectError::Failed(not_started.into()))
    }
}

impl Load for Beside {
    fn settle(&mut self, for_ns: u64) -> Result<(), SubjectError> {
        let (running, control) = self.running()?;
        if !std::mem::replace(&mut running.has_begun, true) {
            running.wait_for_any(for_ns, control)?;
        }
        running.go_on(Duration::from_nanos(for_ns / SETTLE_SHARE), control)
    }

    fn watch(&mut self, for_ns: u64) -> Result<Window, SubjectError> {
        let (running, control) = self.running()?;
        let began_ns = now_ns(ClockId::Monotonic);
        running.seen.borrow_mut().begin(began_ns);
        running.go_on(Duration::from_nanos(for_ns), control)?;
        let wall_ns = now_ns(ClockId::Monotonic).saturating_sub(began_ns);
        Ok(running.seen.borrow().window(u64::try_from(wall_ns).unwrap_or(0)))
    }
}

impl Running {
    /// Waits until the command reads or makes data durable. If only others do, theirs count.
    fn wait_for_any(&mut self, for_ns: u64, control: &Control) -> Result<(), SubjectError> {
        let window = Duration::from_nanos(for_ns);
        let (began, most) = (Instant::now(), BEGIN.max(10 * window));
        while began.elapsed() < most && !self.seen.borrow().is_own {
            self.go_on(window.min(POLL * 5), control)?;
        }
        let mut seen = self.seen.borrow_mut();
        if seen.is_own {
            return Ok(());
        }
        let names = seen.names();
        if names.is_empty() && !seen.has_gone {
            return Err(SubjectError::Failed(format!(
                "the command made no read request and no call that makes data durable within {} s, \
                 and nor did another program on TARGET's disk, so there is no wait to measure; \
                 name the directory that the command uses, or drop what is cached",
                most.as_secs()
            )));
        }
        let whose = match names.is_empty() {
            true => "those of programs that ended before it could be told whose they are, the \
                     command's or others'"
                .to_owned(),
            false => format!("those of all programs on TARGET's disk: {names}"),
        };
        seen.takes_all = !names.is_empty();
        note(&format!(
            "the command itself made no read request after its first second, and no call that \
             makes data durable within {} s; reads and commits are {whose}",
            most.as_secs()
        ));
        Ok(())
    }

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

/// Whose a thread is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Whose {
    /// The command's.
    Command,
    /// Gone before it could be asked, and begun after the command: the command's, most likely.
    Gone,
    /// Of another program, by its name.
    Other(Rc<str>),
    /// The kernel's or lbolt's: nobody whose waits count.
    Nobody,
}

/// From when until when.
type Span = (i64, i64);

/// What was seen.
#[derive(Default)]
struct Seen {
    family: Option<Family>,
    /// When the command began, as [`Stat`] counts.
    started: u64,
    /// Threads that were there before the command.
    before: HashSet<u32>,
    /// Those that were asked for.
    threads: HashMap<u32, Whose>,
    /// When it was last looked who is of the family.
    looked: Option<Instant>,
    /// Whether other programs' count as the command's do.
    takes_all: bool,
    /// From when the command's program is surely loaded.
    loaded_ns: i64,
    /// Whether the command itself surely reads, or makes data durable; and whether somebody did who
    /// was gone before he was asked.
    is_own: bool,
    has_gone: bool,
    /// Other programs that did, as many as are named and one more.
    names: BTreeSet<Rc<str>>,
    /// When a window began, and what counts of it.
    began_ns: Option<i64>,
    reads: Vec<Span>,
    syncs: Vec<Span>,
}

impl Seen {
    /// Whoever is there now is none of a command that comes later.
    fn know_all(&mut self) {
        for process in numbers_in(Path::new("/proc")) {
            let tasks = Path::new("/proc").join(process.to_string()).join("task");
            self.before.extend(numbers_in(&tasks));
        }
    }

    fn is_the_command(&mut self, pid: Option<u32>) {
        self.family = pid.and_then(Family::of);
        self.started = pid.and_then(Stat::of).map_or(0, |stat| stat.started);
    }

    fn begin(&mut self, began_ns: i64) {
        self.began_ns = Some(began_ns);
        self.reads.clear();
        self.syncs.clear();
    }

    fn whose(&mut self, thread: u32) -> Whose {
        if let Some(known) = self.threads.get(&thread) {
            return known.clone();
        }
        let (found, is_sure) = self.ask(thread);
        if is_sure {
            self.threads.insert(thread, found.clone());
        }
        found
    }

    /// Asks the kernel of a thread, and says whether that is sure: it is looked at all processes
    /// for each emptying of the rings once at the most.
    fn ask(&mut self, thread: u32) -> (Whose, bool) {
        let Some(stat) = Stat::of(thread).filter(|stat| !stat.has_ended) else {
            let is_later = !self.before.contains(&thread) && self.family.is_some();
            return (if is_later { Whose::Gone } else { Whose::Nobody }, true);
        };
        let mut is_sure = true;
        if let Some(family) = &mut self.family
            && !stat.is_kernel_thread
            && stat.started >= self.started
        {
            if !family.has(&stat) {
                is_sure = self.looked.is_none_or(|looked| looked.elapsed() >= POLL);
                if is_sure {
                    self.looked = Some(Instant::now());
                    family.look();
                }
            }
            if family.has(&stat) {
                return (Whose::Command, true);
            }
        }
        let is_own = Path::new("/proc/self/task").join(thread.to_string()).exists();
        match std::fs::read_to_string(format!("/proc/{thread}/comm")) {
            Ok(name) if !is_own && !stat.is_kernel_thread => {
                (Whose::Other(name.trim().into()), is_sure)
            }
            _ => (Whose::Nobody, is_sure),
        }
    }

    fn see(&mut self, row: &Request) {
        let is_read = row.op == Op::Read && row.is_asked();
        let (Some(begin_ns), Some(end_ns), Some(pid)) =
            (row.arrival_ns(), row.completed_ns, row.pid)
        else {
            return;
        };
        if is_read && !row.flags.contains(Flags::OWN) {
            let whose = self.whose(pid);
            self.add_read(&whose, (begin_ns, end_ns));
        }
    }

    fn see_call(&mut self, call: &Call) {
        let waits = !matches!(call.kind, CallKind::SyncFileRange);
        let Some(end_ns) = call.end_ns.filter(|_| waits) else { return };
        if let Ok(thread) = u32::try_from(call.pid) {
            let whose = self.whose(thread);
            self.add_sync(&whose, (call.begin_ns, end_ns));
        }
    }

    fn add_read(&mut self, whose: &Whose, span: Span) {
        self.is_own |= *whose == Whose::Command && span.0 >= self.loaded_ns;
        if self.counts(whose, span) {
            self.reads.push(span);
        }
    }

    fn add_sync(&mut self, whose: &Whose, span: Span) {
        self.is_own |= *whose == Whose::Command;
        if self.counts(whose, span) {
            self.syncs.push(span);
        }
    }

    /// Notes who waited, and says whether it counts in the window.
    fn counts(&mut self, whose: &Whose, (begin_ns, _): Span) -> bool {
        let is_counted = match whose {
            Whose::Command => true,
            Whose::Gone => {
                self.has_gone = true;
                true
            }
            Whose::Other(name) => {
                if self.names.len() <= NAMES {
                    self.names.insert(Rc::clone(name));
                }
                self.takes_all
            }
            Whose::Nobody => false,
        };
        is_counted && self.began_ns.is_some_and(|began_ns| begin_ns >= began_ns)
    }

    /// The names of other programs that were seen.
    fn names(&self) -> String {
        let more = if self.names.len() > NAMES { ", …" } else { "" };
        let names = self.names.iter().take(NAMES).map(|name| model::text::visible(name));
        names.collect::<Vec<_>>().join(", ") + more
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

/// The numbers that are names in a directory of /proc.
fn numbers_in(path: &Path) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
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

    fn seen(reads: &[Span], syncs: &[Span]) -> Seen {
        let mut seen = Seen { began_ns: Some(0), ..Seen::default() };
        reads.iter().for_each(|span| seen.add_read(&Whose::Command, *span));
        syncs.iter().for_each(|span| seen.add_sync(&Whose::Command, *span));
        seen
    }

    #[test]
    fn reads_that_met_a_sync_of_the_command_are_told_apart() {
        let reads = [(0, 10), (15, 25), (38, 60), (61, 70)];
        let mut seen = seen(&reads, &[(20, 30), (25, 40), (100, 110)]);
        let window = seen.window(120);
        assert_eq!((window.reads.count(), window.syncs.count()), (4, 3));
        assert_eq!((window.in_sync.count(), window.between.count()), (2, 2));
        assert_eq!(window.sync_ns, 30, "what overlaps counts once");
        seen.begin(130);
        seen.add_read(&Whose::Command, (120, 140));
        assert_eq!(seen.window(9).reads.count(), 0, "it began before");
    }

    #[test]
    fn others_count_where_the_command_is_a_client() {
        let add = |seen: &mut Seen| {
            for name in ["postgres", "b", "c", "a", "d"] {
                seen.add_read(&Whose::Other(name.into()), (0, 10));
            }
            seen.add_read(&Whose::Nobody, (0, 5));
            seen.add_sync(&Whose::Other("postgres".into()), (0, 10));
        };
        let mut seen = seen(&[], &[]);
        add(&mut seen);
        assert_eq!((seen.window(20).reads.count(), seen.is_own), (0, false));
        assert_eq!(seen.names(), "a, b, c, …");
        seen.takes_all = true;
        add(&mut seen);
        assert_eq!((seen.window(20).reads.count(), seen.window(20).syncs.count()), (5, 1));
    }

    /// However long that takes: only who they were is remembered.
    #[test]
    fn until_the_first_window_nothing_is_kept() {
        let mut seen = Seen::default();
        for number in 0..1000 {
            seen.add_read(&Whose::Other(number.to_string().into()), (0, 10));
            seen.add_sync(&Whose::Gone, (0, 10));
        }
        assert!(seen.reads.is_empty() && seen.syncs.is_empty() && seen.has_gone);
        assert_eq!(seen.names.len(), NAMES + 1);
    }

    #[test]
    fn the_reading_of_its_program_does_not_make_a_client_one_who_reads() {
        let mut seen = Seen { loaded_ns: 100, ..Seen::default() };
        seen.add_read(&Whose::Command, (10, 20));
        seen.add_sync(&Whose::Gone, (30, 40));
        assert!(!seen.is_own && seen.has_gone);
        seen.add_read(&Whose::Command, (100, 110));
        assert!(seen.is_own);
        let mut seen = Seen { loaded_ns: 100, ..Seen::default() };
        seen.add_sync(&Whose::Command, (30, 40));
        assert!(seen.is_own, "no program is loaded by a call that makes data durable");
    }

    #[test]
    fn a_thread_is_the_command_s_by_its_family_and_one_that_is_gone_if_it_began_later() {
        // No thread has a number beyond the kernel's limit.
        const GONE: u32 = 4_194_304;
        let of_tests = std::process::id();
        let mut child = std::process::Command::new("setsid").args(["sleep", "60"]).spawn().unwrap();
        let mut seen = Seen::default();
        seen.is_the_command(Some(child.id()));
        seen.know_all();
        assert_eq!(seen.whose(of_tests), Whose::Nobody, "lbolt itself");
        assert!(matches!(seen.whose(1), Whose::Other(_)));
        assert_eq!(seen.whose(GONE), Whose::Gone);
        let mut seen = Seen::default();
        seen.is_the_command(Some(of_tests));
        assert_eq!(seen.whose(child.id()), Whose::Command, "in whatever group it is");
        child.kill().unwrap();
        child.wait().unwrap();
        let mut seen = Seen::default();
        assert_eq!(seen.whose(GONE), Whose::Nobody, "before the command");
        assert_eq!(seen.whose(std::process::id()), Whose::Nobody, "lbolt itself");
    }
}

//! Whose reads and calls were seen beside a command, and what a window of its time holds of them.
//!
//! Whose a request is, its thread tells: one of the command's process, of those that it started,
//! or of theirs. A thread that is gone before it could be asked was the command's if it began after
//! the command did; where much of a window is of such threads, the window is doubted. A client of a
//! server makes no requests itself: if the command makes none while others do, all programs' are
//! counted from then on, and it is said whose they were.

use experiment::storm::Window;
use host::Family;
use model::doubt::{Code, Doubt};
use model::histogram::Histogram;
use model::process::{Stat, started};
use model::record::{Call, CallKind, Flags, Op, Request};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How often the capture's rings are emptied.
pub(super) const POLL: Duration = Duration::from_millis(20);
/// A window is doubted if so much of it is of threads of which it is not known whose they were.
const UNTOLD_PERCENT: f64 = 5.0;
/// What begins so soon after the command may be the reading of its program, from the same disk: it
/// does not show that the command itself is who reads there.
const LOADING_NS: i64 = 1_000_000_000;
/// So many programs are named.
const NAMES: usize = 3;

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
pub(super) struct Seen {
    family: Option<Family>,
    /// When the command began, as [`Stat`] counts.
    started: u64,
    /// Threads that were there before the command.
    before: HashSet<u32>,
    /// Those that were asked for: whose they are, and when they were started; none of one that was
    /// gone.
    threads: HashMap<u32, (Whose, Option<u64>)>,
    /// When it was last looked who is of the family.
    looked: Option<Instant>,
    /// Whether other programs' count as the command's do.
    takes_all: bool,
    /// From when the command's program is surely loaded.
    loaded_ns: i64,
    /// Whether the command itself surely reads, or makes data durable; and whether somebody did who
    /// was gone before he was asked.
    pub(super) is_own: bool,
    has_gone: bool,
    /// Other programs that did, as many as are named and one more.
    names: BTreeSet<Rc<str>>,
    /// When a window began, and what counts of it.
    began_ns: Option<i64>,
    reads: Vec<Span>,
    syncs: Vec<Span>,
    /// How many of both are of threads that were gone before they were asked.
    of_gone: u64,
}

impl Seen {
    /// Whoever is there now is none of a command that comes at once.
    pub(super) fn know_all(&mut self, now_ns: i64) {
        self.loaded_ns = now_ns.saturating_add(LOADING_NS);
        for process in numbers_in(Path::new("/proc")) {
            let tasks = Path::new("/proc").join(process.to_string()).join("task");
            self.before.extend(numbers_in(&tasks));
        }
    }

    pub(super) fn is_the_command(&mut self, pid: Option<u32>) {
        self.family = pid.and_then(Family::of);
        self.started = pid.and_then(Stat::of).map_or(0, |stat| stat.started);
    }

    pub(super) fn begin(&mut self, began_ns: i64) {
        self.began_ns = Some(began_ns);
        self.reads.clear();
        self.syncs.clear();
        self.of_gone = 0;
        self.forget_gone();
    }

    /// The number of a thread that has ended is given to another one sooner or later: nothing is
    /// known of that.
    fn forget_gone(&mut self) {
        let before = &mut self.before;
        self.threads.retain(|thread, (_, asked)| {
            let is_there = asked.is_some() && *asked == started(*thread);
            if !is_there {
                before.remove(thread);
            }
            is_there
        });
    }

    fn whose(&mut self, thread: u32) -> Whose {
        if let Some((known, _)) = self.threads.get(&thread) {
            return known.clone();
        }
        let stat = Stat::of(thread).filter(|stat| !stat.has_ended);
        let (found, is_sure) = match &stat {
            Some(stat) => self.ask(thread, stat),
            None if self.family.is_none() || self.before.contains(&thread) => (Whose::Nobody, true),
            None => (Whose::Gone, true),
        };
        if is_sure {
            self.threads.insert(thread, (found.clone(), stat.map(|stat| stat.started)));
        }
        found
    }

    /// Asks the kernel of a thread, and says whether that is sure: it is looked at all processes
    /// for each emptying of the rings once at the most.
    fn ask(&mut self, thread: u32, stat: &Stat) -> (Whose, bool) {
        let mut is_sure = true;
        if let Some(family) = &mut self.family
            && !stat.is_kernel_thread
            && stat.started >= self.started
        {
            if !family.has(stat) {
                is_sure = self.looked.is_none_or(|looked| looked.elapsed() >= POLL);
                if is_sure {
                    self.looked = Some(Instant::now());
                    family.look();
                }
            }
            if family.has(stat) {
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

    pub(super) fn see(&mut self, row: &Request) {
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

    pub(super) fn see_call(&mut self, call: &Call) {
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
        let is_in_window = is_counted && self.began_ns.is_some_and(|began_ns| begin_ns >= began_ns);
        self.of_gone += u64::from(is_in_window && *whose == Whose::Gone);
        is_in_window
    }

    /// Has what others do count, for the command surely does nothing that could be waited for.
    /// Says whose reads and calls count from now on.
    /// Errors: nobody's do, in a sentence.
    pub(super) fn take_others(&mut self, waited: Duration) -> Result<String, String> {
        let (names, waited_s) = (self.names(), waited.as_secs());
        self.takes_all = !names.is_empty();
        let own = format!(
            "the command itself made no read request after its first second, and no call that \
             makes data durable within {waited_s} s"
        );
        // What the command started may have ended soon.
        let of_gone = format!(
            "no read request after the command's first second, and no call that makes data durable \
             within {waited_s} s, is surely the command's: programs made some that ended before \
             lbolt could tell whose they are, the command's or others'"
        );
        let of_all =
            || format!("reads and commits are those of all programs on TARGET's disk: {names}");
        match (self.takes_all, self.has_gone) {
            (true, false) => Ok(format!("{own}; {}", of_all())),
            (true, true) => Ok(format!("{of_gone}; {}, and of those that ended", of_all())),
            (false, true) => Ok(format!("{of_gone}; reads and commits are theirs")),
            (false, false) => Err(format!(
                "{own}, and nor did another program on TARGET's disk, so there is no wait to \
                 measure; name the directory that the command uses, or drop what is cached"
            )),
        }
    }

    /// Whether much of the window may be others'. Where all programs' count, all of it is said to
    /// be.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        let all = self.reads.len() + self.syncs.len();
        let percent = 100.0 * self.of_gone as f64 / all.max(1) as f64;
        let is_doubted = !self.takes_all && percent >= UNTOLD_PERCENT;
        is_doubted.then(|| Doubt::new(Code::WhoseUntold, [("percent", percent.into())]))
    }

    /// The names of other programs that were seen.
    fn names(&self) -> String {
        let more = if self.names.len() > NAMES { ", …" } else { "" };
        let names = self.names.iter().take(NAMES).map(|name| model::text::visible(name));
        names.collect::<Vec<_>>().join(", ") + more
    }

    /// What the window holds.
    pub(super) fn window(&self, wall_ns: u64) -> Window {
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
    fn whose_what_is_counted_was_is_said_as_far_as_it_is_known() {
        let said = |adds: &[Whose]| {
            let mut seen = Seen { loaded_ns: 100, ..Seen::default() };
            seen.add_read(&Whose::Command, (10, 20));
            adds.iter().for_each(|whose| seen.add_sync(whose, (200, 210)));
            (seen.take_others(Duration::from_secs(10)), seen.takes_all)
        };
        let other = Whose::Other("journald".into());
        let (server, takes_all) = said(std::slice::from_ref(&other));
        let server = server.unwrap();
        assert!(takes_all && server.starts_with("the command itself made no read request after"));
        assert!(server.ends_with("those of all programs on TARGET's disk: journald"), "{server}");
        // A shell's children end before they are asked: that they were not the command's nobody
        // knows.
        let (children, takes_all) = said(&[other, Whose::Gone]);
        let children = children.unwrap();
        assert!(takes_all && !children.contains("the command itself made no"), "{children}");
        assert!(children.contains("is surely the command's") && children.contains("journald"));
        let (children, takes_all) = said(&[Whose::Gone]);
        assert!(!takes_all && children.unwrap().ends_with("reads and commits are theirs"));
        let (nobody, takes_all) = said(&[Whose::Nobody]);
        // It did read, its program.
        assert!(!takes_all && nobody.unwrap_err().contains("no read request after its first"));
    }

    #[test]
    fn a_window_of_which_much_may_be_others_is_doubted() {
        let mut seen = seen(&[(0, 10); 96], &[]);
        let add = |seen: &mut Seen, count: u64| {
            (0..count).for_each(|_| seen.add_read(&Whose::Gone, (0, 10)));
        };
        add(&mut seen, 4);
        assert_eq!((seen.doubt(), seen.window(20).reads.count()), (None, 100));
        add(&mut seen, 4);
        let doubt = seen.doubt().unwrap();
        assert_eq!(doubt.code, Code::WhoseUntold);
        // Of all programs it was said to be.
        seen.takes_all = true;
        assert_eq!(seen.doubt(), None);
        seen.takes_all = false;
        seen.begin(100);
        assert_eq!(seen.doubt(), None, "another window");
    }

    #[test]
    fn a_number_is_not_a_thread_s_for_good() {
        const GONE: u32 = 4_194_304;
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut seen = Seen::default();
        seen.is_the_command(Some(own));
        seen.before.insert(GONE);
        assert_eq!(seen.whose(GONE), Whose::Nobody, "it was there before the command");
        assert_eq!(seen.whose(child.id()), Whose::Command);
        // A number of the command's that a later thread of another program has.
        let later = started(own).unwrap() + 1;
        seen.threads.insert(own, (Whose::Command, Some(later)));
        seen.begin(0);
        let known: Vec<u32> = seen.threads.keys().copied().collect();
        assert_eq!(known, [child.id()], "the one that is still the same");
        assert_eq!(seen.whose(GONE), Whose::Gone, "who had it before has ended");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen.whose(child.id()), Whose::Command, "in the same window");
        seen.begin(0);
        assert_eq!(seen.whose(child.id()), Whose::Gone);
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
        seen.know_all(0);
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

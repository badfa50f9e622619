//! What of a trace is asked about: a time of it, and processes by themselves.
//!
//! Non-goals: how a time is typed, and what is shown of what was found.

use model::record::{Finding, Process, Request, Subject};
use std::ops::Range;

/// All of a trace, or a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// When requests arrived and calls began, in ns from the trace's beginning.
    pub time_ns: Range<i64>,
    /// Who has a role of their own.
    pub process: Option<Who>,
}

impl Default for Selection {
    fn default() -> Self {
        Self { time_ns: i64::MIN..i64::MAX, process: None }
    }
}

impl Selection {
    /// Whether it is the trace's whole time.
    pub fn is_whole(&self) -> bool {
        self.time_ns == Self::default().time_ns
    }

    /// Whether a row is of the time; of one that tells no time, the beginning is.
    #[inline]
    pub fn has(&self, row: &Request) -> bool {
        self.time_ns.contains(&row.arrival_ns().unwrap_or(0))
    }

    /// Those of some rows that are of the time; `room` holds them where not all are.
    pub fn of<'a>(&self, rows: &'a [Request], room: &'a mut Vec<Request>) -> &'a [Request] {
        if self.is_whole() {
            return rows;
        }
        room.clear();
        room.extend(rows.iter().copied().filter(|row| self.has(row)));
        room
    }

    /// Whether rows that arrived between two moments can be of the time.
    pub fn meets(&self, (first_ns, last_ns): (i64, i64)) -> bool {
        first_ns < self.time_ns.end && last_ns >= self.time_ns.start
    }

    /// From when to when, of a trace that ends then.
    pub fn within(&self, end_ns: i64) -> Range<i64> {
        self.time_ns.start.max(0)..self.time_ns.end.min(end_ns)
    }

    /// What was selected of a trace that ends then; nothing of the whole.
    pub fn findings(&self, end_ns: i64) -> Vec<Finding> {
        let run = Subject::this_run();
        let found = |name, ns: i64| Finding::new(&run, name, Some(ns as f64), 1, "as requested");
        let Range { start, end } = self.within(end_ns);
        match self.is_whole() {
            true => Vec::new(),
            false => vec![
                found("selected_from_ns", start),
                found("selected_until_ns", end),
                found("whole_until_ns", end_ns),
            ],
        }
    }
}

/// Which processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// The process, or the thread, of this number.
    Pid(u64),
    /// Those with this in their title or command.
    Text(String),
}

impl Who {
    /// A number, or text.
    pub fn of(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Text(text.to_owned()), Self::Pid)
    }

    /// Whether a thread is of such a process.
    pub fn is(&self, thread: &Process) -> bool {
        match self {
            Self::Pid(pid) => thread.pid == *pid || thread.process == Some(*pid),
            Self::Text(text) => {
                let is_in_title = thread.title.as_ref().is_some_and(|title| title.contains(text));
                is_in_title || self.is_called(&thread.command)
            }
        }
    }

    /// Whether a command without a number is one of them.
    pub fn is_called(&self, command: &str) -> bool {
        matches!(self, Self::Text(text) if command.contains(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_from_its_begin_until_before_its_end() {
        let selection = Selection { time_ns: 10..20, ..Selection::default() };
        let row = |queued_ns| Request { queued_ns, ..Request::default() };
        let is_in = [9, 10, 19, 20].map(|ns| selection.has(&row(Some(ns))));
        assert_eq!(is_in, [false, true, true, false]);
        assert!(!selection.has(&row(None)) && Selection::default().has(&row(None)));
        let orphan = Request { completed_ns: Some(15), ..Request::default() };
        assert!(selection.has(&orphan));
        let meets = [(0, 9), (0, 10), (19, 90), (20, 90)].map(|times| selection.meets(times));
        assert_eq!(meets, [false, true, true, false]);
    }

    #[test]
    fn what_was_selected_ends_with_the_trace_and_the_whole_says_nothing() {
        let values = |time_ns| {
            let selection = Selection { time_ns, ..Selection::default() };
            let findings = selection.findings(70);
            findings.iter().filter_map(|finding| finding.value).collect::<Vec<_>>()
        };
        assert_eq!(values(10..20), [10.0, 20.0, 70.0]);
        assert_eq!(values(10..i64::MAX), [10.0, 70.0, 70.0]);
        assert!(values(i64::MIN..i64::MAX).is_empty());
    }

    #[test]
    fn who_is_a_number_of_a_process_or_text_in_its_title_or_command() {
        let thread = Process {
            pid: 12,
            process: Some(11),
            command: "mariadbd".into(),
            title: Some("/usr/sbin/mariadbd --port=13".into()),
            ..Process::default()
        };
        let is = ["11", "12", "13", "maria", "--port", "sbin/maria", "postgres", "1"];
        let is = is.map(|who| Who::of(who).is(&thread));
        assert_eq!(is, [true, true, false, true, true, true, false, false]);
        assert!(Who::of("maria").is_called("mariadbd") && !Who::of("12").is_called("12"));
    }
}

//! When calls ended of which the file system tells the begin alone (xfs): with the last request
//! that the calling thread made during the call; where it made none, with the journal's next
//! write, which somebody else made for it. One pass over the requests before the ledger's own.
//!
//! Such an end is early by the time in which the thread wakes up, some µs.
//!
//! Non-goals: calls with an end of their own.

use model::record::{Context, FileKind, Request};
use std::collections::HashMap;

/// Finds ends.
#[derive(Debug, Default)]
pub struct Ends {
    /// By thread: its calls without an end, by their places in the context, in order.
    open: HashMap<u64, Vec<(usize, i64, Option<i64>)>>,
    /// Writes of journals: arrival and completion, by file system.
    journals: HashMap<u64, Vec<(i64, i64)>>,
}

impl Ends {
    /// Of the calls that have no end; none if all have.
    pub fn of(context: &Context) -> Option<Self> {
        let mut ends = Self::default();
        let calls = context.calls.iter().enumerate().filter(|(_, call)| call.end_ns.is_none());
        for (place, call) in calls {
            ends.open.entry(call.pid).or_default().push((place, call.begin_ns, None));
            ends.journals.entry(call.file_system).or_default();
        }
        (!ends.open.is_empty()).then_some(ends)
    }

    /// Takes a request.
    pub fn add(&mut self, row: &Request) {
        let (Some(begin_ns), Some(end_ns)) = (row.arrival_ns(), row.completed_ns) else { return };
        if let Some(file) = row.file.filter(|file| file.kind == FileKind::Journal) {
            let journal = self.journals.get_mut(&u64::from(file.number.file_system));
            journal.into_iter().for_each(|writes| writes.push((begin_ns, end_ns)));
        }
        let calls = row.pid.and_then(|pid| self.open.get_mut(&u64::from(pid)));
        let Some(calls) = calls else { return };
        let next = calls.partition_point(|(_, begun_ns, _)| *begun_ns <= begin_ns);
        let call = next.checked_sub(1).and_then(|place| calls.get_mut(place));
        if let Some((_, _, last_ns)) = call {
            *last_ns = (*last_ns).max(Some(end_ns));
        }
    }

    /// Gives each call its end; those for which there is none keep none.
    pub fn tell(mut self, context: &mut Context) {
        self.journals.values_mut().for_each(|writes| writes.sort_unstable());
        for calls in self.open.values() {
            for (number, (place, begin_ns, last_ns)) in calls.iter().enumerate() {
                let Some(call) = context.calls.get_mut(*place) else { continue };
                let until_ns = calls.get(number + 1).map_or(i64::MAX, |next| next.1);
                let writes = self.journals.get(&call.file_system).map_or(&[][..], Vec::as_slice);
                let next = writes.partition_point(|(begun_ns, _)| begun_ns < begin_ns);
                let journal_ns = writes.get(next).map(|(_, end_ns)| *end_ns);
                call.end_ns = last_ns.or(journal_ns.filter(|end_ns| *end_ns <= until_ns));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{Call, FileKey, FileNumber};

    #[test]
    fn a_call_ends_with_its_threads_last_request_or_with_the_journals_next() {
        let call = |pid, begin_ns| Call { pid, begin_ns, file_system: 9, ..Call::default() };
        let mut context = Context {
            calls: vec![call(1, 10), call(2, 20), call(1, 100), call(3, 500)],
            ..Context::default()
        };
        let mut ends = Ends::of(&context).unwrap();
        let row = |pid, begin_ns, end_ns, kind| Request {
            pid: Some(pid),
            queued_ns: Some(begin_ns),
            completed_ns: Some(end_ns),
            file: Some(FileKey {
                kind,
                number: FileNumber { file_system: 9, ..FileNumber::default() },
            }),
            ..Request::default()
        };
        for row in [
            row(1, 5, 8, FileKind::Regular),
            row(1, 12, 40, FileKind::Regular),
            row(1, 15, 30, FileKind::Regular),
            row(1, 41, 60, FileKind::Journal),
            row(1, 110, 130, FileKind::Regular),
        ] {
            ends.add(&row);
        }
        ends.tell(&mut context);
        let found: Vec<_> = context.calls.iter().map(|call| call.end_ns).collect();
        assert_eq!(found, [Some(60), Some(60), Some(130), None]);
        context.calls.truncate(3);
        assert!(Ends::of(&context).is_none());
    }
}

//! Requests that are told as sums, in the counts; and whether they may be.
//!
//! Non-goals: who waits meanwhile (`super::super::many`).

use super::super::alone::Busy;
use super::super::many::Many;
use super::{Key, Spans, Sum, Tally, What};
use crate::response::Combination;
use model::record::{Commands, Request};

impl Tally {
    /// Whether who requests such is alone at the device, so that they can be told as sums: not what
    /// is lbolt's own, nor a part of something, nor what the kernel does, which may be for anybody.
    pub fn is_alone(&mut self, like: &Request, commands: &Commands) -> bool {
        let role = self.actors.of_request(like, commands);
        let is_its_own = !self.is_own(like, role) && !self.actors.is_kernel(role);
        let requests = self.sums.iter().filter(|(key, _)| matches!(key.what, What::Requests(_)));
        let others = requests.filter(|(key, _)| key.device == like.device && key.role != role);
        let others_ns = others.map(|(_, sum)| sum.responses.sum_ns()).sum();
        like.is_asked() && is_its_own && self.alone.is_alone(like.device, role, others_ns)
    }

    /// For how long requests were in flight since the last taking.
    pub(super) fn busy(&self) -> Busy {
        let mut busy = Busy::new();
        for (key, sum) in self.sums.iter() {
            if matches!(key.what, What::Requests(_)) {
                *busy.entry((key.device, key.role)).or_default() += sum.responses.sum_ns();
            }
        }
        busy
    }

    /// Many requests that began in the span of a moment.
    pub fn many(&mut self, many: &Many, began_ns: i64, commands: &Commands, spans: &Spans) {
        let Some(span) = spans.of(began_ns) else { return };
        let row = &many.like;
        let role = self.actors.of_request(row, commands);
        let (count, sum_ns) = (many.responses.count(), many.responses.sum_ns());
        self.requests += count;
        let file_system = row.file.map_or(0, |file| file.number.file_system);
        if file_system != 0 {
            self.homes.entry(file_system).or_insert(row.device);
        }
        let what = What::Requests(row.op);
        let key = Key { span: span.number, device: row.device, what, role, file_system };
        let responses = many.responses.clone();
        let sum = Sum { count, bytes: many.bytes(), failed: 0, responses };
        self.sums.of(key).merge(&sum);
        self.classes.of((span.number, Combination::of(row))).merge(&sum);
        if let Some(file) = row.file.filter(|_| self.with_files) {
            let of = self.files.add((row.device, file, what), many.bytes().max(1));
            of.count += count;
            of.bytes += many.bytes();
            of.sum_ns += sum_ns;
            of.max_ns = of.max_ns.max(many.responses.max_ns());
            of.pid = row.pid.unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{CommandId, Flags, Op, Process};

    const S: i64 = 1_000_000_000;

    #[test]
    fn who_may_be_told_as_sums_is_alone_and_neither_the_kernel_nor_lbolt() {
        let (mut tally, mut spans) = (Tally::new(false), Spans::new(60 * S));
        let mut commands = Commands::default();
        let names = [&b"fio"[..], b"dd", b"kworker/u8:1-flush-7:0", b"lbolt"];
        names.iter().for_each(|name| _ = commands.number(name));
        spans.advance(0, 0);
        tally.leave_out(&[4]);
        let process = Some(4);
        tally.learn(&Process { pid: 4, process, command: "lbolt".into(), ..<_>::default() });
        let row = |pid: u32, device: u32, at_ns: i64| Request {
            device,
            op: Op::Read,
            length_bytes: 4096,
            pid: Some(pid),
            command: Some(CommandId(pid - 1)),
            queued_ns: Some(at_ns),
            completed_ns: Some(at_ns + S / 40),
            ..Request::default()
        };
        // Each has a device of its own.
        for pid in 1..=4 {
            tally.request(&row(pid, pid, S), &commands, &spans);
        }
        let mut are_alone = || [1, 2, 3, 4].map(|pid| tally.is_alone(&row(pid, pid, S), &commands));
        assert_eq!(are_alone(), [true, true, false, false]);
        let part = Request { parent_id: Some(9), ..row(1, 1, S) };
        let beneath = Request { above_id: Some(9), ..row(1, 1, S) };
        assert!(![part, beneath].iter().any(|row| tally.is_alone(row, &commands)));
        // A fortieth of a second of another's, or of lbolt's own, is too much.
        tally.request(&row(2, 1, S), &commands, &spans);
        let own = Request { flags: Flags::OWN, ..row(4, 2, S) };
        tally.request(&own, &commands, &spans);
        assert!(![1, 2].iter().any(|pid| tally.is_alone(&row(*pid, *pid, S), &commands)));
    }
}

//! Requests that are told as sums, in the counts; and which may be.
//!
//! Non-goals: who waits meanwhile (`super::super::many`).

use super::super::many::Many;
use super::{Key, Spans, Sum, Tally, What};
use crate::response::Combination;
use model::record::{Commands, Request};

impl Tally {
    /// Whether such requests can be told as sums: not what is lbolt's own, nor a part of something,
    /// nor what the kernel does, which may be for anybody.
    pub fn may_be_many(&mut self, like: &Request, commands: &Commands) -> bool {
        let role = self.actors.of_request(like, commands);
        like.is_asked() && !self.is_own(like, role) && !self.actors.is_kernel(role)
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

    #[test]
    fn told_as_sums_is_what_processes_ask_for_but_for_lbolt() {
        let mut tally = Tally::new(false);
        let mut commands = Commands::default();
        let names = [&b"fio"[..], b"dd", b"kworker/u8:1-flush-7:0", b"lbolt"];
        names.iter().for_each(|name| _ = commands.number(name));
        tally.leave_out(&[4]);
        let process = Some(4);
        tally.learn(&Process { pid: 4, process, command: "lbolt".into(), ..<_>::default() });
        let row = |pid: u32| Request {
            device: 7,
            op: Op::Read,
            pid: Some(pid),
            command: Some(CommandId(pid - 1)),
            queued_ns: Some(1),
            ..Request::default()
        };
        let mut may_be = |row: Request| tally.may_be_many(&row, &commands);
        assert_eq!([1, 2, 3, 4].map(|pid| may_be(row(pid))), [true, true, false, false]);
        let part = Request { parent_id: Some(9), ..row(1) };
        let beneath = Request { above_id: Some(9), ..row(1) };
        let own = Request { flags: Flags::OWN, ..row(1) };
        assert!(![part, beneath, own].into_iter().any(may_be));
    }
}

//! Requests that are told as sums, in the counts; and which may be.
//!
//! Non-goals: who waits meanwhile (`super::super::many`).

use super::super::many::Many;
use super::{Key, Spans, Sum, Tally, What};
use crate::RoleId;
use crate::response::Combination;
use crate::waits::size_of;
use model::record::{Commands, FileKey, FileNumber, Flags, Request};

/// What requests have in common that are told in one sum: all by which they are counted, and by
/// which who waits for them is told from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InCommon {
    class: Combination,
    flags: Flags,
    size: u8,
    role: Option<RoleId>,
    file: Option<FileKey>,
}

impl InCommon {
    /// Whether threads of a role ask for them; else they are lbolt's own, or the kernel's, which
    /// may be for anybody, or a part of something.
    pub fn are_of_a_role(&self) -> bool {
        self.role.is_some()
    }
}

impl Tally {
    /// What such requests have in common with others that can be told in one sum.
    pub fn in_common(&mut self, like: &Request, commands: &Commands) -> InCommon {
        let role = self.actors.of_request(like, commands);
        let may_be = like.is_asked() && !self.is_own(like, role) && !self.actors.is_kernel(role);
        let file = like.file.map(|file| match self.with_files {
            true => file,
            false => {
                let file_system = file.number.file_system;
                FileKey { number: FileNumber { file_system, ..FileNumber::default() }, ..file }
            }
        });
        InCommon {
            class: Combination::of(like),
            flags: like.flags,
            size: size_of(like.length_bytes),
            role: may_be.then_some(role),
            file,
        }
    }

    /// Many requests that began in the span of a moment.
    pub fn many(&mut self, many: &Many, began_ns: i64, commands: &Commands, spans: &Spans) {
        let Some(span) = spans.of(began_ns) else { return };
        let row = &many.like;
        let role = self.actors.of_request(row, commands);
        let count = many.responses.count();
        self.requests += count;
        self.written.add(row, many.bytes);
        let file_system = row.file.map_or(0, |file| file.number.file_system);
        if file_system != 0 {
            self.homes.entry(file_system).or_insert(row.device);
        }
        let what = What::Requests(row.op);
        let key = Key { span: span.number, device: row.device, what, role, file_system };
        let responses = many.responses.clone();
        let sum = Sum { count, bytes: many.bytes, failed: 0, responses };
        self.sums.of(key).merge(&sum);
        self.classes.of((span.number, Combination::of(row))).merge(&sum);
        if let Some(file) = row.file.filter(|_| self.with_files) {
            let of = self.files.add((row.device, file, what), many.bytes.max(1));
            of.count += count;
            of.bytes += many.bytes;
            of.responses.merge(&many.responses);
            of.pid = row.pid.unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{CommandId, FileKind, Op, Process};

    #[test]
    fn told_in_one_sum_is_what_the_threads_of_a_role_ask_for_but_for_lbolt() {
        let mut tally = Tally::new(false);
        let mut commands = Commands::default();
        let names = [&b"fio"[..], b"dd", b"kworker/u8:1-flush-7:0", b"lbolt", b"fio"];
        names.iter().for_each(|name| _ = commands.number(name));
        tally.leave_out(&[4]);
        for (pid, command) in [(1, "fio"), (2, "dd"), (4, "lbolt"), (5, "fio")] {
            let title = Some(format!("{command} x"));
            let process = Some(pid);
            tally.learn(&Process {
                pid,
                process,
                command: command.into(),
                title,
                ..<_>::default()
            });
        }
        let row = |pid: u32| Request {
            device: 7,
            op: Op::Read,
            pid: Some(pid),
            command: Some(CommandId(pid - 1)),
            length_bytes: 4096,
            queued_ns: Some(1),
            ..Request::default()
        };
        let mut of = |row: Request| tally.in_common(&row, &commands);
        let told = [1, 2, 3, 4, 5].map(|pid| of(row(pid)));
        assert_eq!(told.map(|of| of.are_of_a_role()), [true, true, false, false, true]);
        assert!(told[0] != told[1] && told[0] == told[4], "threads of a role have one sum");
        assert_ne!(of(Request { length_bytes: 5000, ..row(1) }), told[0]);
        let in_file = |inode| {
            let number = FileNumber { file_system: 8, inode, ..FileNumber::default() };
            Request { file: Some(FileKey { kind: FileKind::Regular, number }), ..row(1) }
        };
        let of_file = of(in_file(1));
        assert!(of_file != told[0] && of_file == of(in_file(2)), "whichever file it is");
        let part = Request { parent_id: Some(9), ..row(1) };
        let beneath = Request { above_id: Some(9), ..row(1) };
        let own = Request { flags: Flags::OWN, ..row(1) };
        assert!(![part, beneath, own].into_iter().any(|row| of(row).are_of_a_role()));
        let mut with_files = Tally::new(true);
        with_files.actors = tally.actors.clone();
        let [one, other] = [1, 2].map(|inode| with_files.in_common(&in_file(inode), &commands));
        assert!(one.are_of_a_role() && one != other);
    }
}

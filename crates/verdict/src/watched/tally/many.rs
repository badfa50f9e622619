//! Requests that are told as sums, in the counts; and whether they may be.
//!
//! Non-goals: who waits meanwhile (`super::super::many`).

use super::super::many::Many;
use super::{Key, Spans, Sum, Tally, What};
use crate::response::Combination;
use model::record::{Commands, Request};

impl Tally {
    /// Whether who requests such is alone at the device, so that they can be told as sums: not what
    /// is lbolt's own, nor a part of something.
    pub fn is_alone(&mut self, like: &Request, commands: &Commands) -> bool {
        let role = self.actors.of_request(like, commands);
        let is_plain = like.parent_id.is_none() && like.above_id.is_none();
        is_plain && !self.is_own(like, role) && self.alone.is_alone(like.device, role)
    }

    /// Many requests that began in the span of a moment.
    pub fn many(&mut self, many: &Many, began_ns: i64, commands: &Commands, spans: &Spans) {
        let Some(span) = spans.of(began_ns) else { return };
        let row = &many.like;
        let role = self.actors.of_request(row, commands);
        let (count, sum_ns) = (many.responses.count(), many.responses.sum_ns());
        self.alone.see(row.device, role, many.until_ns, sum_ns);
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

//! A trace in which everything is that SQL and the analysis could count differently.

use model::record::requests::{Provenance, RequestWriter};
use model::record::{Commands, Flags, Op, Request};
use std::collections::BTreeMap;
use std::path::Path;

/// Small numbers by a xorshift generator (Marsaglia 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// A row of a made trace. Its times are multiples of 10 ms, so that many are equal, and some are
/// not known.
fn made_row(chance: &mut Chance, names: &[model::record::CommandId]) -> Request {
    const STEP_NS: u64 = 10_000_000;
    let ops =
        [Op::Read, Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Flush, Op::Discard];
    let op = ops[chance.below(8) as usize];
    let queued_ns = (chance.below(60_000) * STEP_NS) as i64;
    let started_ns = queued_ns + (chance.below(4) * STEP_NS) as i64;
    // Now and then before the step that it follows.
    let issued_ns = started_ns + (chance.below(8) * STEP_NS) as i64 - STEP_NS as i64;
    let long = if chance.once_in(10) { 20_000 } else { 40 };
    let completed_ns = issued_ns + (chance.below(long) * STEP_NS) as i64 + chance.below(2) as i64;
    let pid = chance.below(5);
    let is_completion_only = chance.once_in(60);
    let unless = |is_gone: bool, ns: i64| (!is_gone && !is_completion_only).then_some(ns);
    Request {
        device: [5, 9, 70][chance.below(3) as usize],
        op,
        flags: Flags((1 << chance.below(8)) | if chance.once_in(20) { Flags::OWN.0 } else { 0 }),
        offset_bytes: (op != Op::Flush).then(|| chance.below(1 << 14) << chance.below(14)),
        length_bytes: if op == Op::Flush { 0 } else { 1 << chance.below(20) },
        queued_ns: unless(chance.once_in(6), queued_ns),
        started_ns: unless(chance.once_in(9), started_ns),
        issued_ns: unless(chance.once_in(12), issued_ns),
        completed_ns: (is_completion_only || !chance.once_in(10)).then_some(completed_ns),
        error: if chance.once_in(15) { 5 } else { 0 },
        pid: (pid > 0).then_some(pid as u32),
        command: (pid > 1).then(|| names[pid as usize % names.len()]),
        // A process may work for two.
        cgroup: (pid > 2).then(|| pid + chance.below(2)),
        ..Request::default()
    }
}

/// A part of a sequence: within it or beyond its end, now and then beside the part before it.
fn part_of(row: &Request, number: u64, chance: &mut Chance) -> Request {
    const STEP_NS: u64 = 10_000_000;
    let from_ns = row.queued_ns.unwrap_or(0) + (chance.below(9 * number) * STEP_NS) as i64;
    Request {
        request_id: row.request_id + number,
        parent_id: Some(row.request_id),
        op: if number == 1 { Op::Write } else { Op::Flush },
        offset_bytes: row.offset_bytes.filter(|_| number == 1),
        queued_ns: None,
        started_ns: None,
        issued_ns: Some(from_ns),
        completed_ns: (!chance.once_in(9)).then(|| from_ns + (chance.below(9) * STEP_NS) as i64),
        ..*row
    }
}

/// A made trace: three devices over ten minutes, requests that outlast minutes, flush sequences,
/// rows of our own, rows never completed, completions alone, and one row without any time.
pub(super) fn make_trace(path: &Path) {
    let mut commands = Commands::default();
    let names = ["fio", "it's \"quoted\""].map(|name| commands.number(name.as_bytes()));
    let mut chance = Chance(1986);
    let mut rows: Vec<Request> = (0..4000).map(|_| made_row(&mut chance, &names)).collect();
    rows.push(Request { device: 5, length_bytes: 512, ..Request::default() });
    rows.sort_by_key(|row| row.arrival_ns().unwrap_or(0));
    // Parts of a sequence come after its own row, which was never issued.
    let mut parts = Vec::new();
    for (place, row) in rows.iter_mut().enumerate() {
        row.request_id = place as u64 * 3;
        if row.op == Op::Write && chance.once_in(4) && row.queued_ns.is_some() {
            row.issued_ns = None;
            // Two that belong to no sequence, as far as the flags tell.
            row.flags = row.flags.with(Flags::PREFLUSH, !chance.once_in(9));
            parts.extend((1..3).map(|number| part_of(row, number, &mut chance)));
        }
    }
    rows.extend(parts);
    rows.sort_by_key(|row| (row.arrival_ns().unwrap_or(0), row.request_id));
    let notes = [5, 9, 70].map(|device| (format!("device.{device}"), format!("disk{device}")));
    let provenance = Provenance {
        origin: "simulate".into(),
        notes: notes.into_iter().collect(),
        ..Provenance::default()
    };
    let mut writer = RequestWriter::new(std::fs::File::create(path).unwrap()).unwrap();
    rows.iter().for_each(|row| writer.push(row, &commands).unwrap());
    writer.finish(&commands, &provenance, &BTreeMap::new()).unwrap();
}

//! A class of requests on a modelled machine with one device: so many outstanding at every moment,
//! for so long.
//!
//! Non-goals: a trace's own think times ([`super::closed`]).

use super::live::Live;
use super::machine::ReplayMachine;
use super::outcome::ReplayError;
use crate::random::Random;
use model::calibration::{Class, Met, Pattern};
use model::record::{Op, Request};
use std::collections::BTreeMap;

/// The most requests that are simulated; what is quicker is simulated for less time.
const REQUESTS_MAX: u64 = 200_000;
/// Times a pass's first requests come to an idle machine, and are not counted.
const WARM_SHARE: u64 = 10;

struct Loop {
    live: Live,
    class: Class,
    random: Random,
    blocks: u64,
    /// The block that comes next, where they are in order.
    next_block: u64,
    sent: u64,
    /// When each outstanding one was sent, and whether it reads.
    outstanding: BTreeMap<u64, (u64, bool)>,
}

/// What a class meets on a machine in `time_ns`, a tenth of which is not counted.
/// Errors: a class that the machine's drive does not serve.
pub fn closed_loop(
    machine: ReplayMachine,
    class: Class,
    time_ns: u64,
    seed: u64,
) -> Result<Met, ReplayError> {
    let blocks = (machine.drive.capacity().bytes() / class.block_bytes).max(1);
    let (live, random) = (Live::new(machine), Random::new(seed));
    let outstanding = BTreeMap::new();
    let mut of = Loop { live, class, random, blocks, next_block: 0, sent: 0, outstanding };
    of.next_block = of.random.below(blocks);
    of.run(time_ns)
}

impl Loop {
    fn run(&mut self, time_ns: u64) -> Result<Met, ReplayError> {
        let (begin_ns, half_ns) = (time_ns / WARM_SHARE, (time_ns + time_ns / WARM_SHARE) / 2);
        let mut met = Met::default();
        for _ in 0..self.class.depth {
            self.send(0)?;
        }
        let mut known = Vec::new();
        let mut due: std::collections::BinaryHeap<std::cmp::Reverse<(u64, u64)>> =
            std::collections::BinaryHeap::new();
        let mut last_ns = begin_ns;
        self.live.advance(0, &mut known);
        loop {
            due.extend(known.drain(..).map(|(id, at_ns)| std::cmp::Reverse((at_ns, id))));
            let completes_ns = due.peek().map(|of| of.0.0);
            let happens_ns = self.live.next_ns();
            match (completes_ns, happens_ns) {
                (None, None) => break,
                (Some(now_ns), next) if next.is_none_or(|next_ns| now_ns <= next_ns) => {
                    let Some(std::cmp::Reverse((_, id))) = due.pop() else { break };
                    let Some((sent_ns, reads)) = self.outstanding.remove(&id) else { continue };
                    if now_ns > time_ns || self.sent > REQUESTS_MAX {
                        break;
                    }
                    if now_ns >= begin_ns {
                        let times = if reads { &mut met.reads } else { &mut met.writes };
                        times.record(now_ns - sent_ns);
                    }
                    met.halves[usize::from(now_ns >= half_ns)] += u64::from(now_ns >= begin_ns);
                    last_ns = now_ns.max(begin_ns);
                    self.send(now_ns)?;
                    self.live.advance(now_ns, &mut known);
                }
                (_, Some(next_ns)) => self.live.advance(next_ns, &mut known),
                (Some(_), None) => break,
            }
        }
        met.wall_ns = last_ns - begin_ns;
        Ok(met)
    }

    fn send(&mut self, now_ns: u64) -> Result<(), ReplayError> {
        let block = match self.class.pattern {
            Pattern::Random => self.random.below(self.blocks),
            Pattern::Sequential => {
                let block = self.next_block;
                self.next_block = (block + 1) % self.blocks;
                block
            }
        };
        let reads = self.class.reads(self.random.next_u64());
        self.sent += 1;
        self.outstanding.insert(self.sent, (now_ns, reads));
        self.live.come(
            now_ns,
            Request {
                request_id: self.sent,
                op: if reads { Op::Read } else { Op::Write },
                queued_ns: i64::try_from(now_ns).ok(),
                offset_bytes: Some(block * self.class.block_bytes),
                length_bytes: self.class.block_bytes as _,
                ..Request::default()
            },
        )
    }
}

//! However the events of several CPUs are laid out, the table is the same: a file for each CPU in
//! any order (blktrace, merged by time), or the lines of all CPUs mixed in any way that keeps the
//! order of each (ftrace, sorted by time).

#![allow(clippy::unwrap_used, reason = "a test")]

use formats::import::{self, Input};
use model::record::Request;
use proptest::prelude::*;
use trace::intake::Intake;

/// What happens to requests; the times of several may be equal.
#[derive(Debug, Clone, Copy)]
struct Moment {
    time_us: u64,
    cpu: usize,
    step: usize,
    sector: u64,
}

const CPUS: usize = 3;
/// blktrace's action with its category, and ftrace's name, of each step.
const STEPS: [(u32, &str); 4] = [
    (1 | 1 << 20, "bio_queue: 8,0 R S + 8 [x]"),
    (4 | 1 << 20, "getrq: 8,0 R S + 8 [x]"),
    (7 | 1 << 22, "rq_issue: 8,0 R 4096 () S + 8 [x]"),
    (8 | 1 << 23, "rq_complete: 8,0 R () S + 8 [0]"),
];
const READ: u32 = 1 << 16;

impl Moment {
    fn record(&self) -> Vec<u8> {
        let words = |values: &[u32]| values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut bytes: Vec<u8> = words(&[0x6561_7407, 0]);
        bytes.extend((self.time_us * 1000).to_le_bytes());
        bytes.extend(self.sector.to_le_bytes());
        let tail: Vec<u8> =
            words(&[4096, STEPS[self.step].0 | READ, 77, 8 << 20, self.cpu as u32, 0]);
        bytes.extend(tail);
        bytes
    }

    fn line(&self) -> String {
        let what = STEPS[self.step].1.replace(" S ", &format!(" {} ", self.sector));
        let (seconds, rest) = (self.time_us / 1_000_000, self.time_us % 1_000_000);
        format!("  x-77 [{:03}] ..... {seconds}.{rest:06}: block_{what}\n", self.cpu)
    }
}

/// Requests that go through all steps, each step on some CPU, few of them at few places; by time
/// for each CPU.
fn moments() -> impl Strategy<Value = Vec<Vec<Moment>>> {
    let request = (0u64..60, 0u64..3, prop::array::uniform4((0usize..CPUS, 0u64..3)));
    prop::collection::vec(request, 1..40).prop_map(|requests| {
        let mut cpus = vec![Vec::new(); CPUS];
        for (began, place, steps) in requests {
            let mut time_us = began;
            for (step, (cpu, later)) in steps.into_iter().enumerate() {
                time_us += later;
                cpus[cpu].push(Moment { time_us, cpu, step, sector: place * 8 });
            }
        }
        cpus.iter_mut().for_each(|moments| moments.sort_by_key(|m| m.time_us));
        cpus
    })
}

fn table(files: Vec<Vec<u8>>) -> (Vec<Request>, Vec<(String, String)>) {
    let inputs = files.into_iter().filter(|f| !f.is_empty());
    let mut inputs: Vec<Input> = inputs.map(|f| Input::from_bytes("x", f).unwrap()).collect();
    let mut rows = Vec::new();
    let mut intake = Intake::new(&mut rows, "import");
    import::read(&mut inputs, None, &mut intake).unwrap();
    let (provenance, _) = intake.finish().unwrap();
    assert_eq!(provenance.counts.rejected, 0);
    (rows, provenance.to_footer().into_iter().collect())
}

proptest! {
    #[test]
    fn files_of_cpus_in_any_order_give_the_same_table(
        cpus in moments(), order in Just([0usize, 1, 2]).prop_shuffle(),
    ) {
        let files: Vec<Vec<u8>> =
            cpus.iter().map(|moments| moments.iter().flat_map(Moment::record).collect()).collect();
        let mixed = order.iter().map(|cpu| files[*cpu].clone()).collect();
        prop_assert_eq!(table(mixed), table(files));
    }

    #[test]
    fn lines_of_cpus_mixed_in_any_way_give_the_same_table(
        cpus in moments(), turns in prop::collection::vec(0usize..CPUS, 0..200),
    ) {
        let one_by_one: String = cpus.iter().flatten().map(Moment::line).collect();
        let mut left: Vec<std::slice::Iter<Moment>> = cpus.iter().map(|c| c.iter()).collect();
        let mut mixed: String =
            turns.iter().filter_map(|cpu| left[*cpu].next()).map(Moment::line).collect();
        mixed.extend(left.into_iter().flatten().map(Moment::line));
        prop_assert_eq!(table(vec![mixed.into_bytes()]), table(vec![one_by_one.into_bytes()]));
    }

    /// Merged and sorted, the two formats agree.
    #[test]
    fn the_binary_files_and_the_text_give_the_same_rows(cpus in moments()) {
        // Steps at one time are in the order of their file in the one, and sorted in the other.
        let mut cpus = cpus;
        cpus.iter_mut().for_each(|moments| moments.sort_by_key(|m| (m.time_us, m.step)));
        let files = cpus.iter().map(|moments| moments.iter().flat_map(Moment::record).collect());
        let text: String = cpus.iter().flatten().map(Moment::line).collect();
        let (binary, _) = table(files.collect());
        let (text, _) = table(vec![text.into_bytes()]);
        let without_names = |row: &Request| Request { command: None, ..*row };
        prop_assert_eq!(binary, text.iter().map(without_names).collect::<Vec<_>>());
    }
}

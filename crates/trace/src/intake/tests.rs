//! What comes out of the intake, and what is kept on the way.

use super::*;
use crate::event::{Extent, Origin, Step};
use model::record::Op;

#[test]
fn a_request_that_ends_beyond_all_bytes_is_rejected() {
    let mut rows: Vec<Request> = Vec::new();
    let mut intake = Intake::new(&mut rows, "test");
    for offset in [u64::MAX - 4096, u64::MAX - 4095] {
        let mut row =
            Request { offset_bytes: Some(offset), length_bytes: 4096, ..Request::default() };
        intake.request(&mut row).unwrap();
    }
    assert_eq!(intake.complaints(), ["2: an end beyond all bytes"]);
    let (provenance, _) = intake.finish().unwrap();
    assert_eq!((provenance.counts.rejected, provenance.counts.requests), (1, 1));
    assert_eq!(rows.len(), 1);
}

/// Arrivals alone tell of no completions, and have lost none; where all hangs, none is completed.
#[test]
fn of_a_trace_of_a_hang_each_request_is_unanswered() {
    let origin = Origin::UNKNOWN;
    let issue = Step::Issue { serves: None, in_sequence: false, origin };
    for (steps, unanswered) in [(&[Step::Queue(origin)][..], 0), (&[Step::Queue(origin), issue], 3)]
    {
        let mut rows: Vec<Request> = Vec::new();
        let mut intake = Intake::new(&mut rows, "test");
        for number in 0..3 {
            let offset_bytes = Some(number * 4096);
            let extent =
                Extent { op: Op::Read, offset_bytes, length_bytes: 4096, ..Extent::default() };
            for (later, step) in steps.iter().enumerate() {
                let (time_ns, step) = (10 * number as i64 + later as i64, *step);
                let event = Event { time_ns, identity: None, device: 7, cpu: None, extent, step };
                intake.event(&event).unwrap();
            }
        }
        let (provenance, _) = intake.finish().unwrap();
        assert_eq!((provenance.counts.unanswered, rows.len()), (unanswered, 3));
    }
}

/// What a kill would leave of a file: rows of groups that were ended, and those that were kept.
#[derive(Default)]
struct Left {
    in_group: Vec<u64>,
    safe: std::collections::HashSet<u64>,
    kept: usize,
}

const GROUP: usize = 40_000;

impl Rows for std::rc::Rc<std::cell::RefCell<Left>> {
    fn push(&mut self, row: &Request, _: &Commands) -> Result<(), RowsError> {
        self.borrow_mut().in_group.push(row.request_id);
        Ok(())
    }

    fn keep(&mut self, done: &[Request], _: &Commands, _: &Provenance) -> Result<(), RowsError> {
        let left = &mut *self.borrow_mut();
        if left.in_group.len() >= GROUP {
            left.safe.extend(left.in_group.drain(..));
        }
        left.kept += done.len();
        left.safe.extend(done.iter().map(|row| row.request_id));
        Ok(())
    }

    fn keeps_all(&self) -> bool {
        self.borrow().in_group.len() >= GROUP
    }
}

/// Whether they are told at once or by steps, early or late, and whatever has left by then.
#[test]
fn all_that_is_done_with_is_kept_at_the_next_time_and_hardly_any_twice() {
    let left = std::rc::Rc::new(std::cell::RefCell::new(Left::default()));
    let mut intake = Intake::new(left.clone(), "test");
    intake.keep_done();
    intake.set_zero(0);
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let (mut done, mut keep_at) = (0, 0);
    for number in 0..400_000_u64 {
        let late_ns = if next(50) == 0 { next(9_000_000) } else { next(300) };
        let time_ns = (number * 100 + 10_000_000 - late_ns) as i64;
        let extent = Extent { op: Op::Read, length_bytes: 512, ..Extent::default() };
        let step = Step::Start { queued_ns: None, origin: Origin::default(), tag: None };
        let start =
            Event { time_ns, identity: Some(number % 1000), device: 7, cpu: None, extent, step };
        let completed_ns = Some(time_ns + 50);
        let (issued_ns, has_grown, error) = (Some(time_ns + 9), false, 0);
        let finished = Finished { start, issued_ns, has_grown, completed_ns, error };
        match next(100) {
            0 => finished.each().for_each(|event| intake.event(&event).unwrap()),
            _ => intake.finished(&finished).unwrap(),
        }
        done += 1;
        if number == keep_at {
            keep_at += 1 + next(30_000) * next(4);
            intake.keep().unwrap();
            assert_eq!(left.borrow().safe.len(), done);
        }
    }
    let kept = left.borrow().kept;
    assert!(kept < done + done / 50, "{kept} of {done}");
}

//! How long requests take, by their operation and the octave of their work: what is unusual for a
//! device is told by what was usual before.
//!
//! Non-goals: what makes a device stand still (`super`).

use model::record::Op;

/// What is known of requests that are alike.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    /// How many were completed; how long it took until the next of them was, and each one itself.
    count: f64,
    next_ns: f64,
    took_ns: f64,
    in_flight: f64,
}

/// By operation and octave of work.
#[derive(Debug, Default)]
pub(super) struct Paces([Vec<Pace>; Op::ALL.len()]);

impl Paces {
    fn of(&mut self, op: Op, work: f64) -> &mut Pace {
        let (paces, octave) = (&mut self.0[op as usize], (work as u64 | 1).ilog2() as usize);
        if paces.len() <= octave {
            paces.resize(octave + 1, Pace::default());
        }
        &mut paces[octave]
    }

    pub(super) fn begin(&mut self, op: Op, work: f64) {
        self.of(op, work).in_flight += 1.0;
    }

    /// One is completed, so long after something was completed before it, and after so long itself.
    /// Returns how long the first of these took so far, in the mean.
    pub(super) fn end(&mut self, op: Op, work: f64, next_ns: i64, took_ns: i64) -> f64 {
        let pace = self.of(op, work);
        let usual_ns = pace.next_ns / pace.count.max(1.0);
        pace.count += 1.0;
        pace.next_ns += next_ns as f64;
        pace.took_ns += took_ns as f64;
        pace.in_flight -= 1.0;
        usual_ns
    }

    /// How long requests like those in flight have taken so far, in the mean; 0 where that is not
    /// known.
    pub(super) fn in_flight_ns(&self) -> f64 {
        let known = self.0.iter().flatten().filter(|pace| pace.count > 0.0);
        let (ns, in_flight) = known.fold((0.0, 0.0), |(ns, in_flight), pace| {
            let each_ns = pace.took_ns / pace.count;
            (ns + each_ns * pace.in_flight, in_flight + pace.in_flight)
        });
        if in_flight > 0.0 { ns / in_flight } else { 0.0 }
    }
}

//! Closed replay: a request arrives when the one before it on its device was completed and its
//! sender has thought as long as in the trace. Thus a model that is slower or faster shifts all
//! that comes behind, as a real drive would.
//!
//! Source: the `validate` traces of DiskSim 4.0. Non-goals: requests that were outstanding together
//! (they follow each other without thought; replay by arrival keeps them); driver queues, in which
//! nothing can wait here; devices that share a bus: each goes by its own time, and has a bus of its
//! own.

use super::laws;
use super::machine::ReplayMachine;
use super::open::in_order;
use super::outcome::{DeviceOutcome, Outcome, ReplayError};
use super::row::{self, is_served};
use crate::bus::Bus;
use crate::drive::Drive;
use model::record::Request;

/// A device and its drive.
struct Station {
    drive: Box<dyn Drive>,
    bus: Bus,
    /// When its last request was completed, in the trace and by the model, ns.
    completed: Option<(i64, f64)>,
    outcome: DeviceOutcome,
}

/// Replays rows, in the order of their arrival, one after the other on each device; each comes out
/// with the model's times. Rows come as in [`super::open`].
/// Errors: a row past its drive's end, one that stands out of order, or one without the times that
/// its sender's thinking is given by; a simulation that broke its own laws.
pub fn closed(
    machine: ReplayMachine,
    mut next: impl FnMut(&mut Request) -> bool,
    mut sink: impl FnMut(&Request),
) -> Result<Outcome, ReplayError> {
    let ReplayMachine { drive, bus, .. } = machine;
    let mut stations: Vec<Station> = Vec::new();
    let mut outcome = Outcome { most_kept: 1, ..Outcome::default() };
    let (mut last_ns, mut row) = (0, Request::default());
    while next(&mut row) {
        if !is_served(&row) {
            outcome.left_out += 1;
            continue;
        }
        last_ns = in_order(&row, last_ns)?;
        let known = stations.iter().position(|station| station.outcome.device == row.device);
        let index = known.unwrap_or_else(|| {
            stations.push(Station::new(row.device, &*drive, &bus));
            stations.len() - 1
        });
        if outcome.requests == 0 {
            outcome.began_ns = last_ns;
        }
        outcome.requests += 1;
        stations[index].serve(&mut row)?;
        outcome.ended_ns = outcome.ended_ns.max(row.completed_ns.map_or(0, i64::unsigned_abs));
        sink(&row);
    }
    outcome.devices = stations.iter().map(|station| station.outcome).collect();
    let completed = outcome.devices.iter().map(|device| device.requests).sum();
    let buses = stations.iter().map(|station| &station.bus);
    laws::check(&outcome, (outcome.requests, completed), buses)?;
    Ok(outcome)
}

impl Station {
    fn new(device: u32, drive: &dyn Drive, bus: &Bus) -> Self {
        let outcome = DeviceOutcome { device, most_outstanding: 1, ..DeviceOutcome::default() };
        Self { drive: drive.fresh(), bus: bus.clone(), completed: None, outcome }
    }

    /// Gives a row the model's times.
    fn serve(&mut self, row: &mut Request) -> Result<(), ReplayError> {
        let request_id = row.request_id;
        let capacity = self.drive.capacity();
        row::check(row, capacity)?;
        let times = row.arrival_ns().zip(row.completed_ns);
        let (arrived_ns, completed_ns) = times.ok_or(ReplayError::NoTime { request_id })?;
        let given_ns = match self.completed {
            None => arrived_ns.max(0) as f64,
            Some((before_ns, completion_ns)) => {
                completion_ns + (arrived_ns - before_ns).max(0) as f64
            }
        };
        self.bus.forget(given_ns);
        let mut completion_ns = given_ns;
        for access in row::Accesses::of(row, capacity).in_order() {
            completion_ns = self.drive.serve(completion_ns, access, &mut self.bus);
        }
        if !(given_ns..f64::INFINITY).contains(&completion_ns) {
            return Err(ReplayError::OutOfTime { request_id });
        }
        self.completed = Some((completed_ns, completion_ns));
        self.outcome.requests += 1;
        self.outcome.busy_ns += (completion_ns.round() - given_ns.round()) as u64;
        row.queued_ns = Some(given_ns.round() as i64);
        (row.started_ns, row.issued_ns, row.error) = (None, row.queued_ns, 0);
        row.completed_ns = Some(completion_ns.round() as i64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::each;
    use super::*;
    use crate::drive::{Access, Capacity};
    use crate::profile::CATALOG;
    use model::record::Op;

    fn row(request_id: u64, queued_ns: i64, completed_ns: Option<i64>, offset: u64) -> Request {
        let queued_ns = Some(queued_ns);
        let (offset_bytes, length_bytes) = (Some(offset), 8192);
        Request {
            request_id,
            queued_ns,
            completed_ns,
            offset_bytes,
            length_bytes,
            ..Request::default()
        }
    }

    /// Reads at these places of two devices, which are requested at the same moments and then again
    /// 20 ms later.
    fn together(offsets: [u64; 4]) -> Vec<Request> {
        let row = |(place, offset): (usize, u64)| {
            let at_ns = 20_000_000 * (place as i64 / 2);
            let of = row(place as u64, at_ns, Some(at_ns + 20_000_000), offset);
            Request { device: place as u32 % 2, ..of }
        };
        offsets.into_iter().enumerate().map(row).collect()
    }

    fn machine() -> ReplayMachine {
        ReplayMachine::read(&CATALOG.load("hp-9000-845").unwrap().reader()).unwrap()
    }

    #[test]
    fn a_request_comes_its_think_time_after_the_completion() {
        const MS: i64 = 1_000_000;
        let rows = [row(0, 0, Some(5 * MS), 1 << 20), row(1, 12 * MS, Some(20 * MS), 9 << 20)];
        let mut served = Vec::new();
        let outcome = closed(machine(), each(rows), |row| served.push(*row)).unwrap();
        assert_eq!((outcome.requests, outcome.devices.len(), served.len()), (2, 1, 2));
        let think_ns = served[1].queued_ns.unwrap() - served[0].completed_ns.unwrap();
        assert_eq!(think_ns, 7 * MS);
        assert!(served[1].completed_ns.unwrap() > served[1].queued_ns.unwrap() + MS);
    }

    #[test]
    fn devices_go_by_their_own_times() {
        let rows = together([1 << 20, 9 << 20, 300 << 20, 2 << 20]);
        let of = |device: u32| {
            let rows = rows.iter().filter(move |row| row.device == device).copied();
            let mut took = Vec::new();
            closed(machine(), each(rows), |row| took.push(row.completed_ns)).unwrap();
            took
        };
        let mut took = Vec::new();
        let outcome =
            closed(machine(), each(rows.clone()), |row| took.push(row.completed_ns)).unwrap();
        assert_eq!([took[0], took[2]].to_vec(), of(0));
        assert_eq!([took[1], took[3]].to_vec(), of(1));
        assert_eq!((outcome.requests, outcome.devices.len()), (4, 2));
    }

    /// A drive that completes a request so much later.
    #[derive(Debug, Clone)]
    struct After(f64, Capacity);

    impl Drive for After {
        fn capacity(&self) -> Capacity {
            self.1
        }

        fn serve(&mut self, given_ns: f64, _: Access, _: &mut Bus) -> f64 {
            given_ns + self.0
        }

        fn fresh(&self) -> Box<dyn Drive> {
            Box::new(self.clone())
        }
    }

    #[test]
    fn a_completion_comes_after_its_request() {
        let rows = || together([0, 0, 1 << 20, 1 << 20]);
        let replay = |after_ns| {
            let machine = machine();
            let drive = Box::new(After(after_ns, machine.drive.capacity()));
            closed(ReplayMachine { drive, ..machine }, each(rows()), |_| ())
        };
        let outcome = replay(1.5e6).unwrap();
        assert_eq!(
            outcome.devices.iter().map(|device| device.busy_ns).collect::<Vec<_>>(),
            [3_000_000; 2]
        );
        for after_ns in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(replay(after_ns).unwrap_err(), ReplayError::OutOfTime { request_id: 0 });
        }
    }

    #[test]
    fn rows_that_no_drive_serves_are_counted() {
        let read = row(0, 0, Some(9_000_000), 0);
        let discard = Request { op: Op::Discard, ..read };
        let orphan = Request { queued_ns: None, ..read };
        let outcome = closed(machine(), each([discard, orphan, read]), |_| ()).unwrap();
        assert_eq!((outcome.requests, outcome.left_out), (1, 2));
    }

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        let error = closed(machine(), each([row(0, 5, Some(6), 0), row(1, 4, Some(6), 0)]), |_| ());
        assert_eq!(error.unwrap_err(), ReplayError::Unsorted { request_id: 1, early_ns: 1 });
        let error =
            closed(machine(), each([row(3, 0, Some(1), u64::MAX - 100)]), |_| ()).unwrap_err();
        assert!(matches!(error, ReplayError::PastEnd { end_bytes: u64::MAX, .. }), "{error}");

        let error = closed(machine(), each([row(7, 0, None, 0)]), |_| ()).unwrap_err();
        assert!(error.to_string().contains("request 7 has no"), "{error}");
        let error = closed(machine(), each([row(3, 0, Some(1), 1 << 40)]), |_| ()).unwrap_err();
        assert!(matches!(error, ReplayError::PastEnd { request_id: 3, .. }), "{error}");
    }
}

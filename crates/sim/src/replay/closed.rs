//! Closed replay: a request arrives when the one before it on its device was answered and its sender has thought as
//! long as in the trace. Thus a model that is slower or faster shifts all that comes behind, as a real drive would.
//!
//! Source: the `validate` traces of DiskSim 4.0. Non-goals: requests that were outstanding together (they follow each
//! other without thought; replay by arrival keeps them); driver queues, in which nothing can wait here.

use super::bus::Bus;
use super::drive::{Access, Drive};
use super::machine::ReplayMachine;
use super::outcome::{DeviceOutcome, Outcome, ReplayError};
use model::record::{Op, Request};

/// A device and its drive.
struct Station {
    drive: Box<dyn Drive>,
    /// When its last request was answered, in the trace and by the model, ns.
    answered: Option<(i64, f64)>,
    outcome: DeviceOutcome,
}

/// Replays rows, in the order of their arrival, one after the other on each device; each comes out with the model's
/// times.
///
/// # Errors
/// A row past its drive's end, or one without the times that its sender's thinking is told by.
pub fn closed(
    machine: ReplayMachine,
    rows: impl IntoIterator<Item = Request>,
    mut sink: impl FnMut(&Request),
) -> Result<Outcome, ReplayError> {
    let ReplayMachine { drive, mut bus, .. } = machine;
    let mut stations: Vec<Station> = Vec::new();
    let mut outcome = Outcome { most_kept: 1, ..Outcome::default() };
    for row in rows {
        let Some(access) = access(&row, drive.block_bytes()) else {
            outcome.left_out += 1;
            continue;
        };
        let known = stations.iter().position(|station| station.outcome.device == row.device);
        let index = known.unwrap_or_else(|| {
            let of_device = DeviceOutcome { device: row.device, ..DeviceOutcome::default() };
            stations.push(Station { drive: drive.fresh(), answered: None, outcome: of_device });
            stations.len() - 1
        });
        let served = stations[index].serve(&row, access, &mut bus)?;
        if outcome.requests == 0 {
            outcome.began_ns = served.queued_ns.map_or(0, i64::unsigned_abs);
        }
        outcome.requests += 1;
        outcome.ended_ns = outcome.ended_ns.max(served.completed_ns.map_or(0, i64::unsigned_abs));
        sink(&served);
    }
    outcome.devices = stations.into_iter().map(|station| station.outcome).collect();
    Ok(outcome)
}

/// What a row asks of a drive; none where it is not for a drive to serve.
fn access(row: &Request, block_bytes: u32) -> Option<Access> {
    let offset = row.offset_bytes.filter(|_| super::is_served(row))?;
    let block_bytes = u64::from(block_bytes);
    let block = offset / block_bytes;
    let end = (offset + u64::from(row.length_bytes)).div_ceil(block_bytes);
    Some(Access { block, blocks: end - block, is_write: row.op == Op::Write })
}

impl Station {
    fn serve(
        &mut self,
        row: &Request,
        access: Access,
        bus: &mut Bus,
    ) -> Result<Request, ReplayError> {
        let request_id = row.request_id;
        if access.block + access.blocks > self.drive.blocks() {
            let block_bytes = u64::from(self.drive.block_bytes());
            return Err(ReplayError::PastEnd {
                request_id,
                device: row.device,
                end_bytes: (access.block + access.blocks) * block_bytes,
                drive_bytes: self.drive.blocks() * block_bytes,
            });
        }
        let times = row.arrival_ns().zip(row.completed_ns);
        let (arrived_ns, completed_ns) = times.ok_or(ReplayError::NoTime { request_id })?;
        let given_ns = match self.answered {
            None => arrived_ns.max(0) as f64,
            Some((before_ns, answer_ns)) => answer_ns + (arrived_ns - before_ns).max(0) as f64,
        };
        bus.forget(given_ns);
        let answer_ns = self.drive.serve(given_ns, access, bus);
        self.answered = Some((completed_ns, answer_ns));
        self.outcome.requests += 1;
        self.outcome.most_outstanding = 1;
        self.outcome.busy_ns += (answer_ns - given_ns).round() as u64;
        let given_ns = Some(given_ns.round() as i64);
        Ok(Request {
            queued_ns: given_ns,
            started_ns: None,
            issued_ns: given_ns,
            completed_ns: Some(answer_ns.round() as i64),
            error: 0,
            ..*row
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

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

    fn machine() -> ReplayMachine {
        ReplayMachine::read(&profile::load("hp-9000-845").unwrap().reader()).unwrap()
    }

    #[test]
    fn a_request_comes_its_think_time_after_the_answer() {
        const MS: i64 = 1_000_000;
        let rows = [row(0, 0, Some(5 * MS), 1 << 20), row(1, 12 * MS, Some(20 * MS), 9 << 20)];
        let mut served = Vec::new();
        let outcome = closed(machine(), rows, |row| served.push(*row)).unwrap();
        assert_eq!((outcome.requests, outcome.devices.len(), served.len()), (2, 1, 2));
        let think_ns = served[1].queued_ns.unwrap() - served[0].completed_ns.unwrap();
        assert_eq!(think_ns, 7 * MS);
        assert!(served[1].completed_ns.unwrap() > served[1].queued_ns.unwrap() + MS);
    }

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        let error = closed(machine(), [row(7, 0, None, 0)], |_| ()).unwrap_err();
        assert!(error.to_string().contains("request 7 has no"), "{error}");
        let error = closed(machine(), [row(3, 0, Some(1), 1 << 40)], |_| ()).unwrap_err();
        assert!(matches!(error, ReplayError::PastEnd { request_id: 3, .. }), "{error}");
    }
}

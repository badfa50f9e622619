//! Closed replay: a request arrives when the one before it was answered and its sender has thought as long as in the
//! trace. Thus a model that is slower or faster shifts all that comes behind, as a real drive would.
//!
//! Source: the `validate` traces of DiskSim 4.0. Non-goals: requests that were outstanding together (they follow each
//! other without thought; replay by arrival keeps them).

use crate::drive::{Drive, DriveRequest, PastEnd};
use model::record::{Op, Request};

/// Why a row cannot be replayed. Completes "failed to replay the trace: …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The model is too small.
    #[error("request {request_id}: {source}")]
    PastEnd {
        /// The row.
        request_id: u64,
        /// What it asks for.
        source: PastEnd,
    },
    /// A read or write of an unknown place.
    #[error("request {request_id} has no offset")]
    NoOffset {
        /// The row.
        request_id: u64,
    },
    /// A row without a time: one cannot know how long its sender thought.
    #[error("request {request_id} has no time of arrival or no answer; closed replay needs both")]
    NoTime {
        /// The row.
        request_id: u64,
    },
}

/// Rows on their way through a drive.
#[derive(Debug)]
pub struct Closed<'a, I> {
    drive: &'a mut Drive,
    rows: I,
    /// When the last request was answered, in the trace and by the model.
    answered: Option<(i64, f64)>,
}

/// Replays rows, in order of arrival, one after the other: each comes back with the model's times.
pub fn closed<I>(drive: &mut Drive, rows: I) -> Closed<'_, I::IntoIter>
where
    I: IntoIterator<Item = Request>,
{
    Closed { drive, rows: rows.into_iter(), answered: None }
}

impl<I: Iterator<Item = Request>> Iterator for Closed<'_, I> {
    type Item = Result<Request, ReplayError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next()?;
        Some(self.serve(row))
    }
}

impl<I> Closed<'_, I> {
    fn serve(&mut self, row: Request) -> Result<Request, ReplayError> {
        let request_id = row.request_id;
        let times = row.arrival_ns().zip(row.completed_ns);
        let (arrived_ns, completed_ns) = times.ok_or(ReplayError::NoTime { request_id })?;
        let arrival_ns = match self.answered {
            None => arrived_ns.max(0) as f64,
            Some((before_ns, answer_ns)) => answer_ns + (arrived_ns - before_ns).max(0) as f64,
        };
        let request = self.request(&row)?;
        let answer_ns = match request {
            None => arrival_ns,
            Some(request) => {
                let served = self.drive.serve(arrival_ns, request);
                served.map_err(|source| ReplayError::PastEnd { request_id, source })?
            }
        };
        self.answered = Some((completed_ns, answer_ns));
        let arrived_ns = Some(arrival_ns.round() as i64);
        Ok(Request {
            queued_ns: arrived_ns,
            started_ns: arrived_ns,
            issued_ns: arrived_ns,
            completed_ns: Some(answer_ns.round() as i64),
            error: 0,
            ..row
        })
    }

    /// What it asks of the drive; what neither reads nor writes takes no time.
    fn request(&self, row: &Request) -> Result<Option<DriveRequest>, ReplayError> {
        if !matches!(row.op, Op::Read | Op::Write) {
            return Ok(None);
        }
        let offset =
            row.offset_bytes.ok_or(ReplayError::NoOffset { request_id: row.request_id })?;
        let sector_bytes = u64::from(self.drive.mechanics.layout.sector_bytes);
        let block = offset / sector_bytes;
        let end = (offset + u64::from(row.length_bytes)).div_ceil(sector_bytes);
        let blocks = (end - block) as u32;
        Ok(Some(DriveRequest { block, blocks, is_write: row.op == Op::Write }))
    }
}

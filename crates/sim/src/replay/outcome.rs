//! What a replay came to, and what it is refused for.

/// Why a replay is not one. Completes "failed to replay: …".
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum ReplayError {
    /// The device is named by who knows its name ([`ReplayError::device`]).
    #[error(
        "request {request_id} ends at byte {end_bytes}, but the drive has {drive_bytes}; choose a \
         larger drive"
    )]
    PastEnd { request_id: u64, device: u32, end_bytes: u64, drive_bytes: u64 },
    #[error(
        "request {request_id} arrives {early_ns} ns before the previous row; sort the trace by \
         arrival"
    )]
    Unsorted { request_id: u64, early_ns: u64 },
    #[error(
        "request {request_id} has no arrival or completion time, but a closed replay needs both; \
         give --arrivals open"
    )]
    NoTime { request_id: u64 },
    /// A completion at no time, or before its request came: the simulator is at fault.
    #[error("request {request_id} was completed before its arrival, or never")]
    OutOfTime { request_id: u64 },
    /// Requests were lost or made up: the simulator is at fault.
    #[error("{taken} requests were taken and {completed} completed")]
    Unbalanced { taken: u64, completed: u64 },
    /// Somebody was busy for longer than time went: the simulator is at fault.
    #[error("{what} was busy for {busy_ns} ns within {elapsed_ns} ns")]
    Overused { what: String, busy_ns: u64, elapsed_ns: u64 },
    /// A bus moved more than its rate allows: the simulator is at fault.
    #[error("the bus moved {bytes} bytes in {busy_ns} ns, which is above {rate_bytes_per_s} B/s")]
    AboveRate { bytes: u64, busy_ns: u64, rate_bytes_per_s: u64 },
}

impl ReplayError {
    /// The trace's number for the device whose request is at fault, where it is one device's.
    pub fn device(&self) -> Option<u32> {
        match self {
            Self::PastEnd { device, .. } => Some(*device),
            _ => None,
        }
    }
}

/// What one device did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceOutcome {
    /// The trace's number for it.
    pub device: u32,
    /// Reads, writes and flushes completed.
    pub requests: u64,
    /// Those that found the controller full and waited in the driver's queue.
    pub queued: u64,
    /// The most that had arrived and were not completed.
    pub most_outstanding: u64,
    /// Time for which the drive had a request, or several, ns.
    pub busy_ns: u64,
}

/// What a replay came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// By device, in the order of their first requests.
    pub devices: Vec<DeviceOutcome>,
    /// Rows taken and completed.
    pub requests: u64,
    /// Rows that are not for a drive to serve: neither read, write nor flush, parts of another
    /// row, without a place, orphans.
    pub left_out: u64,
    /// The most rows that were kept at once.
    pub most_kept: usize,
    /// The first arrival, ns.
    pub began_ns: u64,
    /// The last completion, ns.
    pub ended_ns: u64,
}

impl Outcome {
    /// Requests that waited in a driver's queue since a controller was full.
    pub fn queued(&self) -> u64 {
        self.devices.iter().map(|device| device.queued).sum()
    }

    /// One sentence on rows that were not replayed; none where all were.
    pub fn left_out_sentence(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} of {} rows are not for a drive to serve and were left out: neither read, \
                 write nor flush, parts of others, without a place, a length or a beginning",
                self.left_out,
                self.left_out + self.requests
            )
        })
    }

    /// One sentence on what the controllers could not take at once; none where they took
    /// everything.
    pub fn queueing_sentence(&self) -> Option<String> {
        let most = self.devices.iter().map(|device| device.most_outstanding).max().unwrap_or(0);
        let queued = self.queued();
        (queued > 0).then(|| {
            format!(
                "{queued} of {} requests found the controller full and waited in the driver's \
                 queue; at most {most} were outstanding on a device",
                self.requests
            )
        })
    }
}

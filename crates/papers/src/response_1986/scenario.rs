//! The scenario's file: a machine's profile with a `load`, and what of it was fitted.

use crate::CATALOG;
use sim::profile::{Profile, ProfileError, Reader};
use sim::replay::ReplayMachine;

pub(super) const PATH: &str = "papers/response-1986.toml";
/// What stands in it.
pub const TEXT: &str = include_str!("../../../../papers/response-1986.toml");

/// What nobody printed and the fit found: five numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inputs {
    /// Writes besides the syncs, a second.
    pub writes_per_s: f64,
    /// Writes of a sync, on the mean; their numbers are exponential.
    pub writes_per_sync: f64,
    /// The share of requests that go to the cylinder of the one before on its drive.
    pub local: f64,
    /// What a request takes besides arm, platter and bus, ms.
    pub overhead_ms: f64,
    /// From one write of a sync to the next: the processor hands them over one by one, ms.
    pub sync_gap_ms: f64,
}

impl Inputs {
    /// What each is called, in the order of [`Self::values`].
    pub const NAMES: [&'static str; 5] =
        ["writes_per_s", "writes_per_sync", "local", "overhead_ms", "sync_gap_ms"];

    /// All five.
    pub fn values(&self) -> [f64; 5] {
        [self.writes_per_s, self.writes_per_sync, self.local, self.overhead_ms, self.sync_gap_ms]
    }

    /// From all five.
    pub fn of(values: [f64; 5]) -> Self {
        let [writes_per_s, writes_per_sync, local, overhead_ms, sync_gap_ms] = values;
        Self { writes_per_s, writes_per_sync, local, overhead_ms, sync_gap_ms }
    }

    /// Requests besides the syncs, a second: what is left of all.
    pub(super) fn singles_per_s(&self, load: &Load) -> f64 {
        let of_syncs = self.writes_per_sync * 1e9 / load.sync_interval_ns;
        (load.requests_per_s - of_syncs).max(self.writes_per_s).max(1e-3)
    }

    pub(super) fn mean_gap_ns(&self, load: &Load) -> f64 {
        1e9 / self.singles_per_s(load)
    }
}

/// What was printed of the load, or is assumed.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Requests of all drives and kinds, a second.
    pub requests_per_s: f64,
    /// Drives alike.
    pub drives: usize,
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Bytes of a cylinder.
    pub cylinder_bytes: u64,
    /// Bytes of a slice (a file system).
    pub slice_bytes: u64,
    /// The share of a slice that its i-list takes.
    pub i_list: f64,
    /// From one sync to the next, ns.
    pub sync_interval_ns: f64,
    /// Of the measurement, ns.
    pub duration_ns: f64,
    /// The system's buffers: no sync writes more.
    pub buffers: u64,
}

/// The scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub(super) profile: Profile,
    /// What is printed or assumed.
    pub load: Load,
    /// What is fitted.
    pub inputs: Inputs,
}

impl Scenario {
    /// Reads the scenario's file.
    pub fn read(text: &str) -> Result<Self, ProfileError> {
        let profile = CATALOG.load_text("response-1986", PATH, text)?;
        let reader = profile.reader();
        let (load, inputs) = loads(&reader)?;
        ReplayMachine::read(&reader)?;
        Ok(Self { profile, load, inputs })
    }

    /// The machine, with one setting changed where one is given.
    pub(super) fn machine(
        &self,
        inputs: &Inputs,
        settings: &[(&str, &str)],
    ) -> Result<ReplayMachine, ProfileError> {
        let mut profile = self.profile.clone();
        profile.set_number("drive.command.overhead", inputs.overhead_ms, "ms")?;
        for (key, value) in settings {
            profile.set(key, value)?;
        }
        let reader = profile.reader();
        loads(&reader)?;
        ReplayMachine::read(&reader)
    }
}

fn loads(reader: &Reader) -> Result<(Load, Inputs), ProfileError> {
    let load = reader.below("load");
    let inputs = Inputs {
        writes_per_s: load.number_from("writes_per_s", 0.0)?,
        writes_per_sync: load.number_from("writes_per_sync", 0.0)?,
        local: load.fraction("local")?,
        overhead_ms: reader.below("drive").below("command").time_ns("overhead")? / 1e6,
        sync_gap_ms: load.time_ns("sync_gap")? / 1e6,
    };
    let layout = reader.below("drive").below("layout");
    let sector_bytes = layout.size_bytes("sector_size")?;
    let sectors = layout.count("sectors_per_track")? * layout.count("heads")?;
    let load = Load {
        requests_per_s: load.number_from("requests_per_s", 0.0)?,
        drives: load.count_in("drives", 1..=64)? as usize,
        request_bytes: load.size_bytes("request_size")?,
        cylinder_bytes: sectors * sector_bytes,
        slice_bytes: load.count_in("slice_blocks", 1..=1 << 40)? * sector_bytes,
        i_list: load.fraction("i_list")?,
        sync_interval_ns: load.time_ns("sync_interval")?.max(1.0),
        duration_ns: load.time_ns("duration")?,
        buffers: load.count("buffers")?,
    };
    Ok((load, inputs))
}

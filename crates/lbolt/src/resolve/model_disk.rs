//! The overhead experiment on modelled machines: the paper's own sizes, in sectors and tracks of
//! the model's drive.

use crate::resolve::modelled::{load, refused};
use crate::resolve::target::ModelTarget;
use analyze::overhead::Drive;
use cli::OverheadOptions;
use experiment::overhead::{Sweep, model_sweeps};
use messages::fault::{Fault, failure};
use model::workload::Arithmetic;
use sim::drive::Mechanics;

/// Virtual time of a pass: tens of the longest calls.
pub(super) const PASS_NS: u64 = 5_000_000_000;

/// What the experiment must know of a model's drive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Disk {
    pub(super) drive: Drive,
    sector_bytes: u64,
    sectors_per_track: u64,
    tracks_per_cylinder: u64,
}

impl Disk {
    pub(super) fn sweeps(&self, arithmetic: &[Arithmetic]) -> Vec<Sweep> {
        model_sweeps(
            arithmetic,
            self.sector_bytes,
            self.sectors_per_track,
            self.tracks_per_cylinder,
        )
    }
}

/// The drive of the model that is requested.
/// Errors: a profile at fault; an account that a model does not have.
pub(super) fn disk(options: &OverheadOptions, target: &ModelTarget) -> anyhow::Result<Disk> {
    let requested = options.account.iter().find(|account| *account != "none");
    if requested.is_some() || options.trace {
        let sentence = format!(
            "model:{}: a model accounts for its CPU time itself; leave out --account and --trace",
            target.model
        );
        return Err(failure(Fault::Usage, sentence));
    }
    let profile = load(&target.model, &target.changes())?;
    let mechanics = Mechanics::read(&profile.reader().below("drive")).map_err(refused)?;
    let first = mechanics.layout.spot(0);
    let (sector_bytes, heads) = (mechanics.layout.sector_bytes, mechanics.layout.heads());
    Ok(Disk {
        drive: Drive {
            sector_bytes: f64::from(sector_bytes),
            revolution_ns: mechanics.revolution_ns,
            tracks_per_cylinder: f64::from(heads),
        },
        sector_bytes: u64::from(sector_bytes),
        sectors_per_track: u64::from(first.left_on_track),
        tracks_per_cylinder: u64::from(heads),
    })
}

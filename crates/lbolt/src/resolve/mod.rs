//! From options as typed to what is meant: targets, sizes, places, plans. What cannot be done is
//! refused here, in a sentence, before anything is made or measured.

pub(crate) mod calibrate;
pub(crate) mod change;
pub(crate) mod curve;
pub(crate) mod device;
pub(crate) mod history;
pub(crate) mod holes;
pub(crate) mod model_disk;
pub(crate) mod modelled;
pub(crate) mod overhead;
pub(crate) mod place;
pub(crate) mod replay;
pub(crate) mod rounds;
pub(crate) mod selection;
pub(crate) mod storm;
pub(crate) mod survey;
pub(crate) mod sync;
pub(crate) mod target;
pub(crate) mod throughput;

/// An experiment's options, resolved.
pub(crate) trait Resolved {
    /// The plan: what `--dry-run` prints and run.json keeps.
    /// Errors: none that a plan could have.
    fn plan(&self) -> serde_json::Result<serde_json::Value>;
    /// Why this user may do none of it, where that is known before anything is announced.
    fn refusal(&self) -> Option<String> {
        None
    }
    /// What is going to happen, where somebody may wait for it.
    fn announcement(&self) -> String;
}
pub(crate) mod volume;

//! Whose a trace is: its host, the models and the firmware of its devices, and its kernel. What is
//! named on the command line comes before what the trace's run says; an imported trace is of no
//! device of this machine, nor of its host.
//!
//! Non-goals: what a foreign trace says itself.

use cli::IdentityOptions;
use model::history::{HostFacts, Models};
use model::record::RollupRow;
use model::run::{RunDirectory, RunInfo, parent_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What made a run of a foreign trace.
const IMPORT: &str = "import";

/// Of an input.
#[derive(Debug, Clone, Default)]
pub(super) struct Identity {
    pub(super) host: Option<String>,
    /// By devices, as far as they are known.
    pub(super) models: Models,
    facts: HostFacts,
    /// Of all devices.
    model: Option<String>,
    firmware: Option<String>,
}

impl Identity {
    /// Of a trace.
    pub(super) fn of(trace: &Path, own: &IdentityOptions) -> Self {
        let info = info_of(trace);
        let (imported, captured) = match info.as_ref() {
            Some(info) if info.experiment == IMPORT => (Some(info), None),
            other => (None, other),
        };
        let said = |key: &str| imported?.plan.get(key)?.as_str().map(str::to_owned);
        let machine = |key: &str| captured?.machine.get(key)?.as_str().map(str::to_owned);
        // `Linux` and more stand behind the release.
        let release = |kernel: String| kernel.split_whitespace().next().map(str::to_owned);
        let with_devices = captured.filter(|info| info.plan.get("devices").is_some());
        let kernel = with_devices.and_then(|_| machine("kernel")).and_then(release);
        Self {
            host: own.host.clone().or_else(|| said("host")).or_else(|| machine("host")),
            models: of_devices(with_devices, "model"),
            facts: HostFacts {
                kernel: own.kernel.clone().or_else(|| said("kernel")).or(kernel),
                firmware: of_devices(with_devices, "firmware"),
                ..HostFacts::default()
            },
            model: own.model.clone().or_else(|| said("model")),
            firmware: own.firmware.clone().or_else(|| said("firmware")),
        }
    }

    /// Of a host of which something is known already.
    pub(super) fn renamed(facts: HostFacts, own: &IdentityOptions) -> Self {
        Self {
            facts: HostFacts { kernel: own.kernel.clone().or(facts.kernel.clone()), ..facts },
            model: own.model.clone(),
            firmware: own.firmware.clone(),
            ..Self::default()
        }
    }

    /// A row with what is known of its device.
    pub(super) fn row<'a>(&'a mut self, row: RollupRow<'a>) -> RollupRow<'a> {
        let Some(device) = row.device else { return row };
        if let Some(firmware) = &self.firmware
            && self.facts.firmware.get(device) != Some(firmware)
        {
            self.facts.firmware.insert(device.to_owned(), firmware.clone());
        }
        RollupRow { model: self.model.as_deref().or(row.model), ..row }
    }

    /// What is known besides of its host.
    pub(super) fn facts(self) -> HostFacts {
        self.facts
    }
}

/// What is told of a run, if it is one.
fn info_of(path: &Path) -> Option<RunInfo> {
    let run = if path.is_dir() { path } else { parent_of(path) };
    RunDirectory::open(run).ok().map(|(_, info)| info)
}

/// What a run says of each of its devices under a key, by their names.
fn of_devices(info: Option<&RunInfo>, key: &str) -> BTreeMap<String, String> {
    let devices = info.and_then(|info| info.plan.get("devices")?.as_array());
    let of = |device: &Value| {
        let text = |key| device.get(key)?.as_str().map(str::to_owned);
        Some((text("name")?, text(key)?))
    };
    devices.into_iter().flatten().filter_map(of).collect()
}

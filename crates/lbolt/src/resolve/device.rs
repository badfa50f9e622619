//! `model:NAME[,size=…][,slow=…][,KEY=VALUE]…` as a device of this machine.

use crate::resolve::modelled::{load, refused};
use cli::DeviceOptions;
use messages::fault::{Fault, failure};
use model::units::{parse_size_above_zero, show_size};
use serde::{Deserialize, Serialize};
use sim::replay::ReplayMachine;
use std::path::{Path, PathBuf};

/// A modelled device, as resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DevicePlan {
    /// The model's name, or the path of its profile.
    pub(crate) model: String,
    /// What it is.
    pub(crate) title: String,
    /// Other values of its keys than its profile's.
    pub(crate) changes: Vec<(String, String)>,
    /// Its size, bytes.
    pub(crate) size_bytes: u64,
    /// The device's logical block: whole sectors of the drive, bytes.
    pub(crate) sector_bytes: u32,
    /// Whether an arm moves in it.
    pub(crate) is_rotational: bool,
    /// Requests that it takes at once.
    pub(crate) depth: u32,
    /// How many times as long as on the model everything takes.
    pub(crate) slow: f64,
    /// Where its data lie; in memory where none is named.
    pub(crate) at: Option<PathBuf>,
}

const KEYS: &str = "size, depth, slow, and the keys of the model (they contain a dot; lbolt \
                    simulate --show-model lists them)";

impl DevicePlan {
    /// What was requested.
    /// Errors: a TARGET that is no model, or not to be served; an unknown key or value.
    pub(crate) fn of(options: &DeviceOptions) -> anyhow::Result<Self> {
        Self::parse(&options.target, options.at.as_deref())
    }

    /// Errors: as [`Self::of`].
    pub(crate) fn parse(text: &str, at: Option<&Path>) -> anyhow::Result<Self> {
        let usage = |sentence: String| failure(Fault::Usage, format!("{text}: {sentence}"));
        let rest = text.strip_prefix("model:").ok_or_else(|| {
            usage(
                "not a model; write model:NAME (lbolt simulate --list-models lists the \
                   names)"
                    .into(),
            )
        })?;
        let mut parts = rest.split(',');
        let name = parts.next().unwrap_or_default();
        if name.is_empty() {
            return Err(usage(
                "the model's name is missing; lbolt simulate --list-models lists the \
                              names"
                    .into(),
            ));
        }
        let (mut size, mut slow, mut depth, mut changes) = (None, 1.0, None, Vec::new());
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                usage(format!("\"{part}\" is not key=value; the keys are {KEYS}"))
            })?;
            match key {
                "size" => {
                    let bytes = parse_size_above_zero(value);
                    size = Some(bytes.map_err(|error| usage(format!("size=: {error}")))?);
                }
                "depth" => depth = Some(depth_of(value).map_err(usage)?),
                "slow" => slow = factor(value).map_err(usage)?,
                _ if key.contains('.') && !value.is_empty() => {
                    changes.push((key.to_owned(), value.to_owned()));
                }
                _ => return Err(usage(format!("\"{key}\" is not a key; the keys are {KEYS}"))),
            }
        }
        let profile = load(name, &changes)?;
        let machine = ReplayMachine::of(&profile).map_err(refused)?;
        let capacity = machine.drive.capacity();
        let whole = |block: &u32| block.is_multiple_of(capacity.sector_bytes.max(1));
        let sector_bytes = [512, 1024, 2048, 4096].into_iter().find(whole).ok_or_else(|| {
            usage(format!(
                "its sectors of {} bytes do not divide a Linux block (512 to 4096 bytes); choose \
                 another model",
                capacity.sector_bytes
            ))
        })?;
        let drive_bytes = capacity.bytes();
        let size_bytes = size.unwrap_or(drive_bytes) / 4096 * 4096;
        if size_bytes == 0 || size_bytes > drive_bytes {
            let sentence = format!(
                "size={} is out of range; give 4k to {}",
                show_size(size.unwrap_or(0)),
                show_size(drive_bytes)
            );
            return Err(usage(sentence));
        }
        let title = profile.title.clone();
        let at = at.map(Path::to_owned);
        let depth = depth.unwrap_or_else(|| machine.depth());
        let is_rotational = profile.reader().below("drive").below("rotation").has_any();
        Ok(Self {
            model: name.into(),
            title,
            changes,
            size_bytes,
            sector_bytes,
            is_rotational,
            depth,
            slow,
            at,
        })
    }
}

/// `slow=`: 1 or more.
fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| (1.0..=1e6).contains(factor));
    factor.ok_or_else(|| format!("slow={text} is not a number from 1 to 1000000"))
}

/// `depth=`: what a loop device can have.
fn depth_of(text: &str) -> Result<u32, String> {
    let depth = text.parse().ok().filter(|depth| (1..=128).contains(depth));
    depth.ok_or_else(|| format!("depth={text} is not a number from 1 to 128"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_its_drive_or_a_part_of_it() {
        let plan = DevicePlan::parse("model:ra81", None).unwrap();
        assert_eq!((plan.sector_bytes, plan.slow, plan.size_bytes % 4096), (512, 1.0, 0));
        let text = "model:atlas10k,size=1g,slow=2.5,drive.rotation.speed=7200 rpm";
        let plan = DevicePlan::parse(text, Some(Path::new("/tmp"))).unwrap();
        assert_eq!((plan.size_bytes, plan.slow), (1 << 30, 2.5));
        assert_eq!(plan.changes, [("drive.rotation.speed".into(), "7200 rpm".into())]);
        assert_eq!(plan.at, Some("/tmp".into()));
        // Its sectors have 256 bytes.
        let plan = DevicePlan::parse("model:hp-c2200a", None).unwrap();
        assert_eq!(plan.sector_bytes, 512);
    }

    #[test]
    fn bad_devices_name_the_part_and_the_remedy() {
        for (text, sentence) in [
            ("ra81", "write model:NAME"),
            ("model:", "--list-models"),
            ("model:ra82", "did you mean"),
            ("model:ra81,size=1t", "give 4k to 4"),
            ("model:ra81,size=100", "is out of range"),
            ("model:ra81,size=x", "size="),
            ("model:ra81,slow=0.5", "from 1 to 1000000"),
            ("model:ra81,slow=nan", "from 1 to 1000000"),
            ("model:ra81,depth=0", "from 1 to 128"),
            ("model:ra81,fast=2", "the keys are size, depth, slow"),
            ("model:ra81,fast", "key=value"),
            ("model:ra81,drive.rotation.sped=1 rpm", "rotation"),
            ("model:vax780-uda50-ra81", "cannot replay a trace"),
            ("model:819", "do not divide a Linux block"),
        ] {
            let error = DevicePlan::parse(text, None).unwrap_err().to_string();
            assert!(error.contains(sentence), "{text}: {error}");
        }
    }
}

//! What the plans of all experiments say of the systems that are measured: which they are, and
//! where they lie. A plan is printed by `--dry-run`, kept in run.json, and read back by
//! `--against`.
//!
//! Non-goals: what is done on them (each experiment's `Plan`).

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where something that is tested lies.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Where its file system is mounted; none of a device that is tested itself.
    pub mount_point: Option<PathBuf>,
    /// `ext4`, `btrfs`, …
    pub file_system: Option<String>,
    /// The mount's options, then the file system's.
    pub mount_options: Option<String>,
    /// The device's name, and those at the bottom of what it lies on.
    pub devices: Vec<String>,
}

/// A system that is measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemPlan {
    /// The column: `ext4:4k`, a directory, a device.
    pub column: String,
    /// The target as it was requested.
    pub target: String,
    /// Drives that run at once.
    pub drives: usize,
    /// `directory`, `block device`, `fresh file system` or `model`.
    pub kind: String,
    /// Bytes of each drive's image, where it is made for the run.
    pub image_bytes: Option<u64>,
    /// Where it lies on this machine; a model lies nowhere.
    #[serde(default)]
    pub places: Vec<TargetFacts>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn facts() -> impl Strategy<Value = TargetFacts> {
        let name = || prop::option::of("\\PC{0,8}");
        (name(), name(), name(), prop::collection::vec("\\PC{1,8}", 0..3)).prop_map(
            |(mount_point, file_system, mount_options, devices)| TargetFacts {
                mount_point: mount_point.map(PathBuf::from),
                file_system,
                mount_options,
                devices,
            },
        )
    }

    proptest! {
        #[test]
        fn plans_survive_their_json(
            (column, target, kind) in ("\\PC{0,8}", "\\PC{0,8}", "\\PC{0,8}"),
            drives in any::<usize>(),
            image_bytes in any::<Option<u64>>(),
            places in prop::collection::vec(facts(), 0..3),
        ) {
            let plan = SystemPlan { column, target, drives, kind, image_bytes, places };
            let text = serde_json::to_string(&plan).unwrap();
            prop_assert_eq!(serde_json::from_str::<SystemPlan>(&text).unwrap(), plan);
        }
    }

    #[test]
    fn a_plan_without_places_is_of_an_earlier_version_and_one_without_drives_is_none() {
        let text = r#"{"column":"c","target":"t","drives":2,"kind":"model","image_bytes":null}"#;
        let plan: SystemPlan = serde_json::from_str(text).unwrap();
        assert_eq!((plan.drives, plan.places), (2, vec![]));
        let error = serde_json::from_str::<SystemPlan>(&text.replace("drives", "disks"));
        assert!(error.unwrap_err().to_string().starts_with("missing field `drives`"));
    }
}

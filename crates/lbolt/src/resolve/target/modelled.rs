//! `model:NAME[,drives=N][,block=SIZE][,KEY=VALUE]…`: a modelled machine as a TARGET. A key with a
//! dot is one of the model's own (`drive.rotation.speed=5400 rpm`).

use super::drive_count;
use model::units::{parse_size_above_zero, show_size};

/// The model's key that `block=` stands for.
const BLOCK: &str = "file_system.block_size";

/// A modelled machine as requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelTarget {
    /// The model's name, or the path of its profile.
    pub(crate) model: String,
    /// Drives that run at once.
    pub drives: u32,
    /// Bytes of a file system's block, where given.
    pub block_bytes: Option<u64>,
    /// Other values of the model than its profile's, by dotted key.
    pub set: Vec<(String, String)>,
}

impl ModelTarget {
    /// The column's name: `vax780-sc780-eagle:4k`, and what was set.
    pub(super) fn column(&self) -> String {
        let block = self.block_bytes.map(|bytes| format!(":{}", show_size(bytes)));
        let set = self.set.iter().map(|(key, value)| format!(" {key}={value}"));
        [Some(self.model.clone()), block].into_iter().flatten().chain(set).collect()
    }

    /// The whole as it could be typed again.
    pub(super) fn canonical(&self) -> String {
        let block = self.block_bytes.map(|bytes| format!(",block={}", show_size(bytes)));
        let set = self.set.iter().map(|(key, value)| format!(",{key}={value}"));
        let head = format!("model:{},drives={}", self.model, self.drives);
        [Some(head), block].into_iter().flatten().chain(set).collect()
    }

    /// What differs from the profile, as the model's own keys and values.
    pub(crate) fn changes(&self) -> Vec<(String, String)> {
        let block = self.block_bytes.map(|bytes| (BLOCK.to_owned(), format!("{bytes} B")));
        block.into_iter().chain(self.set.iter().cloned()).collect()
    }
}

/// `NAME[,key=value]…`; `drives=` and `block=` may be given again, for a system of each.
pub(super) fn parse(text: &str, rest: &str) -> Result<Vec<ModelTarget>, String> {
    let mut parts = rest.split(',');
    let name = parts.next().unwrap_or_default();
    if name.is_empty() {
        return Err(format!(
            "{text}: the model's name is missing; lbolt simulate --list-models \
                            lists the names"
        ));
    }
    let (mut drives, mut blocks, mut set) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        let (key, value) =
            part.split_once('=').ok_or_else(|| format!("{text}: \"{part}\" is not key=value"))?;
        match key {
            "drives" => drives.push(drive_count(text, value)? as u32),
            "block" => blocks.push(Some(
                parse_size_above_zero(value).map_err(|e| format!("{text}: {key}=: {e}"))?,
            )),
            _ if key.contains('.') && !value.is_empty() => {
                set.push((key.to_owned(), value.to_owned()))
            }
            _ => {
                return Err(format!(
                    "{text}: \"{key}\" is not a key; the keys are drives, block, and the keys of \
                     the model (they contain a dot; lbolt simulate --show-model lists them)"
                ));
            }
        }
    }
    if drives.is_empty() {
        drives.push(1);
    }
    if blocks.is_empty() {
        blocks.push(None);
    }
    let of = |block_bytes: Option<u64>, drives: u32| ModelTarget {
        model: name.to_owned(),
        drives,
        block_bytes,
        set: set.clone(),
    };
    Ok(blocks.iter().flat_map(|block| drives.iter().map(|drives| of(*block, *drives))).collect())
}

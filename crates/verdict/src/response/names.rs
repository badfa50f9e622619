//! What devices, cgroups and commands are called in the findings of a response.

use model::record::Commands;

/// What names are made of.
pub struct Names<'a> {
    /// A device's.
    pub device: &'a dyn Fn(u32) -> String,
    /// A cgroup's.
    pub cgroup: &'a dyn Fn(u64) -> String,
    /// Those of commands.
    pub commands: &'a Commands,
}

//! The devices that are captured: as typed, as the kernel numbers them, and as run.json describes
//! them.

use host::device::{DeviceNumber, Tree};
use messages::fault::{Fault, failure};
use messages::output::note;
use model::history::{HostFacts, Models};
use model::record::major_minor;
use model::record::requests::{DeviceStack, LAYERS_MOST};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// What is captured.
#[derive(Debug, Clone, Default)]
pub struct Devices {
    /// Those that were named, by the kernel's dev_t; none: all.
    pub numbers: Vec<u32>,
    /// The names of all devices when the capture began.
    names: BTreeMap<u32, String>,
    /// What each device lies on directly, as whole disks; nothing of those at the bottom.
    stack: DeviceStack,
}

impl Devices {
    /// With those of another capture of the same run.
    pub fn add(&mut self, other: Self) {
        self.numbers.extend(other.numbers);
        self.numbers.sort_unstable();
        self.numbers.dedup();
        self.names.extend(other.names);
        self.stack.extend(other.stack);
    }

    /// What each device lies on directly.
    pub fn stack(&self) -> &DeviceStack {
        &self.stack
    }

    /// What devices are called now, as others tell; one that is gone is called as before.
    pub fn rename(&mut self, now: Self) {
        self.names.extend(now.names);
    }

    /// A device's name; of one without, its two numbers, or its only one if it is none of the
    /// kernel's.
    pub fn name(&self, number: u32) -> String {
        let unnamed = || match device_number(number) {
            DeviceNumber { major: 0, minor } => minor.to_string(),
            device => device.to_string(),
        };
        self.names.get(&number).cloned().unwrap_or_else(unnamed)
    }

    /// The whole disks and partitions that are captured; without partitions where all are.
    pub fn captured(&self) -> impl Iterator<Item = DeviceNumber> {
        let tree = Tree::system();
        let is_captured = move |number: &&u32| match self.numbers.is_empty() {
            true => tree.is_partition(device_number(**number)).is_ok_and(|is_one| !is_one),
            false => self.numbers.contains(number),
        };
        self.names.keys().filter(is_captured).map(|number| device_number(*number))
    }

    /// File systems that lie on these devices and name none of them (btrfs), by their own numbers;
    /// none where all devices are captured.
    pub fn file_systems(&self) -> Vec<u32> {
        let tree = Tree::system();
        let table = tree.mount_table().unwrap_or_default();
        let is_here = |device: &DeviceNumber| {
            let disk = tree.whole_disk(*device).unwrap_or(*device);
            [*device, disk].iter().any(|d| self.numbers.contains(&kernel_number(*d)))
        };
        let mut numbers: Vec<u32> = table
            .iter()
            .filter(|(mount, devices)| mount.device.is_anonymous() && devices.iter().any(is_here))
            .map(|(mount, _)| kernel_number(mount.device))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The numbers and names of the devices that may be in the trace.
    pub fn names(&self) -> impl Iterator<Item = (u32, &str)> {
        let is_captured = |number: &u32| self.numbers.is_empty() || self.numbers.contains(number);
        let named = self.names.iter().map(|(number, name)| (*number, name.as_str()));
        named.filter(move |(number, _)| is_captured(number))
    }

    /// What run.json says of each device that is captured.
    pub fn describe(&self) -> Value {
        let tree = Tree::system();
        let all = self.names.keys().filter(|n| self.numbers.is_empty() || self.numbers.contains(n));
        all.map(|number| describe(&tree, *number, &self.name(*number))).collect()
    }

    /// Says so where the records' own writes go to what is captured.
    pub fn warn_of_own_writes(&self, records: &Path) {
        let directory = records.ancestors().find(|p| p.is_dir()).unwrap_or(Path::new("/"));
        if let Some(name) = self.beneath(directory) {
            note(&format!(
                "the records go to {} on {name}, which is captured: lbolt's own writes are left \
                 out of the figures, but compete with the traced load; use --output on another \
                 device to avoid this",
                model::held::shown(directory).display()
            ));
        }
    }

    /// Says so where a stack that is captured is deeper than its times can be divided.
    pub fn warn_of_depth(&self) {
        let is_captured = |top: &u32| self.numbers.is_empty() || self.numbers.contains(top);
        let tops = self.stack.iter().map(|(upper, _)| upper).filter(is_captured);
        let deepest = tops.map(|top| (self.stack.depth(top), top)).max();
        if let Some((depth, top)) = deepest.filter(|(depth, _)| *depth > LAYERS_MOST) {
            note(&format!(
                "{} is the top of {depth} device layers, but lbolt separates at most \
                 {LAYERS_MOST}: deeper layers count as part of the last one; every request is \
                 captured",
                self.name(top)
            ));
        }
    }

    /// With the names of devices that have come since, and what they lie on.
    pub fn learn(&mut self, now: Self) {
        for (number, name) in now.names {
            self.names.entry(number).or_insert(name);
        }
        let new = now.stack.iter().filter(|(upper, _)| !self.stack.is_upper(*upper));
        let new: Vec<(u32, Vec<u32>)> = new.map(|(upper, on)| (upper, on.to_vec())).collect();
        new.into_iter().for_each(|(upper, on)| self.stack.add(upper, on));
    }

    /// The captured device that a directory's file system lies on, if there is one.
    fn beneath(&self, directory: &Path) -> Option<String> {
        let tree = Tree::system();
        // The number first: a path through another mount namespace has another meaning in ours.
        let number = DeviceNumber::from_dev(rustix::fs::stat(directory).ok()?.st_dev);
        let by_path = || tree.device_of_path(directory).ok()?;
        let device = (!number.is_anonymous()).then_some(number).or_else(by_path)?;
        let mut under = tree.lowest(device).unwrap_or_default();
        under.push(device);
        let disks = under.iter().filter_map(|d| tree.whole_disk(*d).ok()).map(kernel_number);
        let mut found = under.iter().copied().map(kernel_number).chain(disks);
        let hit = found.find(|n| self.numbers.is_empty() || self.numbers.contains(n));
        hit.map(|number| self.name(number))
    }
}

/// The models of all devices that have one, by their names.
pub fn models() -> Models {
    let tree = Tree::system();
    let names = tree.shown_names().unwrap_or_default().into_iter();
    names.filter_map(|(device, name)| Some((name, tree.model(device).ok()??))).collect()
}

/// What is known of this host besides its rows.
pub fn host_facts() -> HostFacts {
    let tree = Tree::system();
    let names = tree.shown_names().unwrap_or_default().into_iter();
    let firmware = names.filter_map(|(device, name)| Some((name, tree.firmware(device).ok()??)));
    let kernel = Some(host::machine::kernel_release());
    HostFacts { kernel, firmware: firmware.collect(), ..HostFacts::default() }
}

/// The kernel's dev_t of a device.
pub fn kernel_number(device: DeviceNumber) -> u32 {
    // The kernel tells no number that it could not have itself.
    model::record::device_number(device.major, device.minor).unwrap_or_default()
}

fn device_number(number: u32) -> DeviceNumber {
    let (major, minor) = major_minor(number);
    DeviceNumber::new(major, minor)
}

fn describe(tree: &Tree, number: u32, name: &str) -> Value {
    let device = device_number(number);
    json!({
        "number": number,
        "name": name,
        "size_bytes": tree.size_bytes(device).ok(),
        "scheduler": tree.scheduler(device).ok().flatten(),
        "whole_disk": tree.whole_disk(device).ok().map(kernel_number),
        "model": tree.model(device).ok().flatten(),
        "firmware": tree.firmware(device).ok().flatten(),
    })
}

/// Resolves what was typed: a device's node, its name, or a file or directory on it.
/// Errors: what is no device here, and on none.
pub fn resolve(typed: &[String]) -> anyhow::Result<Devices> {
    let tree = Tree::system();
    let all = tree.all().unwrap_or_default();
    let names = tree.shown_names().unwrap_or_default().into_iter();
    let names: BTreeMap<u32, String> = names.map(|(d, name)| (kernel_number(d), name)).collect();
    let numbers = typed.iter().map(|text| {
        let named = tree.by_any_name(text).map(|device| vec![device]);
        let found = named.unwrap_or_else(|| on_path(&tree, Path::new(text)));
        if !found.is_empty() {
            return Ok(found.into_iter().map(kernel_number).collect::<Vec<u32>>());
        }
        Err(no_device(text, &names))
    });
    let mut stack = DeviceStack::default();
    let stacked = all.iter().filter_map(|device| stacked(&tree, *device));
    stacked.for_each(|(upper, lowers)| stack.add(upper, lowers));
    let numbers = numbers.collect::<anyhow::Result<Vec<_>>>()?.concat();
    Ok(Devices { numbers, names, stack })
}

/// What a device lies on directly, as whole disks, whose numbers requests have; none at the bottom.
fn stacked(tree: &Tree, device: DeviceNumber) -> Option<(u32, Vec<u32>)> {
    let disk = |lower: DeviceNumber| tree.whole_disk(lower).unwrap_or(lower);
    let lowers = tree.slaves(device).ok()?.into_iter().map(disk).map(kernel_number);
    let lowers: std::collections::BTreeSet<u32> = lowers.collect();
    (!lowers.is_empty()).then(|| (kernel_number(device), lowers.into_iter().collect()))
}

/// Why what was typed is no device.
fn no_device(text: &str, names: &BTreeMap<u32, String>) -> anyhow::Error {
    let known = names.values().cloned().collect::<Vec<_>>().join(", ");
    let sentence = match Path::new(text).exists() {
        true => format!(
            "failed to find the block device of {text:?}: its file system is not on a block device \
             (overlay, tmpfs, network); name the device beneath it, one of {known}"
        ),
        false => format!(
            "failed to find the block device {text:?}; the devices are {known}. Name a device, its \
             node in /dev, or a directory on it"
        ),
    };
    failure(Fault::Usage, sentence)
}

/// The device whose node this is, or those on which it lies.
fn on_path(tree: &Tree, path: &Path) -> Vec<DeviceNumber> {
    // What is asked of the tree begins at its root.
    let Ok(path) = std::path::absolute(path) else { return Vec::new() };
    match tree.device_at(&path) {
        _ if !path.exists() => Vec::new(),
        Some(device) => vec![device],
        None => tree.devices_of_path(&path).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_lies_on_the_same_device_however_it_is_named() {
        let tree = Tree::system();
        let here = std::env::current_dir().unwrap();
        let on = |path: &Path| on_path(&tree, path).into_iter().map(kernel_number);
        let found: Vec<u32> = on(&here).collect();
        if found.is_empty() {
            return println!("skipped: the tests' directory lies on no block device");
        }
        assert!(on(Path::new(".")).eq(found.iter().copied()));
        assert!(on(Path::new("src")).eq(found));
    }
}

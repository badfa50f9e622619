//! Whether the captured devices are still there at a capture's end, and still the same.
//!
//! A device is known by its number while it lives. Its sequence (`diskseq`, since Linux 5.15) tells
//! it from another that gets its number later; its identity (`wwid`, a serial number, the UUID of
//! device mapper or md) tells where it came back. A volume of device mapper is another one as
//! soon as it has another table.
//!
//! Non-goals: what became of its requests (the rows tell), devices that come and go meanwhile.

use super::{Devices, kernel_number};
use host::device::{DeviceNumber, Tree};
use model::doubt::{Code, Doubt, Judgement};
use model::record::{Finding, Subject};
use std::collections::BTreeMap;

/// The finding of a device that is gone or another one.
pub(super) const DEVICE_CHANGED: &str = "device_changed_count";
/// What happened to a device is noted with the trace, under this and the device's name.
pub const CHANGED: &str = "changed.";

/// What a device was.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    sequence: Option<u64>,
    identity: Option<String>,
    size_bytes: Option<u64>,
    beneath: Vec<DeviceNumber>,
    /// A digest of the table of a device-mapper device.
    table: Option<u64>,
}

impl Seen {
    /// None of a device that is gone.
    fn of(tree: &Tree, device: DeviceNumber) -> Option<Self> {
        tree.name(device).ok()?;
        Some(Self {
            sequence: tree.sequence(device),
            identity: tree.identity(device),
            size_bytes: tree.size_bytes(device).ok(),
            beneath: tree.slaves(device).unwrap_or_default(),
            table: tree.table_digest(device),
        })
    }

    fn is_another(&self, before: &Self) -> bool {
        self.sequence != before.sequence || self.identity != before.identity
    }
}

/// The devices of a capture, as they were when it was first in the kernel.
#[derive(Debug, Default)]
pub(super) struct Presence {
    begun: BTreeMap<DeviceNumber, Seen>,
    /// What happened to one, once it is known.
    changed: BTreeMap<DeviceNumber, Doubt>,
}

impl Presence {
    /// A stretch begins.
    pub(super) fn begin(&mut self, devices: &Devices) {
        let tree = Tree::system();
        for device in devices.captured() {
            if let Some(seen) = Seen::of(&tree, device) {
                self.begun.entry(device).or_insert(seen);
            }
        }
    }

    /// A stretch is over.
    pub(super) fn end(&mut self, devices: &Devices) {
        self.compare(&Tree::system(), |device| devices.name(kernel_number(device)));
    }

    fn compare(&mut self, tree: &Tree, name: impl Fn(DeviceNumber) -> String) {
        for (device, before) in &self.begun {
            if self.changed.contains_key(device) {
                continue;
            }
            if let Some(doubt) = change(tree, *device, before, &name(*device)) {
                self.changed.insert(*device, doubt);
            }
        }
    }

    /// Of each device that is gone or another by now: what happened to it.
    pub(super) fn findings(&self, devices: &Devices) -> Vec<Finding> {
        let finding = |(device, doubt): (&DeviceNumber, &Doubt)| {
            let subject = Subject::device(&devices.name(kernel_number(*device)));
            let method = "sysfs, when the capture began and when it ended";
            Finding::new(&subject, DEVICE_CHANGED, Some(1.0), 1, method)
                .judged(Judgement::of(vec![doubt.clone()]))
        };
        self.changed.iter().map(finding).collect()
    }
}

fn change(tree: &Tree, device: DeviceNumber, before: &Seen, name: &str) -> Option<Doubt> {
    let named = ("device", name.into());
    // A loop device is there without a file, too.
    let is_there = |now: &Seen| now.identity.is_some() || before.identity.is_none();
    match Seen::of(tree, device).filter(is_there) {
        Some(now) if now.is_another(before) => Some(Doubt::new(Code::DeviceReplaced, [named])),
        Some(now) if now.table != before.table || now.beneath != before.beneath => {
            Some(Doubt::new(Code::TableChanged, [named]))
        }
        Some(now) if now.size_bytes != before.size_bytes => {
            Some(Doubt::new(Code::DeviceResized, [named]))
        }
        Some(_) => None,
        None => Some(match back_as(tree, before) {
            Some(other) => Doubt::new(Code::DeviceBack, [named, ("other", other.into())]),
            None => Doubt::new(Code::DeviceGone, [named]),
        }),
    }
}

/// The name by which a device that is gone is there again.
fn back_as(tree: &Tree, before: &Seen) -> Option<String> {
    let identity = before.identity.as_ref()?;
    let all = tree.all().unwrap_or_default();
    let is_it = |device: &DeviceNumber| tree.identity(*device).as_ref() == Some(identity);
    tree.name(all.into_iter().find(is_it)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of a made machine: number, name, attributes.
    type Made<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

    /// A machine with these devices.
    fn machine(devices: &[Made<'_>]) -> (tempfile::TempDir, Tree) {
        let root = tempfile::tempdir().unwrap();
        for (number, name, attributes) in devices {
            let folder = root.path().join("sys/dev/block").join(number);
            std::fs::create_dir_all(folder.join("dm")).unwrap();
            std::fs::create_dir_all(folder.join("slaves")).unwrap();
            std::fs::write(folder.join("uevent"), format!("DEVNAME={name}\n")).unwrap();
            for (attribute, text) in *attributes {
                std::fs::write(folder.join(attribute), text).unwrap();
            }
            let class = root.path().join("sys/class/block").join(name);
            std::fs::create_dir_all(&class).unwrap();
            std::fs::write(class.join("dev"), number).unwrap();
        }
        let tree = Tree::new(root.path());
        (root, tree)
    }

    const DISK: DeviceNumber = DeviceNumber::new(259, 1);

    fn became(before: &[(&str, &str)], now: &[Made<'_>]) -> String {
        let (_root, tree) = machine(&[("259:1", "nvme1n1", before)]);
        let begun = BTreeMap::from([(DISK, Seen::of(&tree, DISK).unwrap())]);
        let mut presence = Presence { begun, ..Presence::default() };
        let (_root, tree) = machine(now);
        presence.compare(&tree, |_| "nvme1n1".to_owned());
        let doubts: Vec<Doubt> = presence.changed.into_values().collect();
        report::doubt::sentences(&doubts)
    }

    #[test]
    fn a_device_that_is_gone_back_replaced_or_resized_is_said_to_be() {
        let disk = [("diskseq", "7\n"), ("size", "16\n"), ("wwid", "eui.1\n")];
        assert_eq!(became(&disk, &[("259:1", "nvme1n1", &disk)]), "");
        let gone = became(&disk, &[]);
        assert!(gone.starts_with("nvme1n1 vanished during the capture"), "{gone}");
        let back =
            became(&disk, &[("259:4", "nvme2n1", &[("diskseq", "9\n"), ("wwid", "eui.1\n")])]);
        assert!(back.contains("came back as nvme2n1"), "{back}");
        let detached = became(&disk, &[("259:1", "nvme1n1", &[("diskseq", "8\n")])]);
        assert_eq!(detached, gone);
        let other = [("diskseq", "8\n"), ("size", "16\n"), ("wwid", "eui.2\n")];
        let replaced = became(&disk, &[("259:1", "nvme1n1", &other)]);
        assert!(replaced.contains("its number was reassigned"), "{replaced}");
        let larger = [("diskseq", "7\n"), ("size", "32\n"), ("wwid", "eui.1\n")];
        let resized = became(&disk, &[("259:1", "nvme1n1", &larger)]);
        assert!(resized.contains("size"), "{resized}");
    }

    #[test]
    fn a_volume_on_other_devices_has_another_table() {
        let (root, tree) =
            machine(&[("253:0", "dm-0", &[]), ("8:0", "sda", &[]), ("8:16", "sdb", &[])]);
        let volume = DeviceNumber::new(253, 0);
        let slaves = root.path().join("sys/dev/block/253:0/slaves");
        std::fs::write(slaves.join("sda"), "").unwrap();
        let begun = BTreeMap::from([(volume, Seen::of(&tree, volume).unwrap())]);
        let mut presence = Presence { begun, ..Presence::default() };
        presence.compare(&tree, |_| "vg-lv".to_owned());
        assert_eq!(presence.changed.len(), 0);
        std::fs::rename(slaves.join("sda"), slaves.join("sdb")).unwrap();
        presence.compare(&tree, |_| "vg-lv".to_owned());
        let said = presence.changed.values().map(report::doubt::sentence);
        let said: Vec<String> = said.collect();
        assert!(
            said[0].starts_with("vg-lv got another mapping table during the capture"),
            "{said:?}"
        );
    }
}

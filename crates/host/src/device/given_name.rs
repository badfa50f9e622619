//! The names that people gave to devices: a logical volume's (`vg/lv`), device mapper's (`crypt`),
//! an array's (`md/data`); of all others the kernel's.
//!
//! LVM joins the names of group and volume by `-`, and doubles a `-` inside of either. Source:
//! lib/misc/lvm-string.c of LVM2 (dm_build_dm_name), Documentation/ABI/testing/sysfs-block-dm.
//!
//! Non-goals: names that udev makes of serial numbers and labels (/dev/disk), multipath's aliases
//! beyond device mapper's own names.

use super::{DeviceError, DeviceNumber, Tree};
use std::collections::BTreeMap;
use std::path::Path;

/// What the identifier of a logical volume begins with.
const OF_LVM: &str = "LVM-";

/// Where device mapper and md have links of their names.
const MAPPER: &str = "mapper/";
const ARRAYS: &str = "dev/md";

impl Tree {
    /// What each device is called, partitions too: as people named it, and no two alike. Where two
    /// would be, or one is called as the kernel calls another, the kernel's names stay.
    /// Errors: sysfs cannot be listed.
    pub fn shown_names(&self) -> Result<BTreeMap<DeviceNumber, String>, DeviceError> {
        let arrays = self.arrays();
        let all = self.all()?.into_iter();
        let kernel: BTreeMap<DeviceNumber, String> =
            all.filter_map(|device| Some((device, self.name(device).ok()?))).collect();
        let given = |device: DeviceNumber| self.given_name(device, &arrays);
        let given: BTreeMap<DeviceNumber, String> =
            kernel.keys().filter_map(|device| Some((*device, given(*device)?))).collect();
        let mut used: BTreeMap<&str, u32> = BTreeMap::new();
        given.values().chain(kernel.values()).for_each(|name| *used.entry(name).or_default() += 1);
        let is_one = |name: &&String| used.get(name.as_str()) == Some(&1);
        let shown = |(device, name): (&DeviceNumber, &String)| {
            (*device, given.get(device).filter(is_one).unwrap_or(name).clone())
        };
        Ok(kernel.iter().map(shown).collect())
    }

    /// The device of a name: the kernel's, the one that is shown, device mapper's, or the path of
    /// any of these under /dev, whether there is such a node or not.
    pub fn by_any_name(&self, text: &str) -> Option<DeviceNumber> {
        if let Some(device) = self.by_name(text) {
            return Some(device);
        }
        let name = text.strip_prefix("/dev/").unwrap_or(text);
        let mapped = name.strip_prefix(MAPPER).filter(|_| name != text);
        let shown = self.shown_names().ok()?;
        let is_label = |device: &&DeviceNumber| {
            let label = self.label(**device).ok().flatten();
            label.as_deref() == Some(mapped.unwrap_or(name))
        };
        let is_shown =
            |(device, shown): (&DeviceNumber, &String)| (shown == name).then_some(*device);
        shown.iter().find_map(is_shown).or_else(|| shown.keys().find(is_label).copied())
    }

    /// The name that somebody gave it.
    fn given_name(
        &self,
        device: DeviceNumber,
        arrays: &BTreeMap<DeviceNumber, String>,
    ) -> Option<String> {
        let Some(label) = self.label(device).ok()? else { return arrays.get(&device).cloned() };
        let uuid = self.text(&self.folder(device).ok()?.join("dm/uuid")).ok().flatten();
        let is_volume = uuid.is_some_and(|uuid| uuid.starts_with(OF_LVM));
        let volume = if is_volume { of_volume(&label) } else { None };
        Some(volume.unwrap_or(label)).filter(|name| !name.is_empty())
    }

    /// Arrays with a name in /dev/md that is more than a number.
    fn arrays(&self) -> BTreeMap<DeviceNumber, String> {
        let names = super::tree::names(&self.path(ARRAYS)).unwrap_or_default().into_iter();
        let is_name = |name: &String| name.chars().any(char::is_alphabetic);
        let named = names.filter(is_name).filter_map(|name| {
            let device = self.device_at(&Path::new("/").join(ARRAYS).join(&name))?;
            // Links of partitions stand there, too.
            (!self.is_partition(device).ok()?).then(|| (device, format!("md/{name}")))
        });
        named.collect()
    }
}

/// `vg-lv` is vg/lv, `my--vg-a--b` is my-vg/a-b; what LVM keeps for itself, `vg-lv-real`, has more
/// parts. None of what has no volume in it.
fn of_volume(name: &str) -> Option<String> {
    // No name may have a slash, and none a space.
    let joined = name.replace("--", "/");
    let (group, volume) = joined.split_once('-')?;
    let inside = |part: &str| part.replace('/', "-");
    (!group.is_empty() && !volume.is_empty())
        .then(|| format!("{}/{}", inside(group), inside(volume)))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;

    const SDA: DeviceNumber = DeviceNumber::new(8, 0);

    fn dm(minor: u32) -> DeviceNumber {
        DeviceNumber::new(253, minor)
    }

    fn named(fixture: Fixture, minor: u32, name: &str, uuid: &str) -> Fixture {
        let kernel = format!("dm-{minor}");
        let fixture = fixture.stacked(&kernel, 253, minor, &["sda"]);
        fixture.attribute(&kernel, "dm/name", name).attribute(&kernel, "dm/uuid", uuid)
    }

    fn disk() -> Fixture {
        Fixture::new().disk("sda", 8, 0)
    }

    #[test]
    fn volumes_have_their_groups_name_and_a_hyphen_inside_stays() {
        for (name, volume) in [
            ("vg-lv", Some("vg/lv")),
            ("my--vg-a--b", Some("my-vg/a-b")),
            ("vg-lv-real", Some("vg/lv-real")),
            ("vg-pool_tmeta", Some("vg/pool_tmeta")),
            ("vg---a", Some("vg-/a")),
            ("odd", None),
            ("-lv", None),
            ("vg-", None),
        ] {
            assert_eq!(of_volume(name).as_deref(), volume, "{name}");
        }
    }

    #[test]
    fn devices_are_called_as_people_call_them_and_found_by_any_name() {
        let tree = named(disk(), 0, "vc-lv\n", "LVM-0123\n");
        let tree = named(tree, 1, "crypt\n", "CRYPT-LUKS2-x\n");
        let tree = named(tree, 2, "not-lvm\n", "\n").tree();
        let shown = tree.shown_names().unwrap();
        let names: Vec<&str> = shown.values().map(String::as_str).collect();
        assert_eq!(names, ["sda", "vc/lv", "crypt", "not-lvm"]);
        for (text, minor) in [
            ("dm-0", 0),
            ("vc/lv", 0),
            ("vc-lv", 0),
            ("/dev/vc/lv", 0),
            ("/dev/mapper/vc-lv", 0),
            ("crypt", 1),
            ("/dev/mapper/crypt", 1),
        ] {
            assert_eq!(tree.by_any_name(text), Some(dm(minor)), "{text}");
        }
        assert_eq!((tree.by_any_name("sda"), tree.by_any_name("vc")), (Some(SDA), None));
        assert_eq!(tree.by_any_name("mapper/crypt"), None);
    }

    #[test]
    fn no_two_devices_are_called_alike() {
        // Two of one name cannot be; but LVM's and another may come to the same, and somebody may
        // call his device as the kernel calls a disk.
        let tree = named(disk(), 0, "a-b", "LVM-0");
        let tree = named(tree, 1, "a/b", "");
        let tree = named(tree, 2, "sda", "").tree();
        let shown = tree.shown_names().unwrap();
        let names: Vec<&str> = shown.values().map(String::as_str).collect();
        assert_eq!(names, ["sda", "dm-0", "dm-1", "dm-2"]);
        assert_eq!(tree.by_any_name("sda"), Some(SDA));
    }
}

//! LVM's volume groups: which are active here, and to which of them a physical volume belongs.
//!
//! A group is active where device mapper has one of its volumes: LVM gives that the UUID `LVM-`,
//! the group's id and the volume's. A physical volume of the group that holds no volume has no
//! holder in sysfs; its label and its metadata name the group. One without metadata of its own is
//! named by the metadata of the others.
//!
//! Source: LVM2 2.03.16: lib/format_text/layout.h (the headers), lib/label/label.h,
//! lib/format_text/format-text.c (the text's circular area), lib/activate/dev_manager.c (UUIDs).
//!
//! Non-goals: LVM1, groups that are active on other machines of a cluster, checksums: what looks
//! like a member of an active group is taken for one.

use super::{DeviceError, DeviceNumber, Tree};
use rustix::fs::OFlags;
use rustix::io::{Errno, pread};
use std::collections::BTreeMap;
use std::path::Path;

/// A volume group of which device mapper has a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActiveGroup {
    /// Its id, without dashes.
    id: String,
    /// Its active volumes.
    volumes: Vec<DeviceNumber>,
}

/// An active group that a device is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Membership {
    /// The group's name.
    pub(crate) group: String,
    /// One of its active volumes.
    pub(crate) volume: DeviceNumber,
}

const UUID_PREFIX: &str = "LVM-";
/// Of a group, a physical volume or a volume.
const ID_BYTES: usize = 32;
/// LVM counts in these, whatever the device's own blocks are.
const SECTOR_BYTES: usize = 512;
/// The label is in one of so many first sectors.
const LABEL_SECTORS: usize = 4;
const LABEL_MAGIC: &[u8] = b"LABELONE";
const LABEL_TYPE: &[u8] = b"LVM2 001";
const AREA_MAGIC: &[u8] = b" LVM2 x[5A%r0N*>";
/// In the flags of a text: the area is not kept up to date.
const IGNORED: u32 = 1;
/// LVM's own areas are of a mebibyte; a text is never larger than its area.
const TEXT_BYTES_MOST: u64 = 16 << 20;

impl Tree {
    /// The groups that are active. Nothing is read from a device.
    /// Errors: sysfs cannot be read.
    pub(crate) fn active_groups(&self) -> Result<Vec<ActiveGroup>, DeviceError> {
        let mut groups: BTreeMap<String, Vec<DeviceNumber>> = BTreeMap::new();
        for device in self.all()? {
            if let Some(id) = self.group_of_volume(device)? {
                groups.entry(id).or_default().push(device);
            }
        }
        Ok(groups.into_iter().map(|(id, volumes)| ActiveGroup { id, volumes }).collect())
    }

    /// The id of the group that a device-mapper device is a volume of.
    fn group_of_volume(&self, device: DeviceNumber) -> Result<Option<String>, DeviceError> {
        let folder = match self.folder(device) {
            // Taken down since it was listed.
            Err(DeviceError::Unknown(_)) => return Ok(None),
            folder => folder?,
        };
        let uuid = self.text(&folder.join("dm/uuid"))?;
        let ids = uuid.as_deref().and_then(|uuid| uuid.strip_prefix(UUID_PREFIX));
        Ok(ids.and_then(|ids| ids.get(..ID_BYTES)).map(str::to_owned))
    }

    /// The active group that `device` is a physical volume of, if it is. Where none is active,
    /// nothing is read.
    /// Errors: the device, or one that may know it, cannot be read.
    pub(crate) fn membership(
        &self,
        device: DeviceNumber,
        active: &[ActiveGroup],
    ) -> Result<Option<Membership>, DeviceError> {
        if active.is_empty() {
            return Ok(None);
        }
        let Some(volume) = self.physical_volume(device)? else { return Ok(None) };
        if let Some(text) = &volume.text {
            let found = active.iter().find(|group| id_of(text).as_deref() == Some(&group.id));
            return Ok(found.and_then(|group| group.membership(text)));
        }
        for group in active {
            for member in self.members(group)? {
                let other = self.physical_volume(member)?.and_then(|member| member.text);
                if let Some(text) = other.filter(|text| text.contains(&dashed(&volume.id))) {
                    return Ok(group.membership(&text));
                }
            }
        }
        Ok(None)
    }

    /// The physical volumes beneath a group's active volumes: what lies beneath and is no volume
    /// of the group itself.
    fn members(&self, group: &ActiveGroup) -> Result<Vec<DeviceNumber>, DeviceError> {
        let (mut seen, mut members) = (group.volumes.clone(), Vec::new());
        let mut place = 0;
        while let Some(upper) = seen.get(place).copied() {
            place += 1;
            for lower in self.slaves(upper)? {
                if seen.contains(&lower) || members.contains(&lower) {
                    continue;
                }
                match self.group_of_volume(lower)?.as_ref() == Some(&group.id) {
                    true => seen.push(lower),
                    false => members.push(lower),
                }
            }
        }
        Ok(members)
    }

    fn physical_volume(&self, device: DeviceNumber) -> Result<Option<Physical>, DeviceError> {
        let read = |offset, bytes| self.contents(device, offset, bytes);
        match physical(read) {
            // No medium in it, or a loop device that is not set up: nothing can be on it.
            Err(Errno::NOMEDIUM | Errno::NXIO | Errno::NODEV) => Ok(None),
            Err(errno) => {
                let node = Path::new("/dev").join(self.name(device)?);
                Err(super::io("read", &node)(errno.into()))
            }
            Ok(found) => Ok(found),
        }
    }
}

impl ActiveGroup {
    fn membership(&self, text: &str) -> Option<Membership> {
        let group = text.split(|c: char| c.is_whitespace() || c == '{').next()?.to_owned();
        Some(Membership { group, volume: *self.volumes.first()? })
    }
}

/// Reads a device itself, from an offset; fewer bytes at its end.
pub(super) fn read(
    tree: &Tree,
    device: DeviceNumber,
    offset: u64,
    bytes: usize,
) -> rustix::io::Result<Vec<u8>> {
    let file = tree.open_device(device, OFlags::RDONLY)?;
    let mut buffer = vec![0; bytes];
    let mut filled = 0;
    while filled < bytes {
        match pread(&file, &mut buffer[filled..], offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    buffer.truncate(filled);
    Ok(buffer)
}

/// What a physical volume tells.
#[derive(Debug)]
struct Physical {
    /// Its id, without dashes.
    id: String,
    /// The text of its first metadata area that is kept up to date; none of an orphan.
    text: Option<String>,
}

type Read<'a> = &'a dyn Fn(u64, usize) -> rustix::io::Result<Vec<u8>>;

fn physical(
    read: impl Fn(u64, usize) -> rustix::io::Result<Vec<u8>>,
) -> rustix::io::Result<Option<Physical>> {
    let head = read(0, LABEL_SECTORS * SECTOR_BYTES)?;
    let Some((id, areas)) = (0..LABEL_SECTORS).find_map(|sector| label(&head, sector)) else {
        return Ok(None);
    };
    let mut text = None;
    for (offset, size) in areas {
        if text.is_none() {
            text = area_text(&read, offset, size)?;
        }
    }
    Ok(Some(Physical { id, text }))
}

/// The id and the metadata areas of a label in this sector: `struct label_header`, behind it
/// `struct pv_header` with two lists of areas, each closed by an area of nothing.
fn label(head: &[u8], sector: usize) -> Option<(String, Vec<(u64, u64)>)> {
    let at = head.get(sector * SECTOR_BYTES..)?;
    let is_one = at.get(..8)? == LABEL_MAGIC && at.get(24..32)? == LABEL_TYPE;
    if !is_one || number(at, 8)? != sector as u64 {
        return None;
    }
    let header = at.get(word(at, 20)? as usize..)?;
    let id = String::from_utf8(header.get(..ID_BYTES)?.to_vec()).ok()?;
    let mut places = (ID_BYTES + 8..).step_by(16);
    let mut list = || {
        let areas =
            places.by_ref().map_while(|at| Some((number(header, at)?, number(header, at + 8)?)));
        areas.take_while(|(offset, _)| *offset != 0).collect::<Vec<_>>()
    };
    let _data = list();
    Some((id, list()))
}

/// The text of a metadata area: `struct mda_header`, whose first `struct raw_locn` says where in
/// the circular rest of the area it lies.
fn area_text(read: Read<'_>, offset: u64, size: u64) -> rustix::io::Result<Option<String>> {
    let header = read(offset, SECTOR_BYTES)?;
    let is_one = header.get(4..20) == Some(AREA_MAGIC);
    let fields = || Some((number(&header, 40)?, number(&header, 48)?, word(&header, 60)?));
    let Some((at, bytes, flags)) = fields().filter(|_| is_one) else { return Ok(None) };
    let is_whole = at >= SECTOR_BYTES as u64 && at < size && bytes <= size.min(TEXT_BYTES_MOST);
    if bytes == 0 || flags & IGNORED != 0 || !is_whole {
        return Ok(None);
    }
    let first = bytes.min(size - at);
    let mut text = read(offset.saturating_add(at), first as usize)?;
    if first < bytes {
        text.extend(read(offset + SECTOR_BYTES as u64, (bytes - first) as usize)?);
    }
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The group's id, which is the first in its text, without dashes.
fn id_of(text: &str) -> Option<String> {
    let id = text.split_once("id = \"")?.1.split_once('"')?.0;
    Some(id.replace('-', ""))
}

/// An id as the text writes it: of 6, 4, 4, 4, 4, 4 and 6 letters.
fn dashed(id: &str) -> String {
    let mut parts = Vec::new();
    let mut rest = id;
    for length in [6, 4, 4, 4, 4, 4, 6] {
        let Some((part, after)) = rest.split_at_checked(length) else { break };
        parts.push(part);
        rest = after;
    }
    parts.join("-")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use proptest::prelude::*;

    const GROUP: &str = "GrpAAABbbbCcccDdddEeeeFfffGgggZZ";
    const FIRST: &str = "Pv1AAABbbbCcccDdddEeeeFfffGggg11";
    const SECOND: &str = "Pv2AAABbbbCcccDdddEeeeFfffGggg22";
    const SDA: DeviceNumber = DeviceNumber::new(8, 0);
    const SDB: DeviceNumber = DeviceNumber::new(8, 16);
    const DM0: DeviceNumber = DeviceNumber::new(253, 0);
    const AREA: u64 = 4096;
    const AREA_BYTES: u64 = 8192;

    /// The text of a group with these physical volumes.
    pub(crate) fn group(name: &str, id: &str, members: &[&str]) -> String {
        let volumes = members.iter().enumerate();
        let volumes = volumes.map(|(n, id)| format!("pv{n} {{\nid = \"{}\"\n}}\n", dashed(id)));
        let volumes: String = volumes.collect();
        format!(
            "{name} {{\nid = \"{}\"\nseqno = 2\nphysical_volumes {{\n{volumes}}}\n}}\n",
            dashed(id)
        )
    }

    /// A physical volume, whose text begins so far into its area.
    pub(crate) fn image(id: &str, text: &str, at: u64, flags: u32) -> Vec<u8> {
        let mut image = vec![0; (AREA + AREA_BYTES) as usize];
        let mut put = |at: u64, bytes: &[u8]| {
            image[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        };
        put(512, LABEL_MAGIC);
        put(520, &1u64.to_le_bytes());
        put(532, &32u32.to_le_bytes());
        put(536, LABEL_TYPE);
        put(544, id.as_bytes());
        put(584, &(1u64 << 20).to_le_bytes());
        put(616, &AREA.to_le_bytes());
        put(624, &AREA_BYTES.to_le_bytes());
        put(AREA + 4, AREA_MAGIC);
        put(AREA + 40, &at.to_le_bytes());
        put(AREA + 48, &(text.len() as u64).to_le_bytes());
        put(AREA + 60, &flags.to_le_bytes());
        let first = text.len().min((AREA_BYTES - at) as usize);
        put(AREA + at, &text.as_bytes()[..first]);
        put(AREA + 512, &text.as_bytes()[first..]);
        image
    }

    /// sda and sdb, with a volume of the group on sda.
    fn machine(sda: Vec<u8>, sdb: Vec<u8>) -> Tree {
        Fixture::new()
            .disk("sda", 8, 0)
            .disk("sdb", 8, 16)
            .stacked("dm-0", 253, 0, &["sda"])
            .attribute("dm-0", "dm/uuid", &format!("LVM-{GROUP}{}\n", "l".repeat(32)))
            .contents("sda", sda)
            .contents("sdb", sdb)
            .tree()
    }

    fn membership(tree: &Tree, device: DeviceNumber) -> Option<Membership> {
        let active = tree.active_groups().unwrap();
        assert_eq!(active, [ActiveGroup { id: GROUP.to_owned(), volumes: vec![DM0] }]);
        tree.membership(device, &active).unwrap()
    }

    #[test]
    fn a_physical_volume_without_a_volume_on_it_names_its_active_group() {
        let text = group("vg", GROUP, &[FIRST, SECOND]);
        let found = Some(Membership { group: "vg".to_owned(), volume: DM0 });
        for at in [512, 1024, AREA_BYTES - 30] {
            let tree = machine(image(FIRST, &text, at, 0), image(SECOND, &text, at, 0));
            assert_eq!(membership(&tree, SDB), found, "{at}");
            assert_eq!(membership(&tree, SDA), found, "{at}");
        }
    }

    #[test]
    fn one_without_metadata_of_its_own_is_named_by_the_others() {
        let text = group("vg", GROUP, &[FIRST, SECOND]);
        let first = || image(FIRST, &text, 512, 0);
        let found = Some(Membership { group: "vg".to_owned(), volume: DM0 });
        for second in [image(SECOND, "", 512, 0), image(SECOND, &text, 512, IGNORED)] {
            assert_eq!(membership(&machine(first(), second), SDB), found);
        }
        let orphan = image("Pv3AAABbbbCcccDdddEeeeFfffGggg33", "", 512, 0);
        assert_eq!(membership(&machine(first(), orphan), SDB), None);
    }

    #[test]
    fn other_groups_and_other_data_are_no_members() {
        let own = image(FIRST, &group("vg", GROUP, &[FIRST]), 512, 0);
        let other = group("old", &GROUP.replace('Z', "Y"), &[SECOND]);
        for second in [image(SECOND, &other, 512, 0), vec![0; 4096], b"LABELONE".to_vec()] {
            assert_eq!(membership(&machine(own.clone(), second), SDB), None);
        }
        let tree = Fixture::new().disk("sdb", 8, 16).contents("sdb", own).tree();
        assert_eq!(tree.active_groups().unwrap(), []);
        assert_eq!(tree.membership(SDB, &[]).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_read_is_said_where_a_group_is_active() {
        let own = image(FIRST, &group("vg", GROUP, &[FIRST]), 512, 0);
        let tree = Fixture::new()
            .disk("sda", 8, 0)
            .disk("sdb", 8, 16)
            .stacked("dm-0", 253, 0, &["sda"])
            .attribute("dm-0", "dm/uuid", &format!("LVM-{GROUP}x\n"))
            .contents("sda", own)
            .tree();
        let error = tree.membership(SDB, &tree.active_groups().unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("read /dev/sdb: "), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000),
                          at in 0usize..2000, size in any::<u64>(), place in any::<u64>()) {
            let mut image = image(FIRST, "vg {\nid = \"a\"", 512, 0);
            image[4096 + 40..4096 + 48].copy_from_slice(&place.to_le_bytes());
            image[624..632].copy_from_slice(&size.to_le_bytes());
            for (to, byte) in image[at..].iter_mut().zip(bytes) {
                *to ^= byte;
            }
            let read = |offset: u64, length: usize| {
                let from = (offset as usize).min(image.len());
                Ok(image[from..from.saturating_add(length).min(image.len())].to_vec())
            };
            let _ = physical(read);
        }
    }
}

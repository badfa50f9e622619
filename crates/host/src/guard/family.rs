//! What a write to one device could harm: the device, its parts, the disk it is
//! a part of, what is built on them, what it lies on, and other loop devices
//! over the same file.
//!
//! First down, to whatever a write reaches, then up from each of these. Not up
//! from everything: two volumes of one group, like two partitions of one disk,
//! share what lies beneath, and the one's being mounted is no reason to refuse
//! the other.

use crate::device::{BackingFile, DeviceError, DeviceNumber, PathFacts, Tree};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::path::Path;

/// A member of the family, with how it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Which device.
    pub device: DeviceNumber,
    /// The words for it: "it", "its partition sda1".
    pub phrase: String,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.phrase)
    }
}

/// How much of a device the write reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// Possibly all of it: its partitions and whatever is built on it count.
    Whole,
    /// One partition: what is built on the disk as a whole counts too.
    Disk,
    /// Some extents: what is built on the rest of it does not count.
    Extents,
}

/// The file under a loop device that the write reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoopFile {
    file: BackingFile,
    /// None where its path leads nowhere from here.
    facts: Option<PathFacts>,
}

impl LoopFile {
    fn new(tree: &Tree, file: BackingFile) -> Self {
        let facts = (!file.deleted).then(|| tree.facts(&file.path).ok()).flatten();
        Self { file, facts }
    }

    /// Whether `path` is this file: by inode where both can be examined, else by name.
    pub(super) fn is(&self, tree: &Tree, path: &Path) -> bool {
        match (&self.facts, tree.facts(path).ok()) {
            (Some(own), Some(other)) => own.same_file(&other),
            _ => self.file.path == path,
        }
    }

    fn is_also_of(&self, other: &Self) -> bool {
        match (&self.facts, &other.facts) {
            (Some(own), Some(other)) => own.same_file(other),
            // An unlinked file and its successor of the same name cannot be told
            // apart here; taking them for one errs on the safe side.
            _ => self.file.path == other.file.path,
        }
    }
}

/// All that a write could harm.
#[derive(Debug, Default)]
pub(super) struct Family {
    /// The devices, the one asked for first.
    pub(super) parts: Vec<Part>,
    /// Which of them are held, and by what.
    pub(super) holds: Vec<(Part, String)>,
    /// The files under the loop devices among them.
    pub(super) files: Vec<LoopFile>,
}

impl Family {
    /// The family of `device`.
    pub(super) fn of(tree: &Tree, device: DeviceNumber) -> Result<Self, DeviceError> {
        let walk = Walk { tree, loops: tree.loops()? };
        let mut family = Self::default();
        let ground = walk.down(device, &mut family.files)?;
        walk.up(ground, &mut family)?;
        Ok(family)
    }
}

struct Walk<'a> {
    tree: &'a Tree,
    loops: Vec<(DeviceNumber, BackingFile)>,
}

impl Walk<'_> {
    /// What a write to `device` reaches, at its own level and below.
    fn down(
        &self,
        device: DeviceNumber,
        files: &mut Vec<LoopFile>,
    ) -> Result<Vec<(Part, Reach)>, DeviceError> {
        let mut ground: Vec<(Part, Reach)> = Vec::new();
        let it = Part { device, phrase: "it".to_owned() };
        let mut queue = VecDeque::from([(it, Reach::Whole)]);
        while let Some((part, reach)) = queue.pop_front() {
            if ground.iter().any(|(known, r)| known.device == part.device && *r <= reach) {
                continue;
            }
            queue.extend(self.disk_of(&part, reach)?);
            queue.extend(self.beneath(&part, reach, files)?);
            ground.push((part, reach));
        }
        Ok(ground)
    }

    /// The disk that a partition is a part of.
    fn disk_of(&self, part: &Part, reach: Reach) -> Result<Option<(Part, Reach)>, DeviceError> {
        let disk = self.tree.whole_disk(part.device)?;
        if disk == part.device {
            return Ok(None);
        }
        let phrase = match part.phrase.as_str() {
            "it" => format!("its whole disk {}", self.name(disk)?),
            phrase => format!("{}, the whole disk of {phrase}", self.name(disk)?),
        };
        Ok(Some((Part { device: disk, phrase }, reach.max(Reach::Disk))))
    }

    /// What a device lies on directly. A loop device writes all of what it lies
    /// on, dm and md some extents.
    fn beneath(
        &self,
        part: &Part,
        reach: Reach,
        files: &mut Vec<LoopFile>,
    ) -> Result<Vec<(Part, Reach)>, DeviceError> {
        if let Some(file) = self.tree.loop_backing_file(part.device)? {
            return self.beneath_loop(part, file, reach, files);
        }
        let slaves = self.tree.slaves(part.device)?;
        let beneath = |device| Ok((self.on_which(device, part)?, Reach::Extents));
        slaves.into_iter().map(beneath).collect()
    }

    fn beneath_loop(
        &self,
        part: &Part,
        file: BackingFile,
        reach: Reach,
        files: &mut Vec<LoopFile>,
    ) -> Result<Vec<(Part, Reach)>, DeviceError> {
        // A partition of a loop device may still be all that the node beneath is used for.
        let reach = if reach == Reach::Disk { Reach::Whole } else { reach };
        if let Some(device) = self.tree.device_at(&file.path) {
            return Ok(vec![(self.on_which(device, part)?, reach)]);
        }
        let own = LoopFile::new(self.tree, file);
        let mut twins = Vec::new();
        for (device, file) in &self.loops {
            let other = LoopFile::new(self.tree, file.clone());
            if *device != part.device && own.is_also_of(&other) {
                let phrase = format!("{}, over the same file,", self.name(*device)?);
                twins.push((Part { device: *device, phrase }, reach));
            }
        }
        files.push(own);
        Ok(twins)
    }

    /// Everything built on the ground, and what holds what.
    fn up(&self, ground: Vec<(Part, Reach)>, family: &mut Family) -> Result<(), DeviceError> {
        let own: BTreeSet<DeviceNumber> = ground.iter().map(|(part, _)| part.device).collect();
        let mut seen = BTreeSet::new();
        let mut queue = VecDeque::from(ground);
        while let Some((part, reach)) = queue.pop_front() {
            if !seen.insert((part.device, reach)) {
                continue;
            }
            queue.extend(self.partitions(&part, reach)?);
            for device in self.built_on(&part, reach)? {
                // On the way down we came from there: it is the device asked for, or between.
                if !own.contains(&device) {
                    let name = self.described(device)?;
                    let phrase = format!("{name}, built on {},", part.phrase.trim_end_matches(','));
                    family.holds.push((part.clone(), name));
                    queue.push_back((Part { device, phrase }, Reach::Whole));
                }
            }
            family.parts.push(part);
        }
        Ok(())
    }

    fn partitions(&self, part: &Part, reach: Reach) -> Result<Vec<(Part, Reach)>, DeviceError> {
        if reach != Reach::Whole {
            return Ok(Vec::new());
        }
        let partition = |device| {
            let name = self.name(device)?;
            let phrase = match part.phrase.as_str() {
                "it" => format!("its partition {name}"),
                phrase => format!("{name}, a partition of {phrase}"),
            };
            Ok((Part { device, phrase }, Reach::Whole))
        };
        self.tree.partitions(part.device)?.into_iter().map(partition).collect()
    }

    /// dm, md, bcache, and loop devices over the node.
    fn built_on(&self, part: &Part, reach: Reach) -> Result<Vec<DeviceNumber>, DeviceError> {
        if reach == Reach::Extents {
            return Ok(Vec::new());
        }
        let mut upper = self.tree.holders(part.device)?;
        let over = |file: &BackingFile| self.tree.device_at(&file.path) == Some(part.device);
        upper.extend(self.loops.iter().filter(|(_, file)| over(file)).map(|(device, _)| *device));
        Ok(upper)
    }

    fn on_which(&self, device: DeviceNumber, upper: &Part) -> Result<Part, DeviceError> {
        let phrase = match upper.phrase.as_str() {
            "it" => format!("{}, on which it lies,", self.described(device)?),
            phrase => format!("{}, beneath {}", self.described(device)?, closed(phrase)),
        };
        Ok(Part { device, phrase })
    }

    fn name(&self, device: DeviceNumber) -> Result<String, DeviceError> {
        self.tree.name(device)
    }

    /// `dm-0 (vg-root)`: the kernel's name, and the one that its user gave it.
    fn described(&self, device: DeviceNumber) -> Result<String, DeviceError> {
        let name = self.name(device)?;
        Ok(match self.tree.label(device)? {
            Some(label) => format!("{name} ({label})"),
            None => name,
        })
    }
}

/// An aside within a sentence ends with a comma.
fn closed(phrase: &str) -> String {
    format!("{},", phrase.trim_end_matches(','))
}

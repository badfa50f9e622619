//! What a write to one device could harm: the device, its parts, the disk it is
//! a part of, what is built on them, what it lies on, other loop devices over the
//! same file, and what shares blocks with the file system that holds that file.
//!
//! First down, to whatever a write reaches, then up from each of these. Not up
//! from everything: two volumes of one group, like two partitions of one disk,
//! share what lies beneath, and the one's being mounted is no reason to refuse
//! the other.

use super::files::{Likeness, LoopFile};
use crate::device::lvm::ActiveGroup;
use crate::device::{DeviceError, DeviceNumber, MountTable, Tree};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;

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
    /// A file of the file system on it, which is mounted by right: it is no part of the family,
    /// but what shares its blocks is.
    File,
}

/// A part on the way down.
#[derive(Debug, Clone)]
struct Step {
    part: Part,
    reach: Reach,
    via: Via,
}

/// What led to a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Via {
    /// The question, a partition table, dm or md, or a file system.
    Stack,
    /// A loop device over it. Loop devices do not claim what they lie on: if somebody has claimed
    /// it, that is somebody else.
    Loop,
    /// A loop device over the same file. What it lies on is known already, and it is claimed by
    /// nobody else either.
    Twin,
}

/// All that a write could harm.
#[derive(Debug, Default)]
pub(super) struct Family {
    /// The devices, the one requested first.
    pub(super) parts: Vec<Part>,
    /// Which of them are held, and by what.
    pub(super) holds: Vec<(Part, String)>,
    /// Those beside the one requested that nobody else may have claimed.
    pub(super) claims: Vec<Part>,
    /// The files under the loop devices among them.
    pub(super) files: Vec<LoopFile>,
}

impl Family {
    pub(super) fn of(
        tree: &Tree,
        mounts: &MountTable,
        device: DeviceNumber,
    ) -> Result<Self, DeviceError> {
        let loops = tree.loops()?.into_iter().map(|found| LoopFile::new(tree, mounts, found));
        let walk = Walk { tree, loops: loops.collect(), groups: tree.active_groups()? };
        let ground = walk.down(device)?;
        let is_ground = |device| ground.iter().any(|step: &Step| step.part.device == device);
        let mut family = Self {
            files: walk.loops.iter().filter(|file| is_ground(file.device)).cloned().collect(),
            ..Self::default()
        };
        walk.up(ground, &mut family)?;
        Ok(family)
    }
}

struct Walk<'a> {
    tree: &'a Tree,
    loops: Vec<LoopFile>,
    groups: Vec<ActiveGroup>,
}

impl Walk<'_> {
    /// What a write to `device` reaches, at its own level and below.
    fn down(&self, device: DeviceNumber) -> Result<Vec<Step>, DeviceError> {
        let mut ground: Vec<Step> = Vec::new();
        let it = Part { device, phrase: "it".to_owned() };
        let mut queue = VecDeque::from([Step { part: it, reach: Reach::Whole, via: Via::Stack }]);
        while let Some(step) = queue.pop_front() {
            let is_known =
                |known: &Step| known.part.device == step.part.device && known.reach <= step.reach;
            if ground.iter().any(is_known) {
                continue;
            }
            if step.via != Via::Twin {
                queue.extend(self.disk_of(&step)?);
                queue.extend(self.beneath(&step)?);
            }
            ground.push(step);
        }
        Ok(ground)
    }

    /// The disk that a partition is a part of.
    fn disk_of(&self, step: &Step) -> Result<Option<Step>, DeviceError> {
        let part = &step.part;
        let disk = self.tree.whole_disk(part.device)?;
        if disk == part.device {
            return Ok(None);
        }
        let phrase = match part.phrase.as_str() {
            "it" => format!("its whole disk {}", self.name(disk)?),
            phrase => format!("{}, the whole disk of {phrase}", self.name(disk)?),
        };
        let part = Part { device: disk, phrase };
        Ok(Some(Step { part, reach: step.reach.max(Reach::Disk), via: Via::Stack }))
    }

    /// What a device lies on directly. A loop device writes all of what it lies
    /// on, dm and md some extents.
    fn beneath(&self, step: &Step) -> Result<Vec<Step>, DeviceError> {
        let part = &step.part;
        if let Some(file) = self.loops.iter().find(|file| file.device == part.device) {
            return self.beneath_loop(step, file);
        }
        let below = |device| {
            Ok(Step { part: self.on_which(device, part)?, reach: Reach::Extents, via: Via::Stack })
        };
        self.tree.slaves(part.device)?.into_iter().map(below).collect()
    }

    fn beneath_loop(&self, step: &Step, file: &LoopFile) -> Result<Vec<Step>, DeviceError> {
        let part = &step.part;
        // A partition of a loop device may still be all that the node beneath is used for.
        let reach = if step.reach == Reach::Extents { Reach::Extents } else { Reach::Whole };
        if let Some(device) = file.identity.block {
            return Ok(vec![Step { part: self.on_which(device, part)?, reach, via: Via::Loop }]);
        }
        let mut steps = Vec::new();
        for device in &file.on {
            let holds = format!("{}, whose file system holds its file,", self.described(*device)?);
            let part = Part { device: *device, phrase: holds };
            steps.push(Step { part, reach: Reach::File, via: Via::Stack });
        }
        for other in self.loops.iter().filter(|other| other.device != file.device) {
            let how = match file.likeness(other) {
                Likeness::Same => "over the same file",
                Likeness::Perhaps => "which may lie on the same file",
                Likeness::Other => continue,
            };
            let phrase = match part.phrase.as_str() {
                "it" => format!("{}, {how},", self.name(other.device)?),
                _ => format!("{}, {how} as {},", self.name(other.device)?, self.name(file.device)?),
            };
            let part = Part { device: other.device, phrase };
            steps.push(Step { part, reach, via: Via::Twin });
        }
        Ok(steps)
    }

    /// Everything built on the ground, and what holds what.
    fn up(&self, ground: Vec<Step>, family: &mut Family) -> Result<(), DeviceError> {
        let own: BTreeSet<DeviceNumber> = ground.iter().map(|step| step.part.device).collect();
        let judged = ground.into_iter().filter(|step| step.reach != Reach::File);
        let judged: Vec<Step> = judged.collect();
        let claimed = judged.iter().filter(|step| step.via != Via::Stack);
        family.claims.extend(claimed.map(|step| step.part.clone()));
        let mut seen = BTreeSet::new();
        let mut queue: VecDeque<_> = judged.into_iter().map(|s| (s.part, s.reach)).collect();
        while let Some((part, reach)) = queue.pop_front() {
            if !seen.insert((part.device, reach)) {
                continue;
            }
            queue.extend(self.partitions(&part, reach)?);
            for (device, how) in self.built_on(&part, reach)? {
                // On the way down we came from there: it is the device requested, or between.
                if !own.contains(&device) {
                    let name = self.described(device)?;
                    let phrase = format!("{name}, built on {},", part.phrase.trim_end_matches(','));
                    family.holds.push((part.clone(), format!("{name}{how}")));
                    queue.push_back((Part { device, phrase }, Reach::Whole));
                }
            }
            if let Some(group) = self.active_group(&part, reach)? {
                family.holds.push((part.clone(), group));
            }
            family.parts.push(part);
        }
        Ok(())
    }

    /// The active volume group that it is a part of, though none of its volumes may lie on it.
    fn active_group(&self, part: &Part, reach: Reach) -> Result<Option<String>, DeviceError> {
        if reach == Reach::Extents {
            return Ok(None);
        }
        let found = self.tree.membership(part.device, &self.groups)?;
        let described = found.map(|found| {
            let volume = self.described(found.volume)?;
            Ok(format!("the volume group {}, which is active ({volume})", found.group))
        });
        described.transpose()
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

    /// dm, md, bcache; loop devices over the node, and over files of a file system on it, which
    /// is then mounted, wherever that may be; each with words for how it is built on it.
    fn built_on(
        &self,
        part: &Part,
        reach: Reach,
    ) -> Result<Vec<(DeviceNumber, &'static str)>, DeviceError> {
        if reach == Reach::Extents {
            return Ok(Vec::new());
        }
        let mut upper: Vec<_> =
            self.tree.holders(part.device)?.into_iter().map(|device| (device, "")).collect();
        for file in &self.loops {
            match file.identity.block {
                Some(node) if node == part.device => upper.push((file.device, "")),
                None if file.on.contains(&part.device) => {
                    upper.push((file.device, ", over a file of its file system"));
                }
                _ => {}
            }
        }
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

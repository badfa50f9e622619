//! What was typed as a TARGET, and the systems that it means.

mod modelled;

pub(crate) use modelled::ModelTarget;

use host::subject::{FILE_SYSTEMS, FileSystem};
use model::units::{parse_size_above_zero, show_size};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

/// One column of the matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A directory or a block device, as typed.
    Path(PathBuf),
    /// A fresh file system.
    Fresh(FreshTarget),
    /// A modelled machine.
    Model(ModelTarget),
}

/// A fresh file system as requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FreshTarget {
    /// Which.
    pub file_system: &'static FileSystem,
    /// Its block size in bytes.
    pub block_bytes: u64,
    /// Bytes of each drive's image, where given.
    pub image_bytes: Option<u64>,
    /// Drives that run at once.
    pub drives: usize,
    /// Where the images lie; beside the run where empty.
    pub at: Vec<PathBuf>,
    /// Mount options.
    pub options: Vec<String>,
}

impl FreshTarget {
    /// The directories of the images, as they are typed.
    fn places(&self) -> String {
        let places: Vec<_> = self.at.iter().map(|path| path.display().to_string()).collect();
        places.join("+")
    }
}

const KEYS: &str = "block, size, drives, at and options";

impl Target {
    /// Reads a TARGET; a key of `fresh:` that is given twice makes a system for each value.
    /// Errors: a sentence that names the part at fault and what would do.
    pub(crate) fn parse(text: &str) -> Result<Vec<Self>, String> {
        match text.split_once(':') {
            Some(("fresh", rest)) => parse_fresh(text, rest),
            Some(("model", rest)) => {
                Ok(modelled::parse(text, rest)?.into_iter().map(Self::Model).collect())
            }
            _ => Ok(vec![Self::Path(PathBuf::from(text))]),
        }
    }

    /// The column's name among all targets: `ext4:4k` or the path, and the size and the place where
    /// the short name would be another target's too. Systems of one name would be one cell.
    pub(crate) fn column_among(&self, all: &[Self]) -> String {
        let is_same =
            |other: &&Self| other.column() == self.column() && other.drives() == self.drives();
        match self {
            Self::Fresh(fresh) if all.iter().filter(is_same).count() > 1 => {
                let size = fresh.image_bytes.map(|size| format!(" size={}", show_size(size)));
                let at = (!fresh.at.is_empty()).then(|| format!(" at={}", fresh.places()));
                [Some(self.column()), size, at].into_iter().flatten().collect()
            }
            _ => self.column(),
        }
    }

    /// The column's short name: `ext4:4k`, or the path.
    pub(crate) fn column(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Model(model) => model.column(),
            Self::Fresh(fresh) => {
                let mut name =
                    format!("{}:{}", fresh.file_system.name, show_size(fresh.block_bytes));
                if !fresh.options.is_empty() {
                    name.push_str(&format!(" {}", fresh.options.join(",")));
                }
                name
            }
        }
    }

    /// The whole target as it could be typed again.
    pub(crate) fn canonical(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Model(model) => model.canonical(),
            Self::Fresh(fresh) => {
                let mut text = format!(
                    "fresh:{},block={},drives={}",
                    fresh.file_system.name,
                    show_size(fresh.block_bytes),
                    fresh.drives
                );
                if let Some(size) = fresh.image_bytes {
                    text.push_str(&format!(",size={}", show_size(size)));
                }
                if !fresh.at.is_empty() {
                    text.push_str(&format!(",at={}", fresh.places()));
                }
                if !fresh.options.is_empty() {
                    text.push_str(&format!(",options={}", fresh.options.join("+")));
                }
                text
            }
        }
    }

    /// Whether it is a block device that is there.
    pub(crate) fn is_block_device(&self) -> bool {
        let is_one = |path: &PathBuf| {
            std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
        };
        matches!(self, Self::Path(path) if is_one(path))
    }

    /// Drives that run at once.
    pub(crate) fn drives(&self) -> usize {
        match self {
            Self::Path(_) => 1,
            Self::Model(model) => model.drives as usize,
            Self::Fresh(fresh) => fresh.drives,
        }
    }
}

/// `FS[,key=value]…`.
fn parse_fresh(text: &str, rest: &str) -> Result<Vec<Target>, String> {
    let mut parts = rest.split(',');
    let name = parts.next().unwrap_or_default();
    let file_system = FileSystem::named(name).ok_or_else(|| {
        let known: Vec<_> = FILE_SYSTEMS.iter().map(|fs| fs.name).collect();
        format!(
            "{text}: lbolt cannot make the file system \"{name}\"; known are {}",
            known.join(", ")
        )
    })?;
    let mut values: [Vec<&str>; 5] = Default::default();
    for part in parts {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("{text}: \"{part}\" is not key=value; the keys are {KEYS}"))?;
        let slot =
            ["block", "size", "drives", "at", "options"].iter().position(|known| *known == key);
        let slot =
            slot.ok_or_else(|| format!("{text}: \"{key}\" is not a key; the keys are {KEYS}"))?;
        if value.is_empty() {
            return Err(format!("{text}: {key}= is empty; give a value"));
        }
        values[slot].push(value);
    }
    product(&values)
        .into_iter()
        .map(|[block, size, drives, at, options]| {
            let bytes = |key: &str, value: &str| {
                parse_size_above_zero(value).map_err(|e| format!("{text}: {key}=: {e}"))
            };
            Ok(Target::Fresh(FreshTarget {
                file_system,
                block_bytes: match block {
                    Some(block) => block_size(text, bytes("block", block)?)?,
                    None => file_system.default_block_bytes,
                },
                image_bytes: size
                    .map(|size| image_size(text, file_system, bytes("size", size)?))
                    .transpose()?,
                drives: drives.map_or(Ok(1), |drives| drive_count(text, drives))?,
                at: split(at).map(PathBuf::from).collect(),
                options: split(options).map(str::to_owned).collect(),
            }))
        })
        .collect()
}

fn split(list: Option<&str>) -> impl Iterator<Item = &str> {
    list.into_iter().flat_map(|list| list.split('+'))
}

fn block_size(text: &str, bytes: u64) -> Result<u64, String> {
    if bytes.is_power_of_two() && (512..=65536).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("{text}: block={} must be a power of two from 512 to 64k", show_size(bytes)))
    }
}

fn image_size(text: &str, file_system: &FileSystem, bytes: u64) -> Result<u64, String> {
    if bytes < file_system.least_bytes {
        return Err(format!(
            "{text}: size={} is too small; {} needs at least {}",
            show_size(bytes),
            file_system.mkfs,
            show_size(file_system.least_bytes)
        ));
    }
    // Images are written in blocks of 1 MiB.
    Ok(bytes.next_multiple_of(1 << 20))
}

fn drive_count(text: &str, drives: &str) -> Result<usize, String> {
    match drives.parse() {
        Ok(count @ 1..=64) => Ok(count),
        _ => Err(format!("{text}: drives={drives} must be a number from 1 to 64")),
    }
}

/// Every combination of the alternatives; a key that was not given has one: none.
fn product<'a>(values: &[Vec<&'a str>; 5]) -> Vec<[Option<&'a str>; 5]> {
    let mut rows = vec![[None; 5]];
    for (slot, alternatives) in values.iter().enumerate() {
        if alternatives.is_empty() {
            continue;
        }
        rows = rows
            .iter()
            .flat_map(|row| {
                alternatives.iter().map(move |value| {
                    let mut row = *row;
                    row[slot] = Some(*value);
                    row
                })
            })
            .collect();
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_repeated_key_makes_a_column_for_each_value() {
        let targets = Target::parse("fresh:xfs,block=4k,block=8k,drives=1,drives=2").unwrap();
        let columns: Vec<_> = targets.iter().map(|t| (t.column(), t.drives())).collect();
        let expected = [("xfs:4k", 1), ("xfs:4k", 2), ("xfs:8k", 1), ("xfs:8k", 2)];
        assert_eq!(columns, expected.map(|(c, d)| (c.to_owned(), d)));
    }

    #[test]
    fn every_key_is_understood_and_typed_again() {
        let text = "fresh:ext4,block=1k,drives=2,size=1g,at=/a+/b,options=noatime+data=journal";
        let targets = Target::parse(text).unwrap();
        assert_eq!(targets.len(), 1);
        assert_eq!(targets[0].canonical(), text);
        assert_eq!(targets[0].column(), "ext4:1k noatime,data=journal");
        assert_eq!(Target::parse("/dev/x:1").unwrap(), [Target::Path("/dev/x:1".into())]);
    }

    #[test]
    fn columns_are_told_apart_by_what_differs() {
        let all =
            Target::parse("fresh:ext4,at=/a,at=/b,size=1g,size=2g,drives=1,drives=2").unwrap();
        let mut names: Vec<_> = all.iter().map(|t| (t.column_among(&all), t.drives())).collect();
        assert_eq!(names[0].0, "ext4:4k size=1g at=/a");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 8);
        assert_eq!(all[0].column_among(&all[..1]), "ext4:4k");
    }

    #[test]
    fn bad_targets_name_the_part_and_the_remedy() {
        for (text, sentence) in [
            ("fresh:zfs", "known are ext4"),
            ("fresh:", "known are ext4"),
            ("fresh:ext4,blocks=4k", "the keys are block"),
            ("fresh:ext4,4k", "key=value"),
            ("fresh:ext4,block=5k", "power of two"),
            ("fresh:ext4,block=4q", "KiB"),
            ("fresh:xfs,size=100m", "304m"),
            ("fresh:ext4,drives=0", "from 1 to 64"),
            ("fresh:ext4,drives=two", "from 1 to 64"),
            ("fresh:ext4,at=", "empty"),
            ("model:", "--list-models"),
            ("model:eagle,drives=0", "from 1 to 64"),
            ("model:eagle,block", "key=value"),
            ("model:eagle,speed=1", "the keys are drives, block, and the keys of the model"),
        ] {
            let error = Target::parse(text).unwrap_err();
            assert!(error.contains(sentence) && error.contains(text), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(fresh:|model:|/)?(ext4|xfs)?[a-z0-9=,+:/]{0,40}") {
            for target in Target::parse(&text).into_iter().flatten() {
                prop_assert_eq!(Target::parse(&target.canonical()), Ok(vec![target]));
            }
        }
    }
}

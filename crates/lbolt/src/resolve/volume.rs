//! The drive that a load moves to: `MODEL[,iops=N][,throughput=SIZE][,size=SIZE][,credits=PERCENT]`
//! and keys of the model (they contain a dot), and what its profile cannot say of it.
//!
//! Source: the words of the providers' own consoles; the profiles hold the numbers.
//!
//! Non-goals: replaying (`run::simulate`); other parts of a machine (`change`).

use crate::resolve::modelled::load;
use model::units::{parse_size_above_zero, show_time_ns};
use sim::drive::{Capacity, Limits};
use sim::profile::{Leaf, Profile, Source, Value, plain};
use std::collections::BTreeSet;

/// A word for a key of the model.
struct Word {
    word: &'static str,
    key: &'static str,
    /// The key that a model has if the word can be set.
    needs: &'static str,
    value: fn(&str) -> Result<String, String>,
    /// What to do where it cannot be set.
    otherwise: &'static str,
}

/// The key of what a read takes at the least.
const LATENCY: &str = "drive.read.random";

const FOLLOWS: &str = "the provider does not sell it separately; give size= or another volume";

const WORDS: [Word; 4] = [
    Word {
        word: "iops",
        key: "drive.limit.iops.rate",
        needs: "drive.limit.iops.rate_min",
        value: count,
        otherwise: FOLLOWS,
    },
    Word {
        word: "throughput",
        key: "drive.limit.throughput.rate",
        needs: "drive.limit.throughput.rate_min",
        value: |text| Ok(format!("{} B/s", bytes(text.trim_end_matches("/s"))?)),
        otherwise: FOLLOWS,
    },
    Word {
        word: "size",
        key: "drive.capacity.size",
        needs: "drive.capacity.size",
        value: |text| Ok(format!("{} B", bytes(text)?)),
        otherwise: "this drive has one size",
    },
    Word {
        word: "credits",
        key: "drive.limit.filled",
        needs: "drive.limit.filled",
        value: percent,
        otherwise: "this drive has no burst credits",
    },
];

fn bytes(text: &str) -> Result<u64, String> {
    parse_size_above_zero(text).map_err(|error| error.to_string())
}

fn count(text: &str) -> Result<String, String> {
    let count = text.parse::<u64>().ok().filter(|count| (1..=1_000_000_000).contains(count));
    count
        .map(|count| count.to_string())
        .ok_or_else(|| format!("\"{text}\" is not a number of IOPS"))
}

fn percent(text: &str) -> Result<String, String> {
    let share = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = share.filter(|share| (0.0..=100.0).contains(share));
    share
        .map(|share| format!("{share} %"))
        .ok_or_else(|| format!("\"{text}\" is not a share of the credits; give 0% to 100%"))
}

/// A drive by its name or its profile's path, with other values for some keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Volume {
    model: String,
    set: Vec<(String, String)>,
}

impl Volume {
    /// Reads `aws-gp3,iops=16000`, and the profile that it makes.
    /// Errors: an unknown model, word or value; a volume that cannot be.
    pub(crate) fn parse(text: &str) -> Result<(Self, Profile), String> {
        let mut parts = text.split(',').map(str::trim);
        let model = parts.next().unwrap_or_default().to_owned();
        let plain = load(&model, &[]).map_err(|error| error.to_string())?;
        if !plain.reader().below("drive").has_any() {
            return Err(format!(
                "{model} has no drive; choose a drive from lbolt simulate --list-models"
            ));
        }
        let set = parts.map(|part| assignment(part, &model, &plain)).collect::<Result<_, _>>()?;
        let volume = Self { model, set };
        let profile = volume.load().map_err(|error| error.to_string())?;
        limits(&profile)?;
        Ok((volume, profile))
    }

    /// Its profile.
    /// Errors: an unknown model or key.
    pub(crate) fn load(&self) -> anyhow::Result<Profile> {
        load(&self.model, &self.set)
    }

    /// What is to be known of a prediction on it. Several volumes have some of these in common.
    pub(crate) fn notes(&self, profile: &Profile) -> Vec<String> {
        let title = if profile.title.is_empty() { &self.model } else { &profile.title };
        let Some(limits) = limits(profile).ok().flatten() else {
            return vec![format!("drive: {title}, behind the same queue, controller and bus")];
        };
        let unknown = unknown(profile);
        let measured = unknown.as_ref().map(|_| {
            "`lbolt calibrate` on such a volume measures its times; limits of the instance are not \
             modelled"
                .to_owned()
        });
        let latency = latency(profile).map_or_else(String::new, |of| format!(", {of}"));
        let head =
            format!("drive: {title}, behind the same queue, controller and bus: {limits}{latency}");
        std::iter::once(head).chain(unknown).chain(measured).collect()
    }
}

fn assignment(part: &str, model: &str, profile: &Profile) -> Result<(String, String), String> {
    let words = || WORDS.map(|word| word.word).join(", ");
    let keys =
        || format!("the keys are {} and the keys of the model (they contain a dot)", words());
    let (key, value) = part
        .split_once('=')
        .filter(|(_, value)| !value.trim().is_empty())
        .ok_or_else(|| format!("\"{part}\" is not KEY=VALUE; {}", keys()))?;
    let (key, value) = (key.trim(), value.trim());
    if key.contains('.') {
        return Ok((key.to_owned(), value.to_owned()));
    }
    let word = WORDS.iter().find(|word| word.word == key);
    let word = word.ok_or_else(|| format!("\"{key}\" is unknown; {}", keys()))?;
    if !profile.leaves().any(|(key, _)| key == word.needs) {
        return Err(format!("{key}= cannot be set for {model}: {}", word.otherwise));
    }
    Ok((word.key.to_owned(), (word.value)(value)?))
}

/// The limits of a virtual drive in words; none of a drive without any.
/// Errors: limits that the volume cannot have.
fn limits(profile: &Profile) -> Result<Option<String>, String> {
    let reader = profile.reader();
    let drive = reader.below("drive");
    if !drive.below("limit").has_any() {
        return Ok(None);
    }
    let capacity = Capacity::read(&drive.below("capacity")).map_err(|error| error.to_string())?;
    let limits = Limits::read(&drive, capacity.bytes()).map_err(|error| error.reason)?;
    Ok(limits.shown())
}

/// The numbers of the drive that are known only to lie between two others.
fn bounded(profile: &Profile) -> impl Iterator<Item = (&str, &Leaf)> {
    let is_bounded = |leaf: &Leaf| leaf.low.is_some() && leaf.high.is_some();
    profile.leaves().filter(move |(key, leaf)| key.starts_with("drive.") && is_bounded(leaf))
}

/// `reads take 200 µs to 9.90 ms`; none where the latency is known.
fn latency(profile: &Profile) -> Option<String> {
    let (_, leaf) = bounded(profile).find(|(key, _)| *key == LATENCY)?;
    // A bound is read as the value is, in whatever unit it stands.
    let shown = |bound: &Option<Value>| {
        let mut profile = profile.clone();
        profile.set(LATENCY, &plain(bound.as_ref()?)).ok()?;
        let time_ns = profile.reader().below("drive").below("read").time_ns("random").ok()?;
        Some(show_time_ns(time_ns))
    };
    Some(format!("reads take {} to {}", shown(&leaf.low)?, shown(&leaf.high)?))
}

/// What is not published of a volume; none where every number is known.
fn unknown(profile: &Profile) -> Option<String> {
    let assumed = bounded(profile).filter_map(|(_, leaf)| match &leaf.source {
        Some(Source::Assumed(text)) => Some(text.to_string()),
        _ => None,
    });
    let texts: BTreeSet<String> = assumed.collect();
    let texts: Vec<String> = texts.into_iter().collect();
    (!texts.is_empty()).then(|| {
        format!(
            "no figure is published for {}; the intervals cover assumed bounds instead",
            texts.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(text: &str) -> String {
        let (volume, profile) = Volume::parse(text).unwrap();
        volume.notes(&profile).join("; ")
    }

    #[test]
    fn words_become_keys_and_the_limits_are_told() {
        for (text, told) in [
            ("aws-gp3", "bus: 3000 IOPS, 125 MiB/s"),
            ("aws-gp3,iops=16000,throughput=500m/s", "bus: 16000 IOPS, 500 MiB/s"),
            ("aws-gp2,size=100g", "bus: 300 IOPS (peak 3000 IOPS), 128 MiB/s"),
            ("aws-io2,iops=8000", "bus: 8000 IOPS, 2048 MiB/s"),
            ("aws-st1", "bus: 500 IOPS, 40 MiB/s (peak 250 MiB/s)"),
            ("gcp-pd-ssd,size=500g", "bus: 21000 IOPS, 480 MiB/s"),
            ("azure-premium-ssd-p30,iops=30000", "bus: 30000 IOPS, 191 MiB/s"),
        ] {
            assert!(notes(text).contains(told), "{text}: {}", notes(text));
        }
        let (volume, _) = Volume::parse("aws-gp2, credits=0%").unwrap();
        assert_eq!(volume.set, [("drive.limit.filled".to_owned(), "0 %".to_owned())]);
    }

    #[test]
    fn what_is_not_published_is_named_unless_it_is_set() {
        let told = notes("aws-gp3");
        for unknown in ["reads take 200 µs to 9.90 ms", "latency distribution", "are averaged"] {
            assert!(told.contains(unknown), "{told}");
        }
        let known = notes("aws-gp3,drive.read.variation=10 %,drive.write.variation=10 %");
        assert!(!known.contains("distribution"), "{known}");
        let old = notes("atlas10k");
        assert!(old.ends_with("(1999), behind the same queue, controller and bus"), "{old}");
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_sentence() {
        for (text, sentence) in [
            ("aws-gp4", "did you mean \"aws-gp"),
            ("vax-11-780", "has no drive"),
            ("aws-gp3,iops", "\"iops\" is not KEY=VALUE; the keys are iops, throughput, size"),
            ("aws-gp3,iops=many", "\"many\" is not a number of IOPS"),
            ("aws-gp3,iops=90000", "90000 IOPS is out of range"),
            ("aws-gp3,size=10g,iops=16000", "a volume of 10 GiB has 3000 IOPS to 5000 IOPS"),
            ("aws-gp3,throughput=200MB", "write 200m or 200000000"),
            ("aws-gp2,iops=5000", "iops= cannot be set for aws-gp2: the provider"),
            ("gcp-pd-ssd,iops=5000", "cannot be set for gcp-pd-ssd"),
            ("aws-gp3,credits=50%", "has no burst credits"),
            ("aws-gp2,credits=half", "give 0% to 100%"),
            ("atlas10k,size=1t", "has one size"),
            ("aws-gp3,speed=1", "\"speed\" is unknown"),
            ("aws-gp3,drive.limit.iops.rat=1", "did you mean \"drive.limit.iops.rate\""),
        ] {
            let error = Volume::parse(text).unwrap_err();
            assert!(error.contains(sentence), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{text}: {error}");
        }
    }
}

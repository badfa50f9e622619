//! The changes that `lbolt whatif` knows: a name becomes other values for keys of the model,
//! another part of it, or more drives for the trace's devices.
//!
//! Source: the two suggestions of Johnson, Smith & Wilson (1986), put reads first and dribble the
//! writes; the others are what the models can do besides.
//!
//! Non-goals: replaying (`run::simulate`).

use crate::resolve::modelled::refused;
use crate::resolve::volume::Volume;
use messages::fault::{Fault, failure};
use model::record::Finding;
use model::units::{parse_size, show_size};
use sim::profile::{Profile, plain};
use sim::queue::POLICIES;

/// Bytes of a device that lie together on one of several drives.
pub(crate) const CHUNK_BYTES: u64 = 64 * 1024;

/// What a profile gets in the place of what it has.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Edit {
    /// Another value for a key.
    Set(String, String),
    /// The drive of another profile.
    Drive(Volume),
    /// Nothing.
    Without(&'static str),
}

/// A change, ready to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// As it was typed.
    pub(crate) name: String,
    edits: Vec<Edit>,
    /// Drives that each device of the trace is spread over; 0 and 1 are one.
    pub(crate) drives: u32,
    /// What it stands for, where its name does not say that.
    pub(crate) notes: Vec<String>,
    /// How to do it on a machine of today.
    pub(crate) advice: Vec<String>,
    /// What each of its parts acts on.
    acts_on: Vec<ActsOn>,
}

/// What a change acts on. Where a replay has none of that, it does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActsOn {
    /// Asynchronous writes.
    AsyncWrites,
    /// The order of a driver's queue.
    Queue,
    /// Each request.
    Requests,
}

impl ActsOn {
    /// Why a replay has none of it, by its findings; none where it has some.
    fn missing(self, before: &[Finding]) -> Option<&'static str> {
        let of = |quantity: &'static str| before.iter().filter(move |f| f.quantity == quantity);
        let has =
            |op: &str| of("simulated_count").any(|f| f.subject.get("op").as_deref() == Some(op));
        let is_queued = |found: &Finding| found.value.is_some_and(|requests| requests > 0.0);
        match self {
            Self::AsyncWrites if !has("write") => Some("the trace has no writes"),
            Self::AsyncWrites if !has("async write") => {
                Some("no write of the trace is marked as asynchronous")
            }
            Self::Queue if !of("simulated_queued_count").any(is_queued) => {
                Some("no request waits in the driver's queue")
            }
            Self::AsyncWrites | Self::Queue | Self::Requests => None,
        }
    }
}

/// A change that is known.
struct Known {
    name: &'static str,
    /// What stands behind the name; empty if nothing does.
    value: &'static str,
    make: fn(&str, &Profile) -> Result<Change, String>,
}

const KNOWN: [Known; 6] = [
    Known { name: "reads-first", value: "", make: reads_first },
    Known { name: "dribble", value: "WRITES/s", make: dribble },
    Known { name: "scheduler", value: "NAME", make: scheduler },
    Known { name: "drives", value: "N", make: drives },
    Known { name: "drive", value: "MODEL[,KEY=VALUE]...", make: drive },
    Known { name: "cache", value: "SIZE|on|off", make: cache },
];

impl Change {
    /// Reads `reads-first+drives=2` for a model.
    /// Errors: a change that is not known, or that the model cannot have; two of one key.
    pub(crate) fn parse(text: &str, profile: &Profile) -> anyhow::Result<Self> {
        let fault = |why: String| failure(Fault::Usage, format!("--change {text}: {why}"));
        let mut all = Self { name: text.to_owned(), ..Self::default() };
        // What comes later is of the model as what comes earlier has made it.
        let mut profile = profile.clone();
        for word in text.split('+') {
            let one = single(word.trim(), &profile).map_err(fault)?;
            let twice = one.edits.iter().find(|edit| all.edits.iter().any(|e| e.meets(edit)));
            if twice.is_some() || (all.drives > 0 && one.drives > 0) {
                let why = format!("\"{word}\" changes the same key as another part");
                return Err(fault(format!("{why}; give two --change options to compare them")));
            }
            one.apply(&mut profile, 0)?;
            all.drives += one.drives;
            all.edits.extend(one.edits);
            all.notes.extend(one.notes);
            all.advice.extend(one.advice);
            let requests = one.acts_on.is_empty().then_some(ActsOn::Requests);
            all.acts_on.extend(one.acts_on.into_iter().chain(requests));
        }
        Ok(all)
    }

    /// Why it changes nothing on a model whose replay without it came to these findings, if that is
    /// known.
    pub(crate) fn why_idle(&self, profile: &Profile, before: &[Finding]) -> Option<String> {
        let mut changed = profile.clone();
        self.apply(&mut changed, 0).ok()?;
        let values = |profile: &Profile| -> Vec<(String, String)> {
            profile.leaves().map(|(key, leaf)| (key.to_owned(), plain(&leaf.value))).collect()
        };
        if self.drives < 2 && values(profile) == values(&changed) {
            return Some(format!("the model {} is so already", profile.name()));
        }
        let missing = self.acts_on.iter().map(|part| part.missing(before));
        missing.collect::<Option<Vec<_>>>().map(|all| all.join(", "))
    }

    /// Makes it on a draw of the model.
    /// Errors: what cannot be: file, key and reason.
    pub(crate) fn apply(&self, profile: &mut Profile, draw: u64) -> anyhow::Result<()> {
        for edit in &self.edits {
            match edit {
                Edit::Set(key, value) => profile.set(key, value).map_err(refused)?,
                Edit::Without(part) => profile.replace(part, None),
                Edit::Drive(volume) => {
                    profile.replace("drive", Some(&volume.load()?.drawn(draw)));
                }
            }
        }
        Ok(())
    }

    fn set(key: &str, value: impl Into<String>) -> Self {
        Self { edits: vec![Edit::Set(key.to_owned(), value.into())], ..Self::default() }
    }

    fn on(mut self, part: ActsOn) -> Self {
        self.acts_on.push(part);
        self
    }

    fn noted(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    fn advised(mut self, advice: &str) -> Self {
        self.advice.push(advice.to_owned());
        self
    }
}

impl Edit {
    /// Whether a later one changes what this one does.
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Set(a, _), Self::Set(b, _)) => a == b,
            (Self::Drive(_), Self::Drive(_)) | (Self::Without(_), Self::Without(_)) => true,
            (Self::Set(key, _), Self::Without(part)) | (Self::Without(part), Self::Set(key, _)) => {
                key.starts_with(part)
            }
            (Self::Set(key, _), Self::Drive(_)) => key.starts_with("drive."),
            (Self::Without(_), Self::Drive(_)) => true,
            _ => false,
        }
    }
}

/// The names with what stands behind them, for help and refusals.
pub(crate) fn known_changes() -> String {
    let shown = |known: &Known| match known.value {
        "" => known.name.to_owned(),
        value => format!("{}={value}", known.name),
    };
    KNOWN.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn single(word: &str, profile: &Profile) -> Result<Change, String> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let known = KNOWN.iter().find(|known| known.name == name.trim());
    let known =
        known.ok_or_else(|| format!("\"{word}\" is unknown; known are {}", known_changes()))?;
    if known.value.is_empty() != value.trim().is_empty() {
        let form = match known.value {
            "" => known.name.to_owned(),
            value => format!("{}={value}", known.name),
        };
        return Err(format!("\"{word}\" is not valid; write {form}"));
    }
    (known.make)(value.trim(), profile)
}

/// Reads before writes, at the driver and, if the controller takes several at once, there.
fn reads_first(_: &str, profile: &Profile) -> Result<Change, String> {
    let change = ordered("reads-first", profile);
    Ok(change.advised(
        "on Linux, mq-deadline is the nearest scheduler; `lbolt storm TARGET --remedies \
         mq-deadline` tries it",
    ))
}

/// A policy for the driver's queue, and for the controller that takes several requests.
fn ordered(policy: &str, profile: &Profile) -> Change {
    let mut change = queued(policy, profile);
    let credits = value_of(profile, "controller.outstanding");
    if credits.is_some_and(|credits| credits != "1" && credits != "depth") {
        change.edits.push(Edit::Set("controller.ordering".into(), policy.into()));
        change.notes.push(format!(
            "{policy} orders the queues of the driver and of the \
                                   controller"
        ));
    }
    change
}

/// A policy for the driver's queue. Nothing waits there before a virtual drive.
fn queued(policy: &str, profile: &Profile) -> Change {
    let change = Change::set("queue.policy", policy).on(ActsOn::Queue);
    match value_of(profile, "drive.service.depth") {
        Some(depth) => change.noted(format!(
            "a virtual drive serves up to {depth} requests at once, in an order that its profile \
             does not know, so this prediction may miss most of the effect of a new order; `lbolt \
             storm TARGET --remedies all` measures it"
        )),
        None => change,
    }
}

fn value_of(profile: &Profile, key: &str) -> Option<String> {
    profile.leaves().find(|(name, _)| *name == key).map(|(_, leaf)| plain(&leaf.value))
}

/// At most so many asynchronous writes a second to a drive.
fn dribble(value: &str, _: &Profile) -> Result<Change, String> {
    let rate = value.strip_suffix("/s").and_then(|number| number.trim().parse::<f64>().ok());
    let rate = rate.filter(|rate| (1e-3..=1e6).contains(rate)).ok_or_else(|| {
        format!(
            "\"{value}\" is not a write rate; give one from 0.001/s to 1000000/s, for example \
             dribble=20/s"
        )
    })?;
    let interval_ns = (1e9 / rate).round();
    Ok(Change::set("queue.write_interval", format!("{interval_ns} ns"))
        .on(ActsOn::AsyncWrites)
        .noted(format!(
            "a drive gets at most {rate} asynchronous writes per second (queue.write_interval); \
             synchronous writes are not held back"
        ))
        .advised(
            "on Linux, low values of vm.dirty_background_bytes and vm.dirty_writeback_centisecs \
             start writeback earlier and in smaller amounts; `lbolt storm TARGET --remedies \
             dirty-early` tries it",
        ))
}

/// Schedulers of Linux, and the policy that is nearest to each.
const SCHEDULERS: [(&str, &str); 5] = [
    ("none", "fifo"),
    ("noop", "fifo"),
    ("mq-deadline", "mq-deadline"),
    ("elevator", "c-scan"),
    ("cscan", "c-scan"),
];

/// Those that no policy is near to, and why.
const NOT_MODELLED: [(&str, &str); 3] = [
    ("bfq", "it divides time among processes, which no modelled policy does"),
    ("cfq", "it divides time among processes, which no modelled policy does"),
    ("kyber", "it adapts the queue depth to latencies"),
];

fn scheduler(value: &str, profile: &Profile) -> Result<Change, String> {
    if let Some((_, why)) = NOT_MODELLED.iter().find(|(name, _)| *name == value) {
        return Err(format!("the scheduler {value} is not modelled: {why}"));
    }
    let near = SCHEDULERS.iter().find(|(name, _)| *name == value).map(|(_, policy)| *policy);
    let policy = near.or_else(|| POLICIES.iter().map(|(name, _)| *name).find(|n| *n == value));
    let policy = policy.ok_or_else(|| {
        let policies = POLICIES.iter().map(|(name, _)| *name);
        let names: Vec<&str> = SCHEDULERS.iter().map(|(name, _)| *name).chain(policies).collect();
        format!("\"{value}\" is not a modelled scheduler; known are {}", names.join(", "))
    })?;
    let change = queued(policy, profile);
    let change = match near {
        Some(near) if near != value => {
            change.noted(format!("the model's policy nearest to {value} is {policy}"))
        }
        _ => change,
    };
    let change = match value_of(profile, "controller.outstanding") {
        Some(credits) if credits != "1" && credits != "depth" => change.noted(format!(
            "only the driver's queue changes; the controller still takes {credits} requests at once"
        )),
        _ => change,
    };
    Ok(change.advised(
        "on Linux, echo NAME > /sys/block/DEV/queue/scheduler sets the scheduler; `lbolt storm \
         TARGET --remedies all` tries them",
    ))
}

fn drives(value: &str, _: &Profile) -> Result<Change, String> {
    let count = value.parse::<u32>().ok().filter(|count| (1..=64).contains(count));
    let count =
        count.ok_or_else(|| format!("\"{value}\" is not a number of drives from 1 to 64"))?;
    let change = Change { drives: count, ..Change::default() };
    if count == 1 {
        return Ok(change);
    }
    Ok(change
        .noted(format!(
            "each device is striped over {count} drives in chunks of {}; a whole request goes to \
             the drive of its first byte, a flush to the first drive",
            show_size(CHUNK_BYTES)
        ))
        .advised(&format!(
            "a striped volume: `mdadm --create /dev/md/striped --level=0 --chunk={}K \
             --raid-devices={count} DRIVE …`, where DRIVE … are the names of {count} empty drives",
            CHUNK_BYTES >> 10
        )))
}

fn drive(value: &str, _: &Profile) -> Result<Change, String> {
    let (volume, profile) = Volume::parse(value)?;
    let notes = volume.notes(&profile);
    Ok(Change { edits: vec![Edit::Drive(volume)], notes, ..Change::default() })
}

/// The cache of a rotating drive, by its segments; the buffer of a flash drive.
fn cache(value: &str, profile: &Profile) -> Result<Change, String> {
    let has_cache = profile.reader().below("drive").below("cache").has_any();
    let has_buffer = value_of(profile, "drive.buffer.size").is_some();
    match value {
        "on" if has_cache || has_buffer => Ok(Change::default().noted("the model's cache is on")),
        "off" if has_cache => {
            Ok(Change { edits: vec![Edit::Without("drive.cache")], ..Change::default() }
                .advised("`hdparm -W0 -A0 DEV` turns a drive's write cache and read-ahead off"))
        }
        "off" if has_buffer => {
            Err("a flash drive cannot work without its buffer; give cache=SIZE".into())
        }
        "on" | "off" => Err(format!(
            "the model {} has no cache; choose another model or \
                                     change",
            profile.name()
        )),
        size => sized(size, profile),
    }
}

fn sized(size: &str, profile: &Profile) -> Result<Change, String> {
    let bytes = parse_size(size).map_err(|error| error.to_string())?;
    if value_of(profile, "drive.buffer.size").is_some() {
        return Ok(Change::set("drive.buffer.size", format!("{bytes} B")));
    }
    let drive = profile.reader().below("drive");
    let blocks = drive.below("cache").count("segment_blocks").ok();
    let sector_bytes = drive.below("layout").size_bytes("sector_size").ok();
    let has_segments = value_of(profile, "drive.cache.segments").is_some();
    let (true, Some(blocks), Some(sector_bytes)) = (has_segments, blocks, sector_bytes) else {
        return Err(format!("the cache of model {} has no size to change", profile.name()));
    };
    let segments = bytes / (blocks * sector_bytes).max(1);
    if segments == 0 {
        let least = show_size(blocks * sector_bytes);
        return Err(format!(
            "{size} is less than one cache segment ({least}); give a larger size or \
                            cache=off"
        ));
    }
    Ok(Change::set("drive.cache.segments", segments.to_string())
        .noted(format!("the cache has {segments} segments of {blocks} blocks")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::modelled::load;
    use papers::CATALOG;

    fn parse(text: &str, model: &str) -> Result<Change, String> {
        Change::parse(text, &load(model, &[]).unwrap()).map_err(|error| error.to_string())
    }

    fn set(change: &Change, key: &str) -> Option<String> {
        change.edits.iter().find_map(|edit| match edit {
            Edit::Set(name, value) if name == key => Some(value.clone()),
            _ => None,
        })
    }

    #[test]
    fn names_become_keys_of_the_model() {
        for (text, key, value) in [
            ("reads-first", "queue.policy", "reads-first"),
            ("dribble=20/s", "queue.write_interval", "50000000 ns"),
            ("scheduler=none", "queue.policy", "fifo"),
            ("scheduler=mq-deadline", "queue.policy", "mq-deadline"),
            ("scheduler=sstf", "queue.policy", "sstf"),
            ("drives=2+reads-first", "queue.policy", "reads-first"),
            ("cache=8m", "drive.cache.segments", "8"),
        ] {
            let change = parse(text, "generic-7200rpm").unwrap();
            assert_eq!(set(&change, key).as_deref(), Some(value), "{text}");
        }
        let flash = parse("cache=1g", "flash-nvme-2020").unwrap();
        assert_eq!(set(&flash, "drive.buffer.size").as_deref(), Some("1073741824 B"));
        assert_eq!(parse("drives=3", "atlas10k").unwrap().drives, 3);
    }

    #[test]
    fn an_order_that_a_virtual_drive_does_not_know_is_warned_of() {
        const VIRTUAL: &str = "kind = 'drive'\ntitle = 'x'\n[design]\nassumed = 'x'\nkind = \
                               'virtual'\n[service]\nassumed = 'x'\ndepth = 64\n";
        let profile = CATALOG.load_text("mine", "mine.toml", VIRTUAL).unwrap();
        for (text, count) in [("reads-first", 1), ("scheduler=mq-deadline", 1), ("drives=1", 0)] {
            let notes = Change::parse(text, &profile).unwrap().notes;
            let warned = notes.iter().filter(|note| note.contains("up to 64 requests at once"));
            assert_eq!(warned.count(), count, "{text}: {notes:?}");
        }
        let known = parse("reads-first", "generic-7200rpm").unwrap();
        assert!(!known.notes.iter().any(|note| note.contains("virtual")), "{:?}", known.notes);
    }

    #[test]
    fn why_a_change_does_nothing_is_known_by_what_it_acts_on() {
        use model::record::subject::{Model, ModelOp, Subject};
        let requests = |op: &str| {
            let (device, model, op) = ("0".into(), "m".into(), op.into());
            let subject = Subject::ModelOp(ModelOp { device, model, op });
            Finding::new(&subject, "simulated_count", Some(9.0), 9, "simulated")
        };
        let queued = |requests: f64| {
            let subject = Subject::Model(Model { device: "0".into(), model: "m".into() });
            Finding::new(&subject, "simulated_queued_count", Some(requests), 9, "simulated")
        };
        let (read, write, asynchronous) =
            (requests("read"), requests("write"), requests("async write"));
        let nothing_queued = [queued(0.0), read.clone(), write.clone()];
        let mixed = [queued(3.0), read.clone(), write.clone(), asynchronous];
        for (text, before, why) in [
            ("dribble=5/s", &[read][..], Some("the trace has no writes")),
            ("dribble=5/s", &nothing_queued, Some("no write of the trace is marked")),
            ("dribble=5/s", &mixed, None),
            ("scheduler=sstf", &nothing_queued, Some("no request waits in the driver's queue")),
            ("scheduler=sstf+dribble=5/s", &nothing_queued, Some("queue, no write of the trace")),
            ("scheduler=sstf+drives=2", &nothing_queued, None),
            ("scheduler=sstf", &mixed, None),
            ("drives=1", &mixed, Some("generic-7200rpm is so already")),
            ("drives=2", &nothing_queued, None),
        ] {
            let profile = load("generic-7200rpm", &[]).unwrap();
            let known = Change::parse(text, &profile).unwrap().why_idle(&profile, before);
            assert_eq!(known.is_some(), why.is_some(), "{text}: {known:?}");
            let known = known.unwrap_or_default();
            assert!(known.contains(why.unwrap_or_default()), "{text}: {known}");
        }
    }

    #[test]
    fn what_is_made_can_be_replayed_on() {
        for (text, model) in [
            ("drive=atlas10k", "barracuda"),
            ("drive=flash-nvme-2020+scheduler=none", "hp-9000-845"),
            ("cache=off", "generic-7200rpm"),
            ("cache=on", "generic-7200rpm"),
            ("drive=generic-7200rpm+cache=2m", "hp-9000-845"),
            ("cache=64m", "flash-sata-2018"),
        ] {
            let change = parse(text, model).unwrap();
            let mut profile = load(model, &[]).unwrap();
            change.apply(&mut profile, 0).unwrap();
            crate::resolve::modelled::check(&profile).unwrap_or_else(|e| panic!("{text}: {e}"));
        }
    }

    #[test]
    fn bad_changes_are_refused_with_what_is_known() {
        for (text, sentence) in [
            ("", "known are reads-first, dribble=WRITES/s"),
            ("faster", "\"faster\" is unknown"),
            ("reads-first=1", "write reads-first"),
            ("dribble", "write dribble=WRITES/s"),
            ("dribble=20", "give one from"),
            ("dribble=0/s", "give one from"),
            ("dribble=nan/s", "give one from"),
            ("scheduler=bfq", "bfq is not modelled: it divides"),
            ("scheduler=kyber", "kyber is not modelled"),
            ("scheduler=best", "known are none"),
            ("drives=0", "from 1 to 64"),
            ("drives=two", "from 1 to 64"),
            ("drive=atlas10", "did you mean"),
            ("drive=vax-11-780", "has no drive"),
            ("cache=off", "has no cache"),
            ("cache=5 parsecs", "parsecs"),
            ("cache=1m", "has no size to change"),
            ("reads-first+scheduler=none", "changes the same key as another part"),
            ("drives=2+drives=3", "changes the same key as another part"),
            (
                "drive=generic-7200rpm+cache=2m+drive=atlas10k",
                "changes the same key as another part",
            ),
        ] {
            let error = parse(text, "hp-9000-845").unwrap_err();
            assert!(error.contains(sentence), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{text}: {error}");
        }
        let small = parse("cache=1k", "generic-7200rpm").unwrap_err();
        assert!(small.contains("less than one cache segment"), "{small}");
    }
}

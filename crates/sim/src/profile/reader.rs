//! What a model asks of a profile: one key after another, each with its kind. What is requested is
//! noted, so that what nobody knows can be refused with the nearest word.

use super::leaf::{Leaf, Leaves, Source, flatten, join};
use super::unit::{self, Dimension};
use super::{Calibrated, ProfileError};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::Arc;
use toml::{Table, Value};

/// What is around a drive that is no part of a machine.
pub(super) const ALONE: (&str, &str) =
    ("crates/sim/profiles/alone.toml", include_str!("../../profiles/alone.toml"));

/// Speeds at which anything turns.
const RPM: RangeInclusive<f64> = 1.0..=1e6;

/// A profile as a flat list of leaves.
#[derive(Debug, Clone)]
pub struct Profile {
    name: Arc<str>,
    /// What it is of: machine, drive …
    pub kind: String,
    /// One line for lists.
    pub title: String,
    leaves: Leaves,
}

impl Profile {
    /// A profile without leaves.
    pub(super) fn empty(name: &str) -> Self {
        Self { name: name.into(), kind: String::new(), title: String::new(), leaves: Leaves::new() }
    }

    /// Adds a file's leaves under a prefix, in place of those that are there.
    pub(super) fn overlay(
        &mut self,
        file: &str,
        prefix: &str,
        table: &Table,
    ) -> Result<(), ProfileError> {
        flatten(&file.into(), prefix, table, None, &mut self.leaves)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its leaves by their keys.
    pub fn leaves(&self) -> impl Iterator<Item = (&str, &Leaf)> {
        self.leaves.iter().map(|(key, leaf)| (key.as_str(), leaf))
    }

    pub(super) fn leaves_mut(&mut self) -> impl Iterator<Item = (&str, &mut Leaf)> {
        self.leaves.iter_mut().map(|(key, leaf)| (key.as_str(), leaf))
    }

    /// Changes one value: `drive.rotation.speed`, `5400 rpm`. A number or a word needs no quotes.
    /// Errors: a key that the profile does not have, with the nearest that it has. Whether the
    /// value makes sense is known when it is read.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ProfileError> {
        let Some(leaf) = self.leaves.get_mut(key) else {
            let known = self.leaves.keys().map(String::as_str);
            let reason = format!("is not a key of this model{}", nearest(key, known));
            return Err(ProfileError::new(&self.name, key, reason));
        };
        let parsed = toml::from_str::<Table>(&format!("value = {text}")).ok();
        let value = parsed.and_then(|mut table| table.remove("value"));
        // What was text stays text: `5400 rpm`.
        leaf.value = value.unwrap_or_else(|| Value::String(text.to_owned()));
        (leaf.low, leaf.high, leaf.source) = (None, None, Some(Source::Set));
        leaf.file = "--set".into();
        Ok(())
    }

    /// Changes one number that has a unit, in the base unit of its kind; for fits.
    pub fn set_number(&mut self, key: &str, value: f64, unit: &str) -> Result<(), ProfileError> {
        match unit {
            "" => self.set(key, &format!("{value:?}")),
            _ => self.set(key, &format!("\"{value} {unit}\"")),
        }
    }

    /// Puts a part of another profile (`drive`) in the place of its own; without another one, takes
    /// the part away (`drive.cache`).
    pub fn replace(&mut self, part: &str, other: Option<&Self>) {
        let prefix = format!("{part}.");
        let is_of_part = |key: &str| key.starts_with(&prefix);
        self.leaves.retain(|key, _| !is_of_part(key));
        let theirs = other.into_iter().flat_map(|other| other.leaves.iter());
        let theirs = theirs.filter(|(key, _)| is_of_part(key));
        self.leaves.extend(theirs.map(|(key, leaf)| (key.clone(), leaf.clone())));
    }

    /// For asking, from the top.
    pub fn reader(&self) -> Reader<'_> {
        Reader { profile: self, prefix: String::new(), requested: Rc::default() }
    }
}

/// The longest time that a profile may have.
const DAY_NS: f64 = 86_400e9;

/// A place in a profile from which keys are requested.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    profile: &'a Profile,
    prefix: String,
    requested: Rc<RefCell<BTreeSet<String>>>,
}

impl<'a> Reader<'a> {
    /// The table of that name below this one; it may be empty.
    pub fn below(&self, key: &str) -> Self {
        Self { prefix: join(&self.prefix, key), ..self.clone() }
    }

    /// The tables of a list.
    pub fn list(&self, key: &str) -> Vec<Self> {
        let list = self.below(key);
        let at = |index: usize| list.below(&index.to_string());
        (0..).map(at).take_while(Self::has_any).collect()
    }

    /// Whether there is anything below here.
    pub fn has_any(&self) -> bool {
        self.first().is_some()
    }

    /// The source of the first value below here.
    pub fn source(&self) -> Option<&'a Source> {
        self.first()?.source.as_ref()
    }

    fn first(&self) -> Option<&'a Leaf> {
        let prefix = format!("{}.", self.prefix);
        let mut after = self.profile.leaves.range(prefix.clone()..);
        after.next().filter(|(key, _)| key.starts_with(&prefix)).map(|(_, leaf)| leaf)
    }

    /// Whether there is such a value.
    pub fn has(&self, key: &str) -> bool {
        self.leaf(key).is_some()
    }

    /// What is read under a key; another value where the profile has none.
    pub fn or<T>(
        &self,
        key: &str,
        otherwise: T,
        read: impl FnOnce(&Self, &str) -> Result<T, ProfileError>,
    ) -> Result<T, ProfileError> {
        if self.has(key) { read(self, key) } else { Ok(otherwise) }
    }

    fn leaf(&self, key: &str) -> Option<&'a Leaf> {
        let path = join(&self.prefix, key);
        let leaf = self.profile.leaves.get(&path);
        self.requested.borrow_mut().insert(path);
        leaf
    }

    /// An error at a key, in the file where it stands, or where its neighbours do.
    pub fn error(&self, key: &str, reason: impl Into<String>) -> ProfileError {
        let path = join(&self.prefix, key);
        let leaf =
            self.profile.leaves.get(&path).or_else(|| self.neighbours(&path).next().map(|n| n.1));
        let file = leaf.map_or(&*self.profile.name, |leaf| &leaf.file);
        ProfileError::new(file, &path, reason)
    }

    /// What stands in the same table, or in the first table above it that holds anything.
    fn neighbours(&self, path: &str) -> impl Iterator<Item = (&'a String, &'a Leaf)> {
        let leaves = &self.profile.leaves;
        let tables = path.match_indices('.').rev().map(|(end, _)| &path[..=end]);
        let mut held = tables.filter(|table| {
            leaves
                .range((*table).to_owned()..)
                .next()
                .is_some_and(|(key, _)| key.starts_with(table))
        });
        let table = held.next().unwrap_or("").to_owned();
        leaves.range(table.clone()..).take_while(move |(key, _)| key.starts_with(&table))
    }

    /// A key that is missing, with what may be meant for it.
    fn missing(&self, key: &str) -> ProfileError {
        let path = join(&self.prefix, key);
        let requested = self.requested.borrow();
        let unknown = self.neighbours(&path).map(|(known, _)| known.as_str());
        let near = nearest(&path, unknown.filter(|known| !requested.contains(*known)));
        self.error(key, format!("is missing{near}"))
    }

    /// A value that must be there.
    fn value(&self, key: &str) -> Result<&'a Value, ProfileError> {
        let leaf = self.leaf(key).ok_or_else(|| self.missing(key))?;
        if !leaf.is_sourced() {
            let reason = "has no source; add published, fitted or assumed to it or to its table";
            return Err(self.error(key, reason));
        }
        Ok(&leaf.value)
    }

    /// A number in the base unit of its dimension.
    fn quantity(&self, key: &str, dimension: &Dimension) -> Result<f64, ProfileError> {
        match self.value(key)? {
            Value::String(text) => {
                unit::parse(text, dimension).map_err(|reason| self.error(key, reason))
            }
            Value::Integer(_) | Value::Float(_) => {
                let reason =
                    format!("has no unit: write {} as text, with its unit", dimension.what);
                Err(self.error(key, reason))
            }
            _ => Err(self.error(key, format!("is not {}", dimension.what))),
        }
    }

    /// A value, if it is fine; else why it is not.
    pub fn if_fine<T>(
        &self,
        key: &str,
        value: T,
        is_fine: impl FnOnce(&T) -> bool,
        reason: impl Into<String>,
    ) -> Result<T, ProfileError> {
        if is_fine(&value) { Ok(value) } else { Err(self.error(key, reason)) }
    }

    /// A value, named in words, if it is within bounds.
    fn if_within<T: PartialOrd + Display>(
        &self,
        key: &str,
        (value, named): (T, &str),
        bounds: &RangeInclusive<T>,
    ) -> Result<T, ProfileError> {
        if bounds.contains(&value) {
            return Ok(value);
        }
        let (low, high) = (bounds.start(), bounds.end());
        Err(self.error(key, format!("{value} {named} not from {low} to {high}")))
    }

    /// A quantity that is not negative.
    fn amount(&self, key: &str, dimension: &Dimension) -> Result<f64, ProfileError> {
        let value = self.quantity(key, dimension)?;
        self.if_fine(key, value, |value| *value >= 0.0, "is negative")
    }

    /// A quantity above zero.
    fn positive(&self, key: &str, dimension: &Dimension) -> Result<f64, ProfileError> {
        let value = self.quantity(key, dimension)?;
        self.if_fine(key, value, |value| *value > 0.0, "must be above zero")
    }

    /// A time, not negative and of a day at most, in ns: sums of them are to fit into a clock of 64
    /// bits.
    /// Errors: as all of these: missing, without a unit or a source, or impossible.
    pub fn time_ns(&self, key: &str) -> Result<f64, ProfileError> {
        let time_ns = self.amount(key, &unit::TIME)?;
        self.if_fine(key, time_ns, |time_ns| *time_ns <= DAY_NS, "is more than a day")
    }

    /// A time that may be negative (a correction), in ns.
    pub fn correction_ns(&self, key: &str) -> Result<f64, ProfileError> {
        self.quantity(key, &unit::TIME)
    }

    /// A time, or another one where the profile has none.
    pub fn time_ns_or(&self, key: &str, otherwise_ns: f64) -> Result<f64, ProfileError> {
        self.or(key, otherwise_ns, Self::time_ns)
    }

    /// A whole number within bounds, or another one where the profile has none.
    pub fn count_or(
        &self,
        key: &str,
        bounds: RangeInclusive<u64>,
        otherwise: u64,
    ) -> Result<u64, ProfileError> {
        self.or(key, otherwise, |reader, key| reader.count_in(key, bounds))
    }

    /// Yes or no, or one of them where the profile has none.
    pub fn is_or(&self, key: &str, otherwise: bool) -> Result<bool, ProfileError> {
        self.or(key, otherwise, Self::is)
    }

    /// A time for a byte, in ns.
    pub fn time_per_byte_ns(&self, key: &str) -> Result<f64, ProfileError> {
        let time_ns = self.amount(key, &unit::TIME_PER_BYTE)?;
        self.if_fine(key, time_ns, |time_ns| *time_ns <= 1e9, "is more than one second per byte")
    }

    /// A rate above zero, in bytes a second.
    pub fn rate_bytes_per_s(&self, key: &str) -> Result<f64, ProfileError> {
        self.positive(key, &unit::RATE)
    }

    /// A size in whole bytes, one at least.
    pub fn size_bytes(&self, key: &str) -> Result<u64, ProfileError> {
        let bytes = self.positive(key, &unit::SIZE)?.round() as u64;
        self.if_fine(key, bytes, |bytes| *bytes > 0, "is less than a byte")
    }

    /// A size in whole bytes, within bounds.
    pub fn size_bytes_in(
        &self,
        key: &str,
        bounds: RangeInclusive<u64>,
    ) -> Result<u64, ProfileError> {
        self.if_within(key, (self.size_bytes(key)?, "bytes are"), &bounds)
    }

    /// The time of one revolution, in ns, from a speed in rpm.
    pub fn revolution_ns(&self, key: &str) -> Result<f64, ProfileError> {
        let rpm = self.positive(key, &unit::SPEED)?;
        Ok(60e9 / self.if_within(key, (rpm, "rpm are"), &RPM)?)
    }

    /// A share: `12 %` is 0.12.
    pub fn fraction(&self, key: &str) -> Result<f64, ProfileError> {
        self.amount(key, &unit::FRACTION)
    }

    /// A share that is not above another.
    pub fn fraction_to(&self, key: &str, most: f64) -> Result<f64, ProfileError> {
        let share = self.fraction(key)?;
        let reason = format!("is more than {} %", 100.0 * most);
        self.if_fine(key, share, |share| *share <= most, reason)
    }

    /// What a value is, if it is that; `what` says in words that it is not.
    fn as_what<T>(
        &self,
        key: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
        what: &str,
    ) -> Result<T, ProfileError> {
        let value = self.value(key)?;
        read(value).ok_or_else(|| self.error(key, format!("{value} is {what}")))
    }

    /// A whole number, not negative.
    pub fn count(&self, key: &str) -> Result<u64, ProfileError> {
        self.as_what(key, |value| u64::try_from(value.as_integer()?).ok(), "not a whole number")
    }

    /// A whole number within bounds.
    pub fn count_in(&self, key: &str, bounds: RangeInclusive<u64>) -> Result<u64, ProfileError> {
        self.if_within(key, (self.count(key)?, "is"), &bounds)
    }

    /// A number without a unit: a factor, a number of sectors that need not be whole.
    pub fn number(&self, key: &str) -> Result<f64, ProfileError> {
        self.as_what(key, finite, "not a number")
    }

    /// A number without a unit that is not below another.
    pub fn number_from(&self, key: &str, least: f64) -> Result<f64, ProfileError> {
        let number = self.number(key)?;
        self.if_fine(key, number, |number| *number >= least, format!("is below {least}"))
    }

    /// Yes or no.
    pub fn is(&self, key: &str) -> Result<bool, ProfileError> {
        self.as_what(key, Value::as_bool, "neither true nor false")
    }

    /// A text.
    pub fn text(&self, key: &str) -> Result<&'a str, ProfileError> {
        self.as_what(key, Value::as_str, "not a text")
    }

    /// One of the words of a table.
    pub fn one_of<T: Copy>(&self, key: &str, table: &[(&str, T)]) -> Result<T, ProfileError> {
        let text = self.text(key)?;
        let found = table.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = table.iter().map(|(word, _)| *word).collect();
            let near = nearest(text, words.iter().copied());
            self.error(key, format!("\"{text}\" is unknown{near}; known are {}", words.join(", ")))
        })
    }

    /// A list of what `item` reads, by that name in errors.
    fn list_of<T>(
        &self,
        key: &str,
        item: impl Fn(&Value) -> Option<T>,
        what: &str,
    ) -> Result<Vec<T>, ProfileError> {
        let list = self.value(key)?.as_array();
        let items = list.and_then(|list| list.iter().map(item).collect());
        items.ok_or_else(|| self.error(key, format!("is not a list of {what}")))
    }

    /// A list of pairs of numbers, as `points_ms = [[1, 1.245], …]`; the unit is in the key.
    pub fn pairs(&self, key: &str) -> Result<Vec<(f64, f64)>, ProfileError> {
        let pair = |value: &Value| match value.as_array().map(Vec::as_slice) {
            Some([first, second]) => Some((finite(first)?, finite(second)?)),
            _ => None,
        };
        self.list_of(key, pair, "pairs of numbers")
    }

    /// A list of numbers; the unit is in the key.
    pub fn numbers(&self, key: &str) -> Result<Vec<f64>, ProfileError> {
        self.list_of(key, finite, "numbers")
    }

    /// A list of rows of numbers, as `zones = [[0, 432, 334], …]`; units are in the key's
    /// documentation.
    pub fn rows(&self, key: &str) -> Result<Vec<Vec<f64>>, ProfileError> {
        let row = |value: &Value| value.as_array()?.iter().map(finite).collect();
        self.list_of(key, row, "rows of numbers")
    }

    /// Refuses keys below here that are none of these.
    /// Errors: the first unknown key, with the nearest known one.
    pub fn only(&self, known: &[&str]) -> Result<(), ProfileError> {
        let prefix = format!("{}.", self.prefix);
        let after = self.profile.leaves.range(prefix.clone()..);
        let mut below = after.map_while(|(key, _)| key.strip_prefix(&prefix));
        let Some(key) = below.find(|key| !known.contains(key)) else { return Ok(()) };
        let near = nearest(key, known.iter().copied());
        Err(self.error(key, format!("is an unknown key{near}")))
    }

    /// Refuses what nobody requested, with the nearest key that somebody did.
    pub fn finish(&self) -> Result<(), ProfileError> {
        let requested = self.requested.borrow();
        // What the model was held against is requested by whoever judges its predictions.
        let is_range = |key: &str| key.split('.').any(|part| part == Calibrated::KEY);
        // What a drive by itself has around it need not be requested.
        let is_around = |leaf: &Leaf| &*leaf.file == ALONE.0;
        let unknown =
            |key: &str, leaf: &Leaf| !requested.contains(key) && !is_range(key) && !is_around(leaf);
        let unknown = self.profile.leaves.iter().find(|(key, leaf)| unknown(key, leaf));
        let Some((key, leaf)) = unknown else { return Ok(()) };
        let free = requested
            .iter()
            .map(String::as_str)
            .filter(|key| !self.profile.leaves.contains_key(*key));
        let near = nearest(key, free);
        Err(ProfileError::new(&leaf.file, key, format!("is an unknown key{near}")))
    }
}

/// A number that is one.
fn finite(value: &Value) -> Option<f64> {
    let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    number.filter(|number| number.is_finite())
}

/// `; did you mean "…"?`, where something is near enough.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let scored = known.map(|known| (strsim::jaro_winkler(word, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    let near = best.filter(|(score, _)| *score > 0.8);
    near.map_or_else(String::new, |(_, known)| format!("; did you mean \"{known}\"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(text: &str) -> Result<Profile, ProfileError> {
        let mut profile = Profile::empty("x");
        profile.overlay("x.toml", "", &toml::from_str(text).unwrap())?;
        Ok(profile)
    }

    const GOOD: &str = "[rotation]\npublished = 'a paper'\nspeed = '6000 rpm'\n\
        switch = { value = '1 ms', fitted = 'a table', low = '0.5 ms' }\nsurfaces = 4\n\
        [[zones]]\nassumed = 'a guess'\nlast = 5\n[[zones]]\nassumed = 'b'\nlast = 9\n";

    #[test]
    fn numbers_come_with_their_units_and_sources() {
        let profile = profile(GOOD).unwrap();
        let reader = profile.reader();
        let rotation = reader.below("rotation");
        assert_eq!(rotation.revolution_ns("speed"), Ok(1e7));
        assert_eq!(rotation.time_ns("switch"), Ok(1e6));
        assert_eq!(rotation.count_in("surfaces", 1..=64), Ok(4));
        let last: Vec<_> = reader.list("zones").iter().map(|z| z.count("last").unwrap()).collect();
        assert_eq!(last, [5, 9]);
        assert_eq!(reader.finish(), Ok(()));
        let leaf = profile.leaves().find(|(key, _)| *key == "rotation.switch").unwrap().1;
        let source = leaf.source.clone().unwrap();
        assert_eq!((source.kind(), source.text()), ("fitted", "a table"));
    }

    #[test]
    fn what_is_wrong_is_named_with_file_key_and_reason() {
        let ask = |text: &str| {
            let profile = profile(text)?;
            let reader = profile.reader();
            let rotation = reader.below("rotation");
            rotation.revolution_ns("speed")?;
            rotation.time_ns_or("switch", 0.0)?;
            reader.finish()
        };
        for (text, sentence) in [
            ("", "rotation.speed: is missing"),
            ("[rotation]\npublished='p'\nspeed=5400", "no unit"),
            ("[rotation]\npublished='p'\nspeed='0 rpm'", "above zero"),
            ("[rotation]\npublished='p'\nspeed='5 ms'", "not a unit of a speed"),
            ("[rotation]\nspeed='5400 rpm'", "no source"),
            ("[rotation]\nspeed='+5400 rpm'", "no source"),
            ("[rotation]\npublished='p'\nspeed='0.1 rpm'", "0.1 rpm are not from 1 to"),
            ("[rotation]\npublished='p'\nspeed='9999999 rpm'", "rpm are not from 1 to"),
            (
                "[rotation]\npublished='p'\nspeed='5400 rpm'\nswitch='2000000000 s'",
                "\"2000000000 s\" is out of range",
            ),
            ("[rotation]\npublished=''\nspeed='5400 rpm'", "the source of the numbers"),
            ("[rotation]\npublished='p'\nfitted='f'\nspeed='5400 rpm'", "one source"),
            (
                "[rotation]\npublished='p'\nspeed='5400 rpm'\nswich='1 ms'",
                "mean \"rotation.switch\"?",
            ),
            ("[rotation]\npublished='p'\nspeed='5400 rpm'\nswitch='-1 ms'", "negative"),
            (
                "[rotation]\nspeed={value='5 rpm',published='p',lo='1 rpm'}",
                "lo: is unknown next to",
            ),
        ] {
            let error = ask(text).unwrap_err();
            assert!(error.to_string().contains(sentence), "{text}: {error}");
        }
        let list = profile("[seek]\npoints_ms=[[1, 2.0]]").unwrap();
        let error = list.reader().below("seek").pairs("points_ms").unwrap_err();
        assert!(error.reason.contains("no source"), "{error}");
        let error = ask("[rotation]\npublished='p'\nspeed='5400 rpm'\nswich='1 ms'").unwrap_err();
        assert_eq!((error.file.as_str(), error.key.as_str()), ("x.toml", "rotation.swich"));
    }

    #[test]
    fn values_can_be_set() {
        let mut profile = profile(GOOD).unwrap();
        profile.set("rotation.speed", "3000 rpm").unwrap();
        profile.set("rotation.surfaces", "8").unwrap();
        profile.set_number("rotation.switch", 0.25, "ms").unwrap();
        let reader = profile.reader().below("rotation");
        assert_eq!(reader.revolution_ns("speed"), Ok(2e7));
        assert_eq!(reader.count("surfaces"), Ok(8));
        assert_eq!(reader.time_ns("switch"), Ok(2.5e5));
        let other = self::profile("[rotation]\nassumed='x'\nspeed='9000 rpm'").unwrap();
        let mut replaced = profile.clone();
        replaced.replace("rotation", Some(&other));
        assert!(!replaced.reader().below("rotation").has("surfaces"));
        assert!(replaced.leaves().any(|(key, _)| key == "zones.0.last"));
        replaced.replace("rotation", None);
        assert!(!replaced.reader().below("rotation").has_any());
        let error = profile.set("rotation.sped", "1 rpm").unwrap_err();
        assert!(error.reason.contains("\"rotation.speed\""), "{error}");
    }
}

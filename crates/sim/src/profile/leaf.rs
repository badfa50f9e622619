//! The leaves of a profile: each value with its source and how far it is sure.

use super::ProfileError;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::{Table, Value};

/// Where a number comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Somebody printed it: who, where.
    Published(Arc<str>),
    /// It was fitted: to what.
    Fitted(Arc<str>),
    /// It was assumed: why.
    Assumed(Arc<str>),
    /// The user gave it.
    Set,
}

/// A kind of source: its key in a profile, and what makes it.
type Kind = (&'static str, fn(Arc<str>) -> Source);

impl Source {
    const KINDS: [Kind; 3] =
        [("published", Self::Published), ("fitted", Self::Fitted), ("assumed", Self::Assumed)];

    /// The word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Published(_) => "published",
            Self::Fitted(_) => "fitted",
            Self::Assumed(_) => "assumed",
            Self::Set => "set",
        }
    }

    /// What it is, in its author's words.
    pub fn text(&self) -> &str {
        match self {
            Self::Published(text) | Self::Fitted(text) | Self::Assumed(text) => text,
            Self::Set => "by the user",
        }
    }
}

/// One value of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// As it stands in the file.
    pub value: Value,
    /// The least that it may be, where the profile says so.
    pub low: Option<Value>,
    /// The most.
    pub high: Option<Value>,
    /// Whether samples between the two are even by their logarithm: for a number of which little
    /// more than the order of magnitude is known.
    pub log: bool,
    /// Where it comes from.
    pub source: Option<Source>,
    /// In which file it stands.
    pub file: Arc<str>,
}

impl Leaf {
    /// Whether it says where it comes from, or is no number.
    pub fn is_sourced(&self) -> bool {
        self.source.is_some() || !is_numeric(&self.value)
    }
}

/// Whether a value is a number, one with a unit, or a list of numbers: what has a source.
fn is_numeric(value: &Value) -> bool {
    let begins_a_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.');
    match value {
        Value::Integer(_) | Value::Float(_) => true,
        Value::String(text) => text.starts_with(begins_a_number),
        Value::Array(list) => list.iter().any(is_numeric),
        _ => false,
    }
}

pub(super) type Leaves = BTreeMap<String, Leaf>;

/// Adds the leaves of a table under a prefix.
pub(super) fn flatten(
    file: &Arc<str>,
    prefix: &str,
    table: &Table,
    above: Option<&Source>,
    leaves: &mut Leaves,
) -> Result<(), ProfileError> {
    let own = source_of(file, prefix, table)?;
    let source = own.as_ref().or(above);
    for (key, value) in table {
        if Source::KINDS.iter().any(|(kind, _)| kind == key) {
            continue;
        }
        let path = join(prefix, key);
        match value {
            Value::Table(table) if table.contains_key("value") => {
                let leaf = explicit(file, &path, table)?;
                leaves.insert(path, leaf);
            }
            Value::Table(table) => flatten(file, &path, table, source, leaves)?,
            Value::Array(tables) if tables.iter().any(Value::is_table) => {
                for (index, table) in tables.iter().enumerate() {
                    let path = join(&path, &index.to_string());
                    let table = table.as_table().ok_or_else(|| {
                        ProfileError::new(
                            file,
                            &path,
                            "is not a table, unlike the other items of \
                                                        its list",
                        )
                    })?;
                    flatten(file, &path, table, source, leaves)?;
                }
            }
            value => {
                let leaf = Leaf {
                    value: value.clone(),
                    low: None,
                    high: None,
                    log: false,
                    source: source.cloned(),
                    file: file.clone(),
                };
                leaves.insert(path, leaf);
            }
        }
    }
    Ok(())
}

pub(super) fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

/// `{ value = …, published = … }`.
fn explicit(file: &Arc<str>, path: &str, table: &Table) -> Result<Leaf, ProfileError> {
    let known = |key: &str| {
        matches!(key, "value" | "low" | "high" | "log")
            || Source::KINDS.iter().any(|(kind, _)| *kind == key)
    };
    if let Some(key) = table.keys().find(|key| !known(key)) {
        let reason = "is unknown next to a value; known are published, fitted, assumed, low, high \
                      and log";
        return Err(ProfileError::new(file, &join(path, key), reason));
    }
    Ok(Leaf {
        value: table.get("value").cloned().unwrap_or(Value::Boolean(false)),
        low: table.get("low").cloned(),
        high: table.get("high").cloned(),
        log: table.get("log").and_then(Value::as_bool).unwrap_or(false),
        source: source_of(file, path, table)?,
        file: file.clone(),
    })
}

/// The source that a table names for what is in it.
fn source_of(file: &str, path: &str, table: &Table) -> Result<Option<Source>, ProfileError> {
    let mut found = None;
    for (kind, make) in Source::KINDS {
        let Some(value) = table.get(kind) else { continue };
        let text = value.as_str().filter(|text| !text.trim().is_empty());
        let text = text.ok_or_else(|| {
            ProfileError::new(file, &join(path, kind), "must state the source of the numbers")
        })?;
        if found.replace(make(text.into())).is_some() {
            let reason = "a number has exactly one source: published, fitted or assumed";
            return Err(ProfileError::new(file, &join(path, kind), reason));
        }
    }
    Ok(found)
}

/// The longest list that is shown whole.
const SHOWN: usize = 6;

/// A value as it could be typed; long lists by their beginning and their length.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) if list.len() > SHOWN => {
            let head: Vec<String> = list[..2].iter().map(plain).collect();
            format!("[{}, … {} in all]", head.join(", "), list.len())
        }
        Value::Array(list) => {
            format!("[{}]", list.iter().map(plain).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

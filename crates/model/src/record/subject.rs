//! What a finding is about: one enum of the kinds that there are, each with its keys. In Parquet it
//! is JSON text with sorted keys, in JSON output an object.
//!
//! Non-goals: papers. A published number names its place by words of its own ([`Published`]).

mod experiment;
mod storm;

use crate::engine::EngineKind;
use crate::workload::{Access, Arithmetic};
pub use experiment::Experiment;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub use storm::{
    GAIN_MOST, NO_REMEDY, RECOMMENDED_CONFIDENCE, StormStream, TAIL_SHARE, WRITER_LEAST,
};

/// The method of a change's numbers, where it leaves count, mean, p50, p99 and max of each class of
/// responses as they are. Those numbers have no interval.
pub const UNCHANGED: &str = "each number of the responses is the same";

/// The kinds of subjects, each with those of its keys that are names, and its keys.
macro_rules! subjects {
    ($(
        $(#[$doc:meta])*
        $kind:ident [$($name:ident)+] { $($(#[$of_key:meta])* $key:ident: $type:ty,)+ }
    )*) => {
        /// What a number is about.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(untagged)]
        pub enum Subject {
            $($(#[$doc])* $kind($kind),)*
            /// A number that a paper printed, or a model's beside it.
            Published(Published),
        }

        $(impl $kind {
            /// Its keys, as quantities name them.
            pub const KEYS: &'static [&'static str] = &[$(stringify!($key)),+];
        })*

        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $kind {
                $($(#[$of_key])* pub $key: $type),+
            }
        )*

        impl Subject {
            /// The same with each name changed, as to make it harmless to show.
            #[must_use]
            pub fn with_names(mut self, change: impl Fn(&str) -> String) -> Self {
                match &mut self {
                    $(Self::$kind(of) => { $(of.$name.change(&change);)+ })*
                    Self::Published(of) => of.place.values_mut().for_each(|of| of.change(&change)),
                }
                self
            }
        }
    };
}

/// A name, or none.
trait Name {
    fn change(&mut self, change: &impl Fn(&str) -> String);
}

impl Name for String {
    fn change(&mut self, change: &impl Fn(&str) -> String) {
        *self = change(self);
    }
}

impl Name for Option<String> {
    fn change(&mut self, change: &impl Fn(&str) -> String) {
        self.iter_mut().for_each(|name| name.change(change));
    }
}

subjects! {
    /// The run as a whole.
    Run [run] {
        /// Which: `this`.
        run: String,
    }
    /// A cell of the throughput matrix.
    Cell [op program target] {
        /// Drives that ran at once.
        #[serde(deserialize_with = "number")]
        drives: u64,
        /// The direction, in results of fio that tell the directions apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        op: Option<String>,
        /// The program's name.
        program: String,
        /// The system's name; none where sides of different targets are compared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    }
    /// One request size of an I/O routine.
    Operation [target] {
        /// What the job does.
        access: Access,
        /// What the compute-and-test loop computes with, where it computes.
        #[serde(deserialize_with = "arithmetic")]
        arithmetic: Option<Arithmetic>,
        /// Bytes a request.
        #[serde(deserialize_with = "number")]
        block_bytes: u64,
        /// Requests outstanding at once.
        #[serde(deserialize_with = "number")]
        channels: u64,
        /// 1 with O_DIRECT.
        #[serde(deserialize_with = "number")]
        direct: u64,
        /// By which interface.
        engine: EngineKind,
        /// The system's name; none where sides of different targets are compared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// Time between two tests of the channels, where it computes.
        #[serde(deserialize_with = "optional_number")]
        test_interval_ns: Option<u64>,
    }
    /// A routine over all its request sizes, by an account of time.
    Routine [target] {
        /// What the job does.
        access: Access,
        /// By which account of time.
        account: String,
        /// What the compute-and-test loop computes with, where it computes.
        #[serde(deserialize_with = "arithmetic")]
        arithmetic: Option<Arithmetic>,
        /// Requests outstanding at once.
        #[serde(deserialize_with = "number")]
        channels: u64,
        /// 1 with O_DIRECT.
        #[serde(deserialize_with = "number")]
        direct: u64,
        /// By which interface.
        engine: EngineKind,
        /// The system's name; none where sides of different targets are compared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// Time between two tests of the channels, where it computes.
        #[serde(deserialize_with = "optional_number")]
        test_interval_ns: Option<u64>,
    }
    /// A way to make a write durable.
    Commit [method pattern target] {
        /// Bytes a write.
        block_bytes: u64,
        /// 1 with O_DIRECT.
        direct: u64,
        /// How it is made durable.
        method: String,
        /// `append` or `overwrite`.
        pattern: String,
        /// The system's name; none where sides of different targets are compared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// Writers at once.
        writers: u64,
    }
    /// A curve of latency against rate, or a point of it.
    Curve [target] {
        /// What the requests do.
        access: Access,
        /// Bytes a request.
        block_bytes: u64,
        /// Requests outstanding; none of the curve as a whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<u64>,
        /// 1 with O_DIRECT.
        direct: u64,
        /// By which interface.
        engine: EngineKind,
        /// The system's name; none where sides of different targets are compared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    }
    /// A stream of requests beside a storm, under a remedy.
    Storm [remedy target] {
        /// What was changed; `none` where nothing was.
        remedy: String,
        /// Whose requests.
        stream: StormStream,
        /// The system's name; none where sides of different targets are compared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    }
    /// Requests that have something in common.
    Class [by class] {
        /// What they are classed by.
        by: String,
        /// Which of these classes.
        class: String,
    }
    /// A device.
    Device [device] {
        /// Its name.
        device: String,
    }
    /// A device's requests of one operation.
    DeviceOp [device op] {
        /// The device's name.
        device: String,
        /// The operation, or `all`.
        op: String,
    }
    /// A modelled device.
    Model [device model] {
        /// The name of the trace's device.
        device: String,
        /// The model that stands for it, with the values that were changed.
        model: String,
    }
    /// A modelled device's requests of one operation.
    ModelOp [device model op] {
        /// The name of the trace's device.
        device: String,
        /// The model that stands for it, with the values that were changed.
        model: String,
        /// The operation, or `all`.
        op: String,
    }
    /// The same before and after a change of the model.
    Change [change device model op] {
        /// What is changed, as it was typed.
        change: String,
        /// The name of the trace's device.
        device: String,
        /// The model that stands for it, without the change.
        model: String,
        /// The operation, or `all`; writes also as `async write` and `sync write`.
        op: String,
    }
    /// Waits of a role.
    Wait [device victim wait] {
        /// At which device.
        device: String,
        /// Who waited: a role.
        victim: String,
        /// For what: `fsync`, `read`…
        wait: String,
    }
    /// What they lost to a cause.
    Blame [cause device file victim wait] {
        /// What made it wait: a role, `device` (it stood still), `held` (no request was there) or
        /// `throttled` (a limit of its cgroup).
        cause: String,
        /// At which device.
        device: String,
        /// On which of the files that were waited for; none of the pair as a whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Whether the cause is a role.
        is_role: bool,
        /// Which of the pair's storms, from 1; none of the pair as a whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        storm: Option<u64>,
        /// Who waited: a role.
        victim: String,
        /// For what: `fsync`, `read`…
        wait: String,
    }
    /// A file, or what is like one: a journal, a file system's own data, a device.
    File [device file] {
        /// On which device.
        device: String,
        /// Its name, or what is known of it.
        file: String,
    }
    /// Functions by which requests were queued.
    Stack [device kernel role user] {
        /// On which device.
        device: String,
        /// The kernel's functions, the outermost first, with `;` between them; may be empty.
        kernel: String,
        /// Who queued requests by it: a role.
        role: String,
        /// The program's own functions, likewise.
        user: String,
    }
    /// A device of a stack, in the time of the requests to its top.
    Layer [device layer] {
        /// The device at the top.
        device: String,
        /// The one whose time it is: the top itself, or one beneath it.
        layer: String,
    }
}

/// See [`Subject::Published`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Published {
    /// Which paper, by its year.
    pub paper: String,
    /// Where in the paper: its table's columns.
    #[serde(flatten)]
    pub place: BTreeMap<String, String>,
}

/// Where a subject's system stands; none where it has none.
macro_rules! of_system {
    ($subject:expr) => {
        match $subject {
            Self::Cell(Cell { target, .. })
            | Self::Operation(Operation { target, .. })
            | Self::Routine(Routine { target, .. })
            | Self::Commit(Commit { target, .. })
            | Self::Curve(Curve { target, .. })
            | Self::Storm(Storm { target, .. }) => Some(target),
            _ => None,
        }
    };
}

impl Default for Subject {
    fn default() -> Self {
        Self::this_run()
    }
}

impl Subject {
    /// The run that holds the finding.
    pub fn this_run() -> Self {
        Self::Run(Run { run: "this".into() })
    }

    /// A cell of the throughput matrix.
    pub fn cell(target: &str, program: &str, drives: u64) -> Self {
        let (program, target) = (program.to_owned(), Some(target.to_owned()));
        Self::Cell(Cell { drives, op: None, program, target })
    }

    /// Requests that have something in common.
    pub fn class(by: &str, class: &str) -> Self {
        Self::Class(Class { by: by.into(), class: class.into() })
    }

    /// A device.
    pub fn device(device: &str) -> Self {
        Self::Device(Device { device: device.into() })
    }

    /// A device's requests of one operation, or of `all`.
    pub fn device_op(device: &str, op: &str) -> Self {
        Self::DeviceOp(DeviceOp { device: device.into(), op: op.into() })
    }

    /// Reads canonical text, of this version or of an earlier one; none if it is of no known kind.
    pub fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Its canonical text: JSON, keys sorted.
    pub fn text(&self) -> String {
        self.object().to_string()
    }

    /// It as a JSON object.
    pub fn object(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Its keys with their values as text; `none` where nothing is computed.
    pub fn entries(&self) -> Vec<(String, String)> {
        let serde_json::Value::Object(keys) = self.object() else { return vec![] };
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => text,
            serde_json::Value::Null => "none".into(),
            other => other.to_string(),
        };
        keys.into_iter().map(|(key, value)| (key, text(value))).collect()
    }

    /// A key's value as text; none where it has no such key.
    pub fn get(&self, key: &str) -> Option<String> {
        self.entries().into_iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// The system that was measured; none where nothing was, or it is left out.
    pub fn target(&self) -> Option<&str> {
        of_system!(self).and_then(|target| target.as_deref())
    }

    /// The same without its system, where sides of different targets are compared.
    #[must_use]
    pub fn without_target(mut self) -> Self {
        of_system!(&mut self).map(Option::take);
        self
    }

    /// The same with another name for its system, where it has one.
    #[must_use]
    pub fn with_target(mut self, change: impl Fn(&str) -> String) -> Self {
        if let Some(Some(target)) = of_system!(&mut self) {
            *target = change(target);
        }
        self
    }

    /// By which interface; none where that is no part of it.
    pub fn engine(&self) -> Option<EngineKind> {
        match self {
            Self::Operation(operation) => Some(operation.engine),
            Self::Routine(routine) => Some(routine.engine),
            Self::Curve(curve) => Some(curve.engine),
            _ => None,
        }
    }

    /// The quantity by which it counts as measured: its rate; none where it is no experiment's.
    pub fn rate(&self) -> Option<&'static str> {
        match self {
            Self::Cell(_) => Some("rate_bytes_per_s"),
            Self::Operation(_) => Some("routine_bytes_per_s"),
            Self::Commit(_) | Self::Curve(_) | Self::Storm(_) => Some("rate_operations_per_s"),
            _ => None,
        }
    }

    /// What the requests are classed by, and the class; none where they are not.
    pub fn by_class(&self) -> Option<(&str, &str)> {
        match self {
            Self::Class(class) => Some((&class.by, &class.class)),
            _ => None,
        }
    }
}

/// A number; earlier versions wrote it as text.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    optional_number(deserializer)?.ok_or_else(|| D::Error::custom("a number is missing"))
}

/// A number or null; earlier versions wrote text, and `none`.
fn optional_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u64),
        Text(String),
    }
    match Option::<Written>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Written::Number(value)) => Ok(Some(value)),
        Some(Written::Text(text)) if text == "none" => Ok(None),
        Some(Written::Text(text)) => text.parse().map(Some).map_err(D::Error::custom),
    }
}

/// What is computed with, or null; earlier versions wrote `none`.
fn arithmetic<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arithmetic>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?.filter(|name| name != "none");
    let known = |name: String| {
        let found = Arithmetic::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(kind, _)| *kind).ok_or_else(|| D::Error::custom("no such arithmetic"))
    };
    name.map(known).transpose()
}

#[cfg(test)]
mod tests;

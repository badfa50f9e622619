//! What a finding is about: one enum of the kinds that there are, each with its keys. In Parquet it
//! is JSON text with sorted keys, in JSON output an object.
//!
//! Non-goals: papers. A published number names its place by words of its own ([`Published`]).

mod blame;
mod change;
mod commit;
mod curve;
mod experiment;
mod storm;

use crate::engine::EngineKind;
use crate::workload::{Access, Arithmetic};
pub use blame::{Blame, File, Layer, Stack, Wait};
pub use change::Change;
pub use commit::Commit;
pub use curve::Curve;
pub use experiment::Experiment;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub use storm::{NO_REMEDY, Storm, StormStream, TAIL_SHARE};

/// What a number is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Subject {
    /// The run as a whole.
    Run(Run),
    /// A cell of the throughput matrix.
    Cell(Cell),
    /// One request size of an I/O routine.
    Operation(Operation),
    /// A routine over all its request sizes, by an account of time.
    Routine(Routine),
    /// A way to make a write durable.
    Commit(Commit),
    /// A curve of latency against rate, or a point of it.
    Curve(Curve),
    /// A stream of requests beside a storm, under a remedy.
    Storm(Storm),
    /// Requests that have something in common.
    Class(Class),
    /// A device.
    Device(Device),
    /// A device's requests of one operation.
    DeviceOp(DeviceOp),
    /// A modelled device.
    Model(Model),
    /// A modelled device's requests of one operation.
    ModelOp(ModelOp),
    /// The same before and after a change of the model.
    Change(Change),
    /// Waits of a role.
    Wait(Wait),
    /// What they lost to a cause.
    Blame(Blame),
    /// A file, or what is like one: a journal, a file system's own data, a device.
    File(File),
    /// Functions by which requests were queued.
    Stack(Stack),
    /// A device of a stack, in the time of the requests to its top.
    Layer(Layer),
    /// A number that a paper printed, or a model's beside it.
    Published(Published),
}

/// See [`Subject::Run`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Which: `this`.
    pub run: String,
}

/// See [`Subject::Cell`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Drives that ran at once.
    #[serde(deserialize_with = "number")]
    pub drives: u64,
    /// The direction, in results of fio that tell the directions apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The program's name.
    pub program: String,
    /// The system's name; none where sides of different targets are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// See [`Subject::Operation`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// What the job does.
    pub access: Access,
    /// What the compute-and-test loop computes with, where it computes.
    #[serde(deserialize_with = "arithmetic")]
    pub arithmetic: Option<Arithmetic>,
    /// Bytes a request.
    #[serde(deserialize_with = "number")]
    pub block_bytes: u64,
    /// Requests outstanding at once.
    #[serde(deserialize_with = "number")]
    pub channels: u64,
    /// 1 with O_DIRECT.
    #[serde(deserialize_with = "number")]
    pub direct: u64,
    /// By which interface.
    pub engine: EngineKind,
    /// The system's name; none where sides of different targets are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Time between two tests of the channels, where it computes.
    #[serde(deserialize_with = "optional_number")]
    pub test_interval_ns: Option<u64>,
}

/// See [`Subject::Routine`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routine {
    /// What the job does.
    pub access: Access,
    /// By which account of time.
    pub account: String,
    /// What the compute-and-test loop computes with, where it computes.
    #[serde(deserialize_with = "arithmetic")]
    pub arithmetic: Option<Arithmetic>,
    /// Requests outstanding at once.
    #[serde(deserialize_with = "number")]
    pub channels: u64,
    /// 1 with O_DIRECT.
    #[serde(deserialize_with = "number")]
    pub direct: u64,
    /// By which interface.
    pub engine: EngineKind,
    /// The system's name; none where sides of different targets are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Time between two tests of the channels, where it computes.
    #[serde(deserialize_with = "optional_number")]
    pub test_interval_ns: Option<u64>,
}

/// See [`Subject::Class`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// What they are classed by.
    pub by: String,
    /// Which of these classes.
    pub class: String,
}

/// See [`Subject::Device`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its name.
    pub device: String,
}

/// See [`Subject::DeviceOp`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceOp {
    /// The device's name.
    pub device: String,
    /// The operation, or `all`.
    pub op: String,
}

/// See [`Subject::Model`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The name of the trace's device.
    pub device: String,
    /// The model that stands for it, with the values that were changed.
    pub model: String,
}

/// See [`Subject::ModelOp`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelOp {
    /// The name of the trace's device.
    pub device: String,
    /// The model that stands for it, with the values that were changed.
    pub model: String,
    /// The operation, or `all`.
    pub op: String,
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

    /// Where its system stands; none where it has none.
    fn system(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::Cell(cell) => Some(&mut cell.target),
            Self::Operation(operation) => Some(&mut operation.target),
            Self::Routine(routine) => Some(&mut routine.target),
            Self::Commit(commit) => Some(&mut commit.target),
            Self::Curve(curve) => Some(&mut curve.target),
            Self::Storm(storm) => Some(&mut storm.target),
            _ => None,
        }
    }

    /// The system that was measured; none where nothing was, or it is left out.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Cell(cell) => cell.target.as_deref(),
            Self::Operation(operation) => operation.target.as_deref(),
            Self::Routine(routine) => routine.target.as_deref(),
            Self::Commit(commit) => commit.target.as_deref(),
            Self::Curve(curve) => curve.target.as_deref(),
            Self::Storm(storm) => storm.target.as_deref(),
            _ => None,
        }
    }

    /// The same without its system, where sides of different targets are compared.
    #[must_use]
    pub fn without_target(mut self) -> Self {
        self.system().map(Option::take);
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

    /// The same with each name changed, as to make it harmless to show.
    #[must_use]
    pub fn with_names(mut self, change: impl Fn(&str) -> String) -> Self {
        let named = |name: &mut String| *name = change(name);
        self.system().into_iter().flatten().for_each(named);
        match &mut self {
            Self::Run(run) => named(&mut run.run),
            Self::Cell(cell) => cell.op.iter_mut().chain([&mut cell.program]).for_each(named),
            Self::Operation(_) | Self::Routine(_) | Self::Curve(_) => {}
            Self::Commit(of) => [&mut of.method, &mut of.pattern].into_iter().for_each(named),
            Self::Storm(storm) => named(&mut storm.remedy),
            Self::Class(class) => [&mut class.by, &mut class.class].into_iter().for_each(named),
            Self::Device(device) => named(&mut device.device),
            Self::DeviceOp(of) => [&mut of.device, &mut of.op].into_iter().for_each(named),
            Self::Model(of) => [&mut of.device, &mut of.model].into_iter().for_each(named),
            Self::ModelOp(of) => {
                [&mut of.device, &mut of.model, &mut of.op].into_iter().for_each(named);
            }
            Self::Change(of) => {
                let names = [&mut of.change, &mut of.device, &mut of.model, &mut of.op];
                names.into_iter().for_each(named);
            }
            Self::Wait(of) => {
                [&mut of.device, &mut of.victim, &mut of.wait].into_iter().for_each(named);
            }
            Self::Blame(of) => {
                let names = [&mut of.cause, &mut of.device, &mut of.victim, &mut of.wait];
                names.into_iter().for_each(named);
            }
            Self::File(of) => [&mut of.device, &mut of.file].into_iter().for_each(named),
            Self::Layer(of) => [&mut of.device, &mut of.layer].into_iter().for_each(named),
            Self::Stack(of) => {
                let names = [&mut of.device, &mut of.kernel, &mut of.role, &mut of.user];
                names.into_iter().for_each(named);
            }
            Self::Published(of) => of.place.values_mut().for_each(named),
        }
        self
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
mod tests {
    use super::*;

    fn operation() -> Subject {
        Subject::Operation(Operation {
            access: Access::RandRead,
            arithmetic: None,
            block_bytes: 4096,
            channels: 4,
            direct: 1,
            engine: EngineKind::IoUring,
            target: Some("d".into()),
            test_interval_ns: None,
        })
    }

    fn routine(arithmetic: Option<Arithmetic>) -> Subject {
        Subject::Routine(Routine {
            access: Access::Read,
            account: "trace".into(),
            arithmetic,
            channels: 1,
            direct: 0,
            engine: EngineKind::Psync,
            target: Some("r".into()),
            test_interval_ns: arithmetic.map(|_| 1000),
        })
    }

    #[test]
    fn routines_are_read_with_whatever_they_compute() {
        for (arithmetic, _) in Arithmetic::ALL {
            let subject = routine(Some(*arithmetic));
            assert_eq!(Subject::from_text(&subject.text()), Some(subject));
        }
        let text = routine(Arithmetic::ALL.first().map(|(kind, _)| *kind)).text();
        let (_, name) = Arithmetic::ALL[0];
        assert_eq!(Subject::from_text(&text.replace(name, "roman")), None);
        assert_eq!(routine(None).target(), Some("r"));
        assert_eq!(routine(None).engine(), Some(EngineKind::Psync));
        assert_eq!(routine(None).without_target().target(), None);
        assert_eq!(Subject::cell("x", "a", 1).target(), Some("x"));
    }

    #[test]
    fn every_kind_survives_its_text() {
        let place = BTreeMap::from([("ticks".to_owned(), "3".to_owned())]);
        let model = ModelOp { device: "sda".into(), model: "eagle".into(), op: "all".into() };
        for subject in [
            Subject::this_run(),
            Subject::cell("ext4:4k", "read_4k", 2),
            operation(),
            Subject::class("op", "read"),
            Subject::device("sda"),
            Subject::device_op("sda", "write"),
            Subject::ModelOp(model),
            Subject::Published(Published { paper: "1986".into(), place }),
        ] {
            assert_eq!(Subject::from_text(&subject.text()), Some(subject));
        }
    }

    #[test]
    fn text_has_sorted_keys_and_numbers() {
        let text = Subject::cell("ext4:4k", "a", 1).text();
        assert_eq!(text, r#"{"drives":1,"program":"a","target":"ext4:4k"}"#);
    }

    #[test]
    fn what_earlier_versions_wrote_is_read() {
        let cell = r#"{"drives":"2","program":"a","target":"x"}"#;
        assert_eq!(Subject::from_text(cell), Some(Subject::cell("x", "a", 2)));
        let text = r#"{"access":"randread","arithmetic":"none","block_bytes":"4096",
            "channels":"4","direct":"1","engine":"io_uring","target":"d",
            "test_interval_ns":"none"}"#;
        assert_eq!(Subject::from_text(text), Some(operation()));
    }

    #[test]
    fn an_unknown_kind_is_none() {
        for text in [r#"{"colour":"red"}"#, "{}", "?", r#"{"device":"a","op":"b","x":"c"}"#] {
            assert_eq!(Subject::from_text(text), None, "{text}");
        }
        let drives = r#"{"drives":"two","program":"a","target":"x"}"#;
        assert_eq!(Subject::from_text(drives), None);
    }

    #[test]
    fn sides_of_different_targets_have_one_subject() {
        let on = |target| Subject::cell(target, "a", 1).without_target();
        assert_eq!(on("x"), on("y"));
        assert_eq!(on("x").target(), None);
        assert_eq!(on("x").get("target"), None);
        assert_eq!(operation().target(), Some("d"));
        assert_eq!(operation().without_target().target(), None);
    }

    #[test]
    fn keys_are_read_as_text() {
        assert_eq!(operation().get("block_bytes").as_deref(), Some("4096"));
        assert_eq!(operation().get("arithmetic").as_deref(), Some("none"));
        assert_eq!(operation().get("colour"), None);
        assert_eq!(operation().engine(), Some(EngineKind::IoUring));
        assert_eq!(Subject::class("op", "read").by_class(), Some(("op", "read")));
        assert_eq!(Subject::this_run().by_class(), None);
    }

    #[test]
    fn every_name_can_be_changed() {
        let mark = |subject: Subject| subject.with_names(|name| format!("<{name}>")).entries();
        let values = |subject| mark(subject).into_iter().map(|(_, v)| v).collect::<Vec<_>>();
        assert_eq!(values(Subject::cell("x", "a", 1)), ["1", "<a>", "<x>"]);
        assert_eq!(values(Subject::class("op", "read")), ["<op>", "<read>"]);
        assert_eq!(values(Subject::device_op("sda", "all")), ["<sda>", "<all>"]);
        assert_eq!(values(Subject::device("sda")), ["<sda>"]);
        let operation = mark(operation());
        assert!(operation.contains(&("target".into(), "<d>".into())), "{operation:?}");
    }

    /// One of each kind that has names.
    fn named(name: &str, number: u64) -> Vec<Subject> {
        let text = || name.to_owned();
        let place = BTreeMap::from([("ticks".to_owned(), text())]);
        let target = Some(text());
        vec![
            Subject::Run(Run { run: text() }),
            Subject::cell(name, name, number),
            Subject::Cell(Cell { drives: number, op: Some(text()), program: text(), target }),
            Subject::Commit(Commit {
                block_bytes: number,
                direct: 1,
                method: text(),
                pattern: text(),
                target: Some(text()),
                writers: 4,
            }),
            Subject::class(name, name),
            Subject::device(name),
            Subject::device_op(name, name),
            Subject::Model(Model { device: text(), model: text() }),
            Subject::ModelOp(ModelOp { device: text(), model: text(), op: text() }),
            Subject::Change(Change { change: text(), device: text(), model: text(), op: text() }),
            // Its year is nobody's name.
            Subject::Published(Published { paper: "1986".into(), place }),
        ]
    }

    proptest::proptest! {
        #[test]
        fn every_name_and_number_survives_its_text(name in "\\PC{0,9}", number: u64) {
            for subject in named(&name, number) {
                proptest::prop_assert_eq!(Subject::from_text(&subject.text()), Some(subject));
            }
        }
    }

    #[test]
    fn every_name_of_every_kind_is_changed_and_no_number() {
        let changed = |name: &str, number| {
            let marked = |s: Subject| s.with_names(|name| format!("<{name}>"));
            named(name, number).into_iter().map(marked).collect::<Vec<_>>()
        };
        assert_eq!(changed("a", 7), named("<a>", 7));
        let routine = routine(None).with_names(|name| format!("<{name}>"));
        assert_eq!(routine.target(), Some("<r>"));
    }

    #[test]
    fn what_has_no_target_is_the_same_without_it() {
        for subject in named("x", 1) {
            let has_target = matches!(subject, Subject::Cell(_) | Subject::Commit(_));
            assert_eq!(subject.target(), has_target.then_some("x"), "{subject:?}");
            assert_eq!(subject.engine(), None);
            let without = subject.clone().without_target();
            assert_eq!((without.target(), without == subject), (None, !has_target));
            assert_eq!(without.get("target"), None);
        }
    }

    #[test]
    fn a_subject_of_findings_is_the_run_where_none_is_given() {
        assert_eq!(Subject::default().text(), r#"{"run":"this"}"#);
        assert_eq!(Subject::default().entries(), [("run".to_owned(), "this".to_owned())]);
        let device = Subject::device_op("sda", "all").object();
        assert_eq!(device, serde_json::json!({ "device": "sda", "op": "all" }));
    }
}

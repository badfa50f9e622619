//! Why a number is doubted, or why there is none: data. A doubt is a code of the one table below,
//! with its values; its sentence is made in `report::doubt`.
//!
//! Non-goals: sentences; what is doubted (the checks and the analyses say).

use crate::named::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value of a doubt.
#[derive(Debug, Clone, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A figure; its unit is the last word of its name.
    Number(f64),
    /// A name, or the words of somebody else (the kernel's refusal).
    Text(String),
    /// Names of several, the heaviest first: they differ from case to case as figures do.
    Names(Vec<String>),
}

macro_rules! values {
    ($($type:ty => |$value:ident| $made:expr;)*) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )*};
}
values! {
    f64 => |value| Self::Number(value);
    u64 => |value| Self::Number(value as f64);
    usize => |value| Self::Number(value as f64);
    &str => |text| Self::Text(text.to_owned());
    String => |text| Self::Text(text);
    Vec<String> => |names| Self::Names(names);
}

/// In how many passes of a cell a doubt held, where not in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// Passes in which it held.
    pub held: u64,
    /// All passes.
    pub all: u64,
}

/// One doubt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Doubt {
    /// What is wrong.
    pub code: Code,
    /// The figures and names of this case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
    /// In how many passes, where not in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<Passes>,
}

impl Doubt {
    /// A doubt with its values.
    pub fn new<const N: usize>(code: Code, values: [(&str, Value); N]) -> Self {
        let values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { code, values, passes: None }
    }

    /// What a machine, a file or a kernel said in its own words.
    pub fn refused(reason: impl std::fmt::Display) -> Self {
        Self::new(Code::Refused, [("reason", reason.to_string().into())])
    }

    /// A sentence of a record of an earlier version.
    pub fn earlier(sentence: &str) -> Self {
        Self::new(Code::Earlier, [("sentence", sentence.into())])
    }

    /// Whether the other is the same but for its figures.
    pub fn is_like(&self, other: &Self) -> bool {
        let texts = |doubt: &Self| -> Vec<(String, String)> {
            let text = |(name, value): (&String, &Value)| match value {
                Value::Text(text) => Some((name.clone(), text.clone())),
                Value::Number(_) | Value::Names(_) => None,
            };
            doubt.values.iter().filter_map(text).collect()
        };
        self.code == other.code && texts(self) == texts(other)
    }

    /// Whether it is of its cell alone, however many cells have one like it: each wide interval is
    /// as wide as its own passes make it, and no common cause stands behind them.
    pub fn is_of_its_cell(&self) -> bool {
        self.code == Code::WideInterval
    }
}

named! {
    /// What a number is worth.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Verdict {
        /// Every check passed.
        #[default]
        Ok = "ok",
        /// A check failed; the doubts say which.
        Suspect = "suspect",
        /// There is no number; the doubts say why.
        NotMeasured = "not_measured",
    }
}

/// A verdict with its doubts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// What the number is worth.
    pub verdict: Verdict,
    /// Why; empty where nothing is wrong.
    pub doubts: Vec<Doubt>,
}

impl Judgement {
    /// Suspect for these doubts; fine without any.
    pub fn of(doubts: Vec<Doubt>) -> Self {
        let verdict = if doubts.is_empty() { Verdict::Ok } else { Verdict::Suspect };
        Self { verdict, doubts }
    }

    /// There is no number, for this doubt.
    pub fn not_measured(doubt: Doubt) -> Self {
        Self { verdict: Verdict::NotMeasured, doubts: vec![doubt] }
    }

    /// With one doubt more, if there is one.
    #[must_use]
    pub fn with(self, doubt: Option<Doubt>) -> Self {
        self.worse(Self::of(doubt.into_iter().collect()))
    }

    /// The worse of two verdicts, with the doubts of both, each once.
    #[must_use]
    pub fn worse(mut self, other: Self) -> Self {
        self.verdict = self.verdict.max(other.verdict);
        for doubt in other.doubts {
            if !self.doubts.contains(&doubt) {
                self.doubts.push(doubt);
            }
        }
        self
    }
}

/// The codes, each with its name in the records and the names of its values.
macro_rules! codes {
    ($($code:ident $name:literal [$($value:literal)*];)*) => {
        /// What can be wrong with a number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[allow(missing_docs, reason = "the sentences in `report::doubt` say what each means")]
        pub enum Code {
            $(#[serde(rename = $name)] $code,)*
        }

        impl Code {
            /// Each with its name and the names of its values.
            pub const ALL: &[(Self, &'static str, &'static [&'static str])] =
                &[$((Self::$code, $name, &[$($value),*]),)*];
        }
    };
}

codes! {
    DeviceReadLess "device_read_less" ["percent"];
    DeviceWroteLess "device_wrote_less" ["percent"];
    DeviceReadMore "device_read_more" ["ratio"];
    DeviceWroteMore "device_wrote_more" ["ratio"];
    CacheMissed "cache_missed" ["percent"];
    CacheBeneath "cache_beneath" ["percent"];
    LittleExceeded "little_exceeded" ["outstanding" "allowed"];
    KernelDepthExceeded "kernel_depth_exceeded" ["in_flight" "outstanding"];
    DepthNotReached "depth_not_reached" ["outstanding" "requested"];
    HarnessShare "harness_share" ["percent"];
    RateNotReached "rate_not_reached" ["requested_iops" "reached_iops"];
    StolenTime "stolen_time" ["percent"];
    OtherPrograms "other_programs" ["percent" "all_percent" "by"];
    TaskClocksExceedBusy "task_clocks_exceed_busy" ["tasks_ms" "busy_ms"];
    TestBedExceedsKernel "test_bed_exceeds_kernel" ["workers_ms" "kernel_ms"];
    CommitTooQuick "commit_too_quick" ["p50_ns" "least_ns"];
    NoFlush "no_flush" ["commits"];
    WhoseUntold "whose_untold" ["percent"];
    SettingChanged "setting_changed" ["what"];
    SettingLeft "setting_left" ["what" "process"];
    DeviceLate "device_late" ["mean_ns" "p99_ns" "response_ns"];
    NoDeviceBeneath "no_device_beneath" [];
    NoDeviceBeneathImage "no_device_beneath_image" ["directory"];
    DrivesShareDisks "drives_share_disks" ["drives" "disks"];
    DrivesBeyondModel "drives_beyond_model" ["drives" "bound" "by"];
    WideInterval "wide_interval" ["percent" "passes"];
    IntervalExceedsValue "interval_exceeds_value" [];
    TotalBelowOwn "total_below_own" ["percent"];
    LineMissesSize "line_misses_size" ["percent" "noise_percent"];
    LoopWandered "loop_wandered" ["skewed" "runs" "percent"];
    LoopsDisagree "loops_disagree" ["t_oh_ns" "interval_us" "other_t_oh_ns" "other_interval_us"];
    TooFewSizes "too_few_sizes" ["sizes" "least"];
    MeanNotPositive "mean_not_positive" ["mean_ns" "bytes"];
    NoLine "no_line" [];
    OneLineMisses "one_line_misses"
        ["bytes" "percent" "bound_percent" "f_ratio" "degrees" "degrees_of_noise"];
    OneLineMissesFewSizes "one_line_misses_few_sizes"
        ["bytes" "percent" "bound_percent" "sizes" "f_ratio" "degrees" "degrees_of_noise"];
    TwoLinesMiss "two_lines_miss"
        ["bytes" "percent" "bound_percent" "f_ratio" "degrees" "degrees_of_noise"];
    CallCostsNegative "call_costs_negative" ["cost_ns" "low_ns" "high_ns"];
    ByteCostsNegative "byte_costs_negative" ["cost_ns" "low_ns" "high_ns"];
    FewSizeClasses "few_size_classes" ["classes" "requests_least"];
    SlopeHoldsZero "slope_holds_zero" ["low_ns_per_kib" "high_ns_per_kib"];
    LineFalls "line_falls" ["low_ns_per_kib" "high_ns_per_kib"];
    SlopeMissesSize "slope_misses_size" ["bytes" "percent" "bound_percent"];
    PassesLostEvents "passes_lost_events" ["events" "lossy_passes" "passes"];
    CompletionsMissing "completions_missing" ["missing" "requests"];
    FewTicks "few_ticks" ["cpu_ns"];
    EventsLost "events_lost" ["lost" "events" "percent"];
    RowsLate "rows_late" ["rows"];
    NotInTrace "not_in_trace" [];
    ResponsesUntold "responses_untold" ["known" "completed"];
    CountUnknown "count_unknown" [];
    NoRegularTimes "no_regular_times" [];
    StormsFew "storms_few" [];
    StormsShort "storms_short" [];
    StormsSteady "storms_steady" [];
    StormsBatches "storms_batches" [];
    StormsFaster "storms_faster" [];
    StormsSummed "storms_summed" [];
    NothingTraced "nothing_traced" [];
    CompletionsLost "completions_lost" ["lost" "device" "completed"];
    DiskstatsDisagree "diskstats_disagree"
        ["device" "what" "completed" "between" "during" "outside" "lost" "more" "side"];
    DeviceGone "device_gone" ["device"];
    DeviceBack "device_back" ["device" "other"];
    DeviceReplaced "device_replaced" ["device"];
    DeviceResized "device_resized" ["device"];
    TableChanged "table_changed" ["device"];
    BeyondModelSize "beyond_model_size" ["larger" "requests" "bytes" "by"];
    BeyondModelDepth "beyond_model_depth" ["outstanding" "bound" "by"];
    ReplayLate "replay_late" ["p50_ns" "p99_ns" "p50_bound_ns" "p99_bound_ns"];
    ReplayHoles "replay_holes" ["holes" "reads"];
    FioError "fio_error" ["job"];
    Refused "refused" ["reason"];
    Earlier "earlier" ["sentence"];
}

/// The section of docs/records.md on the codes.
pub(crate) fn describe(page: &mut String) {
    page.push_str(
        "\n## doubts\n\nWhy a number is suspect or missing: a code and its values. If the doubt \
         did not hold in all\npasses of a cell, `passes` says how many (`held`, `all`). `refused` \
         has the words of a machine, a\nfile or a kernel; `earlier` has a sentence of an earlier \
         version.\n\n| code | values |\n| --- | --- |\n",
    );
    let mut rows: Vec<(&[&str], Vec<&str>)> = vec![];
    for (_, name, values) in Code::ALL {
        match rows.iter_mut().find(|(known, _)| known == values) {
            Some((_, names)) => names.push(name),
            None => rows.push((values, vec![name])),
        }
    }
    for (values, names) in rows {
        page.push_str(&format!("| {} | {} |\n", names.join(", "), values.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stolen(percent: f64) -> Doubt {
        Doubt::new(Code::StolenTime, [("percent", percent.into())])
    }

    #[test]
    fn doubts_survive_their_json() {
        let mut doubt = Doubt::new(
            Code::CompletionsLost,
            [("lost", 2u64.into()), ("device", "sda".into()), ("completed", 9usize.into())],
        );
        doubt.passes = Some(Passes { held: 1, all: 3 });
        let names = Value::Names(vec!["cc1".into()]);
        let by = Doubt::new(Code::OtherPrograms, [("by", names)]);
        for doubt in [doubt, by, stolen(3.5), Doubt::refused("no root"), Doubt::earlier("hot")] {
            let text = serde_json::to_string(&doubt).unwrap();
            assert_eq!(serde_json::from_str::<Doubt>(&text).unwrap(), doubt, "{text}");
        }
        assert!(serde_json::from_str::<Doubt>(r#"{"code":"colour"}"#).is_err());
    }

    #[test]
    fn doubts_are_alike_that_differ_in_figures_alone() {
        let refused = |reason: &str| Doubt::refused(reason);
        assert!(stolen(3.0).is_like(&stolen(4.0)));
        assert!(!stolen(3.0).is_like(&Doubt::new(Code::OtherPrograms, [("percent", 3.0.into())])));
        let by = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Doubt::new(Code::OtherPrograms, [("percent", 3.0.into()), ("by", names.into())])
        };
        assert!(by(&["cc1"]).is_like(&by(&["rustc", "cc1"])) && by(&[]).is_like(&by(&["cc1"])));
        assert!(refused("a").is_like(&refused("a")) && !refused("a").is_like(&refused("b")));
        assert!(!stolen(3.0).is_of_its_cell());
        assert!(Doubt::new(Code::WideInterval, []).is_of_its_cell());
    }

    #[test]
    fn judgements_get_worse_and_keep_each_doubt_once() {
        assert_eq!(Judgement::of(vec![]), Judgement::default());
        let suspect = Judgement::default().with(Some(stolen(3.0)));
        assert_eq!(suspect.verdict, Verdict::Suspect);
        let missing = Judgement::not_measured(Doubt::refused("no"));
        let both = suspect.clone().worse(missing).worse(suspect);
        assert_eq!((both.verdict, both.doubts.len()), (Verdict::NotMeasured, 2));
        assert_eq!(Judgement::default().with(None).verdict, Verdict::Ok);
    }

    #[test]
    fn codes_have_names_of_their_own() {
        let names: std::collections::BTreeSet<&str> =
            Code::ALL.iter().map(|(_, name, _)| *name).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for (code, name, _) in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), *name);
        }
    }
}

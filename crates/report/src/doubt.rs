//! Doubts in words: one table from a code to its sentence.
//!
//! A sentence holds its values in braces: `{percent:.0}` is a figure with so many decimals,
//! `{bytes:size}` a size, `{cpu_ns:time}` a time, `{device}` a name or a whole number. What stands
//! between brackets is left out where one of its values is not known.

use model::doubt::{Code, Doubt, Value};
use model::text::visible;
use model::units::{show_change, show_fixed, show_size, show_time_ns};
use std::collections::BTreeMap;

/// Gives every code its sentence.
macro_rules! sentences {
    ($($code:ident $sentence:literal)*) => {
        const fn sentence_of(code: Code) -> &'static str {
            match code {
                $(Code::$code => $sentence,)*
            }
        }
    };
}

sentences! {
    DeviceReadLess "the device read only {percent:.0} % of the program's bytes: the page cache \
        served the rest"
    DeviceWroteLess "the device wrote only {percent:.0} % of the program's bytes: the rest was \
        still in the page cache"
    DeviceReadMore "the device read {ratio:.2} × the program's bytes: amplification, or other \
        traffic"
    DeviceWroteMore "the device wrote {ratio:.2} × the program's bytes: amplification, or other \
        traffic"
    CacheMissed "the device read {percent:.0} % of the bytes, which should have been in the page \
        cache"
    CacheBeneath "the underlying disk moved {percent:.0} % of the tested device's bytes: a cache \
        between them served the rest, or blocks that were never written"
    LittleExceeded "Little's law gives a queue depth of {outstanding:.1}, more than the {allowed} \
        requested: a clock or a counter is wrong"
    KernelDepthExceeded "the kernel counts {in_flight:.2} requests in flight, the program had \
        {outstanding:.2} outstanding"
    DepthNotReached "the mean queue depth was {outstanding:.1}, not the requested {requested}: the \
        interface completed requests before it returned"
    HarnessShare "lbolt itself took {percent:.0} % of the time"
    RateNotReached "{reached_iops} of {requested_iops} requested IOPS were reached: the path or \
        the load generator cannot keep up"
    StolenTime "the hypervisor took {percent:.0} % of the CPU time"
    OtherPrograms "other programs used {percent:.0} % of one CPU meanwhile[ (all CPUs: \
        {all_percent:.0} %)][, most of it {by}]: stop them, or measure when the machine is idle"
    TaskClocksExceedBusy "the tasks used {tasks_ms} ms of CPU time by their own clocks, but the \
        CPUs were busy for {busy_ms} ms: the CPU figures contradict each other"
    TestBedExceedsKernel "the test bed's workers used {workers_ms} ms of CPU time, all kernel \
        threads only {kernel_ms} ms: the CPU figures contradict each other"
    CommitTooQuick "p50 commit latency is {p50_ns:time}, too fast for the kind of disk that the \
        kernel reports (at least {least_ns:time}): a cache completed the commits, or the disk's \
        rotational flag is wrong"
    NoFlush "no flush reached the device in {commits} commits: its cache counts as write-through, \
        or the file system does not flush"
    WhoseUntold "{percent:.0} % of the reads and commits are of programs that ended before lbolt \
        could tell whose they are: the command's, or others'"
    SettingChanged "another program changed a setting during the run: {what}"
    SettingLeft "a killed lbolt (process {process}) left a setting changed: {what}; lbolt doctor \
        --clean puts it back"
    DeviceLate "the modelled device completed requests late: {mean_ns:time} of {response_ns:time} \
        on average, p99 {p99_ns:time}"
    NoDeviceBeneath "no underlying block device is visible: a cache may have served the requests"
    NoDeviceBeneathImage "no block device is visible under the image in {directory}: its rate may \
        be the memory's"
    DrivesShareDisks "the {drives} drives share {disks}: give each its own disk with at=DIR"
    DrivesBeyondModel "{drives} drives: outside the calibrated range, which ends at {bound} ({by})"
    WideInterval "still ±{percent:.0} % after {passes} passes: use more --runs or a \
        longer --max-time"
    IntervalExceedsValue "the interval is wider than the value"
    TotalBelowOwn "total CPU time is {percent:.0} % of the submitting thread's, which is a part of \
        it: the machine's background load changed"
    LineMissesSize "the line misses a size by {percent:.0} %, passes differ by {noise_percent:.0} \
        %: use more --runs"
    LoopWandered "the compute loop's own time drifted: {skewed} of {runs} runs without I/O took \
        more than 2 % longer than the fastest, their median {percent:.0} %"
    LoopsDisagree "loops of two lengths disagree: T_OH is {t_oh_ns} ns with tests every \
        {interval_us} us, and {other_t_oh_ns} ns with tests every {other_interval_us} us"
    TooFewSizes "{sizes} block sizes, fewer than {least}"
    MeanNotPositive "cannot tell: at {bytes:size} nothing above zero is left of a mean \
        ({mean_ns:time}) when what the harness and the machine took is subtracted: longer passes \
        (--runtime) help"
    NoLine "the model does not apply: there is no line"
    OneLineMisses "the model does not apply: at {bytes:size} one line misses the mean by \
        {percent:+.1} % (bound {bound_percent} %[, F = {f_ratio:.1} on {degrees} and \
        {degrees_of_noise} degrees of freedom]); no break makes two lines surely better"
    OneLineMissesFewSizes "the model does not apply: at {bytes:size} one line misses the mean by \
        {percent:+.1} % (bound {bound_percent} %[, F = {f_ratio:.1} on {degrees} and \
        {degrees_of_noise} degrees of freedom]); {sizes} sizes are too few to look for a break"
    TwoLinesMiss "the model does not apply: at {bytes:size} the best two lines miss the mean by \
        {percent:+.1} % (bound {bound_percent} %[, F = {f_ratio:.1} on {degrees} and \
        {degrees_of_noise} degrees of freedom])"
    CallCostsNegative "the model does not apply: a call would cost {cost_ns:.4} ns ({low_ns:.4} to \
        {high_ns:.4}), less than nothing"
    ByteCostsNegative "the model does not apply: a byte would cost {cost_ns:.4} ns ({low_ns:.4} to \
        {high_ns:.4}), less than nothing"
    FewSizeClasses "size classes with {requests_least} requests or more: {classes}; a line needs 3"
    SlopeHoldsZero "the slope's interval includes zero ({low_ns_per_kib:.0} to \
        {high_ns_per_kib:.0} ns/KiB)"
    LineFalls "larger requests take less time ({low_ns_per_kib:.0} to {high_ns_per_kib:.0} \
        ns/KiB): they differ in more than size"
    SlopeMissesSize "the line misses the mean of requests of about {bytes:size} by {percent:+.0} % \
        (bound {bound_percent} %)"
    PassesLostEvents "{events} events of the trace were lost (in {lossy_passes} of {passes} \
        passes): the parts miss their requests"
    CompletionsMissing "the trace has no completion for {missing} of {requests} requests: the \
        parts miss their times"
    FewTicks "the passes took {cpu_ns:time} of CPU time, too little to separate program from \
        kernel by ticks: only their sum is known"
    EventsLost "{lost} of {events} events were lost ({percent:.2} %)"
    RowsLate "{rows} rows follow a row that arrived later"
    NotInTrace "not in the trace"
    ResponsesUntold "known of {known} of {completed} completed requests: the others do not tell \
        when they were queued"
    CountUnknown "unknown: the file was rewritten without its footer's counts, or without some rows"
    NoRegularTimes "no regular interval"
    StormsFew "fewer than 30 writes and flushes"
    StormsShort "the trace is too short to tell a burst from steady load"
    StormsSteady "the arrivals fit a steady load"
    StormsBatches "the load comes in batches throughout"
    StormsFaster "faster arrivals were completed faster: a closed loop"
    StormsSummed "quick requests are known as sums, which do not tell when each one came"
    NothingTraced "nothing was traced, or the kernel does not count it"
    CompletionsLost "{lost} of {device}'s {completed} completions were lost and are missing from \
        all figures"
    DiskstatsDisagree "{device} completed {completed}[ {what}] by the kernel's count; the trace \
        holds {between} in that time, {during} while the counters were read, {outside} before or \
        after, and {lost} whose completions were lost: {more} more {side}"
    DeviceGone "{device} vanished during the capture: its requests until then are recorded, and \
        those under way have no completion"
    DeviceBack "{device} vanished during the capture and came back as {other}: its requests until \
        then are recorded; to go on, record {other}"
    DeviceReplaced "{device} vanished during the capture, and its number was reassigned, to \
        another device or to the same one again: requests under that number are of both"
    DeviceResized "{device} changed its size during the capture; its requests are recorded all the \
        same"
    TableChanged "{device} got another mapping table during the capture: its requests are \
        recorded; the devices beneath it are those at the end"
    BeyondModelSize "outside the calibrated range ({by}): {larger} of {requests} requests are \
        larger than {bytes} bytes"
    ReplayLate "lateness is {p50_ns:time} at p50 and {p99_ns:time} at p99, above the bounds of \
        {p50_bound_ns:time} and {p99_bound_ns:time}: this is a different load from the trace's"
    ReplayHoles "{holes} of {reads} reads are of what was never written in the file: they reach no \
        device"
    BeyondModelDepth "outside the calibrated range ({by}): up to {outstanding} requests were \
        outstanding on the model, which was calibrated up to {bound}; whether this explains a \
        difference from the trace is unknown"
    FioError "fio met an error in {job}"
    Refused "{reason}"
    Earlier "{sentence}"
}

/// A value, or the range of a figure over several doubts of one code.
#[derive(Debug, Clone, PartialEq)]
enum Shown {
    Text(String),
    Figure(f64, f64),
    /// Names, and in how many of the doubts each one is.
    Names(Vec<(String, usize)>),
}

/// Names in a sentence, at most.
const MOST_NAMES: usize = 3;

impl Shown {
    /// Takes in the value of another doubt.
    fn widen(&mut self, other: &Self) {
        match (self, other) {
            (Self::Figure(low, high), Self::Figure(least, most)) => {
                (*low, *high) = (low.min(*least), high.max(*most));
            }
            (Self::Names(known), Self::Names(others)) => {
                for (name, count) in others {
                    match known.iter_mut().find(|(known, _)| known == name) {
                        Some((_, all)) => *all += count,
                        None => known.push((name.clone(), *count)),
                    }
                }
            }
            _ => {}
        }
    }
}

/// The names that are in most doubts: `rustc, cc1 and ld`.
fn listed(names: &[(String, usize)]) -> String {
    let mut names: Vec<&(String, usize)> = names.iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let names: Vec<&str> = names.into_iter().take(MOST_NAMES).map(|(name, _)| &**name).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}

/// Doubts of one kind as one sentence: figures that differ are given as ranges.
#[derive(Debug, Clone)]
pub(crate) struct Phrase {
    like: Doubt,
    values: BTreeMap<String, Shown>,
    held: Option<(f64, f64)>,
    all: Option<(f64, f64)>,
    /// In one cell it held in all passes, in another in some.
    is_mixed: bool,
}

impl Phrase {
    pub(crate) fn of(doubt: &Doubt) -> Self {
        let shown = |value: &Value| match value {
            Value::Text(text) => Shown::Text(visible(text).into_owned()),
            Value::Number(value) => Shown::Figure(*value, *value),
            Value::Names(names) => {
                let shown = |name: &String| (visible(name).into_owned(), 1);
                Shown::Names(names.iter().map(shown).collect())
            }
        };
        let values = doubt.values.iter().map(|(name, value)| (name.clone(), shown(value)));
        let alone = |value: u64| (value as f64, value as f64);
        Self {
            like: doubt.clone(),
            values: values.collect(),
            held: doubt.passes.map(|passes| alone(passes.held)),
            all: doubt.passes.map(|passes| alone(passes.all)),
            is_mixed: false,
        }
    }

    /// Whether the doubt is of this kind.
    pub(crate) fn covers(&self, doubt: &Doubt) -> bool {
        self.like.is_like(doubt)
    }

    pub(crate) fn is_of_its_cell(&self) -> bool {
        self.like.is_of_its_cell()
    }

    /// Takes in another doubt of this kind.
    pub(crate) fn widen(&mut self, doubt: &Doubt) {
        let other = Self::of(doubt);
        for (name, value) in &mut self.values {
            other.values.get(name).into_iter().for_each(|other| value.widen(other));
        }
        self.is_mixed |= self.held.is_some() != other.held.is_some();
        let wider = |a: Option<(f64, f64)>, b: Option<(f64, f64)>| {
            a.zip(b).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)))
        };
        (self.held, self.all) = (wider(self.held, other.held), wider(self.all, other.all));
    }

    pub(crate) fn text(&self) -> String {
        let text = fill(sentence_of(self.like.code), &self.values);
        match (self.is_mixed, self.held, self.all) {
            (true, ..) => format!("{text} (in some passes, or all)"),
            (false, Some(held), Some(all)) => {
                format!("{text} (in {} of {} passes)", range(held, whole), range(all, whole))
            }
            _ => text,
        }
    }
}

/// A doubt in words.
pub fn sentence(doubt: &Doubt) -> String {
    Phrase::of(doubt).text()
}

/// What makes every figure doubtful.
pub(crate) fn of_every_figure(doubts: &[Doubt]) -> String {
    format!("Every figure is suspect: {}.", sentences(doubts))
}

/// Doubts in words, one after the other.
pub fn sentences(doubts: &[Doubt]) -> String {
    doubts.iter().map(sentence).collect::<Vec<_>>().join("; ")
}

fn fill(sentence: &str, values: &BTreeMap<String, Shown>) -> String {
    let (mut text, mut rest) = (String::new(), sentence);
    while let Some(begin) = rest.find(['{', '[']) {
        let close = if rest[begin..].starts_with('{') { '}' } else { ']' };
        let Some(length) = rest[begin..].find(close) else { break };
        let inside = &rest[begin + 1..begin + length];
        text.push_str(&rest[..begin]);
        match close {
            '}' => text.push_str(&placed(inside, values).unwrap_or_default()),
            _ if is_known(inside, values) => text.push_str(&fill(inside, values)),
            _ => {}
        }
        rest = &rest[begin + length + 1..];
    }
    text + rest
}

fn is_known(part: &str, values: &BTreeMap<String, Shown>) -> bool {
    names(part).all(|name| match values.get(name) {
        Some(Shown::Names(names)) => !names.is_empty(),
        value => value.is_some(),
    })
}

fn names(sentence: &str) -> impl Iterator<Item = &str> {
    let places = sentence.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    places.map(|place| place.split(':').next().unwrap_or(place))
}

/// What stands in a place: `name` or `name:format`.
fn placed(place: &str, values: &BTreeMap<String, Shown>) -> Option<String> {
    let (name, format) = place.split_once(':').unwrap_or((place, ".0"));
    Some(match values.get(name)? {
        Shown::Text(text) => text.clone(),
        Shown::Names(names) => listed(names),
        Shown::Figure(low, high) => range((*low, *high), |value| figure(value, format)),
    })
}

/// A range as its ends; one figure where these look the same.
fn range((low, high): (f64, f64), show: impl Fn(f64) -> String) -> String {
    match (show(low), show(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    }
}

fn whole(value: f64) -> String {
    figure(value, ".0")
}

fn figure(value: f64, format: &str) -> String {
    let decimals = |digits: &str| digits.parse().unwrap_or(0);
    match format {
        "time" => show_time_ns(value),
        "size" => show_size(value as u64),
        _ => match format.strip_prefix('+') {
            Some(signed) => show_change(value, decimals(signed.trim_start_matches('.'))),
            None => show_fixed(value, decimals(format.trim_start_matches('.'))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::doubt::Passes;

    #[test]
    fn every_sentence_has_its_codes_values() {
        for (code, name, values) in Code::ALL {
            let known: std::collections::BTreeSet<&str> = values.iter().copied().collect();
            let used: std::collections::BTreeSet<&str> = names(sentence_of(*code)).collect();
            assert_eq!(used, known, "{name}");
        }
    }

    #[test]
    fn values_stand_in_their_places() {
        let doubt = Doubt::new(
            Code::SlopeMissesSize,
            [("bytes", 512.0.into()), ("percent", 100.2.into()), ("bound_percent", 10.0.into())],
        );
        let text = "the line misses the mean of requests of about 512 by +100 % (bound 10 %)";
        assert_eq!(sentence(&doubt), text);
        let ticks = Doubt::new(Code::FewTicks, [("cpu_ns", 12_300_000.0.into())]);
        assert!(sentence(&ticks).contains("took 12.3 ms of"), "{}", sentence(&ticks));
        assert_eq!(sentence(&Doubt::refused("no {root} [x]")), "no {root} [x]");
        assert_eq!(sentences(&[Doubt::earlier("a"), Doubt::earlier("b")]), "a; b");
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let values =
            [("bytes", 4096.0.into()), ("percent", (-12.0).into()), ("bound_percent", 10.0.into())];
        let mut doubt = Doubt::new(Code::TwoLinesMiss, values);
        assert!(sentence(&doubt).ends_with(
            "at 4k the best two lines miss the mean by -12.0 % \
            (bound 10 %)"
        ));
        for (name, value) in [("f_ratio", 9.25), ("degrees", 3.0), ("degrees_of_noise", 12.0)] {
            doubt.values.insert(name.into(), value.into());
        }
        assert!(sentence(&doubt).contains("%, F = 9.2 on 3 and 12 degrees of freedom)"));
    }

    #[test]
    fn figures_that_differ_are_ranges() {
        let stolen = |percent: f64| Doubt::new(Code::StolenTime, [("percent", percent.into())]);
        let mut phrase = Phrase::of(&stolen(3.4));
        phrase.widen(&stolen(3.1));
        assert_eq!(phrase.text(), "the hypervisor took 3 % of the CPU time");
        phrase.widen(&stolen(17.0));
        assert_eq!(phrase.text(), "the hypervisor took 3 to 17 % of the CPU time");
    }

    #[test]
    fn who_used_the_cpus_is_named_by_how_often() {
        let by = |names: &[&str], percent: f64| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let all =
                [("percent", percent.into()), ("all_percent", 200.0.into()), ("by", names.into())];
            Doubt::new(Code::OtherPrograms, all)
        };
        let mut phrase = Phrase::of(&by(&["make", "cc1"], 138.0));
        phrase.widen(&by(&["rustc", "cc1"], 200.0));
        phrase.widen(&by(&["rustc", "cc1", "ld"], 150.0));
        let text = "other programs used 138 to 200 % of one CPU meanwhile (all CPUs: 200 %), most \
            of it cc1, rustc and make: stop them, or measure when the machine is idle";
        assert_eq!(phrase.text(), text);
        assert!(!sentence(&by(&[], 50.0)).contains("most of it"));
    }

    #[test]
    fn passes_are_told_where_they_are_not_all() {
        let held = |held, all| Doubt {
            passes: Some(Passes { held, all }),
            ..Doubt::new(Code::IntervalExceedsValue, [])
        };
        let mut phrase = Phrase::of(&held(1, 5));
        phrase.widen(&held(3, 5));
        assert!(phrase.text().ends_with("(in 1 to 3 of 5 passes)"), "{}", phrase.text());
        phrase.widen(&Doubt::new(Code::IntervalExceedsValue, []));
        assert!(phrase.text().ends_with("(in some passes, or all)"), "{}", phrase.text());
    }
}

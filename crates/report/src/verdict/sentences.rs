//! The verdict in one to three sentences: for each pair of victim and cause that matters, who lost
//! how much, how, when, and because of whom; or that nobody did, and what was looked for.
//!
//! Non-goals: which pairs matter (`verdict`).

use super::elsewhere::{brief, elsewhere, is_whole_of_named_devices, short, unplaced};
use super::layers;
use super::looked::{LARGE_NS, Looked};
use super::shown::Shown;
use super::told::{Loss, Of, Told, Values, waker};
use super::when;
use crate::doubt::of_every_figure;
use crate::number::significant;
use crate::requests::{CLOCK_ZERO, KNOWN_COUNTS, clock};
use crate::statement::Statement;
use model::circumstance::Circumstance;
use model::job_role::JobRole;
use model::record::requests;
use model::record::subject::{Blame, Class, Wait};
use model::record::{EVICTED_PAGE, Finding, Verdict, WaitKind, waited_for};
use model::units::{counted, show_time_ns};

/// Pairs that are told of.
const MOST: usize = 3;
/// Waits of no known device are no all-clear from then on.
const UNPLACED_NS_LEAST: f64 = 1e9;
/// A cause's doing that has less of the loss than this is left out.
const LEAST_PERCENT: f64 = 15.0;
/// CPUs that are less idle are a reason to wait.
const IDLE_PERCENT_LEAST: f64 = 3.0;
/// Pressure that is less is not worth a sentence; and where less of it was seen, all is not clear.
const PRESSURE_PERCENT_LEAST: f64 = 2.0;
const SEEN_PERCENT_LEAST: f64 = 75.0;
/// Requests that have no completion for so long are no all-clear.
const UNANSWERED_NS_LEAST: f64 = 1e9;
/// Who waited for a victim less than this part of what it lost is left out.
const SLEEPER_LEAST: f64 = 0.1;
/// Of a trace that lacks so much of its events nobody knows who waited.
const LOST_PERCENT_LEAST: f64 = 10.0;
/// What an answer begins with that is no all-clear: of anybody, and of roles that are selected.
const UNKNOWN: [&str; 2] = [
    "Unknown whether anybody waited long for others",
    "Unknown whether the selected roles waited long for others or kept them waiting",
];
/// The same of an all-clear.
const CLEAR: [&str; 2] = [
    "Nobody waited long for others",
    "The selected roles neither waited long for others nor kept them waiting",
];
/// What a wait can be, where calls are told and where they are not.
const KINDS: [&str; 2] = [
    "reads, direct writes, flushes, fsync",
    "reads, direct writes, flushes; the trace does not tell fsync",
];
const NO_WAIT: &str = "no thread waited for a read, a direct write, a flush or an fsync";
/// Whoever held the lock for this part of what was lost is said to have held it.
const HELD_LEAST: f64 = 0.8;

/// The losses that are told of: each pair of victim and cause that matters; where none does, the
/// one that lost most.
#[derive(Debug, Default)]
pub(super) struct Said<'t, 'a> {
    matter: Vec<&'t Loss<'a>>,
    /// Who waited for the victim of one of them, by its place.
    sleepers: Vec<(usize, &'t Loss<'a>)>,
    most: Option<&'t Loss<'a>>,
}

impl<'t, 'a> Said<'t, 'a> {
    pub(super) fn of(told: &'t Told<'a>, shown: &Shown) -> Self {
        // Who waited for a thread stands with what that one lost, unless he is asked for.
        let is_asked_for = |of: &Blame| shown.selects_roles() && shown.has_role(&[&of.victim]);
        let of_shown = || {
            let losses = told.losses.iter();
            losses.filter(|loss| loss.is_of(shown) && shown.has_device(&loss.of.device))
        };
        let is_root = |loss: &&Loss<'_>| waker(loss.of).is_none() || is_asked_for(loss.of);
        let of_roles = || of_shown().filter(is_root);
        let mut matter: Vec<&Loss<'a>> = of_roles().filter(|loss| loss.matters()).collect();
        // What is of one rank stays in the order of what was lost.
        let ranks = told.ranks();
        matter.sort_by_key(|loss| ranks.of("", &loss.of.victim));
        matter.truncate(MOST);
        if matter.is_empty() {
            // What that thread itself lost may be too little, or waits that are not known.
            matter.extend(of_shown().find(|loss| loss.matters()));
        }
        // Once for each victim and cause, whatever it waited for.
        let is_first = |number: usize| {
            !matter[..number].iter().any(|other| is_pair(other.of, matter[number].of))
        };
        let firsts = (0..matter.len()).filter(|number| is_first(*number));
        let sleepers = firsts.flat_map(|number| {
            let behind = sleepers(matter[number], told).into_iter();
            behind.map(move |loss| (number, loss))
        });
        let sleepers = sleepers.collect();
        // What may be nothing at all is not told of.
        let is_sure = |loss: &&Loss<'_>| {
            loss.values.finding("lost_ns").and_then(|lost| lost.low.or(lost.value)) > Some(0.0)
        };
        let is_most = |loss: &&Loss<'_>| loss.of.is_role && is_sure(loss);
        let most = of_roles().next().filter(|loss| matter.is_empty() && is_most(loss));
        Self { matter, sleepers, most }
    }

    /// Whether a loss is told of: then it is in the tables.
    pub(super) fn has(&self, loss: &Loss<'_>) -> bool {
        let sleepers = self.sleepers.iter().map(|(_, sleeper)| *sleeper);
        let mut all = self.matter.iter().copied().chain(sleepers).chain(self.most);
        all.any(|said| std::ptr::eq(said.of, loss.of))
    }

    /// The same of waits.
    pub(super) fn has_wait(&self, wait: &Wait) -> bool {
        self.matter.iter().copied().chain(self.most).any(|said| said.is_in(wait))
    }
}

pub(super) fn all<'a>(told: &Told<'a>, shown: &Shown) -> Vec<Statement<'a>> {
    let said = Said::of(told, shown);
    let mut lines: Vec<Statement<'a>> = Vec::with_capacity(said.matter.len());
    for (number, loss) in said.matter.iter().enumerate() {
        let sleepers = said.sleepers.iter().filter(|(of, _)| *of == number);
        let sleepers: Vec<&Loss<'_>> = sleepers.map(|(_, sleeper)| *sleeper).collect();
        // The storms of one are most often those of the next, too.
        let sentence = of_loss(loss, &sleepers, number == 0, told);
        lines.push(Statement { sentence, finding: loss.values.finding("lost_ns") });
    }
    if lines.is_empty() {
        let most = said.most.map_or(String::new(), of_most);
        let is_of =
            |device: &str, roles: &[&str]| shown.has_device(device) && shown.has_role(roles);
        let is_role = |(of, _): &Of<'_, Class>| shown.has_role(&[&of.class]);
        let has_row = told.waits.iter().any(|(of, _)| is_of(&of.device, &[&of.victim]))
            || told
                .losses
                .iter()
                .any(|Loss { of, .. }| is_of(&of.device, &[&of.victim, &of.cause]))
            || told.unplaced.iter().chain(&told.short).any(is_role);
        // Without completions no wait is known, whoever is selected.
        let is_told = has_row || told.tells_no_completion();
        let sentence = match shown.selects_roles() && !is_told {
            true => "The trace has no wait of what was selected.".to_owned(),
            false => calm(told, shown, &most),
        };
        lines.push(sentence.into());
    }
    let statement = |sentence: Option<String>, finding: Option<&'a Finding>| {
        sentence.map(|sentence| Statement { sentence, finding })
    };
    let of_run = |quantity| told.run.finding(quantity);
    // It is a reason why all is not clear, else it is said beside.
    let is_said = |open: &String| lines.iter().any(|line| line.sentence.contains(open));
    let unanswered = unanswered(told).filter(|open| !is_said(open)).map(|open| open + ".");
    let more = [
        statement(unanswered, of_run("unanswered_longest_ns")),
        statement(other_devices(told), None),
        statement(
            elsewhere(told).filter(|_| !shown.selects_roles()),
            of_run("unplaced_untraced_ns"),
        ),
        statement(only_slow(told), of_run("slower_than_ns")),
        statement(known(told), told.whole.finding("response_known_count")),
        statement(remedy(told, shown), None),
        statement(pressure(told), of_run("io_pressure_ns")),
        statement(busy_cpus(told), of_run("cpu_idle_percent")),
        statement(doubts(told), of_run("verdict_span_ns")),
        statement(told.run.get(CLOCK_ZERO).map(clock), None),
    ];
    lines.extend(more.into_iter().flatten());
    lines
}

/// Which requests were compared, where these are not all.
fn only_slow(told: &Told<'_>) -> Option<String> {
    crate::requests::only_slow(|quantity| told.run.get(quantity))
}

/// Devices that are taken for one, as a source tells of more than can be kept apart.
fn other_devices(told: &Told<'_>) -> Option<String> {
    let name = requests::other_devices();
    let (_, values) = told.devices.iter().find(|(of, _)| of.class == name)?;
    Some(format!(
        "The trace names more than {} devices: {} of the others count as those of one.",
        requests::DEVICES_MOST - 1,
        counted(values.or_zero("requested_count") as u64, "request{s}"),
    ))
}

/// Of how many requests the times are known, where many do not tell theirs.
fn known(told: &Told<'_>) -> Option<String> {
    let [completed, responses, devices] = KNOWN_COUNTS.map(|count| told.whole.get(count));
    let (completed, responses, devices) = (completed?, responses?, devices?);
    let is_suspect = |mean: &Finding| mean.verdict == Verdict::Suspect;
    let are_few = told.whole.finding("response_mean_ns").is_some_and(is_suspect);
    let matters = are_few || devices > responses || responses == 0.0;
    crate::requests::known([completed, responses, devices]).filter(|_| matters)
}

/// What makes every figure doubtful.
fn doubts(told: &Told<'_>) -> Option<String> {
    let span = told.run.finding("verdict_span_ns")?;
    let is_suspect = span.verdict == Verdict::Suspect;
    is_suspect.then(|| of_every_figure(&span.doubts))
}

/// What may help, where somebody was throttled because of others' dirty pages.
fn remedy(told: &Told<'_>, shown: &Shown) -> Option<String> {
    let is_throttled = |loss: &&Loss<'_>| {
        loss.matters() && wait_kind(&loss.of.wait) == Some(WaitKind::Throttling) && loss.of.is_role
    };
    told.losses.iter().filter(|loss| loss.is_of(shown)).find(is_throttled)?;
    Some("`lbolt storm --remedies dirty-early` tests whether earlier writeback helps.".to_owned())
}

/// What the kernel counts by itself of waits for requests, where that is much.
fn pressure(told: &Told<'_>) -> Option<String> {
    let percent = told.run.get("io_pressure_percent").filter(|of| *of >= PRESSURE_PERCENT_LEAST)?;
    let all_ns = told.run.or_zero("io_pressure_ns");
    let seen = told.run.or_zero("io_pressure_seen_percent");
    let of_cgroups = of_cgroups(told);
    let counted = format!(
        "The kernel counts {} of {} ({} %) in which a thread of the machine waited for I/O (PSI)",
        show_time_ns(all_ns),
        show_time_ns(100.0 * all_ns / percent),
        significant(percent)
    );
    let seen_percent = significant(seen);
    Some(match seen < SEEN_PERCENT_LEAST {
        true => format!(
            "{counted}; this trace shows only {seen_percent} % of it. The rest are waits for \
             devices that were not traced, or below 1 ms{}.{of_cgroups}",
            short(told),
        ),
        false => format!("{counted}; this trace shows {seen_percent} % of it.{of_cgroups}"),
    })
}

/// ` By cgroup: /shop.slice 3.20 s (98.1 % shown).`
fn of_cgroups(told: &Told<'_>) -> String {
    let of = pressed_cgroups(told).take(MOST).map(|(cgroup, values)| {
        let time = show_time_ns(values.or_zero("io_pressure_ns"));
        let seen = significant(values.or_zero("io_pressure_seen_percent"));
        format!("{} {time} ({seen} % shown)", cgroup.class)
    });
    match of.collect::<Vec<_>>() {
        of if of.is_empty() => String::new(),
        of if of.len() == 1 => format!(" By cgroup: {}.", of.join(", ")),
        of => format!(" By cgroup, whose times overlap: {}.", of.join(", ")),
    }
}

/// Cgroups in which the kernel counts much waiting.
fn pressed_cgroups<'t>(told: &'t Told<'_>) -> impl Iterator<Item = &'t Of<'t, Class>> {
    let is_much = |values: &Values<'_>| {
        values.get("io_pressure_percent").is_some_and(|of| of >= PRESSURE_PERCENT_LEAST)
    };
    told.cgroups.iter().filter(move |(_, values)| is_much(values))
}

/// Whether the kernel counts much waiting that is not known here, of the machine or of a cgroup.
fn is_much_unseen(told: &Told<'_>) -> bool {
    let is_unseen = |values: &Values<'_>| {
        values.get("io_pressure_seen_percent").is_some_and(|seen| seen < SEEN_PERCENT_LEAST)
    };
    told.run.or_zero("io_pressure_percent") >= PRESSURE_PERCENT_LEAST && is_unseen(&told.run)
        || pressed_cgroups(told).any(|(_, values)| is_unseen(values))
}

/// Where the CPUs are never idle, a wait may be one for a CPU.
fn busy_cpus(told: &Told<'_>) -> Option<String> {
    let idle = told.run.get("cpu_idle_percent").filter(|idle| *idle < IDLE_PERCENT_LEAST)?;
    Some(format!("The CPUs were {:.1} % busy: long waits may be waits for a CPU.", 100.0 - idle))
}

/// `postgres: backend lost 23.8 s waiting for fdatasync on loop1 (31 % of its 76 s), behind flushes
/// and writes of postgres: checkpointer, in 3 storms, one every 30 s. Waiting for it, pgbench lost
/// 19.4 s. An affected wait took 5.4 ms instead of 1.5 ms on average; …`
fn of_loss(loss: &Loss<'_>, sleepers: &[&Loss<'_>], tells_storms: bool, told: &Told<'_>) -> String {
    let of = loss.of;
    let waits = told.waits.iter().find(|(wait, _)| loss.is_in(wait)).map(|(_, values)| values);
    let all_ns = waits.map_or(0.0, |values| values.or_zero("waited_ns"));
    let lost = format!(
        "{} lost {}{} waiting for {} on {} ({} % of its {}){}",
        who("The", &of.victim),
        if is_estimate(loss) { "about " } else { "" },
        show_time_ns(loss.lost_ns()),
        waited_for(&of.wait),
        of.device,
        significant(loss.values.or_zero("lost_percent")),
        show_time_ns(all_ns),
        loss.on_file(),
    );
    let (when, storms) = when::of(loss);
    let storms = if tells_storms { storms } else { String::new() };
    let (behind, sleepers) = (behind(loss, told), of_sleepers(loss, sleepers));
    format!("{lost}, {behind}{when}.{sleepers}{}{storms}", took(loss, waits))
}

/// ` An affected wait took 5.40 ms instead of 1.50 ms on average; of all, p99 is 25.0 ms, the
/// longest 110 ms.`
fn took(loss: &Loss<'_>, waits: Option<&Values<'_>>) -> String {
    let mean = loss.values.get("affected_mean_ns").map(|mean| {
        let calm = match loss.values.get("affected_calm_mean_ns") {
            Some(0.0) => " (calm periods have none)".to_owned(),
            Some(calm) => format!(" instead of {}", show_time_ns(calm)),
            None => String::new(),
        };
        format!("An affected wait took {}{calm} on average", show_time_ns(mean))
    });
    let is_compared = wait_kind(&loss.of.wait).is_none();
    let mean = mean.or_else(|| is_compared.then(|| "No calm period to compare with".to_owned()));
    let tail = waits.and_then(|waits| {
        let [p99, max] = ["waited_p99_ns", "waited_max_ns"].map(|of| waits.get(of));
        Some((show_time_ns(p99?), show_time_ns(max?)))
    });
    match (mean, tail) {
        (Some(mean), Some((p99, max))) => {
            format!(" {mean}; of all, p99 is {p99}, the longest {max}.")
        }
        (Some(mean), None) => format!(" {mean}."),
        (None, Some((p99, max))) => format!(" Of its waits, p99 is {p99} and the longest {max}."),
        (None, None) => String::new(),
    }
}

/// Whether two losses are of one victim and one cause at one device.
fn is_pair(one: &Blame, other: &Blame) -> bool {
    one.victim == other.victim && is_cause(one, other)
}

fn is_cause(one: &Blame, other: &Blame) -> bool {
    (&one.device, &one.cause, one.is_role) == (&other.device, &other.cause, other.is_role)
}

/// Who waited for the victim of a loss, and lost time by that.
fn sleepers<'t, 'a>(root: &Loss<'_>, told: &'t Told<'a>) -> Vec<&'t Loss<'a>> {
    let is_behind = |one: &&Loss<'_>| {
        waker(one.of) == Some(root.of.victim.as_str())
            && is_cause(one.of, root.of)
            && !std::ptr::eq(one.of, root.of)
            && one.lost_ns() >= SLEEPER_LEAST * root.lost_ns()
    };
    told.losses.iter().filter(is_behind).take(MOST).collect()
}

/// ` Waiting for it, other threads of postgres: backend lost 24.3 s and pgbench lost 19.4 s.`
fn of_sleepers(root: &Loss<'_>, sleepers: &[&Loss<'_>]) -> String {
    let lost = sleepers.iter().map(|one| {
        let who = match one.of.victim == root.of.victim {
            true => format!("other threads of {}", one.of.victim),
            false => one.of.victim.clone(),
        };
        format!("{who} lost {}", show_time_ns(one.lost_ns()))
    });
    match lost.collect::<Vec<_>>().split_last() {
        None => String::new(),
        Some((one, [])) => format!(" Waiting for it, {one}."),
        Some((last, others)) => format!(" Waiting for it, {} and {last}.", others.join(", ")),
    }
}

/// A role in a sentence: those of lbolt's own jobs are no names.
fn who(article: &str, role: &str) -> String {
    match JobRole::ALL.iter().any(|(_, job)| *job == role) {
        true => format!("{article} {role}"),
        false => role.to_owned(),
    }
}

fn is_estimate(loss: &Loss<'_>) -> bool {
    loss.values.get("affected_mean_ns").is_none()
}

fn wait_kind(wait: &str) -> Option<WaitKind> {
    WaitKind::ALL.iter().find(|(_, name)| *name == wait).map(|(kind, _)| *kind)
}

fn behind(loss: &Loss<'_>, told: &Told<'_>) -> String {
    const DOING: [(&str, &str); 4] = [
        ("reads", "lost_to_reads_percent"),
        ("writes", "lost_to_writes_percent"),
        ("flushes", "lost_to_flushes_percent"),
        ("discards", "lost_to_discards_percent"),
    ];
    match (loss.circumstance(), loss.of.cause.as_str()) {
        (Some(stolen @ Circumstance::Stolen), _) => {
            let time = told.run.get("cpu_stolen_ns").map(show_time_ns);
            let time = time.map(|time| format!(" (it took {time} of CPU time in all)"));
            format!("{}{}", stolen.clause(), time.unwrap_or_default())
        }
        (Some(circumstance), _) => circumstance.clause().to_owned(),
        (None, cause) => {
            let cause = who("the", cause);
            let mut doing: Vec<(&str, f64)> =
                DOING.iter().map(|(name, of)| (*name, loss.values.or_zero(of))).collect();
            doing.retain(|(_, percent)| *percent >= LEAST_PERCENT);
            doing.sort_by(|a, b| b.1.total_cmp(&a.1));
            let names: Vec<&str> = doing.iter().map(|(name, _)| *name).collect();
            let behind = match names.is_empty() {
                _ if loss.of.wait == EVICTED_PAGE => format!("evicted while {cause} filled memory"),
                true => format!("behind {cause}"),
                false => format!("behind {} of {cause}", names.join(" and ")),
            };
            let cpu_percent = loss.values.or_zero("lost_to_cpu_percent");
            if cpu_percent >= LEAST_PERCENT {
                let too = if names.is_empty() { "" } else { ", too" };
                return format!("{behind}, which used the CPUs that it waited for{too}");
            }
            let held_ns = loss.values.or_zero("lock_held_ns");
            match held_ns >= HELD_LEAST * loss.lost_ns() {
                true if held_ns > 0.0 => format!("{behind}, which held the lock"),
                _ => behind,
            }
        }
    }
}

/// On which devices all is clear, or not known.
fn place(told: &Told<'_>, shown: &Shown) -> &'static str {
    match (&shown.device, is_whole_of_named_devices(told)) {
        (Some(_), _) => " on the selected devices",
        (None, true) => " on the captured devices",
        (None, false) => "",
    }
}

/// That nobody waited for others, what was looked for, and what of it could not be told.
fn calm(told: &Told<'_>, shown: &Shown, most: &str) -> String {
    let of_roles = shown.selects_roles();
    let own = Looked::at(told, shown, |victim| shown.has_role(&[victim]));
    let place = place(told, shown);
    let headed = |heads: [&str; 2]| format!("{}{place}", heads[usize::from(of_roles)]);
    let unknown = headed(UNKNOWN);
    if let Some(unplaced) = unplaced(told, UNPLACED_NS_LEAST) {
        return format!("{unknown}: {unplaced}{most}.");
    }
    if told.tells_no_completion() {
        return format!("{unknown}: the trace does not tell when its requests were completed.");
    }
    if let Some(unanswered) = unanswered(told) {
        return format!("{unknown}: {unanswered}{most}.");
    }
    let is_alone = told.run.get("summed_count").is_none_or(|count| count == 0.0);
    if let Some(threshold_ns) = told.run.get("slower_than_ns").filter(|_| is_alone) {
        return format!(
            "{unknown}: there are no sums of requests of less than {}, so a usual wait is not \
             known{most}.",
            show_time_ns(threshold_ns)
        );
    }
    let is_beneath = |device: &str| shown.has_device(device) && layers::is_layer(told, device);
    let is_lower = || told.devices.iter().any(|(of, _)| is_beneath(&of.class));
    if own.count == 0.0 && shown.device.is_some() && is_lower() {
        return format!(
            "{unknown}: waits for a device beneath another one are told of the upper one."
        );
    }
    let requests = told.run.get("requests_count");
    if own.count == 0.0 && !told.tells_calls() {
        return format!("{unknown}: {}", only_requests(requests, shown, place));
    }
    let [with_calls, without_calls] = KINDS;
    let kinds = if told.tells_calls() { with_calls } else { without_calls };
    let span_ns = told.run.or_zero("verdict_span_ns");
    let kinds = format!(" in {} ({kinds})", show_time_ns(span_ns));
    // Selected roles may be behind the waits of all others.
    let all = Looked::at(told, shown, |_| true);
    let selected = [(&own, if of_roles { " of the selected roles" } else { "" })];
    let mut scopes = selected.into_iter().chain(of_roles.then_some((&all, " of all roles")));
    if let Some((looked, whose)) = scopes.find(|(looked, _)| looked.is_much_unknown(span_ns)) {
        let of = format!("{}{whose}{kinds}", counted(looked.count as u64, "wait{s}"));
        return format!("{unknown}: {}{most}. A longer trace may have one.", looked.unknown(&of));
    }
    let none = match own.count {
        _ if of_roles => "no wait of theirs, and none because of them, was seen to be".to_owned(),
        0.0 => "no wait was seen, so none was".to_owned(),
        1.0 => format!("the only wait{kinds} was not"),
        count => format!("none of {}{kinds} was", counted(count as u64, "wait{s}")),
    };
    if let Some(unseen) = unseen(told) {
        let others = if of_roles { "" } else { " because of others" };
        return format!("{unknown}: {none} much longer{others}, but the trace {unseen}{most}.");
    }
    // Where no wait is told by itself, the sum of those that are too short is all that is known.
    let brief = if own.count == 0.0 { brief(told, shown) } else { (0.0, String::new()) };
    // The kernel counts these waits on all devices.
    if brief.0 >= LARGE_NS && !is_whole_of_named_devices(told) {
        return format!("{unknown}: {}{most}.", brief.1);
    }
    let remainder = remainder(told, brief);
    // Who says that no thread waited knows of every wait.
    if own.count == 0.0 && !of_roles && remainder.is_empty() {
        let of = requests.filter(|_| shown.device.is_none()).map_or(String::new(), |count| {
            let requests = counted(count as u64, "request{s}");
            format!(" ({requests}, calls and waits of threads were looked at)")
        });
        return format!("Nobody waited{place}: {NO_WAIT}{of}.");
    }
    let clear = headed(CLEAR);
    let all_clear = match of_roles {
        true => format!("{clear}{kinds}{most}."),
        false => format!("{clear}: {none} much longer because of them{most}."),
    };
    let them = if of_roles { "the waits of the selected roles" } else { "them" };
    match own.unknown_ns > 0.0 {
        true => format!("{all_clear} {}.{remainder}", own.unknown(them)),
        false => all_clear + &remainder,
    }
}

/// What is unknown beside an all-clear: too little to take it back, and not nothing.
fn remainder(told: &Told<'_>, (brief_ns, brief): (f64, String)) -> String {
    let brief = (brief_ns > 0.0).then_some(brief);
    let percent = lost_percent(told);
    let lost = (percent > 0.0).then(|| format!("the trace {}", lacks(percent)));
    let all: Vec<String> = unplaced(told, 0.0).into_iter().chain(brief).chain(lost).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(" That is of what was seen: {}.", all.join(", and ")),
    }
}

/// What the trace lacks, where it is so much that nobody knows who waited.
fn unseen(told: &Told<'_>) -> Option<String> {
    // The kernel's own count is of all devices.
    if is_much_unseen(told) && !is_whole_of_named_devices(told) {
        return Some("does not show much of the waiting".to_owned());
    }
    let percent = lost_percent(told);
    (percent >= LOST_PERCENT_LEAST).then(|| lacks(percent))
}

fn lacks(percent: f64) -> String {
    format!("lacks {} % of its events", significant(percent))
}

fn lost_percent(told: &Told<'_>) -> f64 {
    let lost = told.run.or_zero("lost_count");
    100.0 * lost / (lost + told.run.or_zero("events_count")).max(1.0)
}

/// Requests that have no completion for long, and more than what was lost would explain.
fn unanswered(told: &Told<'_>) -> Option<String> {
    let longest = told.run.finding("unanswered_longest_ns")?;
    let ns = longest.value.filter(|ns| *ns >= UNANSWERED_NS_LEAST)?;
    if longest.count as f64 <= told.run.or_zero("lost_count") {
        return None;
    }
    let (have, first, hang) = match longest.count {
        1 => ("has", "", "it hangs, or its completion is missing"),
        _ => ("have", "the first of them ", "they hang, or their completions are missing"),
    };
    Some(format!(
        "{} {have} no completion in the trace, {first}made {} before its end: {hang}",
        counted(longest.count, "request{s}"),
        show_time_ns(ns),
    ))
}

/// Why nobody knows, where there are requests at the most and no wait is among them.
fn only_requests(requests: Option<f64>, shown: &Shown, place: &str) -> String {
    let whose = if shown.selects_roles() { " of the selected roles" } else { "" };
    let requests = match requests.unwrap_or(0.0) {
        0.0 => "the trace has no requests, and it".to_owned(),
        // How many requests were looked at is known of the whole trace.
        _ if !(whose.is_empty() && place.is_empty()) => {
            format!("no thread{whose} is known to have waited for a request{place}, and the trace")
        }
        count => format!(
            "no thread is known to have waited for one of {}, and the trace",
            counted(count as u64, "request{s}")
        ),
    };
    format!(
        "{requests} does not tell calls such as fsync or waits of threads. `lbolt record` as root \
         captures them."
    )
}

fn of_most(loss: &Loss<'_>) -> String {
    format!(
        "; {} lost most, {} ({} % of its waiting) behind {}",
        who("the", &loss.of.victim),
        show_time_ns(loss.lost_ns()),
        significant(loss.values.or_zero("lost_percent")),
        who("the", &loss.of.cause),
    )
}

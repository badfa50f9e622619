//! The first screen of overhead: which routine is the cheapest a call and where the rate's limit
//! is, through the page cache and past it; then the cheapest routines of both.
//!
//! Non-goals: the order of the paper's questions (the whole report has it).

use super::across::rates_by_size;
use super::lines::{self, CALL, HALF};
use super::routine::{Group, LINE_RATE, RATE, Routine, Routines};
use crate::answer::{Answer, Bar, Fact};
use crate::figure::Figure;
use crate::number::{CANNOT_TELL, RateUnit};
use crate::ranking::{Contest, Entrant};
use crate::screen::{COLUMNS, first_of, fitted, joined, paragraphs, widest};
use crate::sheet::{NOTHING, Sheet};
use crate::words::{elided, upper};
use model::record::Finding;
use model::units::{show_size, show_time_ns};

/// A line's wall time of no bytes, which every line has.
const ZERO: &str = "latency_zero_ns";

/// Characters of a path's name in a sentence.
const HEADING_CHARS: usize = 60;

/// The columns that go first where a terminal is narrow.
const LESS_NEEDED: [&str; 6] = [
    "Revolutions S",
    "Revolutions M",
    "Rate t0 ns",
    "Thread CPU, ns: T_trans/KiB",
    "Thread CPU, ns: T_call",
    "Rate n_half",
];

/// An account of CPU time: its line's name, the quantity at one request size, and what it is of.
type Account = (&'static str, &'static str, &'static str);

/// All CPUs' time, else the submitting thread's.
const ACCOUNTS: [Account; 2] = [
    ("difference", "operation_cpu_total_ns", "CPU"),
    ("thread", "operation_cpu_thread_ns", "its thread's CPU"),
];

/// All that it says, without a table.
pub(super) fn all_sentences(routines: &Routines) -> Vec<String> {
    sentences(&paths(routines), routines.rate_unit())
}

/// The screen, of at most so many lines.
pub(super) fn text(findings: &[Finding], width: Option<u16>, most_lines: usize) -> String {
    let routines = Routines::from_findings(findings);
    let paths = paths(&routines);
    if paths.is_empty() {
        return NOTHING.into();
    }
    let unit = routines.rate_unit();
    let sentences = paragraphs(&sentences(&paths, unit), width);
    let most = paths.iter().map(|path| path.routines.len()).max().unwrap_or(1);
    fitted(most, most_lines, |rows| {
        let table = table(&routines, &paths, unit, rows, width);
        joined([sentences.clone(), table.map_or_else(String::new, |sheet| sheet.text(width))])
    })
}

/// Which routine is the cheapest per call, and what each costs, for a survey; none without
/// routines.
pub(crate) fn answer(findings: &[Finding]) -> Option<Answer> {
    let routines = Routines::from_findings(findings);
    let paths = paths(&routines);
    let unit = routines.rate_unit();
    let path = paths.first()?;
    let table = table(&routines, std::slice::from_ref(path), unit, usize::MAX, Some(COLUMNS));
    let grid = table.and_then(|sheet| sheet.sections.into_iter().next()).map(|of| of.grid);
    // Without its title rates by size have no unit.
    let grid = grid.map(|grid| if path.has_lines { grid } else { grid.under(unit.name) });
    let costs = path.costs();
    let bar = |cost: &Entrant| {
        Bar::of(&cost.name, Some(cost.value).filter(|_| !cost.is_open), show_time_ns)
    };
    let headline = costs.first().map(|cost| {
        let number = match cost.is_open {
            true => CANNOT_TELL.to_owned(),
            false => show_time_ns(cost.value),
        };
        (format!("{number}{}", cost.mark()), path.costs_what(&cost.name))
    });
    let cheapest = costs.first().cloned().map(|cost| Fact {
        verb: "costs",
        ..Fact::time(&format!("cheapest interface{}", path.of_what()), cost)
    });
    Some(Answer {
        headline: headline.unwrap_or_default(),
        bars: costs.iter().filter_map(bar).collect(),
        sentences: path.cost_sentence().into_iter().collect(),
        table: grid,
        facts: cheapest.into_iter().collect(),
    })
}

/// A group of routines, the cheapest first, and what they are compared by.
struct Path<'a> {
    heading: String,
    routines: Vec<&'a Routine>,
    account: &'static Account,
    /// Whether there are lines; else the least and the largest request say what they can.
    has_lines: bool,
}

/// The first group through the page cache, and the first past it.
fn paths(routines: &Routines) -> Vec<Path<'_>> {
    let is_plain = |routine: &Routine| {
        let is_measured = routine.sizes(RATE).next().is_some() || lines::is_listed(routine);
        routine.key.channels == 1 && routine.key.computing.is_none() && is_measured
    };
    let groups = routines.groups(is_plain);
    let of = |direct| groups.iter().find(|group| group.routines[0].key.direct == direct);
    [of(false), of(true)].into_iter().flatten().map(Path::of).collect()
}

impl<'a> Path<'a> {
    fn of(group: &Group<'a>) -> Self {
        let routines = group.routines.clone();
        let has_lines = routines.iter().any(|routine| routine.line("wall", ZERO).is_some());
        let [all, thread] = &ACCOUNTS;
        let heading = upper(&elided(&group.heading, HEADING_CHARS));
        let mut path = Self { heading, routines, account: all, has_lines };
        let by_all = path.costs().len();
        path.account = thread;
        if by_all >= path.costs().len() {
            path.account = all;
        }
        let mut routines = path.routines.clone();
        routines.sort_by(|a, b| path.order(a).total_cmp(&path.order(b)));
        Self { routines, ..path }
    }

    /// What a routine is ordered by.
    fn order(&self, routine: &Routine) -> f64 {
        self.cost(routine).and_then(|figure| figure.value).unwrap_or(f64::INFINITY)
    }

    /// CPU time of a call.
    fn cost(&self, routine: &'a Routine) -> Option<&'a Figure> {
        let (account, quantity, _) = self.account;
        match self.has_lines {
            true => routine.line(account, CALL),
            false => routine.at(self.sizes(quantity).min()?, quantity),
        }
    }

    /// The rate's limit.
    fn limit(&self, routine: &'a Routine) -> Option<&'a Figure> {
        match self.has_lines {
            true => routine.line("wall", LINE_RATE),
            false => routine.at(self.sizes(RATE).max()?, RATE),
        }
    }

    /// Whether each rate comes the nearer to its limit the larger requests are: half of it is
    /// reached at a size that is known.
    fn approaches(&self) -> bool {
        let mut limited = self.routines.iter().filter(|of| self.limit(of).is_some());
        limited.all(|of| of.line_value("wall", HALF).is_some())
    }

    fn sizes(&self, quantity: &str) -> impl Iterator<Item = u64> {
        self.routines.iter().flat_map(|routine| routine.sizes(quantity))
    }

    fn entrants(&self, figure: impl Fn(&'a Routine) -> Option<&'a Figure>) -> Vec<Entrant> {
        let of = |r: &&'a Routine| Entrant::of(r.key.engine.name(), figure(r)?);
        self.routines.iter().filter_map(of).collect()
    }

    fn costs(&self) -> Vec<Entrant> {
        self.entrants(|routine| self.cost(routine))
    }

    /// ` of CPU per call`.
    fn of_what(&self) -> String {
        let (_, quantity, whose) = self.account;
        let what = match self.sizes(quantity).min().filter(|_| !self.has_lines) {
            Some(bytes) => format!("{} request", show_size(bytes)),
            None => "call".to_owned(),
        };
        format!(" of {whose} per {what}")
    }

    fn costs_what(&self, engine: &str) -> String {
        format!("{} ({engine})", self.of_what().trim_start_matches(" of "))
    }

    fn cost_sentence(&self) -> Option<String> {
        let of = self.of_what();
        let show = &show_time_ns;
        let contest = Contest { verb: "costs", of: &of, is_greatest_first: false, show };
        Some(format!("{}: {}", self.heading, contest.sentence(self.costs())?))
    }

    fn limit_sentence(&self, unit: RateUnit) -> Option<String> {
        let show = |rate: f64| unit.text(rate);
        let (verb, of) = match self.sizes(RATE).max().filter(|_| !self.has_lines) {
            Some(bytes) => ("reaches", format!(" with {} requests", show_size(bytes))),
            // The line's limit, R_inf, which no request size reaches.
            None if self.approaches() => ("approaches", " as requests grow".to_owned()),
            None => ("moves additional bytes at", String::new()),
        };
        let contest = Contest { verb, of: &of, is_greatest_first: true, show: &show };
        let told = contest.sentence(self.entrants(|routine| self.limit(routine)))?;
        Some(format!("{}: {told}", self.heading))
    }
}

/// Cost and limit of the first path, and of another the limit alone.
fn sentences(paths: &[Path<'_>], unit: RateUnit) -> Vec<String> {
    let costs = paths.first().and_then(Path::cost_sentence);
    costs.into_iter().chain(paths.iter().filter_map(|path| path.limit_sentence(unit))).collect()
}

/// So many routines of each path: table 1, or their rates where there are no lines.
fn table(
    routines: &Routines,
    paths: &[Path<'_>],
    unit: RateUnit,
    rows: usize,
    width: Option<u16>,
) -> Option<Sheet> {
    let shown = paths.iter().flat_map(|path| path.routines.iter().take(rows).copied());
    let shown = routines.only(shown);
    let table = widest(&LESS_NEEDED, width, |left_out| lines::short(&shown, unit, left_out));
    let all = paths.iter().map(|path| path.routines.len()).max().unwrap_or(0);
    table.or_else(|| rates_by_size(&shown)).map(|sheet| {
        let title = format!("{}{}", sheet.title, first_of("cheapest", rows, all));
        Sheet { title, ..sheet }
    })
}

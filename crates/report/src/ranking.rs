//! Which of several has the least or the greatest figure, and which of the others cannot be told
//! from it: those whose intervals reach into its own.
//!
//! Non-goals: tables.

use crate::figure::Figure;
use crate::number::{CANNOT_TELL, says_nothing, significant, span};
use crate::screen::short;
use model::record::Verdict;

/// One of those that are compared.
#[derive(Debug, Clone)]
pub(crate) struct Entrant {
    pub(crate) name: String,
    pub(crate) value: f64,
    /// None where it is not known.
    pub(crate) interval: Option<(f64, f64)>,
    /// Whether that is the span over samples of a model's uncertain parameters.
    pub(crate) spans_parameters: bool,
    pub(crate) is_suspect: bool,
    /// Whether it is not told yet ([`Figure::is_open`]).
    pub(crate) is_open: bool,
    /// Whether it rests on one pass, which has no interval.
    pub(crate) is_of_one_pass: bool,
}

impl Entrant {
    /// None without a figure above 0, of which there are no ratios.
    pub(crate) fn of(name: &str, figure: &Figure) -> Option<Self> {
        let value = figure.value.filter(|value| *value > 0.0)?;
        Some(Self {
            name: short(name),
            value,
            interval: figure.low.zip(figure.high),
            spans_parameters: figure.spans_parameters,
            is_suspect: figure.verdict == Verdict::Suspect,
            is_open: figure.is_open || figure.says_nothing().is_some(),
            is_of_one_pass: figure.count == 1,
        })
    }

    /// `736 ns (95 % CI 705–767)`.
    pub(crate) fn text(&self, show: impl Fn(f64) -> String) -> String {
        format!("{}{}", show(self.value), self.worth(&show))
    }

    /// `*` behind a number that failed a check.
    pub(crate) fn mark(&self) -> &'static str {
        if self.is_suspect { "*" } else { "" }
    }

    /// What a number is worth, in parentheses behind it: ` (95 % CI 705–767, suspect)`.
    pub(crate) fn worth(&self, show: &dyn Fn(f64) -> String) -> String {
        let name = if self.spans_parameters { "model range" } else { "95 % CI" };
        let interval = match self.interval {
            Some((low, high)) if self.is_open => {
                let why = says_nothing(low, high);
                let why = why.map_or_else(String::new, |why| format!("the 95 % CI {why}; "));
                Some(format!("{CANNOT_TELL} yet: {why}more passes would tell"))
            }
            Some((low, high)) => span(&show(self.value), &show(low), &show(high))
                .map(|span| format!("{name} {span}")),
            None if self.is_open => Some(format!("{CANNOT_TELL} yet")),
            None => Some("no interval".to_owned()),
        };
        let suspect = self.is_suspect.then(|| "suspect".to_owned());
        let inner: Vec<String> = interval.into_iter().chain(suspect).collect();
        if inner.is_empty() { String::new() } else { format!(" ({})", inner.join(", ")) }
    }

    /// How many times the other it is at the least, where it is surely greater.
    pub(crate) fn times(&self, other: &Self) -> Option<f64> {
        let ((low, _), (_, high)) = self.interval.zip(other.interval)?;
        (high > 0.0 && low > high).then_some(low / high)
    }
}

/// What is compared, and how it is worded: `psync costs 736 ns of CPU per call`.
pub(crate) struct Contest<'a> {
    /// `costs`.
    pub(crate) verb: &'a str,
    /// ` of CPU per call`; may be empty.
    pub(crate) of: &'a str,
    /// Whether the greatest comes first: a rate.
    pub(crate) is_greatest_first: bool,
    pub(crate) show: &'a dyn Fn(f64) -> String,
}

/// Who is first of several.
pub(crate) struct Order<'e> {
    pub(crate) first: &'e Entrant,
    /// Those that cannot be told from it.
    together: Vec<&'e Entrant>,
    apart: Vec<&'e Entrant>,
}

impl<'e> Order<'e> {
    /// Those whose numbers are told beside the first's: where several are alike only the farthest
    /// say how much there is to choose.
    pub(crate) fn others(&self, most: usize) -> impl Iterator<Item = &'e Entrant> {
        let from = match self.together.is_empty() {
            true => 0,
            false => self.apart.len().saturating_sub(most),
        };
        self.apart.iter().skip(from).take(most).copied()
    }
}

/// Names in a sentence, at most.
const MOST_NAMED: usize = 3;

impl Contest<'_> {
    /// In order.
    pub(crate) fn ranked(&self, mut entrants: Vec<Entrant>) -> Vec<Entrant> {
        entrants.sort_by(|a, b| a.value.total_cmp(&b.value));
        if self.is_greatest_first {
            entrants.reverse();
        }
        entrants
    }

    /// Who is first, and by how much beyond the intervals; none without entrants.
    pub(crate) fn sentence(&self, entrants: Vec<Entrant>) -> Option<String> {
        self.told(entrants, 1)
    }

    /// The same with each of a few others.
    pub(crate) fn sentence_of_each(&self, entrants: Vec<Entrant>) -> Option<String> {
        self.told(entrants, MOST_NAMED)
    }

    /// With so many others by their distances.
    fn told(&self, entrants: Vec<Entrant>, most: usize) -> Option<String> {
        let ranked = self.ranked(entrants);
        if let Some(why) = unranked(&ranked) {
            return self.span(&ranked, why);
        }
        let order = self.order(&ranked)?;
        let lead = format!(
            "{} {} {}{}{}",
            order.first.name,
            self.verb,
            (self.show)(order.first.value),
            self.of,
            order.first.worth(self.show)
        );
        let told = order.others(most).filter_map(|other| self.distance(order.first, other));
        let other: String = told.map(|text| format!(", {text}")).collect();
        Some(match order.together.as_slice() {
            [] => format!("{lead}{other}."),
            together => {
                format!("{lead}, {} cannot be told apart from it{other}.", listed(together))
            }
        })
    }

    /// Who of them is first, and who is not; none without entrants.
    pub(crate) fn order<'e>(&self, ranked: &'e [Entrant]) -> Option<Order<'e>> {
        let first = first(ranked)?;
        let others = ranked.iter().filter(|other| !std::ptr::eq(*other, first));
        let (apart, together): (Vec<&Entrant>, Vec<&Entrant>) =
            others.partition(|other| self.ratio(first, other).is_some());
        Some(Order { first, together, apart })
    }

    /// From which number to which they are, where none is known to be first.
    fn span(&self, ranked: &[Entrant], why: &str) -> Option<String> {
        let mut ends = [ranked.first()?, ranked.last()?].map(|end| end.value);
        ends.sort_by(f64::total_cmp);
        let [low, high] = ends.map(self.show);
        let names: Vec<&Entrant> = ranked.iter().collect();
        Some(format!("{low} to {high}{} ({}); {why}: not ranked.", self.of, listed(&names)))
    }

    fn ratio(&self, first: &Entrant, other: &Entrant) -> Option<f64> {
        if self.is_greatest_first { first.times(other) } else { other.times(first) }
    }

    /// How far another is from the first: `vsync 974 ns (at least 1.22×)`.
    fn distance(&self, first: &Entrant, other: &Entrant) -> Option<String> {
        let ratio = significant(self.ratio(first, other)?);
        let slower = if self.is_greatest_first { " slower" } else { "" };
        Some(format!("{} {} (at least {ratio}×{slower})", other.name, (self.show)(other.value)))
    }
}

/// Why several are not ranked: there is no interval by which one could be first.
pub(crate) fn unranked(entrants: &[Entrant]) -> Option<&'static str> {
    match entrants.iter().all(|of| of.interval.is_none()) && entrants.len() > 1 {
        true if entrants.iter().all(|of| of.is_of_one_pass) => Some("one pass each"),
        true => Some("no intervals"),
        false => None,
    }
}

/// The one that leads in their order: one without an interval is not known to.
pub(crate) fn first(ranked: &[Entrant]) -> Option<&Entrant> {
    ranked.iter().find(|entrant| entrant.interval.is_some()).or(ranked.first())
}

/// `a, b and 3 others`.
fn listed(entrants: &[&Entrant]) -> String {
    let names: Vec<&str> = entrants.iter().map(|entrant| entrant.name.as_str()).collect();
    match names.split_at_checked(MOST_NAMED) {
        Some((named, rest)) if rest.len() > 1 => {
            format!("{} and {} others", named.join(", "), rest.len())
        }
        _ => match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, named)) => format!("{} and {last}", named.join(", ")),
            None => String::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Finding;

    fn entrant(name: &str, value: f64, half: Option<f64>) -> Entrant {
        let figure = Figure::of(&Finding {
            value: Some(value),
            low: half.map(|half| value - half),
            high: half.map(|half| value + half),
            count: if half.is_some() { 3 } else { 1 },
            ..Finding::default()
        });
        Entrant::of(name, &figure).unwrap()
    }

    fn told(is_greatest_first: bool, entrants: &[Entrant]) -> String {
        let show = |value: f64| format!("{value:.0} ns");
        let contest = Contest { verb: "costs", of: " a call", is_greatest_first, show: &show };
        contest.sentence(entrants.to_vec()).unwrap()
    }

    #[test]
    fn who_is_first_beyond_the_intervals_is_told_so() {
        let all = [entrant("a", 300.0, Some(10.0)), entrant("b", 100.0, Some(5.0))];
        assert_eq!(
            told(false, &all),
            "b costs 100 ns a call (95 % CI 95–105), a 300 ns (at least 2.76×)."
        );
        assert!(told(true, &all).starts_with("a costs 300 ns a call"));
        assert!(told(true, &all).contains("b 100 ns (at least 2.76× slower)"));
    }

    #[test]
    fn what_intervals_do_not_part_is_not_parted() {
        let all = [
            entrant("a", 100.0, Some(10.0)),
            entrant("b", 105.0, Some(10.0)),
            entrant("c", 400.0, Some(10.0)),
            entrant("d", 300.0, None),
        ];
        assert_eq!(
            told(false, &all),
            "a costs 100 ns a call (95 % CI 90–110), b and d cannot be told apart from it, \
             c 400 ns (at least 3.55×)."
        );
        let near = told(true, &all[..2]);
        assert!(
            near.contains(", a cannot be told apart from it") && !near.contains("at least"),
            "{near}"
        );
    }

    #[test]
    fn without_intervals_nobody_is_first() {
        let all = [entrant("a", 300.0, None), entrant("b", 100.0, None), entrant("c", 90.0, None)];
        let of = "90 ns to 300 ns a call (c, b and a); one pass each: not ranked.";
        assert_eq!(told(true, &all), of.replace("c, b and a", "a, b and c"));
        assert_eq!(told(false, &all), of);
        let more = Entrant { is_of_one_pass: false, ..all[0].clone() };
        assert!(told(true, &[more, all[1].clone()]).ends_with("; no intervals: not ranked."));
        // Nor does one without an interval lead those with one.
        let mixed = [entrant("a", 300.0, None), entrant("b", 100.0, Some(5.0))];
        assert!(told(true, &mixed).starts_with("b costs 100 ns a call (95 % CI"));
    }

    #[test]
    fn one_alone_is_the_best_of_nothing() {
        let alone = Entrant { is_suspect: true, ..entrant("a", 5.0, None) };
        assert_eq!(told(false, &[alone]), "a costs 5 ns a call (no interval, suspect).");
    }

    #[test]
    fn many_names_are_a_number() {
        let all: Vec<Entrant> =
            ["a", "b", "c", "d", "e", "f"].map(|name| entrant(name, 5.0, Some(1.0))).into();
        assert!(told(false, &all).contains("b, c, d and 2 others cannot be told apart from it"));
    }
}

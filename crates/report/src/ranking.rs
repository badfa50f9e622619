//! Which of several has the least or the greatest figure, and which of the others cannot be told
//! from it: those whose intervals reach into its own.
//!
//! Non-goals: tables.

use crate::figure::Figure;
use crate::number::significant;
use crate::screen::short;
use model::record::Verdict;

/// One of those that are compared.
#[derive(Debug, Clone)]
pub(crate) struct Entrant {
    pub(crate) name: String,
    pub(crate) value: f64,
    /// None where it is not known.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) is_suspect: bool,
}

impl Entrant {
    /// None without a figure above 0, of which there are no ratios.
    pub(crate) fn of(name: &str, figure: &Figure) -> Option<Self> {
        let value = figure.value.filter(|value| *value > 0.0)?;
        Some(Self {
            name: short(name),
            value,
            interval: figure.low.zip(figure.high),
            is_suspect: figure.verdict == Verdict::Suspect,
        })
    }

    /// `736 ns (705 ns to 767 ns)`.
    pub(crate) fn text(&self, show: impl Fn(f64) -> String) -> String {
        let interval = match self.interval {
            Some((low, high)) if low == high => None,
            Some((low, high)) => Some(format!("{} to {}", show(low), show(high))),
            None => Some("no interval".to_owned()),
        };
        let suspect = self.is_suspect.then(|| "suspect".to_owned());
        let inner: Vec<String> = interval.into_iter().chain(suspect).collect();
        match inner.as_slice() {
            [] => show(self.value),
            inner => format!("{} ({})", show(self.value), inner.join(", ")),
        }
    }

    /// How many times the other it is at the least, where it is surely greater.
    pub(crate) fn times(&self, other: &Self) -> Option<f64> {
        let ((low, _), (_, high)) = self.interval.zip(other.interval)?;
        (high > 0.0 && low > high).then_some(low / high)
    }
}

/// What is compared, and how it is told.
pub(crate) struct Contest<'a> {
    /// `CPU time a call`.
    pub(crate) noun: &'a str,
    /// Whether the greatest comes first.
    pub(crate) is_greatest_first: bool,
    pub(crate) show: &'a dyn Fn(f64) -> String,
}

/// So many names stand in a sentence.
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
        let ranked = self.ranked(entrants);
        let (first, others) = ranked.split_first()?;
        let noun = self.noun;
        let Some(second) = others.first() else {
            return Some(format!("the {noun} with {} is {}.", first.name, self.text(first)));
        };
        let (apart, together): (Vec<&Entrant>, Vec<&Entrant>) =
            others.iter().partition(|other| self.ratio(first, other).is_some());
        let best = if self.is_greatest_first { "highest" } else { "least" };
        let lead = format!("{} has the {best} {noun}, {}", first.name, self.text(first));
        if together.is_empty() {
            return Some(format!("{lead}: {}.", self.distance(first, second)?));
        }
        let farthest = apart.last().and_then(|last| self.distance(first, last));
        let farthest = farthest.map_or_else(String::new, |text| format!(" {}.", upper(&text)));
        let names = listed(&together);
        Some(format!(
            "{lead}, but it cannot be told from {names} beyond their intervals.{farthest}"
        ))
    }

    fn text(&self, entrant: &Entrant) -> String {
        entrant.text(self.show)
    }

    fn ratio(&self, first: &Entrant, other: &Entrant) -> Option<f64> {
        if self.is_greatest_first { first.times(other) } else { other.times(first) }
    }

    /// How far the first is from another.
    fn distance(&self, first: &Entrant, other: &Entrant) -> Option<String> {
        let ratio = significant(self.ratio(first, other)?);
        let (name, figure) = (&other.name, self.text(other));
        Some(match self.is_greatest_first {
            true => format!("at least {ratio} times that of {name}, {figure}"),
            false => format!("that of {name}, {figure}, is at least {ratio} times as much"),
        })
    }
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

/// The text with a capital letter.
pub(crate) fn upper(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    first.map_or_else(String::new, |first| format!("{first}{}", characters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrant(name: &str, value: f64, half: Option<f64>) -> Entrant {
        let interval = half.map(|half| (value - half, value + half));
        Entrant { name: name.into(), value, interval, is_suspect: false }
    }

    fn told(is_greatest_first: bool, entrants: &[Entrant]) -> String {
        let show = |value: f64| format!("{value:.0} ns");
        let contest = Contest { noun: "cost", is_greatest_first, show: &show };
        contest.sentence(entrants.to_vec()).unwrap()
    }

    #[test]
    fn who_is_first_beyond_the_intervals_is_told_so() {
        let all = [entrant("a", 300.0, Some(10.0)), entrant("b", 100.0, Some(5.0))];
        assert_eq!(
            told(false, &all),
            "b has the least cost, 100 ns (95 ns to 105 ns): that of a, 300 ns (290 ns to 310 \
             ns), is at least 2.76 times as much."
        );
        assert!(told(true, &all).starts_with("a has the highest cost"));
        assert!(told(true, &all).contains("at least 2.76 times that of b, 100 ns"));
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
            "a has the least cost, 100 ns (90 ns to 110 ns), but it cannot be told from b and d \
             beyond their intervals. That of c, 400 ns (390 ns to 410 ns), is at least 3.55 times \
             as much."
        );
        let near = told(true, &all[..2]);
        assert!(near.contains("cannot be told from a") && !near.contains("at least"), "{near}");
    }

    #[test]
    fn one_alone_is_the_best_of_nothing() {
        let alone = Entrant { is_suspect: true, ..entrant("a", 5.0, None) };
        assert_eq!(told(false, &[alone]), "the cost with a is 5 ns (no interval, suspect).");
    }

    #[test]
    fn many_names_are_a_number() {
        let all: Vec<Entrant> =
            ["a", "b", "c", "d", "e", "f"].map(|name| entrant(name, 5.0, Some(1.0))).into();
        assert!(told(false, &all).contains("from b, c, d and 2 others beyond"));
    }
}

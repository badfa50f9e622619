//! Footnotes: one number per distinct reason, a bare `*` if there is only one. Reasons that
//! differ only in their figures are one footnote, which gives the range of each figure.

use crate::words::{clean, hang};

/// The reasons under a table, in the order in which a reader meets them.
#[derive(Debug, Default)]
pub(crate) struct Footnotes {
    reasons: Vec<Reason>,
}

/// A reason of one shape: words, and the range of each figure between them.
#[derive(Debug)]
struct Reason {
    words: Vec<String>,
    ranges: Vec<Option<(f64, f64)>>,
}

impl Reason {
    fn of(text: &str) -> Self {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let ranges =
            words.iter().map(|word| figure(word).map(|(value, _)| (value, value))).collect();
        Self { words, ranges }
    }

    /// Whether the other says the same but for its figures.
    fn is_like(&self, other: &Self) -> bool {
        let is_alike = |(a, b): (&String, &String)| {
            let tails = figure(a).zip(figure(b)).map(|((_, a), (_, b))| (a, b));
            a == b || tails.is_some_and(|(a, b)| a == b)
        };
        let mut pairs = self.words.iter().zip(&other.words);
        self.words.len() == other.words.len() && pairs.all(is_alike)
    }

    fn widen(&mut self, other: &Self) {
        for (mine, theirs) in self.ranges.iter_mut().zip(&other.ranges) {
            if let (Some((low, high)), Some((value, _))) = (mine, theirs) {
                (*low, *high) = (low.min(*value), high.max(*value));
            }
        }
    }

    fn text(&self) -> String {
        let word = |(word, range): (&String, &Option<(f64, f64)>)| match range {
            Some((low, high)) if low < high => {
                format!("{low} to {high}{}", figure(word).map_or("", |(_, tail)| tail))
            }
            _ => word.clone(),
        };
        self.words.iter().zip(&self.ranges).map(word).collect::<Vec<_>>().join(" ")
    }
}

/// The value of a word that is a plain figure (digits, at most a point, perhaps a minus), and what
/// follows it: a colon, a bracket.
fn figure(word: &str) -> Option<(f64, &str)> {
    let digits = word.trim_end_matches([',', ':', ';', ')']);
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let is_plain =
        !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value = digits.parse().ok().filter(|_| is_plain)?;
    Some((value, &word[digits.len()..]))
}

impl Footnotes {
    /// The footnotes of these reasons.
    pub(crate) fn of<'a>(reasons: impl IntoIterator<Item = &'a str>) -> Self {
        let mut notes = Self::default();
        for reason in reasons.into_iter().map(|text| Reason::of(&clean(text))) {
            match notes.reasons.iter_mut().find(|known| known.is_like(&reason)) {
                Some(known) => known.widen(&reason),
                None => notes.reasons.push(reason),
            }
        }
        notes
    }

    /// What stands behind a cell with these reasons: ``, `*`, `*2` or `*1,3`.
    pub(crate) fn mark<'a>(&self, reasons: impl IntoIterator<Item = &'a str>) -> String {
        let mut places: Vec<usize> = reasons
            .into_iter()
            .map(|text| Reason::of(&clean(text)))
            .filter_map(|reason| self.reasons.iter().position(|known| known.is_like(&reason)))
            .collect();
        places.sort_unstable();
        places.dedup();
        if places.is_empty() {
            return String::new();
        }
        let numbers: Vec<String> = places.iter().map(|place| self.number(*place)).collect();
        format!("*{}", numbers.join(","))
    }

    fn number(&self, place: usize) -> String {
        if self.reasons.len() == 1 { String::new() } else { (place + 1).to_string() }
    }

    /// Each mark with its reason.
    fn entries(&self) -> impl Iterator<Item = (String, String)> {
        let mark = |place| format!("*{}", self.number(place));
        self.reasons.iter().enumerate().map(move |(place, reason)| (mark(place), reason.text()))
    }

    /// The footnotes for a terminal, wrapped.
    pub(crate) fn text(&self, limit: Option<u16>) -> String {
        self.entries().map(|(mark, reason)| hang(&format!("{mark} "), &reason, limit)).collect()
    }

    /// The footnotes as a Markdown list.
    pub(crate) fn markdown(&self) -> String {
        let escape = crate::grid::escape_markdown;
        self.entries().map(|(m, r)| format!("- {} {}\n", escape(&m), escape(&r))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_reason_needs_no_number() {
        let notes = Footnotes::of(["hot", "hot"]);
        assert_eq!(notes.mark(["hot"]), "*");
        assert_eq!(notes.mark([]), "");
        assert_eq!(notes.text(None), "* hot\n");
    }

    #[test]
    fn reasons_that_differ_in_figures_are_one_with_their_range() {
        let notes =
            Footnotes::of(["it took 3 % of sda1", "it took 17.5 % of sda1", "it took 4 % of sdb1"]);
        assert_eq!(notes.mark(["it took 17.5 % of sda1"]), "*1");
        assert_eq!(notes.text(None), "*1 it took 3 to 17.5 % of sda1\n*2 it took 4 % of sdb1\n");
        let notes =
            Footnotes::of(["at byte 512: by -4 %", "at byte 0: by 2 %", "at byte 7; by 2 %"]);
        assert_eq!(notes.text(None), "*1 at byte 0 to 512: by -4 to 2 %\n*2 at byte 7; by 2 %\n");
    }

    #[test]
    fn distinct_reasons_are_numbered_and_reused() {
        let notes = Footnotes::of(["hot", "cold", "hot", "wet"]);
        assert_eq!(notes.mark(["cold"]), "*2");
        assert_eq!(notes.mark(["wet", "hot", "wet"]), "*1,3");
        assert_eq!(notes.text(None), "*1 hot\n*2 cold\n*3 wet\n");
    }
}

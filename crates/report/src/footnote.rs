//! Footnotes: one number per distinct reason, a bare `*` if there is only one.

use crate::words::{clean, hang};

/// The reasons under a table, in the order in which a reader meets them.
#[derive(Debug, Default)]
pub(crate) struct Footnotes {
    reasons: Vec<String>,
}

impl Footnotes {
    /// The footnotes of these reasons.
    pub(crate) fn of<'a>(reasons: impl IntoIterator<Item = &'a str>) -> Self {
        let mut notes = Self::default();
        for reason in reasons.into_iter().map(clean) {
            if !notes.reasons.contains(&reason) {
                notes.reasons.push(reason);
            }
        }
        notes
    }

    /// What stands behind a cell with these reasons: ``, `*`, `*2` or `*1,3`.
    pub(crate) fn mark<'a>(&self, reasons: impl IntoIterator<Item = &'a str>) -> String {
        let mut places: Vec<usize> = reasons
            .into_iter()
            .filter_map(|reason| self.reasons.iter().position(|r| *r == clean(reason)))
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
    fn entries(&self) -> impl Iterator<Item = (String, &str)> {
        let mark = |place| format!("*{}", self.number(place));
        self.reasons.iter().enumerate().map(move |(place, reason)| (mark(place), reason.as_str()))
    }

    /// The footnotes for a terminal, wrapped.
    pub(crate) fn text(&self, limit: Option<u16>) -> String {
        self.entries().map(|(mark, reason)| hang(&format!("{mark} "), reason, limit)).collect()
    }

    /// The footnotes as a Markdown list.
    pub(crate) fn markdown(&self) -> String {
        let escape = crate::grid::escape_markdown;
        self.entries().map(|(m, r)| format!("- {} {}\n", escape(&m), escape(r))).collect()
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
    fn distinct_reasons_are_numbered_and_reused() {
        let notes = Footnotes::of(["hot", "cold", "hot", "wet"]);
        assert_eq!(notes.mark(["cold"]), "*2");
        assert_eq!(notes.mark(["wet", "hot", "wet"]), "*1,3");
        assert_eq!(notes.text(None), "*1 hot\n*2 cold\n*3 wet\n");
    }
}

//! What a first screen says of the papers: for each, how many cells agree and which is the worst;
//! then its cells, the worst first. All of it is of the findings.
//!
//! Non-goals: the published tables in their own order (the sheets have them).

use model::record::{Finding, Verdict};
use model::units::show_change;
use report::Sheet;
use report::listing::Listing;
use report::screen::Screen;

const BELOW: &str = "--all prints every published table in its own order beside the models' \
    results, and the models' predictions.";

/// The screen of these findings, for a terminal of `width` columns.
pub fn screen(findings: &[Finding], width: Option<u16>) -> String {
    let found = Found(findings);
    let papers = [found.of_1980(), found.of_1983(), found.of_1986()];
    let (sentences, tables) = papers.into_iter().flatten().unzip();
    let below = BELOW.to_owned();
    Screen { sentences, tables, which: "worst", less_needed: &[], needed: &[], below }.text(width)
}

/// What it says, without tables.
pub fn sentences(findings: &[Finding]) -> Vec<String> {
    let found = Found(findings);
    let papers = [found.of_1980(), found.of_1983(), found.of_1986()];
    papers.into_iter().flatten().map(|(sentence, _)| sentence).collect()
}

struct Found<'a>(&'a [Finding]);

/// A cell: what names it, the paper's number, the model's, and how far these are apart.
struct Cell {
    name: Vec<String>,
    paper: f64,
    model: f64,
    error: f64,
}

impl<'a> Found<'a> {
    /// The findings of a paper's quantity.
    fn all(&self, paper: &'a str, quantity: &'a str) -> impl Iterator<Item = &'a Finding> {
        let is_it = move |f: &&Finding| {
            f.quantity == quantity && f.subject.get("paper").as_deref() == Some(paper)
        };
        self.0.iter().filter(is_it)
    }

    /// What is found of all cells together.
    fn of_group(&self, paper: &'a str, quantity: &'a str) -> Option<f64> {
        let is_of_all = |f: &&Finding| f.subject.get("group").as_deref() == Some("all");
        self.all(paper, quantity).find(is_of_all)?.value
    }

    /// A cell of a model's finding: `name` are keys of its subject, `published` the quantity that
    /// it is to be.
    fn cell(&self, model: &Finding, published: &str, name: &[&str]) -> Option<Cell> {
        let is_it = |f: &&Finding| f.quantity == published && f.subject == model.subject;
        let (paper, model_value) = (self.0.iter().find(is_it)?.value?, model.value?);
        let name = name.iter().map(|key| model.subject.get(key).unwrap_or_default()).collect();
        Some(Cell { name, paper, model: model_value, error: model_value - paper })
    }

    /// The missed revolutions that no number was fitted to.
    fn of_1980(&self) -> Option<(String, Sheet)> {
        const NAME: [&str; 6] =
            ["machine", "operating_system", "routine", "library", "direction", "condition"];
        let all: Vec<&Finding> = self.all("1980", "model_missed_per_call").collect();
        let emerging = || all.iter().copied().filter(|finding| finding.method == "emerges");
        let met = emerging().filter(|finding| finding.verdict == Verdict::Ok).count();
        let cells = emerging().filter_map(|f| self.cell(f, "published_missed_per_call", &NAME));
        let cells = worst_first(cells.collect());
        let worst = cells.first()?;
        let sentence = format!(
            "1980: {} of {} counts of missed revolutions emerge from the models, and {met} of \
             these agree with the paper; the others were fitted. The worst is {}: {:.2}, against \
             {} in the paper.",
            cells.len(),
            all.len(),
            worst.name.join(" "),
            worst.model.max(0.0),
            worst.paper
        );
        let labels = ["machine", "system", "routine", "library", "access", "condition"];
        let number = |value: f64| format!("{:.2}", if value.abs() < 0.005 { 0.0 } else { value });
        Some((
            sentence,
            table(
                "1980: missed revolutions per call that emerge from the models",
                &labels,
                &cells,
                number,
            ),
        ))
    }

    fn of_1983(&self) -> Option<(String, Sheet)> {
        const NAME: [&str; 6] =
            ["cpu", "controller", "condition", "file_system", "program", "drives"];
        let group = |quantity| self.of_group("1983", quantity);
        let is_judged = |f: &&Finding| f.verdict == Verdict::Ok && f.subject.get("cpu").is_some();
        let cell = |found: &Finding| {
            let is_model =
                |f: &&Finding| f.quantity == "model_rate_bytes_per_s" && f.subject == found.subject;
            let cell =
                self.cell(self.0.iter().find(is_model)?, "published_rate_bytes_per_s", &NAME)?;
            let [paper, model] = [cell.paper, cell.model].map(|rate| rate / 1024.0);
            Some(Cell { paper, model, error: found.value?, ..cell })
        };
        let judged = self.all("1983", "error_percent").filter(is_judged);
        let cells = worst_first(judged.filter_map(cell).collect());
        let worst = cells.first()?;
        let count = group("cells_count")?;
        let sentence = format!(
            "1983: {:.0} of {count} rates agree within 15 %; the median error is {:.1} % and the \
             worst {} % ({}). The CPU shares are off by {:.1} points on average and by {:.1} at \
             most. These are errors of a fit: {} parameters were fitted to the same cells.",
            (count * group("within_15_percent")? / 100.0).round(),
            group("error_median_percent")?,
            show_change(worst.error, 1),
            worst.name.join(" × ").replacen(" × ", " ", worst.name.len() - 2),
            group("cpu_error_mean_percent")?,
            group("cpu_error_max_percent")?,
            group("parameters_count")?
        );
        let labels = ["CPU", "controller", "condition", "fs", "test", "drives"];
        let title = "1983: rates in KiB/s, error in %, starred cells left out";
        Some((sentence, table(title, &labels, &cells, |value| format!("{value:.1}"))))
    }

    fn of_1986(&self) -> Option<(String, Sheet)> {
        let shares = self.all("1986", "model_share_percent");
        let cells = shares.filter_map(|f| self.cell(f, "published_share_percent", &["ticks"]));
        let cells = worst_first(cells.collect());
        let worst = cells.first()?;
        let sentence = format!(
            "1986: the model's {} shares of response times differ from the paper's by a \
             total-variation distance of {:.4} (1 at most), after a fit of {} inputs. The worst is \
             the share of {} ticks: {:.1} %, against {:.1} % in the paper.",
            cells.len(),
            self.of_group("1986", "total_variation_distance")?,
            self.of_group("1986", "parameters_count")?,
            worst.name.join(" "),
            worst.model,
            worst.paper
        );
        let title = "1986: responses by ticks of 1/60 s, shares in %";
        Some((sentence, table(title, &["ticks"], &cells, |value| format!("{value:.2}"))))
    }
}

fn worst_first(mut cells: Vec<Cell>) -> Vec<Cell> {
    // What is printed alike stays in the paper's order.
    let size = |cell: &Cell| (cell.error.abs() * 1e3).round();
    cells.sort_by(|a, b| size(b).total_cmp(&size(a)));
    cells
}

fn table(
    title: &str,
    labels: &[&'static str],
    cells: &[Cell],
    number: impl Fn(f64) -> String,
) -> Sheet {
    let signed = |value: f64| {
        let text = number(value);
        if value > 0.0 && number(value) != number(0.0) { format!("+{text}") } else { text }
    };
    let listing = labels.iter().enumerate().fold(Listing::of(cells), |listing, (place, head)| {
        listing.label(head, |cell| cell.name.get(place).cloned().unwrap_or_default())
    });
    listing
        .figure("", "paper", |cell| number(cell.paper))
        .figure("", "model", |cell| number(cell.model))
        .figure("", "error", |cell| signed(cell.error))
        .sheet(title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{finding, subject};
    use model::record::Doubt;

    fn missed(routine: &str, paper: f64, model: f64, is_met: bool) -> [Finding; 2] {
        let subject = subject("1980", &[("machine", "Cray-1"), ("routine", routine)]);
        let mut modelled = finding(&subject, "model_missed_per_call", model, "emerges");
        if !is_met {
            modelled.doubt(Doubt::refused("the model misses another number of revolutions"));
        }
        [finding(&subject, "published_missed_per_call", paper, "Table 1"), modelled]
    }

    #[test]
    fn what_does_not_agree_is_counted_and_the_worst_is_named() {
        let all = [missed("READ", 1.0, 1.0, true), missed("WRITE", 2.0, 3.0, false)].concat();
        let text = screen(&all, None);
        assert!(
            text.starts_with(
                "1980: 2 of 2 counts of missed revolutions emerge from the models, and 1"
            ),
            "{text}"
        );
        assert!(text.contains("WRITE") && text.contains("3.00, against 2 in"), "{text}");
        assert!(!text.contains("1983") && !text.contains("1986"), "{text}");
        let near = screen(&missed("READ", 1.4, 1.35, true), None);
        assert!(
            near.contains("1 of 1 counts of missed revolutions emerge from the models, and 1 of"),
            "{near}"
        );
    }

    #[test]
    fn no_findings_are_no_sentence() {
        assert!(screen(&[], None).starts_with("--all"));
    }
}

//! The page of a comparison: how far each finding differs, with its interval, and what differs
//! between the sides besides.
//!
//! Non-goals: reckoning a difference.

use super::table::Table;
use super::{Page, Section};
use crate::chart::{Axis, Chart, Entry, Kind, Scale};
use crate::compare::{About, answer, corrections, sheet, subject, summary};
use crate::figure::Figure;
use crate::listing::Listing;
use crate::number::significant;
use crate::setting::Setting;
use crate::words::name;
use crate::words::upper;
use model::comparison::{Compared, Comparison};
use model::record::{Finding, Interval};

/// Rows of the chart, those that differ most.
const MOST: usize = 40;

/// What the page of a comparison says.
pub fn of_comparison(compared: &Compared, about: &About) -> Page {
    let sides = [format!("A: {}", about.a), format!("B: {}", about.b)];
    let sentences = [answer(compared, about), format!("B against A: {}.", summary(compared))];
    let notes = about.notes.iter().map(|note| format!("{}.", upper(note)));
    let sentences = sentences.into_iter().chain(noise(compared)).chain(sides).chain(notes);
    // In a table of their own here.
    let of_numbers = About { differences: vec![], ..about.clone() };
    let sheet = sheet(compared, &of_numbers);
    let settings = settings_table(&sheet.title, &about.differences);
    // Under one title with the settings, both are open from the start.
    let heading = if settings.is_some() { "The numbers" } else { "" };
    let numbers = Table::of_sheet(&sheet).into_iter();
    let numbers = numbers.map(|table| Table { heading: heading.to_owned(), ..table });
    Page {
        title: format!("{} against {}", brief(&about.b), brief(&about.a)),
        runs: vec![],
        sections: vec![Section {
            id: "compare".into(),
            title: "What differs, beyond the noise".into(),
            sentences: sentences.collect(),
            folds: vec![],
            charts: chart(compared).into_iter().collect(),
            tables: settings.into_iter().chain(numbers).collect(),
        }],
    }
}

/// All settings as a table under a title that other tables may share; none where nothing differs.
fn settings_table(title: &str, settings: &[Setting]) -> Option<Table> {
    settings.first()?;
    // All three are texts.
    let listing = Listing::of(settings)
        .label("", |setting| setting.name.clone())
        .label("A", |setting| setting.a.clone())
        .label("B", |setting| setting.b.clone());
    Some(Table {
        title: title.to_owned(),
        heading: "What differs between the sides besides their numbers".into(),
        cells: listing.grid().cells(),
        ..Table::default()
    })
}

/// How much the numbers differ by themselves.
fn noise(compared: &Compared) -> Option<String> {
    let floors = compared.rows.iter().filter_map(|row| row.noise_floor_percent);
    let mut floors: Vec<f64> = floors.filter(|percent| percent.is_finite()).collect();
    floors.sort_by(f64::total_cmp);
    let (least, most) = (floors.first()?, floors.last()?);
    let middle = significant(floors.get(floors.len() / 2).copied()?);
    let range = match floors.len() {
        1 => String::new(),
        count => format!(
            " in the middle of {count} rows, ±{} to ±{} % in all",
            significant(*least),
            significant(*most)
        ),
    };
    Some(format!(
        "The noise floor is ±{middle} %{range}: so much the numbers differ without a cause, and a \
         row's difference within its own floor is called none."
    ))
}

/// A side's name, without what else is said of it.
fn brief(side: &str) -> String {
    name(side.split_once(", ").map_or(side, |(name, _)| name))
}

/// A row's difference as a number with its interval.
fn difference(row: &Comparison) -> Figure {
    let difference = Finding::new(&row.subject, "", row.difference_percent, 1, row.method.clone());
    let mut difference =
        difference.within(Interval::Comparison, (row.low_percent, row.high_percent));
    row.doubts.iter().for_each(|of| difference.doubt(of.doubt.clone()));
    Figure::of(&difference)
}

fn chart(compared: &Compared) -> Option<Chart> {
    let size = |row: &&Comparison| row.difference_percent.map_or(0.0, f64::abs);
    let mut rows: Vec<&Comparison> =
        compared.rows.iter().filter(|row| row.difference_percent.is_some()).collect();
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let left = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let found = rows.iter().map(|row| {
        let category = format!("{} {}", subject(&row.subject), row.quantity);
        (category, row.outcome.name().to_owned(), difference(row))
    });
    let found: Vec<Entry> = found.collect();
    let axis = Axis::new("B less A, of A", "%", Scale::Linear);
    let chart = Chart::rows("differences", "Differences", Kind::Dots, axis, &found)?;
    let method = "B's difference from A with the 95 % interval that its verdict rests on; the \
        colour is the verdict.";
    let method: Vec<String> =
        [Some(method.to_owned())].into_iter().chain(corrections(compared)).flatten().collect();
    let more = (left > 0).then(|| format!("The {MOST} greatest; {left} more are in the table."));
    Some(chart.by(&method.join(" ")).noted(more).ruled("x", 0.0, "no difference"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::row;
    use crate::page::html;
    use model::comparison::Outcome;

    #[test]
    fn settings_are_a_table_and_the_noise_floor_is_said() {
        let row = |floor| Comparison { noise_floor_percent: Some(floor), ..row(Outcome::Worse) };
        let rows = [2.0, 30.0, 5.0].map(row).to_vec();
        let compared = Compared { rows, ..Compared::default() };
        let [name, a, b] = ["scheduler", "<none>", "bfq"].map(str::to_owned);
        let about = About { differences: vec![Setting { name, a, b }], ..About::default() };
        let page = of_comparison(&compared, &about);
        let said = page.sections[0].sentences.join(" ");
        assert!(
            said.contains("±5.00 % in the middle of 3 rows, ±2.00 to ±30.0 % in all"),
            "{said}"
        );
        let tables = &page.sections[0].tables;
        assert_eq!(tables[0].cells.rows, [["scheduler", "<none>", "bfq"]]);
        assert_eq!(tables[0].title, tables[1].title, "both are open");
        let html = html(&page).unwrap_or_default();
        assert!(html.contains("<bdi>&lt;none&gt;</bdi>") && !html.contains("<none>"));
    }
}

//! The page as HTML: everything that can be read is in it, so that it says all without its script.
//! All text goes through [`text`], the one place that escapes.
//!
//! Non-goals: what the page says; drawing.

use super::table::Table;
use super::{Fold, Page, RunFacts, Section};
use crate::answer::{Bar, Card};
use crate::chart::{Chart, Column, Values};
use crate::number::significant;
use model::text::{visible, visible_json};
use std::fmt::Write as _;

/// The page without what it says: script, style and the policy that allows nothing else. Made by
/// `cargo xtask viewer` from `viewer/`.
const VIEWER: &str = include_str!("viewer.html");

/// Rows of a chart's data that the page shows as a table; all of them are in its CSV.
const MOST_ROWS: usize = 400;
/// A table with more rows than this scrolls in a box of its own.
const TALL: usize = 24;
/// Tables of a section that are open from the start.
const OPEN: usize = 1;
/// Colours that series have.
const COLOURS: usize = 8;

/// Text within an element or an attribute: no markup, nothing that steers how its neighbours look.
pub(super) fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Characters of a name before it is cut.
const LONGEST: usize = 200;

/// Characters of a sentence before it is cut.
const LONGEST_SENTENCE: usize = 1000;

/// A sentence: it may hold names, and is cut where one is without end.
fn sentence(given: &str) -> String {
    text(&cut(given, LONGEST_SENTENCE))
}

/// The first characters, where there are more.
fn cut(given: &str, most: usize) -> String {
    match given.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &given[..end]),
        None => given.to_owned(),
    }
}

/// A text that others may have named: isolated, so that its direction is its own, and cut.
fn name(given: &str) -> String {
    format!("<bdi>{}</bdi>", text(&cut(given, LONGEST)))
}

/// The whole page.
/// Errors: none that these types can cause; the serializer's own are passed on.
pub(super) fn page(page: &Page) -> serde_json::Result<String> {
    let charts: Vec<&Chart> = page.sections.iter().flat_map(|section| &section.charts).collect();
    let json = serde_json::to_string(&charts)?;
    // Within a script element nothing but `<` can end it.
    let json = visible_json(&json).replace('<', "\\u003c");
    let parts = [("{{title}}", text(&page.title)), ("{{body}}", body(page)), ("{{charts}}", json)];
    let mut html = String::with_capacity(VIEWER.len() + (1 << 16));
    let mut rest = VIEWER;
    // In the template's order: what was filled in is not looked at again.
    for (place, part) in parts {
        if let Some((before, behind)) = rest.split_once(place) {
            html.push_str(before);
            html.push_str(&part);
            rest = behind;
        }
    }
    html.push_str(rest);
    Ok(html)
}

fn body(page: &Page) -> String {
    let mut html = String::from("<div class=\"page\">\n");
    html.push_str(
        "<header class=\"top\"><p class=\"brand\">lbolt <span>report</span></p>\
         <button type=\"button\" id=\"theme\">Theme: auto</button></header>\n",
    );
    html.push_str(&contents(page));
    html.push_str("<main>\n");
    let _ = writeln!(html, "<section id=\"summary\"><h1>{}</h1>", text(&page.title));
    for run in &page.runs {
        html.push_str(&facts(run, page.runs.len() > 1));
    }
    html.push_str("</section>\n");
    for section in &page.sections {
        html.push_str(&of_section(section));
    }
    let _ = writeln!(
        html,
        "</main>\n<footer>Made by lbolt {} of records alone; this page loads nothing.</footer>\n\
         </div>",
        text(model::record::TOOL_VERSION)
    );
    html
}

/// The links to sections and their charts.
fn contents(page: &Page) -> String {
    let link = |id: &str, title: &str| format!("<a href=\"#{}\">{}</a>", text(id), text(title));
    let mut html = String::from("<nav class=\"contents\" aria-label=\"Contents\"><ul>");
    let _ = write!(html, "<li>{}</li>", link("summary", "Summary"));
    for section in &page.sections {
        let charts = section.charts.iter();
        let charts = charts.map(|chart| format!("<li>{}</li>", link(&chart.id, &chart.title)));
        let charts: String = charts.collect();
        let inner = if charts.is_empty() { charts } else { format!("<ul>{charts}</ul>") };
        let _ = write!(html, "<li>{}{inner}</li>", link(&section.id, &section.title));
    }
    html.push_str("</ul></nav>\n");
    html
}

/// What was measured on what, what came of it, what is doubted, how to repeat it.
fn facts(run: &RunFacts, is_one_of_several: bool) -> String {
    let mut html = String::from("<div class=\"run\">\n");
    if is_one_of_several {
        let _ = writeln!(html, "<h2>{}</h2>", name(&run.name));
    }
    if !run.cards.is_empty() {
        let cards: String = run.cards.iter().map(card).collect();
        let _ = writeln!(html, "<div class=\"cards\">{cards}</div>");
    }
    for said in &run.sentences {
        let _ = writeln!(html, "<p class=\"lead\">{}</p>", sentence(said));
    }
    html.push_str("<dl class=\"facts\">");
    for (label, value) in &run.facts {
        let _ = write!(html, "<div><dt>{}</dt><dd>{}</dd></div>", text(label), name(value));
    }
    html.push_str("</dl>\n");
    html.push_str(&doubts(run));
    let _ = writeln!(
        html,
        "<div class=\"again\"><p>To repeat it</p><pre>{}</pre></div>\n</div>",
        text(&run.command)
    );
    html
}

/// A number, a small chart, the sentence, and what to do.
fn card(card: &Card) -> String {
    let mut html = format!("<article class=\"card\"><h2>{}</h2>", text(&card.word));
    if !card.number.is_empty() {
        let (number, what) = (text(&card.number), sentence(&card.what));
        let _ = write!(html, "<p class=\"answer\">{number}</p><p class=\"of\">{what}</p>");
    }
    html.push_str(&bars(&card.bars));
    let _ = write!(html, "<p>{}</p>", sentence(&card.sentence));
    if !card.advice.is_empty() {
        let _ = write!(html, "<p class=\"advice\">{}</p>", text(&card.advice));
    }
    html.push_str("</article>");
    html
}

/// Bars that are drawn without a script.
fn bars(bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let bar = |bar: &Bar| {
        let width = (100.0 * bar.value / most).clamp(0.5, 100.0);
        let (label, shown) = (name(&bar.label), text(&bar.text));
        format!(
            "<div><dt>{label}</dt><dd><svg width=\"100%\" height=\"10\" aria-hidden=\"true\">\
             <rect width=\"{width:.1}%\" height=\"10\"/></svg></dd><dd>{shown}</dd></div>"
        )
    };
    let bars: String = bars.iter().map(bar).collect();
    if bars.is_empty() { bars } else { format!("<dl class=\"bars\">{bars}</dl>") }
}

fn doubts(run: &RunFacts) -> String {
    if run.doubts.is_empty() {
        return format!("<div class=\"doubts sure\">{}</div>\n", text(&run.sure));
    }
    let items: String =
        run.doubts.iter().map(|doubt| format!("<li>{}</li>", sentence(doubt))).collect();
    format!(
        "<div class=\"doubts\"><p>What is suspect or was not measured, and why</p>\
         <ul>{items}</ul></div>\n"
    )
}

fn of_section(section: &Section) -> String {
    let mut html = String::new();
    let id = text(&section.id);
    let _ = writeln!(html, "<section id=\"{id}\"><h2>{}</h2>", text(&section.title));
    for said in &section.sentences {
        let _ = writeln!(html, "<p class=\"lead\">{}</p>", sentence(said));
    }
    if !section.charts.is_empty() {
        let charts: String = section.charts.iter().map(of_chart).collect();
        let _ = writeln!(html, "<div class=\"figures\">{charts}</div>");
    }
    section.folds.iter().for_each(|fold| html.push_str(&of_fold(fold)));
    let groups = section.tables.chunk_by(|a, b| a.title == b.title);
    for (place, tables) in groups.enumerate() {
        html.push_str(&of_tables(tables, place < OPEN));
    }
    html.push_str("</section>\n");
    html
}

/// A part that opens, without a script too.
fn of_fold(fold: &Fold) -> String {
    let (id, title) = (text(&fold.id), sentence(&fold.title));
    let said: String =
        fold.sentences.iter().map(|said| format!("<p>{}</p>", sentence(said))).collect();
    let groups = fold.tables.chunk_by(|a, b| a.title == b.title);
    let tables: String = groups.map(|tables| of_tables(tables, true)).collect();
    format!(
        "<details class=\"fold\" id=\"{id}\"><summary>{title}</summary>{said}{tables}</details>\n"
    )
}

fn of_chart(chart: &Chart) -> String {
    let (id, title) = (text(&chart.id), text(&chart.title));
    let half = if chart.is_half { " class=\"half\"" } else { "" };
    let mut html = format!(
        "<figure id=\"{id}\"{half}><figcaption><h3><a class=\"permalink\" href=\"#{id}\">{title}\
         </a></h3><button type=\"button\" class=\"csv\" aria-label=\"Data of {title} as CSV\">CSV\
         </button></figcaption>"
    );
    if chart.series.len() > 1 {
        html.push_str("<ul class=\"series\">");
        for (place, series) in chart.series.iter().enumerate() {
            let colour = place % COLOURS;
            let _ = write!(html, "<li class=\"series-{colour}\">{}</li>", name(series));
        }
        html.push_str("</ul>");
    }
    let _ = write!(
        html,
        "<div class=\"plot\" tabindex=\"0\" role=\"application\" aria-roledescription=\"chart\" \
         aria-label=\"{title}. Arrow keys go from point to point, Escape leaves.\">\
         <svg class=\"reserve\" width=\"1\" height=\"{}\" aria-hidden=\"true\"></svg></div>",
        chart.height
    );
    if !chart.method.is_empty() {
        let _ = write!(html, "<p class=\"method\">{}</p>", text(&chart.method));
    }
    html.push_str(&listed(chart.notes.iter().map(|note| sentence(note))));
    html.push_str(&data(chart));
    html.push_str("</figure>\n");
    html
}

fn listed(items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>")).collect();
    if items.is_empty() { items } else { format!("<ul class=\"notes\">{items}</ul>") }
}

/// A chart's data as a table; of a heat map all that is in each line of bins.
fn data(chart: &Chart) -> String {
    let lines = chart.lines();
    let chart = lines.as_ref().unwrap_or(chart);
    let rows = chart.len();
    let head = |column: &Column| {
        let unit = match column.unit.as_str() {
            "" | "1" => String::new(),
            DATE => String::new(),
            unit => format!(" ({unit})"),
        };
        let class = match column.values {
            Values::Numbers(_) => " class=\"number\"",
            Values::Texts(_) => "",
        };
        format!("<th scope=\"col\"{class}>{}</th>", text(&format!("{}{unit}", column.name)))
    };
    let heads: String = chart.columns.iter().map(head).collect();
    let line = |place: usize| {
        let cells: String = chart.columns.iter().map(|column| cell(column, place)).collect();
        format!("<tr>{cells}</tr>")
    };
    let body: String = (0..rows.min(MOST_ROWS)).map(line).collect();
    let more = match rows > MOST_ROWS {
        true => format!("<p class=\"method\">The first {MOST_ROWS} of {rows} rows.</p>"),
        false => String::new(),
    };
    let tall = if rows > TALL { " tall" } else { "" };
    format!(
        "<details><summary>Data</summary><div class=\"scroll{tall}\" tabindex=\"0\" \
         role=\"region\" aria-label=\"Data of {}\"><table><thead><tr>{heads}</tr></thead>\
         <tbody>{body}</tbody></table></div>{more}</details>",
        text(&chart.title)
    )
}

/// The unit of moments: seconds since 1970.
const DATE: &str = "date";

fn date(unix_s: f64) -> String {
    crate::history::stamp((unix_s * 1e9) as i64, "%Y-%m-%d %H:%MZ")
}

fn cell(column: &Column, place: usize) -> String {
    match &column.values {
        Values::Numbers(values) => {
            let shown = |value: f64| match column.unit.as_str() {
                DATE => date(value),
                _ => significant(value),
            };
            let number = values.get(place).copied().flatten().map(shown);
            format!("<td class=\"number\">{}</td>", text(&number.unwrap_or_default()))
        }
        Values::Texts(values) => {
            let value = values.get(place).map_or("", String::as_str);
            format!("<td>{}</td>", name(value))
        }
    }
}

/// Tables under one title.
fn of_tables(tables: &[Table], is_open: bool) -> String {
    let title = tables.first().map_or_else(String::new, |table| text(&table.title));
    let inner: String = tables.iter().map(of_table).collect();
    match is_open {
        true => format!("<div class=\"table\"><p>{title}</p>{inner}</div>\n"),
        false => format!("<details class=\"table\"><summary>{title}</summary>{inner}</details>\n"),
    }
}

fn of_table(table: &Table) -> String {
    let cells = &table.cells;
    let groups = cells.groups.iter().map(|(group, columns)| {
        format!("<th class=\"group\" scope=\"colgroup\" colspan=\"{columns}\">{}</th>", text(group))
    });
    let groups: String = groups.collect();
    let groups = match cells.groups.iter().any(|(group, _)| !group.is_empty()) {
        true => format!("<tr>{groups}</tr>").replace("colgroup\" colspan=\"1", "col\" colspan=\"1"),
        false => String::new(),
    };
    let last = cells.heads.len().saturating_sub(1);
    let class = |column: usize| match column {
        column if column < cells.labels => "",
        column if cells.has_remarks && column == last => " class=\"remark\"",
        _ => " class=\"number\"",
    };
    let head = |(column, head): (usize, &String)| match head.as_str() {
        "" => format!("<td{}></td>", class(column)),
        head => format!("<th scope=\"col\"{}>{}</th>", class(column), text(head)),
    };
    let heads: String = cells.heads.iter().enumerate().map(head).collect();
    let row = |(place, row): (usize, &Vec<String>)| {
        let link = table.links.get(place).filter(|link| !link.is_empty());
        let cell = |(column, cell): (usize, &String)| match link.filter(|_| column == 0) {
            Some(link) => {
                format!("<td{}><a href=\"{}\">{}</a></td>", class(column), text(link), name(cell))
            }
            None => format!("<td{}>{}</td>", class(column), name(cell)),
        };
        let cells: String = row.iter().enumerate().map(cell).collect();
        format!("<tr>{cells}</tr>")
    };
    let rows: String = cells.rows.iter().enumerate().map(row).collect();
    let tall = if cells.rows.len() > TALL { " tall" } else { "" };
    let heading = match table.heading.as_str() {
        "" => String::new(),
        heading => format!("<p class=\"part\">{}</p>", text(heading)),
    };
    let title = text(format!("{} {}", table.title, table.heading).trim());
    format!(
        "{heading}<div class=\"scroll{tall}\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"\
         ><table><thead>{groups}<tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{}{}",
        listed(table.notes.iter().map(|(mark, note)| sentence(format!("{mark} {note}").trim()))),
        legend(table)
    )
}

fn legend(table: &Table) -> String {
    let pair = |(label, meaning): &(String, String)| {
        format!("<dt>{}</dt><dd>{}</dd>", text(label), text(meaning))
    };
    let pairs: String = table.legend.iter().map(pair).collect();
    if pairs.is_empty() { pairs } else { format!("<dl class=\"legend-of\">{pairs}</dl>") }
}

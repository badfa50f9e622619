//! `lbolt sql`: the response analysis as SQL, and the view of the requests that it begins with.
//!
//! Non-goals: running it.

use super::print;
use crate::cli::{SqlEngine, SqlOptions, SqlPart};
use crate::print::exit::{Fault, failure};
use crate::run::trace::parquet_of;
use analyze::response::sql::{SUMMARIES, VIEWS};
use model::record::requests::RequestFile;
use std::path::Path;

/// Runs the command.
/// Errors: a path that is no record of requests.
pub(super) fn run(options: &SqlOptions) -> anyhow::Result<()> {
    let places = options.requests.iter().map(|path| place(path));
    let places = places.collect::<anyhow::Result<Vec<_>>>()?;
    let places: Vec<Place> = places.into_iter().map(Place::of).collect();
    let mut parts = Vec::new();
    if !places.is_empty() {
        parts.push(requests_view(&places, options.engine));
    }
    if options.part != Some(SqlPart::Summaries) {
        parts.push(VIEWS.to_owned());
    }
    if options.part != Some(SqlPart::Views) {
        parts.push(SUMMARIES.to_owned());
    }
    print(&parts.join("\n"))
}

/// Where an engine finds requests.
struct Place {
    text: String,
    /// Whether these tell which device lies on which: traces of earlier versions do not. Of what
    /// only the engine can read, it is taken that they do.
    has_above: bool,
}

impl Place {
    fn of(text: String) -> Self {
        let known = RequestFile::open(Path::new(&text));
        let is_older = known.is_ok_and(|file| !file.has_column(ABOVE));
        Self { text, has_above: !is_older }
    }
}

/// The youngest column, which the views ask for.
const ABOVE: &str = "above_id";

/// Where an engine finds requests. Patterns and places elsewhere are its own to read.
fn place(path: &Path) -> anyhow::Result<String> {
    let refused = |what: &str| failure(Fault::Usage, format!("{} {what}", path.display()));
    let text = path.to_str().ok_or_else(|| refused("is not UTF-8, which SQL is written in"))?;
    if text.contains(model::text::is_unsafe) {
        return Err(refused("has unsafe characters in its name; give it another one"));
    }
    let is_elsewhere = text.contains("://");
    let is_pattern = !path.exists() && text.contains(['*', '?', '[', '{']);
    if is_elsewhere || is_pattern {
        return Ok(text.to_owned());
    }
    if !path.exists() {
        return Err(refused(
            "is not there; name a run, its requests.parquet, or a pattern of them",
        ));
    }
    let found = parquet_of(&[path.to_owned()], None)?;
    let found =
        found.ok_or_else(|| refused("is not Parquet; `lbolt import` makes it of a trace"))?;
    Ok(found.to_str().unwrap_or(text).to_owned())
}

/// The statement that makes the view `requests`, each row with the run that it is of.
fn requests_view(places: &[Place], engine: SqlEngine) -> String {
    let rows = match engine {
        SqlEngine::Duckdb => {
            let of = |has_above: bool| {
                let same = places.iter().filter(|place| place.has_above == has_above);
                let quoted: Vec<_> =
                    same.map(|place| format!("'{}'", place.text.replace('\'', "''"))).collect();
                let null = if has_above { "" } else { " CAST(NULL AS UBIGINT) AS above_id," };
                (!quoted.is_empty()).then(|| {
                    let quoted = quoted.join(", ");
                    format!(
                        "SELECT *,{null} filename AS run FROM read_parquet([{quoted}], filename = \
                         true)"
                    )
                })
            };
            let both = [of(true), of(false)];
            both.into_iter().flatten().collect::<Vec<_>>().join("\nUNION ALL BY NAME\n")
        }
        SqlEngine::Spark => {
            let of = |place: &Place| {
                let quoted = place.text.replace('`', "``");
                let null = if place.has_above { "" } else { " CAST(NULL AS BIGINT) AS above_id," };
                format!("SELECT *,{null} _metadata.file_path AS run FROM parquet.`{quoted}`")
            };
            places.iter().map(of).collect::<Vec<_>>().join("\nUNION ALL\n")
        }
    };
    format!("CREATE OR REPLACE TEMPORARY VIEW requests AS\n{rows};\n")
}

//! `lbolt sql`: what is derived of requests as SQL, and the views of a run's records that it begins
//! with.
//!
//! Non-goals: running it.

use super::print;
use ::verdict::response::sql::VIEWS;
use analysis::inputs::{is_rollup, matching, rollups_in};
use analysis::trace::parquet_of;
use cli::{SqlEngine, SqlOptions, TraceOptions};
use messages::fault::{Fault, failure, of_records};
use model::history::{History, HostFacts, Hosts, Origin};
use model::quote::{Dialect, literal, spark_table};
use model::record::requests::RequestFile;
use std::path::{Path, PathBuf};

/// Runs the command.
/// Errors: a path that is no record of requests.
pub(super) fn run(options: &SqlOptions) -> anyhow::Result<()> {
    let mut parts = Vec::new();
    if !options.rollups.is_empty() {
        parts.push(rollup_views(&options.rollups, options.engine)?);
        parts.push(::verdict::history::VIEWS.to_owned());
    }
    if options.rollups.is_empty() || !options.requests.is_empty() {
        parts.extend(of_requests(options)?);
    }
    print(&parts.join("\n"))
}

/// The views of requests.
fn of_requests(options: &SqlOptions) -> anyhow::Result<Vec<String>> {
    let places = options.requests.iter().map(|path| place(path));
    let places = places.collect::<anyhow::Result<Vec<_>>>()?;
    let places: Vec<Place> = places.into_iter().map(Place::of).collect();
    let mut parts = vec![devices_view(&places, options.engine)];
    if !places.is_empty() {
        parts.push(requests_view(&places, options.engine)?);
    }
    for name in BESIDES {
        parts.extend(view_beside(name, &places, options.engine)?);
    }
    parts.push(VIEWS.to_owned());
    Ok(parts)
}

/// The statements that make the views `rollup`, `rollup_buckets` and `hosts`.
fn rollup_views(paths: &[PathBuf], engine: SqlEngine) -> anyhow::Result<String> {
    let (mut places, mut hosts) = (Vec::new(), Hosts::default());
    for path in paths.iter().flat_map(|path| matching_or_self(path)) {
        match readable(&path)? {
            Readable::Elsewhere(text) => places.push(text),
            Readable::Here(_) => {
                for input in rollups_in(&[path])? {
                    if !is_rollup(&input) {
                        return Err(refused(&input, "is neither a rollup nor a history"));
                    }
                    let history = History::open(&input).map_err(of_records)?;
                    places.extend(files_of(&input, &history)?);
                    hosts.merge(history.hosts().clone());
                }
            }
        }
    }
    let rows = match engine {
        SqlEngine::Duckdb => {
            let places: Vec<String> = places.iter().map(|place| quoted(place)).collect();
            format!("SELECT * FROM read_parquet([{}], union_by_name = true)", places.join(", "))
        }
        SqlEngine::Spark => {
            let of = |place: &String| Ok(format!("SELECT * FROM {}", spark_place(place)?));
            places.iter().map(of).collect::<anyhow::Result<Vec<_>>>()?.join("\nUNION ALL\n")
        }
    };
    let buckets = match engine {
        SqlEngine::Duckdb => {
            "SELECT * EXCLUDE (buckets, counts), UNNEST(buckets) AS bucket, UNNEST(counts) AS \
             bucket_count FROM rollup"
        }
        SqlEngine::Spark => {
            "SELECT * EXCEPT (buckets, counts, pair), pair.buckets AS bucket, pair.counts AS \
             bucket_count FROM rollup LATERAL VIEW EXPLODE(ARRAYS_ZIP(buckets, counts)) \
             exploded AS pair"
        }
    };
    let view =
        |name: &str, rows: &str| format!("CREATE OR REPLACE TEMPORARY VIEW {name} AS\n{rows};\n");
    let views =
        [view("rollup", &rows), view("rollup_buckets", buckets), hosts_view(&hosts, engine)];
    Ok(views.join("\n"))
}

/// All that match a pattern here; else the path itself.
fn matching_or_self(path: &Path) -> Vec<PathBuf> {
    let found = matching(path);
    if found.is_empty() { vec![path.to_owned()] } else { found }
}

/// The statement that makes the view `hosts`: what rollups that lie here tell of each host and run
/// besides its rows, a row for each device whose firmware is known.
fn hosts_view(hosts: &Hosts, engine: SqlEngine) -> String {
    let quoted = |text: &str| literal(text, dialect(engine));
    let text = |text: Option<&str>| text.map_or_else(|| "NULL".to_owned(), quoted);
    let row = |(origin, facts): (&Origin, &HostFacts)| {
        let origin = [&origin.host, &origin.run].map(|name| text(name.as_deref()));
        let of = [origin.join(", "), text(facts.kernel.as_deref())].join(", ");
        let device = |(device, firmware): (&String, &String)| {
            format!("({of}, {}, {})", quoted(device), quoted(firmware))
        };
        let devices: Vec<String> = facts.firmware.iter().map(device).collect();
        if devices.is_empty() { vec![format!("({of}, NULL, NULL)")] } else { devices }
    };
    named_rows("hosts", &HOSTS, hosts.iter().flat_map(row).collect())
}

/// The columns of the view `hosts`.
const HOSTS: [(&str, &str); 5] = [
    ("host", "STRING"),
    ("run", "STRING"),
    ("kernel", "STRING"),
    ("device", "STRING"),
    ("firmware", "STRING"),
];

/// The statement that makes a view of rows that are written out.
fn named_rows(view: &str, columns: &[(&str, &str)], rows: Vec<String>) -> String {
    let rows = match rows.is_empty() {
        true => {
            let nothing =
                columns.iter().map(|(name, kind)| format!("CAST(NULL AS {kind}) AS {name}"));
            format!("SELECT {} WHERE 1 = 0", nothing.collect::<Vec<_>>().join(", "))
        }
        false => {
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            let (rows, names) = (rows.join(",\n"), names.join(", "));
            format!("SELECT * FROM (VALUES\n{rows}) AS named ({names})")
        }
    };
    format!("CREATE OR REPLACE TEMPORARY VIEW {view} AS\n{rows};\n")
}

/// The files of a history or a rollup: each row once.
fn files_of(path: &Path, history: &History) -> anyhow::Result<Vec<String>> {
    let files = history.paths().map(|file| file.to_str().map(str::to_owned));
    files
        .collect::<Option<_>>()
        .ok_or_else(|| refused(path, "has a name that is not UTF-8, which SQL needs; rename it"))
}

/// Where an engine finds requests.
struct Place {
    text: String,
    /// Whether these tell which device lies on which: traces of earlier versions do not. Of what
    /// only the engine can read, it is taken that they do.
    has_above: bool,
    /// Whether it is one file that lies here.
    is_here: bool,
    /// Devices and their names, as far as the requests tell them.
    names: Vec<(u32, String)>,
}

impl Place {
    fn of(text: String) -> Self {
        let Ok(file) = RequestFile::open(Path::new(&text)) else {
            return Self { text, has_above: true, is_here: false, names: Vec::new() };
        };
        let has_above = file.has_column(ABOVE);
        let notes = file.provenance().notes;
        let device = |(key, name): (&String, &String)| {
            Some((key.strip_prefix("device.")?.parse().ok()?, name.clone()))
        };
        let names = notes.iter().filter_map(device).collect();
        Self { text, has_above, is_here: true, names }
    }
}

/// A record that a run may have beside its requests.
const BESIDES: [&str; 6] = ["calls", "waits", "stacks", "processes", "files", "summed"];

fn dialect(engine: SqlEngine) -> Dialect {
    match engine {
        SqlEngine::Duckdb => Dialect::Standard,
        SqlEngine::Spark => Dialect::Spark,
    }
}

/// A path in a script for DuckDB.
fn quoted(path: &str) -> String {
    literal(path, Dialect::Standard)
}

/// A path as Spark reads it.
/// Errors: a path that Spark's SQL has no quotes for.
fn spark_place(path: &str) -> anyhow::Result<String> {
    spark_table(path).ok_or_else(|| {
        let why = "has `${` in its path, which Spark replaces by a variable; rename it";
        refused(Path::new(path), why)
    })
}

/// The statement that makes the view `devices`: their names by their numbers.
fn devices_view(places: &[Place], engine: SqlEngine) -> String {
    let quoted = |text: &str| literal(text, dialect(engine));
    let rows: Vec<String> = places
        .iter()
        .flat_map(|place| place.names.iter().map(|(device, name)| (&place.text, device, name)))
        .map(|(run, device, name)| format!("({}, {device}, {})", quoted(run), quoted(name)))
        .collect();
    let columns = [("run", "STRING"), ("device", "BIGINT"), ("device_name", "STRING")];
    named_rows("devices", &columns, rows)
}

/// The statement that makes a view of what runs that lie here have beside their requests.
fn view_beside(name: &str, places: &[Place], engine: SqlEngine) -> anyhow::Result<Option<String>> {
    let of = |place: &Place| {
        let file = Path::new(&place.text).with_file_name(format!("{name}.parquet"));
        let file = file.to_str().filter(|_| place.is_here && file.exists())?.to_owned();
        let run = literal(&place.text, dialect(engine));
        let rows = match engine {
            SqlEngine::Duckdb => Ok(format!("read_parquet({})", quoted(&file))),
            SqlEngine::Spark => spark_place(&file),
        };
        Some(rows.map(|rows| format!("SELECT *, {run} AS run FROM {rows}")))
    };
    let rows = places.iter().filter_map(of).collect::<anyhow::Result<Vec<String>>>()?;
    let rows = rows.join("\nUNION ALL\n");
    let view = || format!("CREATE OR REPLACE TEMPORARY VIEW {name} AS\n{rows};\n");
    Ok((!rows.is_empty()).then(view))
}

/// The youngest column, which the views ask for.
const ABOVE: &str = "above_id";

fn refused(path: &Path, what: &str) -> anyhow::Error {
    failure(Fault::Usage, format!("{} {what}", path.display()))
}

/// What an engine can read.
enum Readable {
    /// A pattern, or a place elsewhere, which is its own to read.
    Elsewhere(String),
    /// What lies here.
    Here(String),
}

fn readable(path: &Path) -> anyhow::Result<Readable> {
    let text = path.to_str();
    let text = text.ok_or_else(|| {
        refused(
            path,
            "has a name that is not UTF-8, which SQL needs; \
                                                 rename it",
        )
    })?;
    if text.contains(model::text::is_unsafe) {
        return Err(refused(path, "has unsafe characters in its name; rename it"));
    }
    let is_elsewhere = text.contains("://");
    let is_pattern = !path.exists() && text.contains(['*', '?', '[', '{']);
    match (is_elsewhere || is_pattern, path.exists()) {
        (true, _) => Ok(Readable::Elsewhere(text.to_owned())),
        (false, true) => Ok(Readable::Here(text.to_owned())),
        (false, false) => {
            Err(refused(path, "does not exist; name a run, a Parquet file, or a pattern"))
        }
    }
}

/// Where an engine finds requests.
fn place(path: &Path) -> anyhow::Result<String> {
    let text = match readable(path)? {
        Readable::Elsewhere(text) => return Ok(text),
        Readable::Here(text) => text,
    };
    let found = parquet_of(&TraceOptions::own(path))?;
    let found = found.ok_or_else(|| {
        refused(
            path,
            "is not Parquet; convert the trace with `lbolt \
                                           import`",
        )
    })?;
    Ok(found.to_str().map_or(text, str::to_owned))
}

/// The statement that makes the view `requests`, each row with the run that it is of.
fn requests_view(places: &[Place], engine: SqlEngine) -> anyhow::Result<String> {
    let rows = match engine {
        SqlEngine::Duckdb => {
            let of = |has_above: bool| {
                let same = places.iter().filter(|place| place.has_above == has_above);
                let paths: Vec<_> = same.map(|place| quoted(&place.text)).collect();
                let null = if has_above { "" } else { " CAST(NULL AS UBIGINT) AS above_id," };
                (!paths.is_empty()).then(|| {
                    let paths = paths.join(", ");
                    format!(
                        "SELECT *,{null} filename AS run FROM read_parquet([{paths}], filename = \
                         true)"
                    )
                })
            };
            let both = [of(true), of(false)];
            both.into_iter().flatten().collect::<Vec<_>>().join("\nUNION ALL BY NAME\n")
        }
        SqlEngine::Spark => {
            let of = |place: &Place| {
                let null = if place.has_above { "" } else { " CAST(NULL AS BIGINT) AS above_id," };
                let here = literal(&place.text, Dialect::Spark);
                let run = if place.is_here { &here } else { "_metadata.file_path" };
                let rows = spark_place(&place.text)?;
                Ok(format!("SELECT *,{null} {run} AS run FROM {rows}"))
            };
            places.iter().map(of).collect::<anyhow::Result<Vec<_>>>()?.join("\nUNION ALL\n")
        }
    };
    Ok(format!("CREATE OR REPLACE TEMPORARY VIEW requests AS\n{rows};\n"))
}

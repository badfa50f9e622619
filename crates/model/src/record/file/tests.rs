//! Records to files and back: of this version, of others, and of what is no record.

use super::*;
use crate::doubt::Code;
use crate::engine::EngineKind;
use crate::record::{Doubt, Finding, NamedFile, Process, Sample, Verdict};
use crate::workload::Account;
use arrow_array::StringArray;
use proptest::prelude::*;

fn round_trip<R: Record>(rows: &[R]) -> Vec<R> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.parquet");
    let footer = BTreeMap::from([("seed".to_owned(), "7".to_owned())]);
    write(&path, rows, &footer).unwrap();
    assert_eq!(Input::open(&path, &[]).unwrap().footer().get("seed"), Some(&"7".to_owned()));
    assert!(!path.with_extension("parquet.partial").exists());
    read(&path).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn samples_survive_a_file(
        rows in prop::collection::vec((any::<u64>(), prop::option::of(0.0f64..1e9), "\\PC{0,8}",
            prop::collection::vec(any::<u64>(), 0..5)), 0..20)
    ) {
        let rows: Vec<Sample> = rows.into_iter().map(|(bytes, depth, reason, list)| Sample {
            bytes, depth_achieved: depth, doubts: vec![Doubt::refused(reason)],
            latency_counts: list, ..Sample::default()
        }).collect();
        prop_assert_eq!(&round_trip(&rows), &rows);
    }
}

#[test]
fn findings_survive_a_file() {
    let rows = vec![Finding {
        quantity: "rate_bytes_per_s".into(),
        value: None,
        unit: "B/s".into(),
        verdict: Verdict::NotMeasured,
        doubts: vec![Doubt::refused("no root")],
        ..Finding::default()
    }];
    assert_eq!(round_trip(&rows), rows);
}

/// Writes rows with the columns and the name of another schema; `texts` are columns of texts
/// that differ from what the rows hold.
fn write_as<R: Record>(
    (schema, columns): (&str, Vec<Column<R>>),
    rows: &[R],
    texts: &[(&str, &[Option<&str>])],
) -> tempfile::NamedTempFile {
    let array = |column: &Column<R>| match texts.iter().find(|(name, _)| *name == column.name) {
        Some((_, texts)) => Arc::new(StringArray::from(texts.to_vec())) as ArrayRef,
        None => build(column.kind, rows.iter().map(|row| (column.get)(row))),
    };
    let fields: Vec<Field> =
        columns.iter().map(|c| Field::new(c.name, c.kind.arrow(), true)).collect();
    let fields = fields.into_iter().map(|field| match field.data_type() {
        DataType::List(_) => field.with_nullable(false),
        _ => field,
    });
    let schema_of_file = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns.iter().map(array).collect();
    let batch = RecordBatch::try_new(schema_of_file.clone(), arrays).unwrap();
    let key = KeyValue::new("lbolt.schema".to_owned(), schema.to_owned());
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![key]));
    let file = tempfile::NamedTempFile::new().unwrap();
    let to = file.reopen().unwrap();
    let mut writer = ArrowWriter::try_new(to, schema_of_file, Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

fn refusal<R: Record + std::fmt::Debug>(file: &tempfile::NamedTempFile) -> String {
    let error = read::<R>(file.path()).unwrap_err().to_string();
    assert!(error.contains(&file.path().display().to_string()), "{error}");
    error
}

#[test]
fn samples_of_the_schema_before_are_read() {
    let rows = vec![Sample { bytes: 7, pass: 2, ..Sample::default() }; 3];
    let engines = [Some("none"), Some("io_uring"), Some("psync")];
    let reasons = [None, Some("stolen time\nother programs"), Some("hot")];
    let texts: [(&str, &[_]); 2] = [("engine", &engines), ("reason", &reasons)];
    let file = write_as(Sample::earlier(), &rows, &texts);
    let of = |engine, doubts: &[&str]| Sample {
        engine,
        doubts: doubts.iter().map(|sentence| Doubt::earlier(sentence)).collect(),
        ..rows[0].clone()
    };
    let expected = [
        of(EngineKind::Null, &[]),
        of(EngineKind::IoUring, &["stolen time", "other programs"]),
        of(EngineKind::Psync, &["hot"]),
    ];
    assert_eq!(read::<Sample>(file.path()).unwrap(), expected);
}

#[test]
fn samples_without_spans_are_read() {
    let spans = Sample { span_ns: 7, span_bytes: vec![1], ..Sample::default() };
    let mut columns = Sample::columns();
    columns.retain(|column| !column.name.starts_with("span_"));
    let file = write_as((Sample::SCHEMA, columns), &[spans], &[]);
    assert_eq!(read::<Sample>(file.path()).unwrap(), [Sample::default()]);
}

#[test]
fn processes_without_jobs_are_read() {
    let row = Process { pid: 7, job: Some("make".to_owned()), ..Process::default() };
    let mut columns = Process::columns();
    columns.retain(|column| column.name != "job");
    let file = write_as((Process::SCHEMA, columns), std::slice::from_ref(&row), &[]);
    assert_eq!(read::<Process>(file.path()).unwrap(), [Process { job: None, ..row }]);
}

#[test]
fn how_much_was_written_of_files_of_the_schema_before_is_unknown() {
    let written_bytes = Some(4096);
    let row = NamedFile { inode: 12, since_ns: Some(5), written_bytes, ..NamedFile::default() };
    let file = write_as(NamedFile::earlier(), std::slice::from_ref(&row), &[]);
    assert_eq!(read::<NamedFile>(file.path()).unwrap(), [NamedFile { written_bytes: None, ..row }]);
}

#[test]
fn findings_of_the_schema_before_are_read() {
    let ends = [(Some(1.0), Some(3.0)), (None, Some(3.0)), (Some(1.0), None), (None, None)];
    let rows = ends.map(|(low, high)| Finding {
        quantity: "rate_bytes_per_s".into(),
        value: Some(2.0),
        low,
        high,
        count: 5,
        ..Finding::default()
    });
    let spans = Some("the interval spans 40 draws");
    let methods = [spans, Some("mean"), Some("mean"), spans];
    let reasons = [Some("a\nb"), None, None, None];
    let texts: [(&str, &[_]); 2] = [("method", &methods), ("reason", &reasons)];
    let file = write_as(Finding::earlier(), &rows, &texts);
    let read = read::<Finding>(file.path()).unwrap();
    let intervals: Vec<_> = read.iter().map(|row| row.interval).collect();
    use crate::record::Interval::{Parameters, Passes};
    assert_eq!(intervals, [Some(Parameters), Some(Passes), Some(Passes), None]);
    assert_eq!(read[0].doubts, [Doubt::earlier("a"), Doubt::earlier("b")]);
    assert_eq!((read[1].method.as_str(), read[1].doubts.len()), ("mean", 0));
    for (read, row) in read.iter().zip(&rows) {
        assert_eq!((read.low, read.high, read.value), (row.low, row.high, row.value));
        assert_eq!((&read.quantity, read.count), (&row.quantity, row.count));
    }
}

#[test]
fn a_file_of_another_version_is_refused_by_which_lbolt_reads_it() {
    let newer = "; use the newer lbolt that wrote it";
    let older = "; lbolt 0.1 and earlier read it";
    for (schema, ending) in [
        ("lbolt.findings/3", newer),
        ("lbolt.findings/10", newer),
        ("lbolt.findings/0", older),
        ("lbolt.samples/3", ""),
        ("lbolt.samples/1", ""),
        ("lbolt.findings/next", ""),
        ("findings", ""),
    ] {
        let file = write_as((schema, Finding::columns()), &[Finding::default()], &[]);
        let error = refusal::<Finding>(&file);
        let wanted = format!("it holds {schema}, not lbolt.findings/2{ending}");
        assert!(error.ends_with(&wanted), "{error}");
    }
    let file = write_as(("lbolt.samples/4", Sample::columns()), &[Sample::default()], &[]);
    assert!(refusal::<Sample>(&file).ends_with(newer));
}

/// A file of one finding, with another text in one column.
fn with_text(column: &str, text: Option<&str>) -> tempfile::NamedTempFile {
    let columns = (Finding::SCHEMA, Finding::columns());
    write_as(columns, &[Finding::default()], &[(column, &[text])])
}

#[test]
fn an_unknown_text_is_quoted_with_who_may_have_written_it() {
    for (column, text) in [
        ("subject", r#"{"colour":"red"}"#),
        ("subject", "?"),
        ("verdict", "fine"),
        ("interval", "wide"),
        ("doubts", "hot"),
        ("doubts", r#"[{"code":"colour"}]"#),
    ] {
        let file = with_text(column, Some(text));
        let expected = format!(
            "read {}: {column} {text} is unknown to lbolt {TOOL_VERSION}; a newer version may have \
             written it",
            file.path().display()
        );
        assert_eq!(refusal::<Finding>(&file), expected);
    }
    let long = refusal::<Finding>(&with_text("subject", Some(&"é".repeat(300))));
    assert!(long.contains(&format!("subject {} is unknown", "é".repeat(QUOTED_CHARS))), "{long}");
    // The text of the row that is refused, and not of the first.
    let rows = vec![Finding::default(); 3];
    let texts: [(&str, &[_]); 1] = [("verdict", &[Some("ok"), Some("new"), Some("newer")])];
    let error = refusal::<Finding>(&write_as((Finding::SCHEMA, Finding::columns()), &rows, &texts));
    assert!(error.contains(": verdict new is unknown"), "{error}");
}

#[test]
fn what_no_finding_holds_is_refused_by_file_and_column() {
    for (column, text) in [("subject", Some("")), ("subject", None), ("quantity", None)] {
        let error = refusal::<Finding>(&with_text(column, text));
        assert!(error.contains(&format!("column {column} does not hold")), "{error}");
    }
    // A column of another type.
    let columns = || (Finding::SCHEMA, Finding::columns());
    for column in ["value", "count", "low"] {
        let mut columns = columns();
        columns.1.iter_mut().filter(|c| c.name == column).for_each(|c| c.kind = Kind::Text);
        let file = write_as(columns, &[Finding::default()], &[(column, &[Some("7")])]);
        let error = refusal::<Finding>(&file);
        assert!(error.contains(&format!("column {column} does not hold")), "{error}");
    }
    let file = with_text("doubts", Some(r#"[{"code":"no_line"}]"#));
    let row = read::<Finding>(file.path()).unwrap().remove(0);
    assert_eq!(row.doubts, [Doubt::new(Code::NoLine, [])]);
}

#[test]
fn an_earlier_pass_without_an_account_has_no_part_of_the_overhead() {
    let texts: [(&str, &[Option<&str>]); 2] =
        [("account", &[Some(""), Some("soak")]), ("engine", &[Some("sync"), Some("none")])];
    let rows = [Sample::default(), Sample::default()];
    let read = read::<Sample>(write_as(Sample::earlier(), &rows, &texts).path()).unwrap();
    assert_eq!(read[0].overhead, None);
    assert_eq!(read[1].overhead.as_ref().unwrap().account, Account::IdleLoad);
}

#[test]
fn what_no_sample_holds_is_refused_by_file_and_column() {
    for (schema, column, text) in [
        (Sample::SCHEMA, "engine", Some("none")),
        (Sample::SCHEMA, "experiment", Some("seance")),
        (Sample::SCHEMA, "arithmetic", Some("roman")),
        (Sample::SCHEMA, "role", None),
        ("lbolt.samples/2", "engine", Some("telepathy")),
        ("lbolt.samples/2", "engine", None),
    ] {
        let columns = match schema == Sample::SCHEMA {
            true => Sample::columns(),
            false => Sample::earlier().1,
        };
        let file = write_as((schema, columns), &[Sample::default()], &[(column, &[text])]);
        let error = refusal::<Sample>(&file);
        let expected = match text {
            Some(text) => format!(": {column} {text} is unknown to lbolt {TOOL_VERSION}; a newer"),
            None => format!("column {column} does not hold text"),
        };
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn a_missing_column_is_named_with_what_it_tells() {
    let mut columns = Finding::columns();
    columns.retain(|column| column.name != "unit");
    let error = refusal::<Finding>(&write_as((Finding::SCHEMA, columns), &[], &[]));
    assert!(error.contains("column unit is missing (unit of the number); keep it"), "{error}");
}

#[test]
fn more_rows_than_the_file_has_bytes_are_read() {
    let rows = vec![Finding::default(); 20_000];
    let file = write_as((Finding::SCHEMA, Finding::columns()), &rows, &[]);
    assert!(file.as_file().metadata().unwrap().len() < 20_000);
    assert_eq!(read::<Finding>(file.path()).unwrap(), rows);
}

/// The footer's rows are refused before any is read; the texts of rows as they are.
#[test]
fn rows_take_no_more_memory_than_a_file_may_ask_for() {
    let text = "x".repeat(60 << 10);
    let rows = vec![Finding { method: text, ..Finding::default() }; 20];
    let file = write_as((Finding::SCHEMA, Finding::columns()), &rows, &[]);
    let input = Input::open(file.path(), &[]).unwrap();
    let (of_rows, of_texts) = (20 * size_of::<Finding>() as u64, 20 * (60 << 10));
    let within = |most| read_within::<Finding>(&input, most).map_err(|error| error.to_string());
    for most in [of_rows - 1, of_rows, of_rows + of_texts - 1] {
        let error = within(most).unwrap_err();
        let length = file.as_file().metadata().unwrap().len();
        let problem = format!("its 20 rows take more than {most} bytes, and it has {length}; ");
        assert!(error.contains(&problem), "{error}");
    }
    assert_eq!(within(of_rows + 2 * of_texts), Ok(rows));
    assert_eq!(memory_of(1), 256 << 20);
    assert_eq!(memory_of(10 << 20), 640 << 20);
    assert_eq!(memory_of(u64::MAX), u64::MAX);
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("no/x.parquet");
    let error = write::<Finding>(&path, &[], &BTreeMap::new()).unwrap_err();
    assert!(matches!(&error, RecordError::Io { action: "write", .. }), "{error}");
    assert!(error.to_string().contains("x.parquet"), "{error}");
}

#[test]
fn records_are_read_in_batches_and_from_memory() {
    let rows: Vec<Finding> = (0..3 * BATCH_ROWS as u64 + 5)
        .map(|count| Finding { count, quantity: format!("q{count}"), ..Finding::default() })
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.parquet");
    write(&path, &rows, &BTreeMap::new()).unwrap();
    assert_eq!(read::<Finding>(&path).unwrap(), rows);
    let bytes = Bytes::from(std::fs::read(&path).unwrap());
    assert_eq!(read_bytes::<Finding>(Path::new("memory"), bytes).unwrap(), rows);
    let cut = Bytes::from(std::fs::read(&path).unwrap()[..100].to_vec());
    let error = read_bytes::<Finding>(Path::new("memory"), cut).unwrap_err().to_string();
    assert!(error.starts_with("read memory: "), "{error}");
    let footer = Input::open(&path, &[]).unwrap().footer();
    assert_eq!(footer["lbolt.schema"], "lbolt.findings/2");
    assert_eq!(footer["lbolt.version"], TOOL_VERSION);
}

#[test]
fn another_record_or_a_damaged_file_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.parquet");
    write(&path, &[Sample::default()], &BTreeMap::new()).unwrap();
    let error = read::<Finding>(&path).unwrap_err().to_string();
    assert!(error.contains(Sample::SCHEMA) && error.contains(Finding::SCHEMA), "{error}");
    std::fs::write(&path, b"PAR1 nonsense").unwrap();
    assert!(matches!(read::<Sample>(&path), Err(RecordError::Damaged { .. })));
    assert!(matches!(read::<Sample>(&directory.path().join("no")), Err(RecordError::Io { .. })));
}

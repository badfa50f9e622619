//! Rows as JSON, from the same table of columns: how one part of this program sends them to
//! another, a row as the list of its values in the order of its columns; and how other programs
//! read them, a row as an object.
//!
//! Non-goals: files (`super::file`).

use super::column::{Column, Kind, Record, Value};
use serde_json::Value as Json;

/// Rows as a list of lists.
pub fn to_json<R: Record>(rows: &[R]) -> Json {
    let columns = R::columns();
    let of = |row: &R| columns.iter().map(|column| value(&(column.get)(row))).collect();
    Json::Array(rows.iter().map(|row| Json::Array(of(row))).collect())
}

/// Rows as objects, with the columns' names, for other programs.
pub fn to_objects<R: Record>(rows: &[R]) -> Json {
    let columns = R::columns();
    let named = |row: &R, column: &Column<R>| (column.name.to_owned(), value(&(column.get)(row)));
    let of = |row: &R| Json::Object(columns.iter().map(|column| named(row, column)).collect());
    Json::Array(rows.iter().map(of).collect())
}

/// The rows of such a list; none where it is no such list.
pub fn from_json<R: Record>(json: &Json) -> Option<Vec<R>> {
    let columns = R::columns();
    json.as_array()?.iter().map(|row| row_of(&columns, row)).collect()
}

fn row_of<R: Record>(columns: &[Column<R>], json: &Json) -> Option<R> {
    let values = json.as_array().filter(|values| values.len() == columns.len())?;
    let mut row = R::default();
    for (column, json) in columns.iter().zip(values) {
        if !(column.set)(&mut row, value_of(column.kind, json)?) {
            return None;
        }
    }
    Some(row)
}

fn value(value: &Value) -> Json {
    match value {
        Value::U64(number) => number.map_or(Json::Null, Into::into),
        Value::I64(number) => number.map_or(Json::Null, Into::into),
        Value::F64(number) => number.map_or(Json::Null, Into::into),
        Value::Text(text) => text.clone().map_or(Json::Null, Into::into),
        Value::List(list) => list.clone().into(),
    }
}

fn value_of(kind: Kind, json: &Json) -> Option<Value> {
    let is_null = json.is_null();
    match kind {
        _ if is_null && kind != Kind::List => Some(Value::nothing(kind)),
        Kind::U64 => json.as_u64().map(|number| Value::U64(Some(number))),
        Kind::I64 => json.as_i64().map(|number| Value::I64(Some(number))),
        Kind::F64 => json.as_f64().map(|number| Value::F64(Some(number))),
        Kind::Text => json.as_str().map(|text| Value::Text(Some(text.to_owned()))),
        Kind::List => {
            json.as_array()?.iter().map(Json::as_u64).collect::<Option<_>>().map(Value::List)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Call, CallKind, Rollup, RollupKey};

    #[test]
    fn rows_come_back_as_they_were_and_nonsense_is_refused() {
        let call = Call {
            kind: CallKind::Fdatasync,
            command: "a \"b\"\n".into(),
            begin_ns: i64::MIN,
            transaction: Some(u64::MAX),
            ..Call::default()
        };
        let calls = vec![call, Call { end_ns: Some(-4), ..Call::default() }];
        let text = to_json(&calls).to_string();
        assert_eq!(from_json(&serde_json::from_str(&text).unwrap()), Some(calls));
        let rollup =
            Rollup { lost_ns: -1, buckets: vec![1, 7], ..Rollup::of(RollupKey::default(), 1, 2) };
        let rows = vec![rollup];
        let text = to_json(&rows).to_string();
        assert_eq!(from_json(&serde_json::from_str(&text).unwrap()), Some(rows));
        for nonsense in ["{}", "[[]]", "[[1,2]]", "[3]"] {
            let json: Json = serde_json::from_str(nonsense).unwrap();
            assert_eq!(from_json::<Call>(&json), None, "{nonsense}");
        }
    }
}

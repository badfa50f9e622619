//! A record kind is a table of columns: name, type, reason, and how to get the
//! value out of a row and back into it. Everything else (schema, files,
//! documentation) follows from the table, so that they cannot disagree.

use super::subject::Subject;
use crate::doubt::Doubt;
use crate::named::Named;
use arrow_schema::DataType;
use std::fmt::Write as _;
use std::sync::Arc;

/// A value on its way between a row and a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    U64(Option<u64>),
    I64(Option<i64>),
    F64(Option<f64>),
    Text(Option<String>),
    List(Vec<u64>),
}

/// Declares the types that columns can have, each with its name and Arrow's type.
macro_rules! column_types {
    (
        $(#[$of_enum:meta])*
        pub enum $enum:ident { $($(#[$of_type:meta])* $type:ident $name:literal $arrow:expr;)* }
    ) => {
        $(#[$of_enum])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $enum {
            $($(#[$of_type])* $type),*
        }

        impl $enum {
            /// The Arrow type.
            pub fn arrow(self) -> DataType {
                match self {
                    $(Self::$type => $arrow),*
                }
            }

            pub(in crate::record) fn name(self) -> &'static str {
                match self {
                    $(Self::$type => $name),*
                }
            }
        }
    };
}
pub(crate) use column_types;

column_types! {
    /// The type of a column.
    pub enum Kind {
        /// Unsigned 64 bits.
        U64 "u64" DataType::UInt64;
        /// Signed 64 bits.
        I64 "i64" DataType::Int64;
        /// Double.
        F64 "f64" DataType::Float64;
        /// UTF-8 (dictionary-encoded in the file).
        Text "text" DataType::Utf8;
        /// List of unsigned 64 bits.
        List "list of u64"
            DataType::List(Arc::new(arrow_schema::Field::new("item", DataType::UInt64, false)));
    }
}

/// A column of a record.
pub struct Column<R> {
    /// Its name, with its unit last.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it can be null.
    pub nullable: bool,
    /// What it means.
    pub why: &'static str,
    pub(crate) get: fn(&R) -> Value,
    pub(crate) set: fn(&mut R, Value) -> bool,
}

/// A kind of record.
pub trait Record: Default + Clone + 'static {
    /// The schema's name and version, as in the footer.
    const SCHEMA: &'static str;
    /// Columns that a file of this version may lack: they came later, and are empty without it.
    const LATER: &'static [&'static str] = &[];
    /// The columns in order.
    fn columns() -> Vec<Column<Self>>;
    /// The schema before this one, and the columns that it had; of a kind that has none, its own.
    fn earlier() -> (&'static str, Vec<Column<Self>>) {
        (Self::SCHEMA, Self::columns())
    }
}

/// A Rust type that a column can hold.
pub(crate) trait Field: Sized {
    const KIND: Kind;
    const NULLABLE: bool = false;
    fn to_value(&self) -> Value;
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! plain {
    ($type:ty, $kind:ident) => {
        impl Field for $type {
            const KIND: Kind = Kind::$kind;
            fn to_value(&self) -> Value {
                Value::$kind(Some(self.clone()))
            }
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$kind(value) => value,
                    _ => None,
                }
            }
        }
        impl Field for Option<$type> {
            const KIND: Kind = Kind::$kind;
            const NULLABLE: bool = true;
            fn to_value(&self) -> Value {
                Value::$kind(self.clone())
            }
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$kind(value) => Some(value),
                    _ => None,
                }
            }
        }
    };
}
plain!(u64, U64);
plain!(i64, I64);
plain!(f64, F64);
plain!(String, Text);

impl Field for Vec<u64> {
    const KIND: Kind = Kind::List;
    fn to_value(&self) -> Value {
        Value::List(self.clone())
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::List(value) => Some(value),
            _ => None,
        }
    }
}

impl<T: Named> Field for T {
    const KIND: Kind = Kind::Text;
    fn to_value(&self) -> Value {
        Value::Text(Some(self.name().to_owned()))
    }
    fn from_value(value: Value) -> Option<Self> {
        T::from_name(&String::from_value(value)?)
    }
}

impl<T: Named> Field for Option<T> {
    const KIND: Kind = Kind::Text;
    const NULLABLE: bool = true;
    fn to_value(&self) -> Value {
        Value::Text(self.map(|value| value.name().to_owned()))
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Text(None) => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl Field for Subject {
    const KIND: Kind = Kind::Text;
    fn to_value(&self) -> Value {
        Value::Text(Some(self.text()))
    }
    fn from_value(value: Value) -> Option<Self> {
        Self::from_text(&String::from_value(value)?)
    }
}

/// Doubts as JSON text; null without any.
impl Field for Vec<Doubt> {
    const KIND: Kind = Kind::Text;
    const NULLABLE: bool = true;
    fn to_value(&self) -> Value {
        Value::Text(serde_json::to_string(self).ok().filter(|_| !self.is_empty()))
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Text(None) => Some(vec![]),
            Value::Text(Some(text)) => serde_json::from_str(&text).ok(),
            _ => None,
        }
    }
}

impl Value {
    pub(crate) fn nothing(kind: Kind) -> Self {
        match kind {
            Kind::U64 => Self::U64(None),
            Kind::I64 => Self::I64(None),
            Kind::F64 => Self::F64(None),
            Kind::Text => Self::Text(None),
            Kind::List => Self::List(vec![]),
        }
    }
}

/// The column of a field: its name is the field's.
macro_rules! column {
    ($record:ty, $field:ident: $type:ty, $why:expr) => {
        $crate::record::column::Column::<$record> {
            name: stringify!($field),
            kind: <$type as $crate::record::column::Field>::KIND,
            nullable: <$type as $crate::record::column::Field>::NULLABLE,
            why: $why,
            get: |row| $crate::record::column::Field::to_value(&row.$field),
            set: |row, value| match <$type as $crate::record::column::Field>::from_value(value) {
                Some(value) => {
                    row.$field = value;
                    true
                }
                None => false,
            },
        }
    };
}
pub(crate) use column;

/// Declares a record: its schema, which of its columns are moments of the trace, the version before
/// (what was new since, or what gives its columns), which columns a file of this version may lack,
/// and a row for each column: name, type, meaning.
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $record:ident, $schema:literal
        $(, times [$($time:ident)+])?
        $(, new [$($new:ident)+] since $before:literal)?
        $(, earlier $earlier:path)?
        $(, later [$($later:ident)+])?
        { $($field:ident: $type:ty = $why:literal;)* }
    ) => {
        $(#[$meta])*
        #[allow(rustdoc::broken_intra_doc_links, reason = "meanings are texts of docs/records.md")]
        pub struct $record {
            $(#[doc = $why] pub $field: $type),*
        }

        $(impl $record {
            /// Its times from a moment of the trace instead of its beginning.
            #[must_use]
            pub fn counted_from(self, zero_ns: i64) -> Self {
                use $crate::record::column::Moment as _;
                Self { $($time: self.$time.counted_from(zero_ns),)+ ..self }
            }
        })?

        impl $crate::record::Record for $record {
            const SCHEMA: &'static str = $schema;
            $(const LATER: &'static [&'static str] = &[$(stringify!($later)),+];)?

            fn columns() -> Vec<$crate::record::Column<Self>> {
                vec![$($crate::record::column::column!($record, $field: $type, $why)),*]
            }

            $(fn earlier() -> (&'static str, Vec<$crate::record::Column<Self>>) {
                let mut columns = Self::columns();
                columns.retain(|column| ![$(stringify!($new)),+].contains(&column.name));
                ($before, columns)
            })?

            $(fn earlier() -> (&'static str, Vec<$crate::record::Column<Self>>) {
                $earlier()
            })?
        }
    };
}
pub(crate) use record;

/// A moment of a trace in ns, or none.
pub(crate) trait Moment {
    fn counted_from(self, zero_ns: i64) -> Self;
}

impl Moment for i64 {
    fn counted_from(self, zero_ns: i64) -> Self {
        self.saturating_sub(zero_ns)
    }
}

impl Moment for Option<i64> {
    fn counted_from(self, zero_ns: i64) -> Self {
        self.map(|ns| ns.saturating_sub(zero_ns))
    }
}

/// The column of a field of one experiment's part; nothing in the rows of others.
macro_rules! part_column {
    ($field:ident: $type:ty, $why:expr) => {
        $crate::record::column::Column::<Sample> {
            name: stringify!($field),
            kind: <$type as $crate::record::column::Field>::KIND,
            nullable: true,
            why: $why,
            get: |row| match &row.overhead {
                Some(part) => $crate::record::column::Field::to_value(&part.$field),
                None => Value::nothing(<$type as $crate::record::column::Field>::KIND),
            },
            set: |row, value| {
                if value == Value::nothing(<$type as $crate::record::column::Field>::KIND) {
                    return true;
                }
                match <$type as $crate::record::column::Field>::from_value(value) {
                    Some(value) => {
                        row.overhead_mut().$field = value;
                        true
                    }
                    None => false,
                }
            },
        }
    };
}
pub(crate) use part_column;

/// The section of docs/records.md on one record kind. Columns in a row with one meaning share a
/// line.
pub(crate) fn describe<R: Record>(page: &mut String, title: &str, rows: &str) {
    let _ = write!(
        page,
        "\n## {title}\n\n`{}`, {rows}.\n\n| column | type | null | meaning |\n\
         | --- | --- | --- | --- |\n",
        R::SCHEMA
    );
    let columns = R::columns();
    let is_alike =
        |a: &Column<R>, b: &Column<R>| (a.kind, a.nullable, a.why) == (b.kind, b.nullable, b.why);
    for alike in columns.chunk_by(is_alike) {
        let names: Vec<_> = alike.iter().map(|column| column.name).collect();
        let [column, ..] = alike else { continue };
        let null = if column.nullable { "yes" } else { "" };
        let (kind, meaning) = (column.kind.name(), column.why);
        let _ = writeln!(page, "| {} | {kind} | {null} | {meaning} |", names.join(", "));
    }
}

//! What a footer may say: checked before any of it is used to find a place or to take memory, for
//! one changed byte makes any number of any other.
//!
//! Non-goals: what pages say (`super::pages`).

use super::source::Source;
use super::thrift::{FOOTER, Thrift};
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

/// What a Parquet file begins and ends with.
const MAGIC: &[u8] = b"PAR1";
/// The footer's length and the magic, at the end.
const TAIL_BYTES: u64 = 8;
/// A footer has some hundred bytes for each column of a group of rows, and the library makes
/// several times as much memory of them: no file that is known has a tenth of it. A long one has
/// more groups: those of lbolt's own captures take more than so many times what the footer has of
/// them.
const FOOTER_BYTES: u64 = 32 << 20;
const FILE_PER_FOOTER: u64 = 32;
/// Elements of a schema: few hundred at the most in files that are known, and some hundred bytes
/// each in memory for one in the file.
const SCHEMA_ELEMENTS: usize = 10_000;
/// Groups within groups of a schema: the library recurses into them, and a stack that overflows
/// ends the process.
const SCHEMA_DEPTH: usize = 64;

/// Checks what comes before the footer is parsed: that it is there, and no larger than the file.
pub(super) fn check_tail(source: &Source) -> Result<(), String> {
    let read = |start, length: u64| {
        source.bytes(start, length as usize).map_err(|error| error.to_string())
    };
    let length = source.length();
    let start = read(0, length.min(MAGIC.len() as u64))?;
    if start != MAGIC {
        return Err("it does not begin like a Parquet file".into());
    }
    let tail_at = length.saturating_sub(TAIL_BYTES);
    let tail = read(tail_at, length.min(TAIL_BYTES))?;
    let Some((bytes, MAGIC)) = tail.split_at_checked(4) else {
        return Err("it has no footer: its writer was stopped, or the copy is incomplete".into());
    };
    let footer = u64::from(u32::from_le_bytes(bytes.try_into().unwrap_or_default()));
    let Some(footer_at) = tail_at.checked_sub(footer).filter(|at| *at >= MAGIC.len() as u64) else {
        return Err(format!("its footer is of {footer} bytes, and all of it of {length}"));
    };
    let most = FOOTER_BYTES.max(length / FILE_PER_FOOTER);
    if footer > most {
        let most = most >> 20;
        return Err(format!("its footer is of {footer} bytes, and lbolt reads {most} MiB at most"));
    }
    let footer = read(footer_at, footer)?;
    let mut thrift = Thrift::new(&footer);
    match thrift.walk(FOOTER) {
        Some(()) => check_schema(&thrift.told),
        None => Err("its footer is not a Parquet footer".into()),
    }
}

/// Checks that the children are there, and not too deep: first the root, then each with all of its
/// own.
fn check_schema(children: &[u64]) -> Result<(), String> {
    let elements = children.len();
    if elements > SCHEMA_ELEMENTS {
        return Err(format!("its schema is of {elements} elements"));
    }
    let mut open: Vec<u64> = Vec::new();
    for count in children {
        if *count >= elements as u64 {
            return Err(format!(
                "its schema is of {elements} elements, and one has {count} children"
            ));
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if *count > 0 {
            open.push(*count);
        }
        if open.len() > SCHEMA_DEPTH {
            return Err(format!("its schema is of more than {SCHEMA_DEPTH} groups within groups"));
        }
    }
    Ok(())
}

/// Checks the parsed footer against the file's length, and its numbers against each other.
pub(super) fn check_metadata(metadata: &ParquetMetaData, length: u64) -> Result<(), String> {
    let mut rows = 0i64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let told = |what: String| format!("its footer says that row group {number} has {what}");
        check_group(group, length).map_err(told)?;
        rows = rows.saturating_add(group.num_rows());
    }
    let all = metadata.file_metadata().num_rows();
    match all == rows {
        true => Ok(()),
        false => Err(format!("its footer tells of {all} rows, and of {rows} in its row groups")),
    }
}

fn check_group(group: &RowGroupMetaData, length: u64) -> Result<(), String> {
    let rows = group.num_rows();
    if rows < 0 {
        return Err(format!("{rows} rows"));
    }
    // What has no rows is not read: some writers give its columns no place.
    let is_empty = rows == 0 && group.columns().iter().all(|column| column.num_values() == 0);
    for column in group.columns().iter().filter(|_| !is_empty) {
        let name = column.column_path().string();
        check_codec(column.compression()).map_err(|what| format!("column {name} {what}"))?;
        if !is_within(column, length) {
            return Err(format!("column {name} beyond the file's end"));
        }
        let values = column.num_values();
        let is_flat = column.column_descr().max_rep_level() == 0;
        if values < rows || (is_flat && values != rows) {
            return Err(format!("{values} values of column {name} in {rows} rows"));
        }
    }
    Ok(())
}

/// A column whose pages lie between the magic and the end.
fn is_within(column: &ColumnChunkMetaData, length: u64) -> bool {
    let is_place = |at: i64| u64::try_from(at).is_ok_and(|at| at >= MAGIC.len() as u64);
    let first = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let end = first.checked_add(column.compressed_size());
    is_place(first)
        && is_place(column.data_page_offset())
        && column.compressed_size() >= 0
        && end.and_then(|end| u64::try_from(end).ok()).is_some_and(|end| end <= length)
}

fn check_codec(codec: Compression) -> Result<(), String> {
    use Compression::{BROTLI, GZIP, LZ4, LZ4_RAW, LZO, SNAPPY, UNCOMPRESSED, ZSTD};
    match codec {
        UNCOMPRESSED | SNAPPY | GZIP(_) | LZ4 | LZ4_RAW | ZSTD(_) => Ok(()),
        BROTLI(_) | LZO => {
            let name = codec.to_string();
            let name = name.split('(').next().unwrap_or_default();
            Err(format!(
                "compressed with {name}, which lbolt cannot read; rewrite it with zstd, Snappy, \
                 LZ4 or gzip"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use parquet::basic::{BrotliLevel, GzipLevel};
    use parquet::file::metadata::{ColumnChunkMetaDataBuilder, FileMetaData};
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;
    use std::os::unix::fs::FileExt as _;
    use std::sync::Arc;

    #[test]
    fn what_is_not_whole_is_told_by_what_is_missing() {
        let of = |bytes: &[u8]| check_tail(&Source::of_bytes(Bytes::copy_from_slice(bytes)));
        assert!(of(b"").unwrap_err().contains("does not begin"));
        assert!(of(b"PAR").unwrap_err().contains("does not begin"));
        assert!(of(b"PAR1 and no more of it").unwrap_err().contains("no footer"));
        assert!(of(b"PAR1").unwrap_err().contains("no footer"));
        assert!(of(b"PAR1\xff\xff\xff\x7fPAR1").unwrap_err().contains("2147483647 bytes"));
        assert!(of(b"PAR1\0\0\0\0PAR1").unwrap_err().contains("not a Parquet footer"));
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 << 30).unwrap();
        file.write_all_at(b"PAR1", 0).unwrap();
        file.write_all_at(b"\0\0\0\x80PAR1", (3 << 30) - 8).unwrap();
        let tail_of =
            |file: &std::fs::File| check_tail(&Source::of_file(file.try_clone().unwrap()).unwrap());
        let claimed = tail_of(&file).unwrap_err();
        assert!(claimed.contains("of 2147483648 bytes, and lbolt reads 96 MiB"), "{claimed}");
        // That of a capture of hours is read: here 40 MiB of 3 GiB, and not of 1 GiB.
        file.write_all_at(b"\0\0\x80\x02PAR1", (3 << 30) - 8).unwrap();
        assert_eq!(tail_of(&file), Ok(()));
        file.set_len(1 << 30).unwrap();
        file.write_all_at(b"\0\0\x80\x02PAR1", (1 << 30) - 8).unwrap();
        let claimed = tail_of(&file).unwrap_err();
        assert!(claimed.contains("of 41943040 bytes, and lbolt reads 32 MiB"), "{claimed}");
        // A schema of 2^34 elements, which would be 2 TiB.
        let long = b"PAR1\x15\x04\x19\xfc\x80\x80\x80\x80\x40\x09\0\0\0PAR1";
        assert!(of(long).unwrap_err().contains("not a Parquet footer"));
    }

    /// A footer with a schema of groups within groups, each of so many children, and a number at
    /// the end, and no rows.
    fn nested(groups: usize, children: u8) -> Vec<u8> {
        let group = [0x35, 0x00, 0x18, 0x01, b'a', 0x15, children * 2, 0x00];
        let leaf = [0x15, 0x04, 0x25, 0x00, 0x18, 0x01, b'a', 0x00];
        let elements = groups + 1;
        let count = [(elements & 0x7f) as u8 | 0x80, (elements >> 7) as u8];
        let mut footer = [&[0x15, 0x02, 0x19, 0xfc], &count[..]].concat();
        (0..groups).for_each(|_| footer.extend(group));
        footer.extend(leaf);
        footer.extend([0x16, 0x00, 0x19, 0x0c, 0x00]);
        let length = (footer.len() as u32).to_le_bytes();
        [&b"PAR1"[..], &footer, &length, b"PAR1"].concat()
    }

    /// Found by the fuzzer: the library takes memory for as many children as an element says that
    /// it has.
    #[test]
    fn a_schema_has_the_children_that_it_tells_of_and_is_not_too_deep() {
        use crate::record::requests::RequestFile;
        let open = |bytes: Vec<u8>| {
            RequestFile::of_bytes(std::path::Path::new("x"), bytes.into()).unwrap_err().to_string()
        };
        for groups in [3, SCHEMA_DEPTH] {
            let error = open(nested(groups, 1));
            assert!(error.contains("no lbolt schema"), "{error}");
        }
        let deep = open(nested(SCHEMA_DEPTH + 1, 1));
        assert!(deep.contains("64 groups within groups"), "{deep}");
        let many = open(nested(3, 4));
        assert!(many.contains("4 elements") && many.contains("4 children"), "{many}");
        assert_eq!(check_schema(&[3, 0, 1, 0, 2, 0, 0]), Ok(()));
        assert!(check_schema(&[1, 1 << 30]).is_err());
    }

    /// What is said of a footer of 7 rows in a file of 100 bytes, with one column, changed.
    fn metadata(
        schema: &str,
        (rows, all): (i64, i64),
        change: impl Fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
    ) -> Result<(), String> {
        let message = parse_message_type(&format!("message m {{ {schema} }}")).unwrap();
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(message)));
        let column = ColumnChunkMetaData::builder(schema.column(0))
            .set_num_values(7)
            .set_data_page_offset(4)
            .set_total_compressed_size(96);
        let group = RowGroupMetaData::builder(schema.clone())
            .set_num_rows(rows)
            .set_column_metadata(vec![change(column).build().unwrap()])
            .build()
            .unwrap();
        let file = FileMetaData::new(1, all, None, None, schema, None);
        check_metadata(&ParquetMetaData::new(file, vec![group]), 100)
    }

    const FLAT: &str = "required int64 a;";
    const LIST: &str = "repeated int64 a;";

    #[test]
    fn a_column_lies_within_its_file() {
        let of = |change: fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder| {
            metadata(FLAT, (7, 7), change)
        };
        assert_eq!(of(|c| c), Ok(()));
        assert_eq!(of(|c| c.set_data_page_offset(50).set_dictionary_page_offset(Some(4))), Ok(()));
        assert_eq!(of(|c| c.set_total_compressed_size(0)), Ok(()));
        let beyond: [fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder; 8] = [
            |c| c.set_total_compressed_size(97),
            |c| c.set_data_page_offset(5),
            |c| c.set_data_page_offset(3),
            |c| c.set_data_page_offset(-1),
            |c| c.set_total_compressed_size(-1),
            |c| c.set_total_compressed_size(i64::MAX),
            |c| c.set_dictionary_page_offset(Some(3)).set_total_compressed_size(9),
            |c| c.set_dictionary_page_offset(Some(4)).set_data_page_offset(-9),
        ];
        for change in beyond {
            let error = of(change).unwrap_err();
            let said = "its footer says that row group 0 has column a beyond the file's end";
            assert_eq!(error, said);
        }
    }

    #[test]
    fn rows_and_values_agree() {
        let of = |schema, rows, values| metadata(schema, rows, |c| c.set_num_values(values));
        assert_eq!(of(FLAT, (7, 7), 7), Ok(()));
        assert_eq!(of(LIST, (7, 7), 900), Ok(()));
        for (schema, rows, values, said) in [
            (FLAT, (7, 7), 6, "row group 0 has 6 values of column a in 7 rows"),
            (FLAT, (7, 7), 8, "row group 0 has 8 values of column a in 7 rows"),
            (LIST, (7, 7), 6, "row group 0 has 6 values of column a in 7 rows"),
            (FLAT, (-1, -1), -1, "row group 0 has -1 rows"),
            (FLAT, (7, 8), 7, "its footer tells of 8 rows, and of 7 in its row groups"),
        ] {
            let error = of(schema, rows, values).unwrap_err();
            assert!(error.ends_with(said), "{error}");
        }
        assert_eq!(of(FLAT, (0, 0), 0), Ok(()));
        // pyarrow writes a group of no rows, of which the pages are nowhere.
        let nowhere = metadata(FLAT, (0, 0), |c| c.set_num_values(0).set_data_page_offset(0));
        assert_eq!(nowhere, Ok(()));
        let values = metadata(FLAT, (0, 0), |c| c.set_num_values(1).set_data_page_offset(0));
        assert!(values.is_err());
    }

    #[test]
    fn a_codec_that_is_not_read_is_named_with_those_that_are() {
        let of = |codec| metadata(FLAT, (7, 7), |c| c.set_compression(codec));
        assert_eq!(of(Compression::GZIP(GzipLevel::default())), Ok(()));
        for (codec, name) in
            [(Compression::BROTLI(BrotliLevel::default()), "BROTLI"), (Compression::LZO, "LZO")]
        {
            let error = of(codec).unwrap_err();
            assert!(error.contains(&format!("column a compressed with {name}, which")), "{error}");
        }
    }

    #[test]
    fn groups_beside_each_other_are_not_within_each_other() {
        let beside = std::iter::once(70).chain([1, 0].repeat(70)).collect::<Vec<u64>>();
        assert_eq!(check_schema(&beside), Ok(()));
    }
}

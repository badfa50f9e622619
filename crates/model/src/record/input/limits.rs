//! What a footer may say: checked before any of it is used to find a place or to take memory, for one changed byte
//! makes any number of any other.
//!
//! Non-goals: what pages say (`super::pages`).

use super::source::Source;
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

/// What a Parquet file begins and ends with.
const MAGIC: &[u8] = b"PAR1";
/// The footer's length and the magic, at the end.
const TAIL_BYTES: u64 = 8;
/// Elements of a schema, of which records have some seventy: the library recurses into groups within groups, and a stack
/// that overflows ends the process.
const SCHEMA_ELEMENTS: u64 = 256;
/// A schema is what a footer has first, but for its version.
const FOOTER_HEAD_BYTES: u64 = 32;

/// Checks what comes before the footer is parsed: that it is there, and no larger than the file.
pub(super) fn check_tail(source: &Source) -> Result<(), String> {
    let read = |start, length: u64| {
        source.bytes(start, length as usize).map_err(|error| error.to_string())
    };
    let length = source.length();
    let start = read(0, length.min(MAGIC.len() as u64))?;
    if start != MAGIC {
        return Err("it does not begin as Parquet does".into());
    }
    let tail_at = length.saturating_sub(TAIL_BYTES);
    let tail = read(tail_at, length.min(TAIL_BYTES))?;
    let Some((bytes, MAGIC)) = tail.split_at_checked(4) else {
        return Err("it has no footer: who wrote it was stopped, or the copy is not whole".into());
    };
    let footer = u64::from(u32::from_le_bytes(bytes.try_into().unwrap_or_default()));
    let Some(footer_at) = tail_at.checked_sub(footer).filter(|at| *at >= MAGIC.len() as u64) else {
        return Err(format!("its footer is of {footer} bytes, and all of it of {length}"));
    };
    let head = read(footer_at, footer.min(FOOTER_HEAD_BYTES))?;
    match schema_elements(&head) {
        Some(elements) if elements > SCHEMA_ELEMENTS => {
            Err(format!("its schema is of {elements} elements, more than {SCHEMA_ELEMENTS}"))
        }
        Some(_) => Ok(()),
        None => Err("its footer does not begin with a version and a schema".into()),
    }
}

/// How many elements the schema has, by a footer's first bytes: in Thrift's compact protocol, the version, an i32 in
/// field 1, and the head of a list of structs in field 2.
fn schema_elements(head: &[u8]) -> Option<u64> {
    const FIELD_I32: u8 = 0x15;
    const FIELD_LIST: u8 = 0x19;
    const STRUCT: u8 = 12;
    const LONG: u8 = 15;
    let mut head = head.iter().copied();
    (head.next()? == FIELD_I32).then(|| varint(&mut head))??;
    let list = (head.next()? == FIELD_LIST).then(|| head.next())??;
    (list & 0xf == STRUCT).then_some(())?;
    match list >> 4 {
        LONG => varint(&mut head),
        short => Some(u64::from(short)),
    }
}

/// A number of Thrift's and of Parquet's encodings: seven bits a byte, the lowest first.
pub(super) fn varint(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = bytes.next()?;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
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
    for column in group.columns() {
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
                "compressed with {name}, which lbolt does not read; write it anew with zstd, \
                 Snappy, LZ4 or gzip"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn the_number_of_elements_stands_at_the_footers_beginning() {
        assert_eq!(schema_elements(&[0x15, 0x04, 0x19, 0x4c, 0x48]), Some(4));
        assert_eq!(schema_elements(&[0x15, 0x04, 0x19, 0xfc, 0xac, 0x02]), Some(300));
        assert_eq!(schema_elements(&[0x15, 0x80, 0x80, 0x01, 0x19, 0x1c]), Some(1));
        for damaged in [&[][..], &[0x15], &[0x15, 4, 0x19, 0x45], &[0x16, 4, 0x19, 0x4c]] {
            assert_eq!(schema_elements(damaged), None);
        }
        assert_eq!(varint(&mut [0x80; 20].into_iter()), None);
        assert_eq!(varint(&mut [0xff, 0x01].into_iter()), Some(255));
    }

    #[test]
    fn what_is_not_whole_is_told_by_what_is_missing() {
        let of = |bytes: &[u8]| check_tail(&Source::of_bytes(Bytes::copy_from_slice(bytes)));
        assert!(of(b"").unwrap_err().contains("does not begin"));
        assert!(of(b"PAR").unwrap_err().contains("does not begin"));
        assert!(of(b"PAR1 and no more of it").unwrap_err().contains("no footer"));
        assert!(of(b"PAR1").unwrap_err().contains("no footer"));
        assert!(of(b"PAR1\xff\xff\xff\x7fPAR1").unwrap_err().contains("2147483647 bytes"));
        assert!(of(b"PAR1\0\0\0\0PAR1").unwrap_err().contains("version"));
        // A schema of 2^34 elements, which would be 2 TiB.
        let long = b"PAR1\x15\x04\x19\xfc\x80\x80\x80\x80\x40\x09\0\0\0PAR1";
        assert!(of(long).unwrap_err().contains("17179869184 elements"));
    }

    /// A footer with a schema of groups within groups and a number at the end, and no rows.
    fn nested(elements: u64) -> Vec<u8> {
        let group = [0x35, 0x00, 0x18, 0x01, b'a', 0x15, 0x02, 0x00];
        let leaf = [0x15, 0x04, 0x25, 0x00, 0x18, 0x01, b'a', 0x00];
        let count = [(elements & 0x7f) as u8 | 0x80, (elements >> 7) as u8];
        let mut footer = [&[0x15, 0x02, 0x19, 0xfc], &count[..]].concat();
        (1..elements).for_each(|_| footer.extend(group));
        footer.extend(leaf);
        footer.extend([0x16, 0x00, 0x19, 0x0c, 0x00]);
        let length = (footer.len() as u32).to_le_bytes();
        [&b"PAR1"[..], &footer, &length, b"PAR1"].concat()
    }

    #[test]
    fn a_deep_schema_does_not_overflow_the_stack() {
        use crate::record::requests::RequestFile;
        let open = |bytes: Vec<u8>| {
            RequestFile::of_bytes(std::path::Path::new("x"), bytes.into()).unwrap_err().to_string()
        };
        let shallow = open(nested(3));
        assert!(shallow.contains("no lbolt schema"), "{shallow}");
        let deepest = open(nested(SCHEMA_ELEMENTS));
        assert!(deepest.contains("no lbolt schema"), "{deepest}");
        let deeper = open(nested(SCHEMA_ELEMENTS + 1));
        assert!(deeper.contains("257 elements"), "{deeper}");
    }
}

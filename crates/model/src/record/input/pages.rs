//! The pages of a file's columns, each checked before memory is taken for it and before it is
//! decoded: what a page says of its size and of its number of values is bounded by what its column
//! and the file can hold.
//!
//! Non-goals: decoding; whether the values are right, which nothing but a page's checksum tells
//! (the library looks at it where a writer gave one).

use super::lengths::check_lengths;
use super::source::{From, Source};
use super::thrift::{PAGE_HEADER, Thrift};
use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use std::io::{BufRead as _, BufReader};
use std::sync::Arc;

/// No page is larger; writers make them of about 1 MiB.
const PAGE_BYTES: u64 = 256 << 20;
/// A page of so much is read whatever its column's size is said to be: some writers say it wrong.
const PAGE_BYTES_ALWAYS: u64 = 8 << 20;
/// No header is longer: it may hold the least and the greatest of a page's texts.
const HEADER_BYTES: u64 = 1 << 20;
/// No text of a dictionary is longer: each row that has it takes as much.
const TEXT_BYTES: u32 = 64 << 10;
/// Values of a column of lists in a row group; columns without lists have one a row.
const LIST_VALUES: usize = 64 << 20;

fn damaged<T>(what: String) -> Result<T> {
    Err(ParquetError::General(what))
}

/// Row groups of a file.
#[derive(Debug)]
pub(super) struct Groups {
    source: Source,
    metadata: Arc<ParquetMetaData>,
    numbers: Vec<usize>,
}

impl Groups {
    pub(super) fn new(source: Source, metadata: Arc<ParquetMetaData>, numbers: Vec<usize>) -> Self {
        Self { source, metadata, numbers }
    }

    fn chosen(&self) -> impl Iterator<Item = &RowGroupMetaData> {
        self.numbers.iter().filter_map(|number| self.metadata.row_groups().get(*number))
    }
}

impl RowGroups for Groups {
    fn num_rows(&self) -> usize {
        self.chosen().map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let chunks: Vec<_> = self
            .chosen()
            .filter_map(|group| Some((group.columns().get(column)?.clone(), group.num_rows())))
            .collect();
        Ok(Box::new(Chunks { source: self.source.clone(), chunks: chunks.into_iter() }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.chosen())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// A column's pages in each row group.
struct Chunks {
    source: Source,
    chunks: std::vec::IntoIter<(ColumnChunkMetaData, i64)>,
}

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (column, rows) = self.chunks.next()?;
        Some(Pages::new(self.source.clone(), &column, rows).map(|pages| Box::new(pages) as _))
    }
}

impl PageIterator for Chunks {}

/// The bytes of a column in a row group. A page's header is looked at before the library reads it.
struct Column {
    source: Source,
    page_bytes: u64,
}

impl Length for Column {
    fn len(&self) -> u64 {
        self.source.length()
    }
}

impl ChunkReader for Column {
    type T = BufReader<From>;

    /// Where a page's header begins: the library asks for nothing else, for [`Pages`] lets it not
    /// look ahead.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut from = self.source.get_read(start)?;
        let found = match page_bytes(from.fill_buf()?) {
            Some(bytes) => Some(bytes),
            None => {
                let left = self.source.length().saturating_sub(start);
                page_bytes(&self.source.bytes(start, left.min(HEADER_BYTES) as usize)?)
            }
        };
        match found {
            Some(bytes) if bytes <= self.page_bytes => Ok(from),
            Some(bytes) => damaged(format!("a page says that it is of {bytes} bytes")),
            None => damaged("a page has no header".into()),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.source.bytes(start, length)
    }
}

/// The size of a page that its header tells, decompressed; none if it is no header, or not whole.
fn page_bytes(header: &[u8]) -> Option<u64> {
    let mut thrift = Thrift::new(header);
    thrift.walk(PAGE_HEADER)?;
    thrift.told.first().copied()
}

/// A column's pages in a row group.
struct Pages {
    inner: SerializedPageReader<Column>,
    /// The page after the last one taken, where it was looked at.
    ahead: Option<Page>,
    kind: Type,
    /// How many lists of levels a page begins with.
    levels: usize,
    /// Values that are still to come.
    left: usize,
}

impl Pages {
    fn new(source: Source, column: &ColumnChunkMetaData, rows: i64) -> Result<Self> {
        let told = u64::try_from(column.uncompressed_size()).unwrap_or(0);
        let page_bytes = told.clamp(PAGE_BYTES_ALWAYS, PAGE_BYTES);
        let bytes = Arc::new(Column { source, page_bytes });
        let rows = usize::try_from(rows).unwrap_or(0);
        let left = usize::try_from(column.num_values()).unwrap_or(0);
        if column.column_descr().max_rep_level() > 0 && left > LIST_VALUES {
            return damaged(format!("a column of lists says that it has {left} values"));
        }
        let inner = SerializedPageReader::new(bytes, column, rows, None)?;
        let descriptor = column.column_descr();
        let levels = [descriptor.max_rep_level(), descriptor.max_def_level()];
        let levels = levels.into_iter().filter(|level| *level > 0).count();
        Ok(Self { inner, ahead: None, kind: column.column_type(), levels, left })
    }

    fn fetch(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
        }
        Ok(page)
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        let values = page.num_values() as usize;
        if let Page::DictionaryPage { buf, .. } = page {
            return check_dictionary(self.kind, buf, values);
        }
        let Some(left) = self.left.checked_sub(values) else {
            return damaged(format!("a page has {values} values, and its column {}", self.left));
        };
        self.left = left;
        if let Page::DataPageV2 { num_nulls, num_rows, .. } = page
            && (*num_nulls).max(*num_rows) as usize > values
        {
            return damaged(format!("a page has {num_nulls} nulls in {values} values"));
        }
        if let Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY = page.encoding() {
            return check_lengths(page, values, self.levels).or_else(damaged);
        }
        Ok(())
    }
}

/// A dictionary has no more values than fit it, and its texts are not too long.
fn check_dictionary(kind: Type, buffer: &Bytes, values: usize) -> Result<()> {
    let least = match kind {
        Type::BOOLEAN => 0,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => 1,
    };
    if least == 0 || values > buffer.len() / least {
        return damaged(format!("a dictionary of {} bytes has {values} values", buffer.len()));
    }
    let mut rest = &buffer[..];
    while let (Type::BYTE_ARRAY, Some((length, text))) = (kind, rest.split_first_chunk()) {
        let length = u32::from_le_bytes(*length);
        if length > TEXT_BYTES {
            return damaged(format!("a text is of {length} bytes, more than {TEXT_BYTES}"));
        }
        rest = text.get(length as usize..).unwrap_or_default();
    }
    Ok(())
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        match self.ahead.take() {
            Some(page) => Ok(Some(page)),
            None => self.fetch(),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        if self.ahead.is_none() {
            self.ahead = self.fetch()?;
        }
        Ok(self.ahead.as_ref().map(|page| match page {
            Page::DictionaryPage { .. } => {
                PageMetadata { num_rows: None, num_levels: None, is_dict: true }
            }
            Page::DataPage { num_values, .. } => PageMetadata {
                num_rows: None,
                num_levels: Some(*num_values as usize),
                is_dict: false,
            },
            Page::DataPageV2 { num_values, num_rows, .. } => PageMetadata {
                num_rows: Some(*num_rows as usize),
                num_levels: Some(*num_values as usize),
                is_dict: false,
            },
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.get_next_page().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    fn source(bytes: &[u8]) -> Source {
        Source::of_bytes(Bytes::copy_from_slice(bytes))
    }

    fn pages(schema: &str, values: i64) -> Result<Pages> {
        let message = parse_message_type(&format!("message m {{ {schema} int64 a; }}")).unwrap();
        let schema = SchemaDescriptor::new(Arc::new(message));
        let column = ColumnChunkMetaData::builder(schema.column(0)).set_num_values(values);
        Pages::new(source(&[0; 64]), &column.build().unwrap(), 7)
    }

    fn said<T>(result: Result<T>) -> String {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_page_is_no_larger_than_its_column_may_have() {
        // A header that tells of 16 bytes.
        let header = [0x15, 0x04, 0x15, 0x20, 0];
        assert_eq!((page_bytes(&header), page_bytes(&header[..4])), (Some(16), None));
        let column = |page_bytes, bytes: &[u8]| Column { source: source(bytes), page_bytes };
        assert_eq!(Length::len(&column(16, &header)), 5);
        assert!(column(16, &header).get_read(0).is_ok());
        let error = said(column(15, &header).get_read(0));
        assert!(error.ends_with("a page says that it is of 16 bytes"), "{error}");
        let error = said(column(16, &header[..4]).get_read(0));
        assert!(error.ends_with("a page has no header"), "{error}");
        assert_eq!(column(16, &header).get_bytes(1, 2).unwrap(), header[1..3]);
    }

    #[test]
    fn a_column_of_lists_has_values_for_which_there_is_memory() {
        let most = LIST_VALUES as i64;
        let error = said(pages("repeated", most + 1));
        assert!(error.ends_with("a column of lists says that it has 67108865 values"), "{error}");
        for (schema, values, levels) in
            [("repeated", most, 2), ("optional", most + 1, 1), ("required", most + 1, 0)]
        {
            let pages = pages(schema, values).unwrap();
            assert_eq!((pages.levels, pages.left), (levels, values as usize));
        }
    }

    fn second(num_values: u32, num_nulls: u32, num_rows: u32) -> Page {
        Page::DataPageV2 {
            buf: Bytes::new(),
            num_values,
            encoding: Encoding::PLAIN,
            num_nulls,
            num_rows,
            def_levels_byte_len: 0,
            rep_levels_byte_len: 0,
            is_compressed: false,
            statistics: None,
        }
    }

    #[test]
    fn pages_have_no_more_values_than_their_column_and_no_more_nulls_than_values() {
        let mut pages = pages("required", 7).unwrap();
        assert!(pages.check(&second(3, 3, 3)).is_ok());
        assert_eq!(pages.left, 4);
        let error = said(pages.check(&second(5, 0, 5)));
        assert!(error.ends_with("a page has 5 values, and its column 4"), "{error}");
        for (nulls, rows) in [(3, 2), (0, 3)] {
            let error = said(pages.check(&second(2, nulls, rows)));
            assert!(error.ends_with(&format!("has {nulls} nulls in 2 values")), "{error}");
            pages.left = 4;
        }
    }

    #[test]
    fn a_page_that_was_looked_at_is_the_next() {
        let mut pages = pages("required", 7).unwrap();
        pages.ahead = Some(second(3, 0, 2));
        let told = pages.peek_next_page().unwrap().unwrap();
        assert_eq!((told.num_rows, told.num_levels, told.is_dict), (Some(2), Some(3), false));
        assert_eq!(pages.get_next_page().unwrap().unwrap().num_values(), 3);
        assert!(pages.ahead.is_none());
    }

    #[test]
    fn a_dictionary_holds_its_values_and_no_long_texts() {
        let check = |kind, bytes: &[u8], values| {
            said(check_dictionary(kind, &Bytes::copy_from_slice(bytes), values))
        };
        for (kind, least) in [
            (Type::INT32, 4),
            (Type::FLOAT, 4),
            (Type::BYTE_ARRAY, 4),
            (Type::INT64, 8),
            (Type::DOUBLE, 8),
            (Type::INT96, 12),
            (Type::FIXED_LEN_BYTE_ARRAY, 1),
        ] {
            let bytes = vec![0; 3 * least];
            assert_eq!(check(kind, &bytes, 3), "", "{kind}");
            let error = check(kind, &bytes, 4);
            let expected = format!("a dictionary of {} bytes has 4 values", 3 * least);
            assert!(error.ends_with(&expected), "{error}");
        }
        assert!(!check(Type::BOOLEAN, &[0; 9], 0).is_empty());
        let text = |length: u32| {
            let text = vec![b'x'; length as usize];
            [&1u32.to_le_bytes()[..], b"a", &length.to_le_bytes(), &text].concat()
        };
        assert_eq!(check(Type::BYTE_ARRAY, &text(TEXT_BYTES), 2), "");
        let error = check(Type::BYTE_ARRAY, &text(TEXT_BYTES + 1), 2);
        assert!(error.ends_with("a text is of 65537 bytes, more than 65536"), "{error}");
        assert_eq!(check(Type::INT32, &text(TEXT_BYTES + 1), 2), "");
    }
}

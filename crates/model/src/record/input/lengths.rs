//! The lengths that a page of texts begins with where it is encoded by differences
//! (`DELTA_LENGTH_BYTE_ARRAY`, `DELTA_BYTE_ARRAY`): the library takes memory for as many as the
//! page says, so that it is looked at before.
//!
//! Non-goals: the lengths themselves.

use super::thrift::Thrift;
use parquet::basic::Encoding;
use parquet::column::page::Page;

/// Checks that no list of lengths is longer than the page has values. `levels` is how many lists of
/// levels stand before them.
pub(super) fn check_lengths(page: &Page, values: usize, levels: usize) -> Result<(), String> {
    let mut rest = encoded(page, levels).ok_or("a page ends within its levels")?;
    // Of what each text shares with the one before it, and of what is its own.
    let lists = if page.encoding() == Encoding::DELTA_BYTE_ARRAY { 2 } else { 1 };
    for _ in 0..lists {
        let (count, after) =
            skip_list(rest).ok_or("a page ends within the lengths of its texts")?;
        if count > values as u64 {
            return Err(format!("a page of {values} values says that it has {count} texts"));
        }
        rest = after;
    }
    Ok(())
}

/// What a page holds behind its levels.
fn encoded(page: &Page, levels: usize) -> Option<&[u8]> {
    let buffer = &page.buffer()[..];
    match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            let levels = def_levels_byte_len.checked_add(*rep_levels_byte_len)?;
            buffer.get(levels as usize..)
        }
        _ => (0..levels).try_fold(buffer, |rest, _| {
            let (length, rest) = rest.split_first_chunk()?;
            rest.get(u32::from_le_bytes(*length) as usize..)
        }),
    }
}

/// How many numbers a list encoded as `DELTA_BINARY_PACKED` has, and what stands behind it.
fn skip_list(list: &[u8]) -> Option<(u64, &[u8])> {
    let mut rest = Thrift::new(list);
    let [block, parts, count, _first] =
        [rest.varint()?, rest.varint()?, rest.varint()?, rest.varint()?];
    let part = block.checked_div(parts).filter(|part| *part > 0)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        let _least = rest.varint()?;
        let (widths, packed) = rest.rest.split_at_checked(usize::try_from(parts).ok()?)?;
        let mut length = 0u64;
        for width in widths {
            if left > 0 {
                length = length.checked_add(u64::from(*width).checked_mul(part)? / 8)?;
            }
            left = left.saturating_sub(part);
        }
        rest = Thrift::new(packed.get(usize::try_from(length).ok()?..)?);
    }
    Some((count, rest.rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// 200 numbers in blocks of 128 in 4 parts of 2, 0, 1 and 3 bits; the second block's last part
    /// is not used.
    fn list(count: u64) -> Vec<u8> {
        let head = [0x80, 0x01, 4, (count & 0x7f) as u8 | 0x80, (count >> 7) as u8, 0];
        let block =
            |widths: [u8; 4], bytes: usize| [&[0][..], &widths, &vec![0xff; bytes]].concat();
        [&head[..], &block([2, 0, 1, 3], 24), &block([1, 1, 1, 9], 12)].concat()
    }

    fn page(encoding: Encoding, buf: Vec<u8>, num_values: u32) -> Page {
        Page::DataPage {
            buf: Bytes::from(buf),
            num_values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }
    }

    #[test]
    fn a_list_ends_where_its_parts_do() {
        let bytes = [list(200), b"text".to_vec()].concat();
        assert_eq!(skip_list(&bytes), Some((200, &b"text"[..])));
        assert_eq!(skip_list(&[0x80, 1, 4, 1, 6]), Some((1, &[][..])));
        assert_eq!(skip_list(&bytes[..20]), None);
        assert_eq!(skip_list(&[0x80, 1, 0, 1, 6]), None);
    }

    #[test]
    fn more_texts_than_values_are_refused() {
        let levels = [&[2, 0, 0, 0, 9, 9][..], &list(200), &list(200), b"text"].concat();
        let page = |values| page(Encoding::DELTA_BYTE_ARRAY, levels.clone(), values);
        assert_eq!(check_lengths(&page(200), 200, 1), Ok(()));
        let error = check_lengths(&page(199), 199, 1).unwrap_err();
        assert!(error.contains("199 values") && error.contains("200 texts"), "{error}");
        assert!(check_lengths(&page(200), 200, 2).is_err());
        // 2^40 of them, which would be 4 TiB.
        let huge = vec![0x80, 1, 4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0];
        let huge = self::page(Encoding::DELTA_LENGTH_BYTE_ARRAY, huge, 5);
        assert!(check_lengths(&huge, 5, 0).is_err());
    }

    #[test]
    fn a_page_has_the_lists_of_its_encoding_behind_levels_of_either_kind() {
        let of_lengths = [list(200), b"text".to_vec()].concat();
        let one = page(Encoding::DELTA_LENGTH_BYTE_ARRAY, of_lengths, 200);
        assert_eq!(check_lengths(&one, 200, 0), Ok(()));
        let second = |def_levels_byte_len, rep_levels_byte_len| Page::DataPageV2 {
            buf: Bytes::from([&[9, 9, 9][..], &list(200)].concat()),
            num_values: 200,
            encoding: Encoding::DELTA_LENGTH_BYTE_ARRAY,
            num_nulls: 0,
            num_rows: 200,
            def_levels_byte_len,
            rep_levels_byte_len,
            is_compressed: false,
            statistics: None,
        };
        assert_eq!(check_lengths(&second(2, 1), 200, 0), Ok(()));
        let error = check_lengths(&second(900, 1), 200, 0).unwrap_err();
        assert_eq!(error, "a page ends within its levels");
        assert!(check_lengths(&second(u32::MAX, 1), 200, 0).is_err());
        // Blocks of fewer numbers than they have parts.
        assert_eq!(skip_list(&[1, 4, 1, 6]), None);
    }
}

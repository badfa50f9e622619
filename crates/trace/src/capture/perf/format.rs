//! Where a tracepoint has its fields: the text of tracefs' `events/block/NAME/format`, which
//! differs between kernels, read into offsets.
//!
//! A line for each field, its parts between tabs: `field:char rwbs[10]; offset:34; size:10;
//! signed:0;`.
//!
//! Source: `f_show` in kernel/trace/trace_events.c.
//!
//! Non-goals: fields whose place is given in each record (`__data_loc`).

/// A field of a tracepoint's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// Its bytes in a record; none of a record that ends before it.
    #[inline]
    pub(super) fn bytes<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// Its number in a record, if it has a number's size. Signs are the caller's.
    #[inline]
    pub(super) fn number(&self, record: &[u8]) -> Option<u64> {
        let bytes = self.bytes(record)?;
        Some(match bytes.len() {
            2 => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
            4 => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
            8 => u64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// Its text in a record, up to its end or the first 0.
    #[inline]
    pub(super) fn text<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = self.bytes(record)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(&bytes[..end])
    }
}

/// The field of that name; none if the format has none, or is no format.
pub(super) fn field(format: &str, name: &str) -> Option<Field> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().split(';').map(str::trim);
        let declaration = parts.next()?.strip_prefix("field:")?;
        let (kind, declared) = declaration.rsplit_once([' ', '\t'])?;
        let declared = declared.split_once('[').map_or(declared, |(declared, _)| declared);
        if declared != name || kind.starts_with("__data_loc") {
            return None;
        }
        let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse::<u16>().ok();
        let (offset, size) = (number("offset:")?, number("size:")?);
        Some(Field { offset: offset.into(), size: size.into() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of Linux 6.18, shortened to what is read.
    const ISSUE: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"%d,%d %s %u\", ((unsigned int) ((REC->dev) >> 20)), REC->rwbs\n";

    #[test]
    fn a_field_is_found_by_its_name_alone() {
        for (name, offset, size) in [
            ("common_type", 0, 2),
            ("dev", 8, 4),
            ("sector", 16, 8),
            ("nr_sector", 24, 4),
            ("rwbs", 34, 10),
        ] {
            assert_eq!(field(ISSUE, name), Some(Field { offset, size }), "{name}");
        }
        for absent in ["", "rwb", "rwbs[10]", "cmd", "error", "ID", "type"] {
            assert_eq!(field(ISSUE, absent), None, "{absent}");
        }
    }

    #[test]
    fn what_is_no_format_has_no_fields() {
        for bad in [
            "",
            "field:dev_t dev;",
            "field:dev_t dev; offset:8;",
            "field:dev_t dev; offset:; size:4;",
            "field:dev_t dev; offset:-8; size:4;",
            "field:dev_t dev; offset:99999999999; size:4;",
            "field:dev_t dev; size:4; offset:8;",
            "field:dev; offset:8; size:4;",
        ] {
            assert_eq!(field(bad, "dev"), None, "{bad}");
        }
    }

    #[test]
    fn numbers_and_text_are_read_where_they_are() {
        let mut record = vec![0; 44];
        record[8..12].copy_from_slice(&7u32.to_ne_bytes());
        record[16..24].copy_from_slice(&u64::MAX.to_ne_bytes());
        record[34..37].copy_from_slice(b"FWS");
        let of = |name| field(ISSUE, name).unwrap();
        assert_eq!(of("dev").number(&record), Some(7));
        assert_eq!(of("sector").number(&record), Some(u64::MAX));
        assert_eq!(of("rwbs").text(&record), Some(&b"FWS"[..]));
        assert_eq!(of("rwbs").number(&record), None);
        record[34..44].copy_from_slice(b"0123456789");
        assert_eq!(of("rwbs").text(&record), Some(&b"0123456789"[..]));
        assert_eq!(of("rwbs").text(&record[..43]), None);
        assert_eq!(of("sector").number(&record[..20]), None);
    }

    proptest! {
        #[test]
        fn any_text_has_the_field_or_not(text in "(field:|dev|offset:|size:|[ ;\t\n0-9]){0,12}") {
            let _ = field(&text, "dev");
        }

        #[test]
        fn any_place_is_within_the_record_or_refused(
            offset: u16,
            size: u16,
            length in 0usize..200,
        ) {
            let line = format!("field:char x[]; offset:{offset}; size:{size}; signed:0;");
            let found = field(&line, "x").unwrap();
            let record = vec![1; length];
            let is_within = usize::from(offset) + usize::from(size) <= length;
            prop_assert_eq!(found.bytes(&record).is_some(), is_within);
        }
    }
}

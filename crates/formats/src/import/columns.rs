//! Tables whose first line names their columns: the ones that are wanted, wherever they stand.
//!
//! Non-goals: quotes within quotes, as no format here writes them.

/// Where `N` wanted columns stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns<const N: usize> {
    /// Of each column the place among the wanted ones, as far as the last that is.
    wanted: Vec<Option<usize>>,
    /// Which of the wanted there are, as it is requested in every row.
    has: [bool; N],
}

impl<const N: usize> Columns<N> {
    /// By the names; `place` gives a name's place among the wanted. Of two with the same place the
    /// first counts.
    pub(super) fn by_names<'a>(
        names: impl Iterator<Item = &'a [u8]>,
        mut place: impl FnMut(&'a [u8]) -> Option<usize>,
    ) -> Self {
        let (mut wanted, mut has) = (Vec::new(), [false; N]);
        for (position, name) in names.enumerate() {
            let found = place(name.trim_ascii()).filter(|p| *p < N && !has[*p]);
            if let Some(place) = found {
                wanted.resize(position, None);
                wanted.push(found);
                has[place] = true;
            }
        }
        Self { wanted, has }
    }

    /// Whether there is a column for that place.
    #[inline]
    pub(super) fn has(&self, place: usize) -> bool {
        self.has.get(place).copied().unwrap_or(false)
    }

    /// The wanted fields of a row, without blanks around them; those that have no column are empty.
    /// None if the row ends before the last of them.
    #[inline]
    pub(super) fn pick<'a>(
        &self,
        mut fields: impl Iterator<Item = &'a [u8]>,
    ) -> Option<[&'a [u8]; N]> {
        let mut found: [&[u8]; N] = [&[]; N];
        for place in &self.wanted {
            let field = fields.next()?;
            if let Some(place) = place {
                found[*place] = field.trim_ascii();
            }
        }
        Some(found)
    }
}

/// Fields between separators, of which some may stand in quotes.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Fields<'a> {
    #[inline]
    pub(super) fn of(line: &'a [u8], separator: u8) -> Self {
        Self { rest: Some(line), separator }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.take()?;
        let quoted = rest.strip_prefix(b"\"").and_then(|inner| {
            let end = memchr::memchr(b'"', inner)?;
            Some((&inner[..end], &inner[end + 1..]))
        });
        let (field, after) = quoted.unwrap_or((rest, rest));
        match memchr::memchr(self.separator, after) {
            Some(end) => {
                self.rest = Some(&after[end + 1..]);
                Some(if quoted.is_some() { field } else { &after[..end] })
            }
            None => Some(field),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_fields_are_found_where_their_names_stand() {
        let place = |name: &[u8]| [&b"size"[..], b"time", b"disk"].iter().position(|n| *n == name);
        let columns = Columns::<3>::by_names(Fields::of(b"x, time ,y,size,z,time", b','), place);
        assert!(columns.has(0) && columns.has(1) && !columns.has(2));
        let row = |line: &'static [u8]| columns.pick(Fields::of(line, b','));
        assert_eq!(row(b"1, 2,3, 4 ,5,6"), Some([&b"4"[..], b"2", b""]));
        assert_eq!(row(b"1,2,3,4"), Some([&b"4"[..], b"2", b""]));
        assert_eq!(row(b"1,2,3"), None);
    }

    #[test]
    fn quotes_keep_separators_together() {
        let fields: Vec<_> = Fields::of(br#"a,"16,384",,"b","""#, b',').collect();
        assert_eq!(fields, [&b"a"[..], b"16,384", b"", b"b", b""]);
        assert_eq!(Fields::of(br#""open,b"#, b',').count(), 2);
        assert_eq!(Fields::of(b"", b',').collect::<Vec<_>>(), [b""]);
    }
}

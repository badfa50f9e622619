//! Numbers by when they were put first: those that were lately are found without a look at the
//! others.
//!
//! Non-goals: what the numbers stand for.

/// No number.
const NONE: u32 = u32::MAX;
/// Before what is not in the list.
const NOWHERE: u32 = u32::MAX - 1;

/// Numbers by when they were put first: a list through a table.
#[derive(Debug)]
pub(super) struct Recent {
    first: u32,
    links: Vec<Link>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    behind: u32,
    put_ns: i64,
}

impl Default for Recent {
    fn default() -> Self {
        Self { first: NONE, links: Vec::new() }
    }
}

impl Recent {
    #[inline]
    pub(super) fn remove(&mut self, number: usize) {
        let Some(link) = self.links.get_mut(number) else { return };
        let Link { before, behind, .. } = *link;
        if before == NOWHERE {
            return;
        }
        link.before = NOWHERE;
        match self.links.get_mut(before as usize) {
            Some(link) => link.behind = behind,
            None => self.first = behind,
        }
        if let Some(link) = self.links.get_mut(behind as usize) {
            link.before = before;
        }
    }

    /// Puts one first that is not there.
    #[inline]
    pub(super) fn put_first(&mut self, number: usize, put_ns: i64) {
        if self.links.len() <= number {
            let nowhere = Link { before: NOWHERE, behind: NONE, put_ns: 0 };
            self.links.resize(number + 1, nowhere);
        }
        let behind = std::mem::replace(&mut self.first, number as u32);
        if let Some(link) = self.links.get_mut(behind as usize) {
            link.before = number as u32;
        }
        self.links[number] = Link { before: NONE, behind, put_ns };
    }

    /// Those that were put first at a moment or later.
    #[inline]
    pub(super) fn since(&self, from_ns: i64) -> impl Iterator<Item = usize> + '_ {
        let mut next = self.first;
        std::iter::from_fn(move || {
            let number = next as usize;
            let link = self.links.get(number).filter(|link| link.put_ns >= from_ns)?;
            next = link.behind;
            Some(number)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn those_put_first_last_come_first(
            steps in prop::collection::vec((0usize..6, any::<bool>()), 0..60),
        ) {
            let (mut recent, mut expected) = (Recent::default(), Vec::<(usize, i64)>::new());
            for ((number, is_put), now_ns) in steps.into_iter().zip(0..) {
                recent.remove(number);
                expected.retain(|(known, _)| *known != number);
                if is_put {
                    recent.put_first(number, now_ns);
                    expected.insert(0, (number, now_ns));
                }
                let late = expected.iter().filter(|(_, at_ns)| *at_ns >= now_ns / 2);
                let late: Vec<usize> = late.map(|(number, _)| *number).collect();
                prop_assert_eq!(recent.since(now_ns / 2).collect::<Vec<_>>(), late);
            }
        }
    }
}

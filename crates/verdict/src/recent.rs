//! Numbers by when they were put first: those that were lately are found without a look at the
//! others.
//!
//! Non-goals: what the numbers stand for.

/// Numbers by when they were put first: a list through a table.
#[derive(Debug, Default)]
pub(super) struct Recent {
    first: Option<usize>,
    links: Vec<Option<Link>>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    before: Option<usize>,
    behind: Option<usize>,
    put_ns: i64,
}

impl Recent {
    pub(super) fn remove(&mut self, number: usize) {
        let link = self.links.get_mut(number).and_then(Option::take);
        let Some(Link { before, behind, .. }) = link else { return };
        match before {
            Some(before) => self.with(Some(before), |link| link.behind = behind),
            None => self.first = behind,
        }
        self.with(behind, |link| link.before = before);
    }

    fn with(&mut self, number: Option<usize>, change: impl FnOnce(&mut Link)) {
        let link = number.and_then(|number| self.links.get_mut(number)?.as_mut());
        if let Some(link) = link {
            change(link);
        }
    }

    /// Puts one first that is not there.
    pub(super) fn put_first(&mut self, number: usize, put_ns: i64) {
        if self.links.len() <= number {
            self.links.resize(number + 1, None);
        }
        let behind = self.first.replace(number);
        self.with(behind, |link| link.before = Some(number));
        self.links[number] = Some(Link { before: None, behind, put_ns });
    }

    /// Those that were put first at a moment or later.
    pub(super) fn since(&self, from_ns: i64) -> impl Iterator<Item = usize> + '_ {
        let link = |number: &usize| self.links.get(*number).copied().flatten();
        std::iter::successors(self.first, move |number| link(number)?.behind)
            .take_while(move |number| link(number).is_some_and(|link| link.put_ns >= from_ns))
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

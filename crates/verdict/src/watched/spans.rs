//! Spans of the wall clock, as the requests' clock has them: each begins at a multiple of its width
//! since 1970, and at whatever moment the wall clock was set.
//!
//! Non-goals: time zones.

use std::collections::VecDeque;

/// Spans that are remembered, for what ends late.
const KEPT: usize = 256;

/// A difference of the two clocks above this is no drift: the wall clock was set.
const SET_NS: i64 = 500_000_000;

/// A time that is summed up together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Span {
    /// Counts them.
    pub number: u64,
    /// Its begin on the requests' clock.
    pub from_ns: i64,
    /// Its end there; of the one that goes on, as far as is known now.
    pub until_ns: i64,
    /// Its begin by the wall clock of that moment.
    pub from_unix_ns: i64,
    /// Its end by the same clock.
    pub until_unix_ns: i64,
}

/// The wall clock was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockSet {
    /// By how much: forward, or back where it is less than nothing.
    pub by_ns: i64,
}

/// The spans so far.
#[derive(Debug)]
pub struct Spans {
    width_ns: i64,
    spans: VecDeque<Span>,
    next: u64,
}

impl Spans {
    /// Spans of a width; none has begun.
    pub fn new(width_ns: i64) -> Self {
        Self { width_ns: width_ns.max(1), spans: VecDeque::new(), next: 0 }
    }

    /// It is now this late on both clocks. Says whether the wall clock was set since the last time.
    pub fn advance(&mut self, now_ns: i64, unix_ns: i64) -> Option<ClockSet> {
        let Some(last) = self.spans.back_mut() else {
            self.begin(now_ns, unix_ns);
            return None;
        };
        let by_ns = (unix_ns - now_ns) - (last.until_unix_ns - last.until_ns);
        if by_ns.abs() > SET_NS {
            // What is between the last reading and this one cannot be told apart.
            let went_on_ns = (now_ns - last.from_ns).max(0);
            (last.until_ns, last.until_unix_ns) = (now_ns, last.from_unix_ns + went_on_ns);
            self.begin(now_ns, unix_ns);
            return Some(ClockSet { by_ns });
        }
        last.until_ns = now_ns + (last.until_unix_ns - unix_ns);
        self.reach(now_ns);
        None
    }

    /// Begins the spans until a moment that the requests have reached: they are told of sooner than
    /// the clocks are read.
    pub fn reach(&mut self, time_ns: i64) {
        while let Some(last) = self.spans.back().filter(|last| last.until_ns <= time_ns).copied() {
            self.begin(last.until_ns, last.until_unix_ns);
        }
    }

    fn begin(&mut self, from_ns: i64, from_unix_ns: i64) {
        let until_unix_ns = (from_unix_ns.div_euclid(self.width_ns) + 1) * self.width_ns;
        let until_ns = from_ns + (until_unix_ns - from_unix_ns);
        let number = self.next;
        self.next += 1;
        if self.spans.len() == KEPT {
            self.spans.pop_front();
        }
        self.spans.push_back(Span { number, from_ns, until_ns, from_unix_ns, until_unix_ns });
    }

    /// The span that goes on.
    pub fn current(&self) -> Option<&Span> {
        self.spans.back()
    }

    /// All that are remembered, in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Span> {
        self.spans.iter()
    }

    /// The span of a moment. What is before all of them is in the first, what is to come in the
    /// last.
    pub fn of(&self, time_ns: i64) -> Option<&Span> {
        let later = self.spans.iter().rev().find(|span| span.from_ns <= time_ns);
        later.or_else(|| self.spans.front())
    }

    /// The span of a number, while it is remembered.
    pub fn numbered(&self, number: u64) -> Option<&Span> {
        let first = self.spans.front()?.number;
        self.spans.get(usize::try_from(number.checked_sub(first)?).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn shown(spans: &Spans) -> Vec<(i64, i64, i64, i64)> {
        let s = |ns: i64| ns / S;
        let of = |span: &Span| {
            (s(span.from_ns), s(span.until_ns), s(span.from_unix_ns), s(span.until_unix_ns))
        };
        spans.iter().map(of).collect()
    }

    #[test]
    fn spans_are_the_wall_clocks_minutes() {
        let mut spans = Spans::new(60 * S);
        for second in 0..130 {
            assert_eq!(spans.advance(second * S, (second + 1030) * S), None);
        }
        let expected = [(0, 50, 1030, 1080), (50, 110, 1080, 1140), (110, 170, 1140, 1200)];
        assert_eq!(shown(&spans), expected);
        let of = |s: i64| spans.of(s * S).map(|span| span.number);
        assert_eq!([of(-5), of(0), of(49), of(50), of(500)].map(Option::unwrap), [0, 0, 0, 1, 2]);
        assert_eq!(spans.numbered(1).map(|span| span.from_ns), Some(50 * S));
        assert_eq!(spans.numbered(3), None);
    }

    #[test]
    fn what_comes_before_the_clocks_are_read_is_of_its_own_span() {
        let mut spans = Spans::new(60 * S);
        spans.advance(0, 1030 * S);
        spans.advance(49 * S, 1079 * S);
        let number = |spans: &Spans, s: i64| spans.of(s * S).map(|span| span.number);
        assert_eq!(number(&spans, 51), Some(0), "nobody has said so yet");
        spans.reach(51 * S);
        assert_eq!([49, 50, 51].map(|s| number(&spans, s)), [Some(0), Some(1), Some(1)]);
        // The clocks are read later, and one was set meanwhile.
        assert_eq!(spans.advance(52 * S, 1082 * S), None);
        assert_eq!(spans.advance(53 * S, 2083 * S).map(|set| set.by_ns / S), Some(1000));
        assert_eq!(shown(&spans)[1], (50, 53, 1080, 1083));
    }

    #[test]
    fn a_clock_that_is_set_ends_a_span_and_begins_another() {
        let mut spans = Spans::new(60 * S);
        spans.advance(0, 600 * S);
        assert_eq!(spans.advance(10 * S, 610 * S + 200_000_000), None, "it drifts");
        assert_eq!(spans.advance(20 * S, 4220 * S).map(|set| set.by_ns / S), Some(3599));
        assert_eq!(spans.advance(30 * S, 4230 * S), None);
        assert_eq!(spans.advance(40 * S, 640 * S).map(|set| set.by_ns / S), Some(-3600));
        let expected = [(0, 20, 600, 620), (20, 40, 4220, 4240), (40, 60, 640, 660)];
        assert_eq!(shown(&spans), expected);
    }

    #[test]
    fn no_span_is_missing_where_nobody_looked_for_long_and_the_first_are_forgotten() {
        let mut spans = Spans::new(60 * S);
        spans.advance(0, 0);
        spans.advance(190 * S, 190 * S);
        assert_eq!(spans.iter().count(), 4);
        spans.advance(60 * 1000 * S, 60 * 1000 * S);
        assert_eq!(spans.iter().count(), KEPT);
        let last = spans.current().unwrap();
        assert_eq!(spans.numbered(last.number), Some(last));
    }
}

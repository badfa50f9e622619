//! Which files are put together next, and which go first where the room is used up. By names alone.
//!
//! How old a day is counts by the clock and by the later days that there are: a clock that was set
//! forward by years makes nothing old, and a machine that was off for months loses no detail.

use super::name::{DAY_NS, FileName, Level};
use std::collections::BTreeSet;

/// Days whose minutes are kept.
pub(super) const DAYS_OF_MINUTES: i64 = 31;
/// Days whose hours are kept.
pub(super) const DAYS_OF_HOURS: i64 = 400;

/// Files that become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Merge {
    /// The first name of what they become.
    pub(super) target: FileName,
    /// In the order of their time.
    pub(super) sources: Vec<FileName>,
}

/// How old days are.
struct Ages {
    now_day: i64,
    days: BTreeSet<i64>,
    months: BTreeSet<i64>,
}

impl Ages {
    fn of(files: &BTreeSet<FileName>, now_ns: i64) -> Self {
        let days = |is_month: bool| {
            let of =
                files.iter().filter(move |file| (file.level == Level::MonthOfDays) == is_month);
            of.map(|file| file.day()).collect()
        };
        Self { now_day: now_ns.div_euclid(DAY_NS), days: days(false), months: days(true) }
    }

    /// Days that were watched later than this one, at the least, and no more than the clock says.
    fn of_day(&self, day: i64) -> i64 {
        let later = self.days.range(day + 1..).count() + 28 * self.months.range(day + 1..).count();
        i64::try_from(later).unwrap_or(i64::MAX).min(self.now_day - day)
    }
}

/// What is to be put together now: hours and days that are over, and what is old.
pub(super) fn due(files: &BTreeSet<FileName>, now_ns: i64) -> Option<Merge> {
    let ages = Ages::of(files, now_ns);
    let wanted = |file: FileName| match file.level {
        Level::Minute => Level::HourOfMinutes,
        Level::HourOfMinutes => Level::DayOfMinutes,
        Level::DayOfMinutes if ages.of_day(file.day()) >= DAYS_OF_MINUTES => Level::DayOfHours,
        Level::DayOfHours if is_old_month(&ages, file) => Level::MonthOfDays,
        same => same,
    };
    // The finest first: an hour is whole before its day is made.
    let mut by_level: Vec<FileName> = files.iter().copied().collect();
    by_level.sort_by_key(|file| (file.level, *file));
    // Most files stay as they are: not each of them is held against all others.
    let is_alone = |file: FileName| {
        let mut near =
            files.range(..file).next_back().into_iter().chain(files.range(file.next()..).next());
        near.all(|other| (other.level, other.begin_ns()) != (file.level, file.begin_ns()))
    };
    let stays = |file: FileName| wanted(file) == file.level && is_alone(file);
    by_level.into_iter().filter(|file| !stays(*file)).find_map(|file| {
        let merge = gathered(files, wanted(file), file, |_| true);
        let is_change = merge.target.level != file.level || merge.sources.len() > 1;
        (is_change && merge.target.end_ns() <= now_ns).then_some(merge)
    })
}

/// Whether all of a day's month is old.
fn is_old_month(ages: &Ages, file: FileName) -> bool {
    let month = FileName::of(Level::MonthOfDays, file.begin_ns());
    ages.of_day(month.end_ns().div_euclid(DAY_NS) - 1) >= DAYS_OF_HOURS
}

/// All files of one level, and those of the level that they become, in one time of the latter.
fn gathered(
    files: &BTreeSet<FileName>,
    target: Level,
    like: FileName,
    is_taken: impl Fn(FileName) -> bool,
) -> Merge {
    let target = FileName::of(target, like.begin_ns());
    let is_source = |file: &FileName| {
        let is_level = file.level == target.level || (file.level == like.level && is_taken(*file));
        is_level && FileName::of(target.level, file.begin_ns()) == target
    };
    Merge { target, sources: files.iter().copied().filter(is_source).collect() }
}

/// What becomes coarser first where there is too little room: what is nearest to the age at which
/// it would.
pub(super) fn coarser(files: &BTreeSet<FileName>, now_ns: i64) -> Option<Merge> {
    let ages = Ages::of(files, now_ns);
    let share = |file: &FileName| {
        let age = ages.of_day(file.day()).max(0) + 1;
        match file.level {
            Level::HourOfMinutes | Level::DayOfMinutes => Some(age * DAYS_OF_HOURS),
            Level::DayOfHours => Some(age * DAYS_OF_MINUTES),
            Level::Minute | Level::MonthOfDays => None,
        }
    };
    let oldest = files.iter().filter_map(|file| Some((share(file)?, *file)));
    // Of equal ones the first.
    let (_, file) = oldest.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let target = match file.level {
        Level::DayOfHours => Level::MonthOfDays,
        _ => Level::DayOfHours,
    };
    Some(gathered(files, target, file, |other| other == file))
}

/// What is dropped first.
pub(super) fn oldest(files: impl Iterator<Item = FileName>) -> Option<FileName> {
    files.min_by_key(|file| (file.end_ns(), *file))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days of hours from the first of January 2026 on, as long as these are.
    fn days(count: i64) -> (BTreeSet<FileName>, i64) {
        let begin = 1_767_225_600 * 1_000_000_000;
        let of_day = |day: i64| FileName::of(Level::DayOfHours, begin + day * DAY_NS);
        ((0..count).map(of_day).collect(), begin + count * DAY_NS)
    }

    #[test]
    fn a_month_is_made_when_all_of_it_is_old() {
        let (files, now_ns) = days(430);
        assert_eq!(due(&files, now_ns), None);
        let (mut files, now_ns) = days(431);
        let merge = due(&files, now_ns).unwrap();
        assert_eq!(merge.target.to_string(), "202601Z.month-of-days.parquet");
        assert_eq!(merge.sources.len(), 31);
        files.retain(|file| !merge.sources.contains(file));
        files.insert(merge.target);
        assert_eq!(due(&files, now_ns), None);
        // By the clock alone nothing is old.
        let (files, now_ns) = days(40);
        assert_eq!(due(&files, now_ns + 9_000 * DAY_NS), None);
    }

    #[test]
    fn what_is_nearest_to_its_age_becomes_coarser_first() {
        let (mut files, now_ns) = days(200);
        let minutes: Vec<FileName> =
            (1..=9).map(|day| FileName::of(Level::DayOfMinutes, now_ns - day * DAY_NS)).collect();
        files.retain(|file| minutes.iter().all(|day| day.begin_ns() != file.begin_ns()));
        files.extend(&minutes[..]);
        // 199 days of 400, and 8 of 31.
        let merge = coarser(&files, now_ns).unwrap();
        assert_eq!(merge.target.level, Level::MonthOfDays);
        assert_eq!(merge.sources.len(), 1);
        files.retain(|file| file.level == Level::DayOfMinutes);
        let merge = coarser(&files, now_ns).unwrap();
        assert_eq!(merge.sources, [minutes[8]]);
        assert_eq!(merge.target.level, Level::DayOfHours);
        assert_eq!(oldest(files.into_iter()), Some(minutes[8]));
    }
}

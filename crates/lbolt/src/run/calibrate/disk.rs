//! A rotating disk's inside as a profile, with those of its habits that reads alone do not show one
//! by one: each set of them is tried on the classes that are fitted.

use super::profile::{OWN, head, judged_text, number, rounds_of};
use crate::resolve::calibrate::ResolvedCalibration;
use crate::resolve::modelled::refused;
use analyze::calibrate::{Judged, Range, compare};
use model::calibration::{Disk, Pass, ReadAhead};
use papers::CATALOG;
use sim::profile::Profile;
use std::fmt::Write as _;

/// Habits of a cache that change what a stream of reads takes.
const HABITS: [&str; 4] = [
    "reads_ahead_on_hit = true",
    "hits_on_next = true",
    "reads_free_blocks = true",
    "read_water = \"100 %\"",
];

/// What reads one by one leave open.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Choice {
    habits: u32,
    read_ahead: ReadAhead,
    /// Which end of the command's interval, or its middle.
    command: usize,
}

impl Choice {
    /// Those that differ from it in one point.
    fn others(self) -> impl Iterator<Item = Self> {
        let habits =
            (0..HABITS.len()).map(move |at| Self { habits: self.habits ^ 1 << at, ..self });
        let kinds = [ReadAhead::Track, ReadAhead::NextTrack];
        let kinds = kinds.map(move |read_ahead| Self { read_ahead, ..self });
        let commands = (0..3).map(move |command| Self { command, ..self });
        habits.chain(kinds).chain(commands).filter(move |other| *other != self)
    }
}

/// The worst a class may be off on average, by its mean's logarithm and its demerit figure: beyond,
/// what was found is not what the disk is like.
const WORST: f64 = 0.5;
/// Rounds of changing one point.
const ROUNDS: usize = 6;
/// Virtual time of a class, while it is chosen.
const CHOOSING_NS: u64 = 4_000_000_000;
/// A segment holds so much at the least, sectors.
const SEGMENT_LEAST: u64 = 128;

/// A disk's profile, as it is written.
#[derive(Debug, Clone)]
pub(super) struct DiskText {
    before: String,
    after: String,
    habits: String,
}

impl DiskText {
    /// The text, with what was judged.
    pub(super) fn text(&self, judged: &[Judged]) -> String {
        let Self { before, after, habits } = self;
        format!("{before}{}{after}{habits}", judged_text(judged))
    }

    /// As a model.
    pub(super) fn model(&self) -> anyhow::Result<Profile> {
        CATALOG.load_text("calibrated", "the profile", &self.text(&[])).map_err(refused)
    }
}

/// The profile whose habits come nearest to the fitted classes, one request at a time; none where
/// none comes near.
/// Errors: a profile that cannot be.
pub(super) fn fitted(
    resolved: &ResolvedCalibration,
    disk: &Disk,
    passes: &[Pass],
) -> anyhow::Result<Option<DiskText>> {
    let alone: Vec<Pass> = passes
        .iter()
        .filter(|pass| {
            let class = pass.cell.class;
            !pass.cell.is_held_out && class.depth == 1 && !class.writes()
        })
        .cloned()
        .collect();
    let error = |choice: Choice| -> anyhow::Result<f64> {
        let model = of(resolved, disk, choice).model()?;
        let compared = compare(&alone, |class| super::predicted_in(&model, class, CHOOSING_NS))?;
        let off = |judged: &Judged| {
            let mean = (judged.predicted[0].max(1.0) / judged.measured[0].max(1.0)).ln().abs();
            mean + judged.demerit.unwrap_or(1.0).min(1.0)
        };
        Ok(compared.iter().map(off).sum())
    };
    let mut best = Choice { habits: 0, read_ahead: disk.read_ahead, command: 1 };
    let mut least = error(best)?;
    for _ in 0..ROUNDS {
        let before = best;
        for other in before.others() {
            let error = error(other)?;
            if error < least * 0.99 {
                (best, least) = (other, error);
            }
        }
        if best == before {
            break;
        }
    }
    let is_like = least < WORST * compared_classes(&alone) as f64;
    Ok(is_like.then(|| of(resolved, disk, best)))
}

fn compared_classes(passes: &[Pass]) -> usize {
    passes.iter().map(|pass| pass.cell.class).collect::<std::collections::BTreeSet<_>>().len()
}

fn range([low, value, high]: [f64; 3]) -> Range {
    Range { value, low, high }
}

fn of(resolved: &ResolvedCalibration, disk: &Disk, choice: Choice) -> DiskText {
    let mut command_ns = disk.command_ns;
    command_ns[1] = command_ns[choice.command];
    let source = ("fitted", OWN);
    let rpm = disk.turn_ns.map(|turn_ns| 60e9 / turn_ns);
    let mut after = format!(
        "\"\nrequest_size_max = \"{} B\"\noutstanding_max = 64\n\n[rotation]\nfitted = \
         \"{OWN}\"\n",
        experiment::calibrate::LARGE_BYTES
    );
    after.push_str(&number("speed", range([rpm[2], rpm[1], rpm[0]]), "rpm", source));
    let heads = disk.heads.unwrap_or(1);
    let _ = write!(
        after,
        "\n[layout]\nfitted = \"{OWN}; defects are not found\"\nsector_size = \"{} B\"\nheads = \
         {heads}\nsparing = \"track\"\n# First and last cylinder, sectors, angle of the first, \
         empty front, track skew, cylinder skew, spares.\nzones = [\n",
        disk.sector_bytes
    );
    for zone in &disk.zones {
        let last = zone.first_cylinder + zone.cylinders - 1;
        let [track, cylinder] = zone.skews.map(|skew| skew.clamp(0.0, zone.sectors as f64));
        let _ = writeln!(
            after,
            "  [{}, {last}, {}, 0, 0, {track:.2}, {cylinder:.2}, {}],",
            zone.first_cylinder, zone.sectors, zone.spares
        );
    }
    let _ = write!(after, "]\n\n[seek]\nfitted = \"{OWN}\"\npoints_ms = [\n");
    let skewed = |which: usize| {
        let of = disk.zones.iter().map(|zone| zone.skews[which] / zone.sectors as f64);
        of.fold(1.0, f64::min) * disk.turn_ns[1]
    };
    let mut seeks = rising(disk);
    if let (Some(first), Some(seek)) = (seeks.first_mut(), disk.seeks.first()) {
        first.1 = within_skew([seek.low_ns, first.1, seek.high_ns], skewed(1))[1];
    }
    for (distance, time_ns) in seeks {
        let _ = writeln!(after, "  [{distance}, {:.4}],", time_ns / 1e6);
    }
    after.push_str("]\n");
    if let Some(switch_ns) = disk.switch_ns {
        after.push_str(&number(
            "head_switch",
            range(within_skew(switch_ns, skewed(0))),
            "ns",
            source,
        ));
    }
    let _ = write!(after, "\n[overhead]\nfitted = \"{OWN}; writes as reads: not measured\"\n");
    for key in ["read_miss_after_read", "read_miss_after_write"] {
        after.push_str(&number(key, range(command_ns), "ns", source));
    }
    let hit_ns = disk.hit_ns.unwrap_or(command_ns[1]).max(0.0);
    for key in ["read_hit_after_read", "read_hit_after_write"] {
        let _ = writeln!(after, "{key} = \"{hit_ns:.0} ns\"");
    }
    for key in ["write_after_read", "write_after_write"] {
        let _ = writeln!(after, "{key} = \"{:.0} ns\"", command_ns[1]);
    }
    let block_ns = disk.sector_from_cache_ns;
    let _ = write!(
        after,
        "\n[bus]\nfitted = \"{OWN}\"\nread_block = \"{block_ns:.1} ns\"\nwrite_block = \
         \"{block_ns:.1} ns\"\n"
    );
    DiskText {
        before: head(&resolved.name, &rounds_of(&resolved.plan)),
        after,
        habits: cache(disk, choice),
    }
}

/// Tracks are turned against each other by as much as going over takes: where the interval leaves
/// both open, it is the less.
fn within_skew([low, value, high]: [f64; 3], skew_ns: f64) -> [f64; 3] {
    match low < skew_ns && skew_ns < high {
        true => [low, value.min(low.midpoint(skew_ns)), high],
        false => [low, value, high],
    }
}

/// Seeks that do not fall, for a longer one is no shorter: the middle of what is certain.
fn rising(disk: &Disk) -> Vec<(u64, f64)> {
    let mut longest = 0.0f64;
    let middle = disk.seeks.iter().map(|seek| {
        longest = longest.max(seek.low_ns);
        let high_ns = disk.seeks.iter().filter(|other| other.distance >= seek.distance);
        let high_ns = high_ns.map(|other| other.high_ns).fold(f64::MAX, f64::min);
        (seek.distance, longest.midpoint(high_ns.max(longest)).max(1000.0))
    });
    middle.collect()
}

fn cache(disk: &Disk, choice: Choice) -> String {
    if disk.hit_ns.is_none() {
        return String::new();
    }
    let (kind, ahead) = match choice.read_ahead {
        ReadAhead::None => ("none", 0),
        ReadAhead::Blocks(blocks) => ("blocks", blocks),
        ReadAhead::Track => ("track", disk.zones.first().map_or(0, |zone| zone.sectors)),
        ReadAhead::NextTrack => {
            ("next-track", disk.zones.first().map_or(0, |zone| zone.sectors * 2))
        }
        ReadAhead::Cylinder => (
            "cylinder",
            disk.zones.first().map_or(0, |zone| zone.sectors) * disk.heads.unwrap_or(1),
        ),
    };
    let mut text = format!(
        "\n[cache]\nfitted = \"{OWN}\"\nsegments = {}\nsegment_blocks = {}\nread_ahead = \
         \"{kind}\"\n",
        disk.segments,
        if disk.keeps { (2 * ahead).max(SEGMENT_LEAST) } else { ahead.max(1) },
    );
    if !matches!(kind, "none" | "next-track") {
        let _ = writeln!(text, "read_ahead_blocks = {ahead}");
    }
    for (place, habit) in HABITS.iter().enumerate() {
        if choice.habits >> place & 1 == 1 {
            let _ = writeln!(text, "{habit}");
        }
    }
    text
}

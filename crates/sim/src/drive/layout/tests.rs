//! Every block has a place of its own, around slips and spares as counted by hand.

use super::*;
use crate::profile::{CATALOG, ProfileError};
use crate::replay::ReplayMachine;
use proptest::prelude::*;
use std::collections::HashSet;

fn layout(text: &str) -> Result<Layout, ProfileError> {
    let text = format!(
        "kind = 'drive'\n[rotation]\nassumed = 'x'\nspeed = '6000 rpm'\n\
        [seek]\nassumed = 'x'\npoints_ms = [[1, 1.0]]\n\
        [layout]\nassumed = 'x'\nsector_size = '512 B'\nheads = 2\n{text}"
    );
    let profile = CATALOG.load_text("d", "d.toml", &text)?;
    let reader = profile.reader();
    ReplayMachine::read(&reader)?;
    reader.finish()?;
    let layout = Layout::read(&reader.below("drive").below("layout"))?;
    Ok(layout)
}

/// Cylinder, head, sector.
fn at(layout: &Layout, block: u64) -> (u32, u32, u32) {
    let spot = layout.spot(block);
    (spot.cylinder, spot.head, spot.sector)
}

#[test]
fn a_slip_moves_what_is_behind_it_to_its_units_spares() {
    // 2 heads, 10 sectors: 20 of a cylinder. Sector 3 of the second cylinder is bad.
    let zones = "zones = [[0, 3, 10, 0, 0, 1, 2, SPARES]]\nslips = [[0, 23]]\n";
    let with = |sparing: &str, spares: &str| {
        layout(&format!("sparing = '{sparing}'\n{}", zones.replace("SPARES", spares))).unwrap()
    };
    let zone = with("zone", "2");
    assert_eq!(zone.blocks, 78);
    assert_eq!((at(&zone, 22), at(&zone, 23), at(&zone, 77)), ((1, 0, 2), (1, 0, 4), (3, 1, 8)));
    let cylinder = with("cylinder", "1");
    // 19 blocks a cylinder; the second one's spare is used up, the third begins as if nothing were.
    assert_eq!(cylinder.blocks, 76);
    assert_eq!(at(&cylinder, 19), (1, 0, 0));
    assert_eq!((at(&cylinder, 22), at(&cylinder, 37)), ((1, 0, 4), (1, 1, 9)));
    assert_eq!(at(&cylinder, 38), (2, 0, 0));
    let track = with("track", "1");
    assert_eq!((at(&track, 9), at(&track, 20), at(&track, 21)), ((0, 1, 0), (1, 0, 2), (1, 0, 4)));
    assert_eq!((at(&track, 26), at(&track, 27)), ((1, 0, 9), (1, 1, 0)));
    let range = layout(&format!(
        "sparing = 'range'\nrange_cylinders = 2\n{}",
        zones.replace("SPARES", "1")
    ));
    let range = range.unwrap();
    assert_eq!((at(&range, 38), at(&range, 39)), ((1, 1, 9), (2, 0, 0)));
}

#[test]
fn a_bad_track_is_passed_over_as_a_whole() {
    let tracks = "sparing = 'tracks'\nzones = [[0, 3, 10, 0, 4, 1, 2, 1]]\nslips = [[0, 2]]\n";
    let tracks = layout(tracks).unwrap();
    // 8 tracks but one, without the 4 sectors at the front.
    assert_eq!(tracks.blocks, 66);
    assert_eq!((at(&tracks, 0), at(&tracks, 15)), ((0, 0, 4), (0, 1, 9)));
    assert_eq!((at(&tracks, 16), at(&tracks, 65)), ((1, 1, 0), (3, 1, 9)));
    assert_eq!((tracks.track(16), tracks.track_sectors(16)), ((16, 26), 10));
}

#[test]
fn a_track_has_all_blocks_of_its_head_whatever_is_slipped() {
    for (sparing, slips) in [
        ("'zone'", "[0, 23, 27]"),
        ("'cylinder'", "[0, 23, 45]"),
        ("'track'", "[0, 3, 20]"),
        ("'range'\nrange_cylinders = 2", "[0, 23]"),
        ("'tracks'", "[0, 2]"),
    ] {
        for front in [0, 4] {
            let zones = format!("[[0, 3, 10, 0, {front}, 1, 2, 2], [4, 5, 8, 0, 0, 1, 2, 1]]");
            let text = format!("sparing = {sparing}\nzones = {zones}\nslips = [{slips}]\n");
            let layout = layout(&text).unwrap();
            let track_of = |block: u64| (at(&layout, block).0, at(&layout, block).1);
            for block in 0..layout.blocks {
                let on_it = || (0..layout.blocks).filter(|at| track_of(*at) == track_of(block));
                let bounds = on_it().min().zip(on_it().max().map(|last| last + 1));
                assert_eq!(Some(layout.track(block)), bounds, "{text} {block}");
            }
        }
    }
}

#[test]
fn skews_add_up_and_serpentines_turn() {
    let text = "serpentine = true\nzones = [[0, 1, 10, 3, 0, 2, 5, 0], [3, 4, 8, 0, 0, 1, 1, 0]]\n";
    let layout = layout(text).unwrap();
    assert_eq!([0, 10, 20, 30].map(|block| at(&layout, block).1), [0, 1, 1, 0]);
    let sectors = |block: u64| (layout.spot(block).angle * 10.0).round() as u32;
    // First angle 3; +2 for the head; +2 and +5 for the cylinder's switches.
    assert_eq!([0, 10, 20, 30].map(sectors), [3, 5, 0, 2]);
    assert_eq!(at(&layout, 40), (3, 0, 0));
    assert_eq!((layout.cylinders, layout.blocks), (5, 72));
}

#[test]
fn a_remapped_block_is_elsewhere_and_ends_its_run() {
    let text = "zones = [[0, 3, 10, 0, 0, 0, 0, 2]]\nremapped = [[0, 25, 79]]\n";
    let layout = layout(text).unwrap();
    assert_eq!(
        (at(&layout, 24), at(&layout, 25), at(&layout, 26)),
        ((1, 0, 4), (3, 1, 9), (1, 0, 6))
    );
    assert_eq!((layout.run(22).first, layout.run(22).end), (20, 25));
    assert_eq!((layout.run(28).first, layout.run(28).end), (26, 30));
    assert_eq!(layout.run(28).sector, 6);
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    for (text, sentence) in [
        ("zones = [[0, 3, 10, 0, 0, 0, 0, 0], [3, 4, 9, 0, 0, 0, 0, 0]]", "zones overlap"),
        ("zones = [[4, 3, 10, 0, 0, 0, 0, 0]]", "cannot be"),
        ("zones = [[0, 3, 10, 0, 0, 0]]", "rows of 8"),
        ("zones = [[0, 3, 10, 0, 0, 0, 0, 80]]", "no room"),
        ("zones = [[0, 3, 10, 0, 0, 0, 0, 0]]\nslips = [[0, 3]]", "more slips than the spares"),
        ("zones = [[0, 3, 10, 0, 0, 0, 0, 2]]\nslips = [[0, 3, 3]]", "does not come after"),
        ("zones = [[0, 3, 10, 0, 0, 0, 0, 2]]\nslips = [[1, 3]]", "not there"),
        ("zones = [[0, 3, 10, 0, 0, 0, 0, 0]]\nsparing = 'zones'", "did you mean \"zone\""),
        ("zones = [[0, 3, 10, 0, 0, 0, 0, 0]]\nserpentin = true", "did you mean"),
        ("zones = []", "needs one zone"),
        ("zones = [[0, 3, 5000000000, 0, 0, 0, 0, 0]]", "5000000000 sectors of a track are not"),
        ("zones = [[0, 3, 1e19, 0, 0, 0, 0, 0]]", "too large"),
        ("zones = [[0, 3, 10, 0, 0, 0, 0, 1e18]]\nsparing = 'tracks'", "too large"),
        ("zones = [[0, 3, 10, 0, 0, -1, 2, 0]]", "-1 sectors are not within a track of 10"),
        ("zones = [[0, 3, 10, 0, 0, 1, 1e300, 0]]", "not within a track"),
        ("zones = [[0, 3, 10, 11, 0, 1, 1, 0]]", "not within a track"),
        ("cylinders = 3\nsectors_per_track = 10\ntrack_skew = -1", "not within a track"),
        ("zones = [[0, 3, 10, 0, 0, 0, 0, 2]]\nslips = [[0, -5.5]]", "negative, broken"),
        ("zones = [[0, 3, 10, 0, 0, 0, 0, 2]]\nremapped = [[-1, 25, 79]]", "remapped: has rows"),
    ] {
        let error = layout(text).unwrap_err().to_string();
        assert!(error.contains(sentence) && error.starts_with("d.toml: "), "{text}: {error}");
    }
}

#[test]
fn a_sector_has_a_size_that_sectors_have() {
    for (size, sentence) in [
        ("0.3 B", "drive.layout.sector_size: is less than a byte"),
        ("5 GB", "drive.layout.sector_size: 5000000000 bytes are not from 1 to 1048576"),
    ] {
        let text = format!(
            "kind = 'drive'\n[layout]\nassumed = 'x'\nsector_size = '{size}'\nheads = 2\n\
             cylinders = 3\nsectors_per_track = 10\n"
        );
        let profile = CATALOG.load_text("d", "d.toml", &text).unwrap();
        let error = Layout::read(&profile.reader().below("drive").below("layout")).unwrap_err();
        assert!(error.to_string().contains(sentence), "{error}");
    }
}

/// A layout of some cylinders with slips where the numbers say.
fn any_layout() -> impl Strategy<Value = Layout> {
    let slips = prop::collection::btree_set(0..160u64, 0..4);
    (0..5usize, slips, 0..3u64, any::<bool>(), 0..12u64).prop_filter_map(
        "more slips than spares",
        |(sparing, slips, spares, serpentine, empty)| {
            let word = ["tracks", "track", "cylinder", "range", "zone"][sparing];
            let list: Vec<String> =
                slips.iter().map(|slip| (slip / [10, 1, 1, 1, 1][sparing]).to_string()).collect();
            let slips = if list.is_empty() {
                String::new()
            } else {
                format!(
                    "slips = [[0, \
                {}]]\n",
                    list.join(", ")
                )
            };
            let range = if word == "range" { "range_cylinders = 3\n" } else { "" };
            layout(&format!(
                "sparing = '{word}'\n{range}serpentine = {serpentine}\nzones = [[0, 7, 10, 2, \
                 {empty}, 3, 4, {spares}], [9, 10, 7, 0, 0, 1, 1, 0]]\n{slips}"
            ))
            .ok()
        },
    )
}

proptest! {
    #[test]
    fn every_block_has_a_place_of_its_own(layout in any_layout()) {
        let mut places = HashSet::new();
        for block in 0..layout.blocks {
            let run = layout.found(block);
            // What was found for another block of it is the same.
            prop_assert_eq!(layout.run(block), run);
            prop_assert!(run.first <= block && block < run.end && run.end <= layout.blocks);
            let spot = layout.spot(block);
            prop_assert!(spot.cylinder < layout.cylinders && spot.head < layout.heads());
            prop_assert!((0.0..1.0).contains(&spot.angle));
            prop_assert!(places.insert((spot.cylinder, spot.head, spot.sector)), "{block} \
                {spot:?}");
            // All of a run agree on it, and pass one behind the other.
            prop_assert_eq!(layout.found(run.first), run);
            if block + 1 < run.end {
                let next = layout.spot(block + 1);
                let step = (next.angle - spot.angle).rem_euclid(1.0);
                prop_assert!((step - spot.sector_angle).abs() < 1e-9);
                prop_assert_eq!(
                    (next.cylinder, next.head, next.sector),
                    (spot.cylinder, spot.head, spot.sector + 1),
                );
            }
            let ((first, end), sectors) = (layout.track(block), layout.track_sectors(block));
            prop_assert!(first <= block && block < end && end - first <= u64::from(sectors));
        }
    }
}

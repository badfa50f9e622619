//! Where a file lies, on a file system of this test's own. Needs root, and says so.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use host::clock::HostClock;
use host::device::file_map;
use host::drive::Control;
use host::subject::{FILE_SYSTEMS, Fresh, FreshPlan};
use model::seam::Subject as _;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

#[test]
fn root_the_device_has_the_files_bytes_where_the_map_says() {
    let folder = tempfile::tempdir().unwrap();
    let plan = FreshPlan {
        file_system: &FILE_SYSTEMS[0],
        block_bytes: 4096,
        image_bytes: 16 << 20,
        drives: 1,
        at: vec![folder.path().to_owned()],
        options: vec![],
        device: None,
    };
    let mut fresh = Fresh::new(plan, HostClock::new(), Arc::new(Control::default()));
    let Ok(target) = fresh.prepare() else {
        return println!("skipped: needs root, mkfs.ext4 and loop devices");
    };
    let path = target.mounted.unwrap().join("file");
    let file = std::fs::File::create(&path).unwrap();
    // Two stretches with a hole between them.
    for block in [0u64, 1, 2, 100, 101] {
        file.write_all_at(&[block as u8 + 1; 4096], block * 4096).unwrap();
    }
    file.sync_all().unwrap();
    let extents = file_map(&path).unwrap();
    let mapped: u64 = extents.iter().map(|of| of.length_bytes).sum();
    assert_eq!((extents.len() >= 2, mapped), (true, 5 * 4096), "{extents:?}");
    let device = std::fs::File::open(format!("/dev/{}", target.devices[0])).unwrap();
    for extent in &extents {
        for at in (0..extent.length_bytes).step_by(4096) {
            let mut found = [0; 4096];
            device.read_exact_at(&mut found, extent.physical_bytes + at).unwrap();
            let block = (extent.logical_bytes + at) / 4096;
            assert!(found.iter().all(|byte| u64::from(*byte) == block + 1), "block {block}");
        }
    }
    drop((file, device));
    fresh.clean_up().unwrap();
}

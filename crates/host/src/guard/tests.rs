//! The guard on machines that never were.

use super::*;
use crate::device::fixture::Fixture;
use crate::device::lvm::tests as lvm;

const SDA: DeviceNumber = DeviceNumber::new(8, 0);
const SDA1: DeviceNumber = DeviceNumber::new(8, 1);
const SDA2: DeviceNumber = DeviceNumber::new(8, 2);
const SDB: DeviceNumber = DeviceNumber::new(8, 16);
const DM0: DeviceNumber = DeviceNumber::new(253, 0);
const DM1: DeviceNumber = DeviceNumber::new(253, 1);
const LOOP0: DeviceNumber = DeviceNumber::new(7, 0);

/// Finds what it is told to find.
struct Says(Vec<Signature>);

impl SignatureProber for Says {
    fn signatures(&self, _: DeviceNumber, _: &Path) -> Result<Vec<Signature>, ProbeError> {
        Ok(self.0.clone())
    }
}

struct HasNoTool;

impl SignatureProber for HasNoTool {
    fn signatures(&self, _: DeviceNumber, _: &Path) -> Result<Vec<Signature>, ProbeError> {
        Err(ProbeError::NoTool)
    }
}

fn blank() -> Says {
    Says(Vec::new())
}

/// sda with sda1 and sda2, and sdb.
fn two_disks() -> Fixture {
    Fixture::new()
        .disk("sda", 8, 0)
        .partition("sda", "sda1", 8, 1)
        .partition("sda", "sda2", 8, 2)
        .disk("sdb", 8, 16)
}

/// With full consent on a blank device: only use can refuse.
fn verdict(fixture: Fixture, device: DeviceNumber) -> Result<Permit, String> {
    examine(&fixture.tree(), &blank(), device, Some(device)).map_err(|r| r.to_string())
}

#[track_caller]
fn permits(fixture: Fixture, device: DeviceNumber) {
    assert_eq!(verdict(fixture, device).map(|permit| permit.device()), Ok(device));
}

#[track_caller]
fn refuses(fixture: Fixture, device: DeviceNumber, because: &str) {
    let sentence = verdict(fixture, device).unwrap_err();
    assert!(sentence.contains(because), "{sentence}");
}

#[test]
fn a_blank_disk_with_consent_is_permitted() {
    permits(two_disks(), SDB);
}

#[test]
fn a_whole_disk_is_refused_for_a_mounted_partition() {
    let fixture = two_disks().mount(8, 1, "/mnt", "ext4", "/dev/sda1");
    let sentence = verdict(fixture, SDA).unwrap_err();
    let expected = "/dev/sda is refused: its partition sda1 is mounted at /mnt; \
        unmount it or choose another device";
    assert_eq!(sentence, expected);
}

#[test]
fn a_partition_is_refused_for_its_mounted_disk_and_not_for_its_sibling() {
    let whole = two_disks().mount(8, 0, "/mnt", "ext4", "/dev/sda");
    refuses(whole, SDA1, "its whole disk sda is mounted at /mnt");
    permits(two_disks().mount(8, 1, "/mnt", "ext4", "/dev/sda1"), SDA2);
    permits(two_disks().swap("/dev/sda1", "partition"), SDA2);
    permits(two_disks().stacked("dm-0", 253, 0, &["sda1"]), SDA2);
}

#[test]
fn a_mount_in_another_namespace_names_its_process() {
    let fixture = two_disks().process("self", "mnt:[1]", "/").process_mounts(
        812,
        "mnt:[2]",
        "/",
        "1 0 8:16 / /inner rw - xfs /dev/sdb rw\n",
    );
    refuses(fixture, SDB, "it is mounted at /inner (seen from process 812); unmount");
}

#[test]
fn a_volume_over_a_partition_holds_partition_and_disk() {
    let volume =
        || two_disks().stacked("dm-0", 253, 0, &["sda2"]).attribute("dm-0", "dm/name", "vg-root\n");
    refuses(volume(), SDA2, "it is held by dm-0 (vg-root); release it");
    refuses(volume(), SDA, "its partition sda2 is held by dm-0 (vg-root)");
    permits(volume(), DM0);
    let mounted = volume().mount(253, 0, "/", "ext4", "/dev/mapper/vg-root");
    refuses(mounted, SDA, "dm-0 (vg-root), built on its partition sda2, is mounted at /");
}

#[test]
fn a_logical_volume_over_two_disks_spares_its_sibling() {
    let group = || {
        two_disks()
            .stacked("dm-0", 253, 0, &["sda1", "sdb"])
            .stacked("dm-1", 253, 1, &["sda1"])
            .mount(253, 1, "/", "ext4", "/dev/mapper/vg-root")
    };
    permits(group(), DM0);
    refuses(group(), DM1, "it is mounted at /");
    refuses(group(), SDB, "it is held by dm-0");
    refuses(group(), SDA1, "dm-1, built on it, is mounted at /");
}

#[test]
fn swap_on_a_partition_or_a_volume_is_refused() {
    let on_partition = || two_disks().swap("/dev/sda2", "partition");
    refuses(on_partition(), SDA2, "it is in use as swap; run swapoff /dev/sda2");
    refuses(on_partition(), SDA, "its partition sda2 is in use as swap");
    let on_volume = || {
        two_disks()
            .stacked("dm-0", 253, 0, &["sdb"])
            .node("/dev/mapper/vg-swap", 253, 0)
            .swap("/dev/mapper/vg-swap", "partition")
    };
    refuses(on_volume(), DM0, "it is in use as swap");
    refuses(on_volume(), SDB, "dm-0, built on it, is in use as swap");
}

#[test]
fn a_raid_over_partitions_holds_its_members_and_its_partitions_count() {
    let raid = || {
        two_disks()
            .partition("sdb", "sdb1", 8, 17)
            .stacked("md0", 9, 0, &["sda1", "sdb1"])
            .partition("md0", "md0p1", 259, 0)
    };
    refuses(raid(), SDA, "its partition sda1 is held by md0");
    refuses(raid(), DeviceNumber::new(8, 17), "it is held by md0");
    permits(raid(), SDA2);
    permits(raid(), DeviceNumber::new(9, 0));
    let mounted = raid().mount(259, 0, "/srv", "xfs", "/dev/md0p1");
    refuses(mounted, SDB, "md0p1, a partition of md0, built on its partition sdb1, is mounted");
}

#[test]
fn a_path_of_a_multipath_device_is_refused_and_the_device_is_not() {
    let paths = || Fixture::new().disk("sda", 8, 0).disk("sdb", 8, 16);
    let multi = || paths().stacked("dm-0", 253, 0, &["sda", "sdb"]);
    refuses(multi(), SDA, "it is held by dm-0");
    permits(multi(), DM0);
    let kpartx = || multi().stacked("dm-1", 253, 1, &["dm-0"]);
    permits(kpartx(), DM1);
    refuses(kpartx(), DM0, "it is held by dm-1");
    let partition_of_a_path = multi().partition("sda", "sda1", 8, 1);
    refuses(partition_of_a_path, SDA1, "its whole disk sda is held by dm-0");
}

#[test]
fn every_member_of_a_mounted_btrfs_is_refused() {
    let btrfs = || two_disks().btrfs("uuid-1", &["sda2", "sdb"]);
    let mounted = || btrfs().mount(0, 33, "/data", "btrfs", "/dev/sda2");
    refuses(mounted(), SDA2, "it is mounted at /data");
    refuses(mounted(), SDB, "it is mounted at /data");
    refuses(mounted(), SDA, "its partition sda2 is mounted at /data");
    permits(mounted(), SDA1);
    let by_unknown_source = btrfs().mount(0, 33, "/data", "btrfs", "/dev/root");
    refuses(by_unknown_source, SDB, "it is held by the btrfs file system uuid-1");
}

#[test]
fn a_loop_over_a_node_and_its_node_refuse_for_each_other() {
    let over = || two_disks().looped("loop0", 0, "/dev/sda1");
    refuses(over(), SDA1, "it is held by loop0");
    refuses(over(), SDA, "its partition sda1 is held by loop0");
    permits(over(), SDA2);
    permits(over(), LOOP0);
    let beneath = over().mount(8, 1, "/mnt", "ext4", "/dev/sda1");
    refuses(beneath, LOOP0, "sda1, on which it lies, is mounted at /mnt");
    let disk = over().mount(8, 0, "/mnt", "ext4", "/dev/sda");
    refuses(disk, LOOP0, "is mounted at /mnt");
    let held = over().stacked("dm-0", 253, 0, &["sda1"]);
    refuses(held, LOOP0, "sda1, on which it lies, is held by dm-0");
    let unlinked = two_disks()
        .looped("loop0", 0, "/dev/sdb (deleted)")
        .looped("loop1", 1, "/dev/of/old/sdb (deleted)")
        .tells_node(1, 8, 16);
    refuses(unlinked, SDB, "it is held by loop1");
}

#[test]
fn a_second_loop_over_the_same_file_counts_when_it_is_used() {
    let twins = || {
        two_disks()
            .file("/img", 8, 1, 42)
            .file("/link-to-img", 8, 1, 42)
            .file("/other", 8, 1, 43)
            .looped("loop0", 0, "/img")
            .looped("loop1", 1, "/link-to-img")
            .looped("loop2", 2, "/other")
            .partition("loop1", "loop1p1", 259, 1)
    };
    permits(twins(), LOOP0);
    permits(twins().mount(7, 2, "/mnt", "ext4", "/dev/loop2"), LOOP0);
    let mounted = twins().mount(7, 1, "/mnt", "ext4", "/dev/loop1");
    refuses(mounted, LOOP0, "loop1, over the same file, is mounted at /mnt");
    let partition = twins().mount(259, 1, "/mnt", "ext4", "/dev/loop1p1");
    refuses(partition, LOOP0, "loop1p1, a partition of loop1, over the same file, is mounted");
    let held = twins().stacked("dm-0", 253, 0, &["loop1"]);
    refuses(held, LOOP0, "loop1, over the same file, is held by dm-0");
}

#[test]
fn a_modelled_device_is_nobody_else_s_file() {
    let mounted = || {
        two_disks()
            .looped("loop0", 0, "/disk")
            .looped("loop1", 1, "/img")
            .tells(1, (8, 1), 42)
            .mount(7, 1, "/mnt", "ext4", "/dev/loop1")
    };
    // A file of a file system that nobody knows may be any other.
    refuses(mounted().tells(0, (0, 57), 5), LOOP0, "loop1, which may lie on the same file, is");
    permits(mounted().serves(0), LOOP0);
    refuses(mounted().serves(0), DeviceNumber::new(7, 1), "it is mounted at /mnt");
}

#[test]
fn a_partition_of_a_loop_spares_its_sibling_too() {
    let fixture = two_disks()
        .file("/img", 8, 1, 42)
        .looped("loop0", 0, "/img")
        .partition("loop0", "loop0p1", 259, 0)
        .partition("loop0", "loop0p2", 259, 1)
        .mount(259, 1, "/mnt", "ext4", "/dev/loop0p2");
    permits(fixture, DeviceNumber::new(259, 0));
}

#[test]
fn files_are_one_by_what_the_loops_tell_and_not_by_name() {
    let mounted =
        || {
            two_disks()
                .looped("loop0", 0, "/img (deleted)")
                .looped("loop1", 1, "/img (deleted)")
                .mount(7, 1, "/mnt", "ext4", "/dev/loop1")
        };
    permits(mounted(), LOOP0);
    let one_file = mounted().tells(0, (8, 1), 5).tells(1, (8, 1), 5);
    refuses(one_file, LOOP0, "loop1, over the same file, is mounted at /mnt");
    let paths_of_a_container = two_disks()
        .looped("loop0", 0, "/img")
        .looped("loop1", 1, "/inner/img")
        .mount(7, 1, "/mnt", "ext4", "/dev/loop1");
    let paths_of_a_container = paths_of_a_container.tells(0, (8, 1), 5).tells(1, (8, 1), 5);
    refuses(paths_of_a_container, LOOP0, "loop1, over the same file, is mounted at /mnt");
    let one_name_of_two_files = two_disks()
        .looped("loop0", 0, "/img")
        .looped("loop1", 1, "/img")
        .mount(7, 1, "/mnt", "ext4", "/dev/loop1");
    permits(one_name_of_two_files, LOOP0);
}

#[test]
fn a_node_of_any_name_or_none_leads_to_its_device() {
    let over = |name: &str| {
        two_disks().looped("loop1", 1, name).tells_node(1, 8, 16).mount(7, 1, "/m", "ext4", "disk")
    };
    for name in ["/disk", "/dev/sda1", "/dev/sdb", "/dev/sdb (deleted)"] {
        refuses(over(name), SDB, "loop1, built on it, is mounted at /m");
        permits(over(name), SDA1);
    }
    let mounted_beneath =
        two_disks().looped("loop0", 0, "/disk").tells_node(0, 8, 16).mount(8, 16, "/m", "xfs", "d");
    refuses(mounted_beneath, LOOP0, "sdb, on which it lies, is mounted at /m");
}

#[test]
fn a_loop_that_tells_nothing_refuses_every_device() {
    let fixture = || two_disks().looped("loop3", 3, "/img").tells_nothing(3);
    for device in [SDA1, SDB, DeviceNumber::new(7, 3)] {
        let because = "cannot tell whether loop3 uses the same file or ";
        refuses(fixture(), device, because);
    }
}

#[test]
fn a_loop_over_a_file_of_its_file_system_tells_of_a_mount_that_no_list_shows() {
    let fixture = two_disks().looped("loop3", 3, "/inner/img").tells(3, (8, 16), 12);
    refuses(fixture, SDB, "it is held by loop3, over a file of its file system");
    let btrfs = two_disks()
        .btrfs("uuid-1", &["sda1", "sdb"])
        .mount(0, 33, "/data", "btrfs", "/dev/sda1")
        .file("/data/img", 0, 77, 300)
        .looped("loop0", 0, "/data/img");
    permits(btrfs, LOOP0);
}

#[test]
fn files_of_layered_file_systems_may_be_anybody_s() {
    let layered = |kind: &str| {
        two_disks()
            .mount(0, 50, "/merged", kind, kind)
            .mount(0, 60, "/tmp", "tmpfs", "tmpfs")
            .mount(7, 1, "/mnt", "ext4", "/dev/loop1")
            .looped("loop0", 0, "/merged/img")
            .looped("loop1", 1, "/upper/img")
            .tells(0, (0, 50), 7)
    };
    let perhaps = "loop1, which may lie on the same file, is mounted at /mnt";
    for kind in ["overlay", "fuse.mergerfs", "nfs4", "9p"] {
        refuses(layered(kind), LOOP0, perhaps);
    }
    permits(layered("tmpfs"), LOOP0);
    permits(layered("overlay").tells(1, (0, 50), 8), LOOP0);
    permits(layered("tmpfs").tells(1, (0, 60), 7), LOOP0);
    refuses(layered("tmpfs").tells(1, (0, 61), 7), LOOP0, perhaps);
    let subvolumes = two_disks()
        .btrfs("uuid-1", &["sda1"])
        .mount(0, 33, "/data", "btrfs", "/dev/sda1")
        .mount(7, 1, "/mnt", "ext4", "/dev/loop1")
        .file("/data/a/img", 0, 77, 300)
        .file("/data/b/img", 0, 78, 300)
        .looped("loop0", 0, "/data/a/img")
        .looped("loop1", 1, "/data/b/img");
    permits(subvolumes, LOOP0);
}

#[test]
fn what_shares_blocks_with_a_mounted_file_system_of_the_file_counts() {
    // loop0 lies on a file of a file system on loop5, and loop6 is a twin of loop5.
    let nested = || {
        two_disks()
            .looped("loop0", 0, "/mnt/img")
            .looped("loop5", 5, "/outer")
            .looped("loop6", 6, "/outer")
            .tells(0, (7, 5), 12)
            .tells(5, (8, 1), 40)
            .tells(6, (8, 1), 40)
            .mount(7, 5, "/mnt", "ext4", "/dev/loop5")
            .mount(8, 1, "/", "ext4", "/dev/sda1")
    };
    permits(nested(), LOOP0);
    let mounted_twice = nested().mount(7, 6, "/other", "ext4", "/dev/loop6");
    refuses(mounted_twice, LOOP0, "loop6, over the same file as loop5, is mounted at /other");
    let over_a_node = nested().tells_node(5, 8, 16).mount(8, 16, "/other", "ext4", "/dev/sdb");
    refuses(over_a_node, LOOP0, "sdb, beneath loop5, whose file system holds its file, is mounted");
}

#[test]
fn what_a_loop_leads_to_is_claimed_and_what_dm_has_claimed_is_not() {
    let claims = |fixture: Fixture, device| {
        let permit = examine(&fixture.tree(), &blank(), device, Some(device)).unwrap();
        permit.claims.iter().map(|part| part.device.to_string()).collect::<Vec<_>>().join(" ")
    };
    let twins = || two_disks().looped("loop0", 0, "/a").looped("loop1", 1, "/b");
    assert_eq!(claims(twins(), LOOP0), "");
    let one_file = || twins().tells(0, (8, 1), 5).tells(1, (8, 1), 5);
    assert_eq!(claims(one_file(), LOOP0), "7:1");
    assert_eq!(claims(one_file().partition("loop0", "loop0p1", 259, 0), LOOP0), "7:1");
    assert_eq!(claims(one_file().stacked("dm-0", 253, 0, &["loop0"]), DM0), "7:1");
    assert_eq!(claims(twins().tells_node(0, 8, 2), LOOP0), "8:2");
    assert_eq!(claims(two_disks().stacked("dm-0", 253, 0, &["sda1", "sdb"]), DM0), "");
}

/// A group over both disks, whose only active volume lies on sda1; sdb holds none of it.
fn active_group(own: &str) -> Fixture {
    let [group, first, second] = ["g", "1", "2"].map(|letter| letter.repeat(32));
    let text = lvm::group("vg", &group, &[&first, &second]);
    let empty = || vec![0; 4096];
    two_disks()
        .stacked("dm-0", 253, 0, &["sda1"])
        .attribute("dm-0", "dm/uuid", &format!("LVM-{group}{}\n", "v".repeat(32)))
        .attribute("dm-0", "dm/name", "vg-root\n")
        .contents("sda", empty())
        .contents("sda1", lvm::image(&first, &text, 512, 0))
        .contents("sda2", empty())
        .contents("sdb", lvm::image(&second, if own.is_empty() { &text } else { own }, 512, 0))
        .contents("dm-0", empty())
}

#[test]
fn a_member_of_an_active_volume_group_is_refused_though_no_volume_lies_on_it() {
    let held = "it is held by the volume group vg, which is active (dm-0 (vg-root)); release it";
    refuses(active_group(""), SDB, held);
    refuses(active_group(""), SDA1, "it is held by dm-0 (vg-root)");
    permits(active_group(""), SDA2);
    permits(active_group(""), DM0);
    let other = lvm::group("other", &"o".repeat(32), &[&"2".repeat(32)]);
    permits(active_group(&other), SDB);
    let partition = || active_group(&other).partition("sdb", "sdb1", 8, 17);
    let member = lvm::image(&"3".repeat(32), &lvm::group("vg", &"g".repeat(32), &[]), 512, 0);
    let held = "its partition sdb1 is held by the volume group vg, which is active";
    refuses(partition().contents("sdb1", member), SDB, held);
    let unreadable = "cannot tell whether it is in use (failed to read /dev/sdb1: Permission";
    refuses(partition(), SDB, unreadable);
}

#[test]
fn what_a_process_has_open_for_writing_is_refused() {
    let server = |device: &str, flags| {
        let disks = two_disks().stacked("dm-0", 253, 0, &["sda2"]);
        disks.opened(812, "nbd-server", 5, device, flags)
    };
    let sentence = verdict(server("sdb", "0100002"), SDB).unwrap_err();
    let expected = "/dev/sdb is refused: it is open for writing by nbd-server (process 812); \
        stop that process or choose another device";
    assert_eq!(sentence, expected);
    permits(server("sdb", "0100000"), SDB);
    refuses(server("sda", "02"), SDA1, "its whole disk sda is open for writing by nbd-server");
    permits(server("sda2", "02"), SDA1);
    refuses(server("sda2", "02"), DM0, "sda2, on which it lies, is open for writing");
}

#[test]
fn a_loop_over_a_swap_file_is_refused() {
    let fixture = two_disks()
        .file("/swapfile", 8, 1, 9)
        .file("/alias", 8, 1, 9)
        .looped("loop0", 0, "/alias")
        .swap("/swapfile", "file");
    refuses(fixture, LOOP0, "its backing file is in use as swap; run swapoff /swapfile");
}

#[test]
fn what_sysfs_does_not_know_is_refused() {
    let tree = two_disks().tree();
    let refusal = examine(&tree, &blank(), DM0, Some(DM0)).unwrap_err();
    assert!(matches!(refusal, Refusal::CannotTellUse { .. }), "{refusal}");
}

#[test]
fn without_consent_nothing_is_permitted() {
    let tree = two_disks().tree();
    let refusal = examine(&tree, &blank(), SDB, None).unwrap_err();
    assert!(refusal.to_string().ends_with("give --destroy /dev/sdb"), "{refusal}");
    let refusal = examine(&tree, &blank(), SDB, Some(SDA)).unwrap_err();
    assert!(refusal.to_string().contains("--destroy names another device, /dev/sda;"), "{refusal}");
}

#[test]
fn consent_overrides_signatures_and_the_permit_remembers_them() {
    let tree = two_disks().tree();
    let ext4 = vec![
        Signature::Content("ext4".to_owned()),
        Signature::PartitionTable("dos".to_owned()),
        Signature::Several,
    ];
    let refusal = examine(&tree, &Says(ext4.clone()), SDB, None).unwrap_err();
    let told = "it contains the signature of ext4, a partition table (dos) and the signatures of";
    assert!(refusal.to_string().contains(told), "{refusal}");
    let permit = examine(&tree, &Says(ext4.clone()), SDB, Some(SDB)).unwrap();
    assert_eq!(permit.overridden(), ext4);
}

#[test]
fn known_partitions_are_a_signature_of_their_own() {
    let tree = two_disks().tree();
    let refusal = examine(&tree, &blank(), SDA, None).unwrap_err();
    assert!(refusal.to_string().contains("it contains a partition table (unnamed)"), "{refusal}");
}

#[test]
fn consent_overrides_neither_use_nor_ignorance() {
    let tree = two_disks().mount(8, 16, "/mnt", "ext4", "/dev/sdb").tree();
    let refusal = examine(&tree, &blank(), SDB, None).unwrap_err();
    assert!(matches!(refusal, Refusal::Mounted { .. }), "{refusal}");
    let refusal = examine(&tree, &HasNoTool, SDA1, Some(SDA1)).unwrap_err();
    let told = "cannot tell whether it holds data (blkid is not installed; install util-linux)";
    assert!(refusal.to_string().contains(told), "{refusal}");
}

#[test]
fn links_are_resolved_and_other_things_refused() {
    let tree = two_disks().node("/dev/disk/by-id/wwn-1", 8, 1).file("/etc/fstab", 8, 1, 5).tree();
    assert_eq!(resolve_in(&tree, Path::new("/dev/disk/by-id/wwn-1")).unwrap().0, SDA1);
    let refusal = resolve_in(&tree, Path::new("/etc/fstab")).unwrap_err();
    assert!(matches!(refusal, Refusal::NoBlockDevice { .. }));
    let refusal = resolve_in(&tree, Path::new("/dev/none")).unwrap_err();
    assert!(matches!(refusal, Refusal::NoSuchPath { .. }));
    assert!(matches!(resolve(Path::new("/dev/null")), Err(Refusal::NoBlockDevice { .. })));
}

#[test]
fn a_chain_of_links_is_followed_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let link = |name: &str, target: &str| {
        std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
    };
    link("last", "/dev/null");
    link("first", "last");
    let facts = Tree::system().facts(&folder.path().join("first")).unwrap();
    assert_eq!(facts.canonical, Path::new("/dev/null"));
}

#[test]
fn a_node_of_another_device_is_not_opened_for_the_permit() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let permit = Permit { device: SDB, overridden: Vec::new(), claims: Vec::new() };
    let refusal = claim(&two_disks().tree(), file.path(), &permit).unwrap_err();
    assert!(matches!(refusal, Refusal::Replaced { .. }), "{refusal}");
}

#[test]
fn a_swap_file_elsewhere_and_a_swap_that_is_no_file_do_not_concern_a_loop() {
    let looped = || two_disks().file("/image", 8, 1, 9).looped("loop0", 0, "/image");
    permits(looped().file("/swapfile", 8, 1, 8).swap("/swapfile", "file"), LOOP0);
    // One that cannot be examined from here is compared by its name.
    permits(looped().swap("/elsewhere", "file"), LOOP0);
    // As a partition it is looked for among the devices.
    permits(looped().swap("/image", "partition"), LOOP0);
}

#[test]
fn what_a_device_bears_is_told_once_and_overridden_by_consent() {
    let borne = |says: &Says, device| {
        let permit = examine(&two_disks().tree(), says, device, Some(device)).unwrap();
        permit.overridden().to_vec()
    };
    let table = |kind: &str| Signature::PartitionTable(kind.to_owned());
    assert_eq!(borne(&blank(), SDB), []);
    assert_eq!(borne(&blank(), SDA), [table("unnamed")]);
    assert_eq!(borne(&Says(vec![table("gpt")]), SDA), [table("gpt")]);
    let refused = |device| examine(&two_disks().tree(), &blank(), device, None).unwrap_err();
    assert!(matches!(refused(SDB), Refusal::NoConsent { .. }));
    assert!(matches!(refused(SDA), Refusal::Bears { .. }));
}

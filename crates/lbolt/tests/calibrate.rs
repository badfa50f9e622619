//! `lbolt calibrate`: a device whose parameters are known, and what is refused.

use crate::common::{Lab, is_root};

const KNOWN: &str = "kind = 'drive'\ntitle = 'known'\n[design]\nassumed = 'x'\nkind = 'virtual'
[capacity]\nassumed = 'x'\nsize = '64 MiB'\nsector_size = '512 B'
[service]\nassumed = 'x'\ndepth = 4\nflush = '3 ms'
[read]\nassumed = 'x'\nrandom = '8 ms'\nsequential = '5 ms'\nrate = '40 MB/s'
[write]\nassumed = 'x'\nrandom = '9 ms'\nrate = '30 MB/s'\n";

/// Times of the profile are near those of the drive; bounds are wide, for the machine is busy.
#[test]
fn root_a_known_device_is_found_and_its_profile_simulates() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    std::fs::write(lab.path("known.toml"), KNOWN).unwrap();
    let lbolt = env!("CARGO_BIN_EXE_lbolt");
    let mut command = lab.lbolt("device model:known.toml -- sh -c");
    command.arg(format!("{lbolt} calibrate $LBOLT_DEVICE -o p.toml --runs 3 --runtime 200ms"));
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("The profile predicts "), "{}", ended.out);
    assert!(ended.out.lines().count() <= 24, "{}", ended.out);
    let text = std::fs::read_to_string(lab.path("p.toml")).unwrap();
    let random = text.split("random = { value = \"").nth(1).unwrap();
    let random_ns: f64 = random.split(' ').next().unwrap().parse().unwrap();
    assert!((7e6..12e6).contains(&random_ns), "{random_ns}");
    assert_eq!(lab.run("simulate --model p.toml --show-model").code, 0);
    lab.assert_clean();
}

#[test]
fn what_cannot_be_calibrated_is_refused_in_a_sentence() {
    let lab = Lab::new();
    std::fs::write(lab.path("there.toml"), "").unwrap();
    for (words, sentence) in [
        (". -o p.toml", "only a block device is calibrated"),
        ("/dev/null -o p.toml", "only a block device is calibrated"),
        ("/nowhere -o p.toml", "only a block device is calibrated"),
        (". -o there.toml", "is there already"),
        (". -o p.json", "ends in .toml"),
        (". -o p.toml --runtime 1ms", "20 ms at the least"),
        (". -o p.toml --runs 2", "--runs"),
        (". -o p.toml --limit bytes=5", "is no limit"),
        (". -o p.toml --limit bytes_per_s=0", "is no limit"),
        (".", "--output"),
    ] {
        let ended = lab.run(&format!("calibrate {words}"));
        assert_eq!(ended.code, 2, "{words}: {}", ended.err);
        assert!(ended.err.contains(sentence), "{words}: {}", ended.err);
    }
}

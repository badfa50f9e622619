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
    let known = KNOWN.replace("8 ms", "1 ms").replace("5 ms", "800 us").replace("40 MB", "400 MB");
    std::fs::write(lab.path("known.toml"), known).unwrap();
    let lbolt = env!("CARGO_BIN_EXE_lbolt");
    let mut command = lab.lbolt("device model:known.toml -- sh -c");
    command.arg(format!("{lbolt} calibrate $LBOLT_DEVICE -o p.toml --runs 3 --runtime 60ms"));
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("The profile predicts "), "{}", ended.out);
    assert!(ended.out.lines().count() <= 32, "{}", ended.out);
    let text = std::fs::read_to_string(lab.path("p.toml")).unwrap();
    let random = text.split("random = { value = \"").nth(1).unwrap();
    let random_ns: f64 = random.split(' ').next().unwrap().parse().unwrap();
    assert!((0.7e6..2e6).contains(&random_ns), "{random_ns}");
    assert_eq!(lab.run("simulate --model p.toml --show-model").code, 0);
    lab.assert_clean();
}

/// A modelled device costs no time, and its truth stands beside what is found.
#[test]
fn a_modelled_device_is_calibrated_in_virtual_time() {
    let lab = Lab::new();
    let known = KNOWN.replace("8 ms", "80 us").replace("5 ms", "50 us").replace("9 ms", "90 us");
    std::fs::write(lab.path("known.toml"), &known).unwrap();
    let ended = lab.run("calibrate model:known.toml -o p.toml --runs 3 --runtime 20ms");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("4 of 4 numbers hold the truth."), "{}", ended.out);
    assert!(ended.out.contains("The profile predicts 36 of 36 classes"), "{}", ended.out);
    assert_eq!(lab.run("simulate --model p.toml --show-model").code, 0);
}

/// A bucket that was emptied is said and not guessed; what the user says of it is in the profile.
#[test]
fn a_limit_is_refused_unless_it_is_given() {
    let lab = Lab::new();
    let known = KNOWN.replace("8 ms", "80 us").replace("5 ms", "50 us").replace("9 ms", "90 us");
    let known = known.replace("MB/s", "GB/s");
    let limit = "[limit]\nassumed = 'x'\nrequests_per_s = 3000\nburst_requests = 5000\n";
    std::fs::write(lab.path("limited.toml"), format!("{known}{limit}")).unwrap();
    let words = "calibrate model:limited.toml -o p.toml --runs 3 --runtime 50ms";
    let ended = lab.run(words);
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("is limited to 30") || ended.err.contains("is limited to 29"));
    assert!(!lab.path("p.toml").exists());
    let given = "--limit requests_per_s=3000 --limit burst_requests=5000";
    let ended = lab.run(&format!("{words} {given}"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("its limit held while it was measured"), "{}", ended.out);
    let text = std::fs::read_to_string(lab.path("p.toml")).unwrap();
    assert!(text.contains("requests_per_s = 3000.0\nburst_requests = 5000.0"), "{text}");
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

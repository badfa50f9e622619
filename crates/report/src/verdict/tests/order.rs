//! Who is hurt is told of first.

use super::*;

/// Who lost, in the order of the sentences: losses by victim, cause and seconds.
fn told(losses: &[(&str, &str, f64)]) -> Vec<String> {
    let findings = losses.iter().map(|(victim, cause, lost_s)| {
        let subject = Subject::Blame(Blame {
            cause: (*cause).into(),
            device: "vda".into(),
            file: None,
            is_role: true,
            storm: None,
            victim: (*victim).into(),
            wait: "fdatasync".into(),
        });
        of(&subject, &[("lost_ns", lost_s * 1e9), ("matters", 1.0)])
    });
    let findings = [of_run()].into_iter().chain(findings).collect::<Vec<_>>().concat();
    let said = sentences(&findings);
    said.iter().filter_map(|line| Some(line.split_once(" lost ")?.0.to_owned())).collect()
}

/// The copy's own sync waits longest, whoever else it hurts.
#[test]
fn who_is_hurt_stands_before_who_hurts_and_before_the_kernel() {
    let copy = ("dd", "hog", 10.0);
    assert_eq!(told(&[copy, ("orders", "dd", 3.0)]), ["orders", "dd"]);
    assert_eq!(told(&[copy, ("orders", "hog", 3.0)]), ["dd", "orders"], "it hurts nobody");
    assert_eq!(told(&[copy, ("orders", "dd", 0.5)]), ["dd", "orders"], "it hurts hardly anybody");
    let kernels = ("kernel worker", "dd", 20.0);
    assert_eq!(told(&[kernels, copy, ("orders", "dd", 3.0)]), ["orders", "dd", "kernel worker"]);
    // Three are told of.
    let all = [kernels, copy, ("orders", "dd", 3.0), ("stock", "dd", 2.0)];
    assert_eq!(told(&all), ["orders", "stock", "dd"]);
}

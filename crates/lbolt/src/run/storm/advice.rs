//! What makes the best remedy permanent: the files for this disk, or what a program is to do.

use super::predicted::together;
use host::remedy::{Place, Remedy, permanent};
use model::record::Finding;
use model::record::subject::{Storm, StormStream, Subject};

/// For the best of the recommended remedies; nothing where none is. Settings are advised where they
/// were measured on a disk of this machine alone.
pub(super) fn advice(findings: &[Finding], place: &Place, is_own_disk: bool) -> String {
    let of_victims = |finding: &Finding, quantity: &str| match &finding.subject {
        Subject::Storm(Storm { remedy, stream: StormStream::Victims, .. })
            if finding.quantity == quantity =>
        {
            Some((remedy.clone(), finding.value?))
        }
        _ => None,
    };
    let recommended = findings.iter().filter_map(|finding| of_victims(finding, "recommended"));
    let recommended: Vec<String> =
        recommended.filter(|(_, value)| *value == 1.0).map(|(remedy, _)| remedy).collect();
    let gains = findings.iter().filter_map(|finding| of_victims(finding, "gain_ratio"));
    let best = gains
        .filter(|(remedy, _)| recommended.contains(remedy))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(remedy, _)| remedy);
    let best: Vec<&Remedy> = best.iter().flat_map(|names| together(names)).collect();
    let each = best.iter().map(|remedy| of_remedy(remedy, place, is_own_disk));
    each.collect::<Vec<String>>().join("\n\n")
}

fn of_remedy(remedy: &Remedy, place: &Place, is_own_disk: bool) -> String {
    if let Some(what) = remedy.in_program {
        return format!("To make {} permanent, the writing program must {what}.", remedy.name);
    }
    if let Some(what) = remedy.by_hand {
        return format!("To make {} permanent, {what}.", remedy.name);
    }
    if !is_own_disk {
        return format!(
            "{} was measured on a temporary device. Try it on a directory of your own disk; the \
             output then shows how to make it permanent.",
            remedy.name
        );
    }
    let files = permanent(remedy, place);
    let files =
        files.iter().map(|file| format!("\n\n  {}\n    {}", file.path, indented(&file.text)));
    format!("To keep {} after a reboot, create:{}", remedy.name, files.collect::<String>())
}

fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(remedy: &str, quantity: &str, value: f64) -> Finding {
        let stream = StormStream::Victims;
        let subject = Subject::Storm(Storm { remedy: remedy.into(), stream, target: None });
        Finding::new(&subject, quantity, Some(value), 3, "m")
    }

    fn findings(best: &str) -> Vec<Finding> {
        vec![
            finding("bfq", "gain_ratio", 0.2),
            finding("bfq", "recommended", 0.0),
            finding(best, "gain_ratio", 0.5),
            finding(best, "recommended", 1.0),
            finding("kyber", "gain_ratio", 0.7),
            finding("kyber", "recommended", 1.0),
        ]
    }

    #[test]
    fn the_best_that_is_recommended_is_made_permanent() {
        let place =
            Place { device: Some("x".into()), dirty_bytes: 64 << 20, period_ns: 1, mounted: None };
        let text = advice(&findings("dirty-early"), &place, true);
        assert!(text.contains("/etc/sysctl.d/60-lbolt-dirty-early.conf"), "{text}");
        assert!(text.contains("\n    vm.dirty_background_bytes = 4194304\n"), "{text}");
        let text = advice(&findings("dirty-early"), &place, false);
        assert!(text.contains("on a directory of your own disk"), "{text}");
        let text = advice(&findings("direct"), &place, false);
        assert!(text.contains("open the file with O_DIRECT"), "{text}");
        assert_eq!(advice(&findings("direct")[..2], &place, true), "");
    }
}

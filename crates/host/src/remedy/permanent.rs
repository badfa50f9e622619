//! What makes a remedy permanent: the files that a system reads when it starts, from the settings
//! that were measured.

use super::{Place, Remedy};
use crate::settings::Setting;
use std::path::Path;

/// A file, and what is to stand in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permanent {
    /// Where it is to be.
    pub path: String,
    /// Its lines.
    pub text: String,
}

/// The files of a remedy here; none where a program does it, or where the machine cannot have it.
pub fn permanent(remedy: &Remedy, place: &Place) -> Vec<Permanent> {
    let Ok(settings) = remedy.settings(place) else { return vec![] };
    of_settings(&settings, remedy.name)
}

fn of_settings(settings: &[Setting], name: &str) -> Vec<Permanent> {
    let sysctl = |setting: &Setting| {
        let path = setting.path.strip_prefix("/proc/sys").ok()?;
        let key = path.display().to_string().replace('/', ".");
        Some(format!("{key} = {}\n", setting.value))
    };
    let sysctl: String = settings.iter().filter_map(sysctl).collect();
    let udev = udev_rule(settings);
    let file = |directory: &str, end: &str, text: String| {
        let path = format!("{directory}/60-lbolt-{name}.{end}");
        (!text.is_empty()).then_some(Permanent { path, text })
    };
    let sysctl = file("/etc/sysctl.d", "conf", sysctl);
    let udev = file("/etc/udev/rules.d", "rules", udev);
    sysctl.into_iter().chain(udev).collect()
}

/// One rule for all settings of a disk's queue, which are written in this order.
fn udev_rule(settings: &[Setting]) -> String {
    let of_queue = |setting: &Setting| {
        let path = setting.path.strip_prefix("/sys/block").ok()?;
        let device = path.iter().next()?.to_str()?.to_owned();
        let attribute = path.strip_prefix(Path::new(&device)).ok()?.display().to_string();
        Some((device, format!(", ATTR{{{attribute}}}=\"{}\"", setting.value)))
    };
    let all: Vec<(String, String)> = settings.iter().filter_map(of_queue).collect();
    let Some((device, _)) = all.first() else { return String::new() };
    let changes: String = all.iter().map(|(_, change)| change.as_str()).collect();
    format!("ACTION==\"add|change\", SUBSYSTEM==\"block\", KERNEL==\"{device}\"{changes}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_files() {
        let setting = |path: &str, value: &str| Setting { path: path.into(), value: value.into() };
        let settings = [
            setting("/sys/block/vda/queue/scheduler", "mq-deadline"),
            setting("/sys/block/vda/queue/iosched/fifo_batch", "1"),
            setting("/proc/sys/vm/dirty_bytes", "4096"),
        ];
        let files = of_settings(&settings, "x");
        assert_eq!(files[0].path, "/etc/sysctl.d/60-lbolt-x.conf");
        assert_eq!(files[0].text, "vm.dirty_bytes = 4096\n");
        assert_eq!(files[1].path, "/etc/udev/rules.d/60-lbolt-x.rules");
        let rule = "ACTION==\"add|change\", SUBSYSTEM==\"block\", KERNEL==\"vda\", \
                    ATTR{queue/scheduler}=\"mq-deadline\", ATTR{queue/iosched/fifo_batch}=\"1\"\n";
        assert_eq!(files[1].text, rule);
        assert!(of_settings(&[], "x").is_empty());
    }
}

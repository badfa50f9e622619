//! Names of pods, containers and volumes, from what a node itself has: the names of log files and
//! of log directories that kubelet makes, and the paths at which it mounts volumes.
//!
//! Source: kubelet: `/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log`,
//! `/var/log/pods/NAMESPACE_POD_UID/CONTAINER`,
//! `/var/lib/kubelet/pods/UID/volumes/PLUGIN/VOLUME`.
//!
//! Non-goals: asking an API server or a runtime; reading logs.

use model::pod::{InPod, name, of_cgroup};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names that are remembered.
const KNOWN_MOST: usize = 4096;
/// Where kubelet has pods' volumes, and what is between a pod and them.
const PODS: &str = "/var/lib/kubelet/pods/";
const VOLUMES: &str = "volumes";

/// Names of pods by the paths of cgroups, as they are known so far.
#[derive(Debug, Clone)]
pub struct PodNames {
    logs: PathBuf,
    known: BTreeMap<String, String>,
}

impl Default for PodNames {
    /// Of this machine.
    fn default() -> Self {
        Self { logs: PathBuf::from("/var/log"), known: BTreeMap::new() }
    }
}

impl PodNames {
    /// What a cgroup is called: `NAMESPACE/POD/CONTAINER` if its path is of a pod that has logs
    /// here, else its path.
    pub fn named(&mut self, path: String) -> String {
        let Some(of) = of_cgroup(&path) else { return path };
        if let Some(known) = self.known.get(&path) {
            return known.clone();
        }
        let Some(name) = find(&self.logs, of) else { return path };
        if self.known.len() >= KNOWN_MOST {
            self.known.clear();
        }
        self.known.insert(path, name.clone());
        name
    }
}

fn find(logs: &Path, of: InPod<'_>) -> Option<String> {
    let files = || entries(&logs.join("containers"));
    let by_file = |id| files().find_map(|file| of_file(&file, id));
    if let Some(name) = of.container.and_then(by_file) {
        return Some(name);
    }
    let uid = of.uid.replace('_', "-");
    let pods = logs.join("pods");
    let (directory, namespace, pod) = entries(&pods).find_map(|entry| {
        let (namespace, pod) = of_directory(&entry, &uid)?;
        let (namespace, pod) = (namespace.to_owned(), pod.to_owned());
        Some((entry, namespace, pod))
    })?;
    // Several containers have no order here; the pod is known all the same.
    let mut containers = entries(&pods.join(directory));
    let only = containers.next().filter(|_| containers.next().is_none());
    let whole = only.filter(|_| of.container.is_some());
    whole
        .and_then(|one| name(&namespace, &pod, Some(&one)))
        .or_else(|| name(&namespace, &pod, None))
}

fn entries(directory: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).filter_map(|name: OsString| name.into_string().ok())
}

/// `POD_NAMESPACE_CONTAINER-ID.log` of this identifier.
fn of_file(file: &str, id: &str) -> Option<String> {
    let text = file.strip_suffix(".log")?.strip_suffix(id)?.strip_suffix('-')?;
    let (pod, rest) = text.split_once('_')?;
    let (namespace, container) = rest.split_once('_')?;
    name(namespace, pod, Some(container))
}

/// `NAMESPACE_POD_UID` of this identifier.
fn of_directory<'a>(directory: &'a str, uid: &str) -> Option<(&'a str, &'a str)> {
    directory.strip_suffix(uid)?.strip_suffix('_')?.split_once('_')
}

/// A path on a volume of a pod, from the volume's name on: `VOLUME:/PATH`. None of other paths.
///
/// By CSI the name is the PersistentVolume's, for which the volume has a directory more.
pub fn on_volume(path: &str) -> Option<String> {
    let mut parts = path.strip_prefix(PODS)?.splitn(5, '/');
    let (uid, volumes) = (parts.next()?, parts.next()?);
    let (plugin, volume) = (parts.next()?, parts.next()?);
    let is_volume = volumes == VOLUMES && plugin.contains('~') && !uid.is_empty();
    let below = parts.next().unwrap_or_default();
    let below = match plugin == "kubernetes.io~csi" {
        true => below.strip_prefix("mount").unwrap_or(below).trim_start_matches('/'),
        false => below,
    };
    (is_volume && !volume.is_empty()).then(|| format!("{volume}:/{below}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "0f5e9bcf-4a5b-4a6c-9d35-8c0e3cf5a1b2";

    fn names(files: &[String], directories: &[&str]) -> (tempfile::TempDir, PodNames) {
        let logs = tempfile::tempdir().unwrap();
        let containers = logs.path().join("containers");
        std::fs::create_dir(&containers).unwrap();
        files.iter().for_each(|file| std::fs::write(containers.join(file), "").unwrap());
        for directory in directories {
            std::fs::create_dir_all(logs.path().join("pods").join(directory)).unwrap();
        }
        let names = PodNames { logs: logs.path().to_owned(), ..PodNames::default() };
        (logs, names)
    }

    #[test]
    fn containers_have_the_names_of_their_logs() {
        let [one, two, other] = ["1a", "2b", "3c"].map(|pair| pair.repeat(32));
        let (_logs, mut names) = names(
            &[
                format!("db-0_shop_postgres-{one}.log"),
                format!("db-0_shop_my-side-car-{two}.log"),
                "garbage".to_owned(),
            ],
            &[
                &format!("shop_db-0_{UID}/postgres"),
                &format!("shop_db-0_{UID}/my-side-car"),
                "kube-system_etcd-n1_a1b2c3d4e5f60718293a4b5c6d7e8f90/etcd",
                "no_such",
            ],
        );
        let bars = UID.replace('-', "_");
        let slice = format!("/kubepods.slice/kubepods-pod{bars}.slice");
        for (path, expected) in [
            (format!("{slice}/cri-containerd-{one}.scope"), "shop/db-0/postgres"),
            (format!("/kubepods/burstable/pod{UID}/{two}"), "shop/db-0/my-side-car"),
            // The pod's own, and one without a log: of which container is not known.
            (slice.clone(), "shop/db-0"),
            (format!("{slice}/crio-{other}.scope"), "shop/db-0"),
            // It has one container.
            (
                format!("/kubepods/poda1b2c3d4e5f60718293a4b5c6d7e8f90/{other}"),
                "kube-system/etcd-n1/etcd",
            ),
        ] {
            assert_eq!(names.named(path.clone()), expected, "{path}");
            assert_eq!(names.named(path.clone()), expected, "{path}, again");
        }
        let unknown = format!("/kubepods/pod{}/{other}", "12345678-".repeat(4));
        for path in [unknown.as_str(), "/system.slice/cron.service", "/", ""] {
            assert_eq!(names.named(path.to_owned()), path);
        }
    }

    #[test]
    fn logs_with_bad_names_name_nothing() {
        let id = "1a".repeat(32);
        let path = format!("/kubepods/pod{UID}/{id}");
        for (file, directory) in [
            (format!("db\n_shop_c-{id}.log"), format!("sh\u{202e}op_db_{UID}/c")),
            (format!("DB_shop_c-{id}.log"), format!("shop_.._{UID}/c")),
            (format!("shop-{id}.log"), format!("shop_{UID}/c")),
            (format!("_{id}.log"), UID.to_owned()),
        ] {
            let (_logs, mut names) = names(&[file], &[&directory]);
            assert_eq!(names.named(path.clone()), path, "{directory:?}");
        }
        // A container of a bad name leaves its pod's.
        let (_logs, mut names) = names(&[], &[&format!("shop_db-0_{UID}/C\u{1b}")]);
        assert_eq!(names.named(path), "shop/db-0");
        let mut nowhere = PodNames { logs: "/nowhere".into(), ..PodNames::default() };
        assert_eq!(nowhere.named(format!("/kubepods/pod{UID}")), format!("/kubepods/pod{UID}"));
    }

    #[test]
    fn a_path_on_a_volume_begins_with_its_name() {
        let at = |path: &str| on_volume(&format!("/var/lib/kubelet/pods/{path}"));
        for (path, expected) in [
            ("u/volumes/kubernetes.io~csi/pvc-1/mount/base/1", "pvc-1:/base/1"),
            ("u/volumes/kubernetes.io~csi/pvc-1/mount", "pvc-1:/"),
            ("u/volumes/kubernetes.io~empty-dir/cache/a/b", "cache:/a/b"),
            ("u/volumes/kubernetes.io~local-volume/pv/mount/x", "pv:/mount/x"),
        ] {
            assert_eq!(at(path).as_deref(), Some(expected), "{path}");
        }
        for path in ["", "u", "u/volumes/kubernetes.io~csi", "u/volumes/x/y/z", "u/etc-hosts/a~b/c"]
        {
            assert_eq!(at(path), None, "{path}");
        }
        assert_eq!(on_volume("/var/lib/postgres/kubelet"), None);
    }
}

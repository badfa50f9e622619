//! Pods and containers in the paths of cgroups, and the names that pods have in records:
//! `NAMESPACE/POD/CONTAINER`, or `NAMESPACE/POD` where the container is not known. A cgroup's own
//! path begins with `/`, so the two cannot be confused.
//!
//! Source: the cgroup paths of Kubernetes' kubelet (drivers systemd and cgroupfs) with containerd,
//! CRI-O, cri-dockerd and kind; of Docker and Podman.
//!
//! Non-goals: where names come from (`host::pod`).

/// A container's identifier has so many hexadecimal digits.
const DIGITS: usize = 64;
/// Characters of a pod's identifier: a UUID's, or a static pod's hash; tests may shorten it.
const UID: std::ops::RangeInclusive<usize> = 8..=64;
/// Characters of a name at the most (RFC 1123).
const NAME: std::ops::RangeInclusive<usize> = 1..=253;

/// A pod's cgroup, or one below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InPod<'a> {
    /// The pod's identifier, with `_` in the place of `-` by the driver systemd.
    pub uid: &'a str,
    /// The container's identifier.
    pub container: Option<&'a str>,
}

/// What a cgroup's path tells of a pod. A name alone makes no pod, for whoever has a cgroup of his
/// own may call those in it as he likes: the pod is the outermost one, and lies where kubelet puts
/// pods. Whatever is in it is of this pod.
pub fn of_cgroup(path: &str) -> Option<InPod<'_>> {
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    let (mut is_of_kubelet, mut above) = (true, "");
    while let Some(part) = parts.next() {
        let (own, rest) = part.split_once(':').map_or((part, ""), |(own, rest)| (own, rest));
        if let Some(uid) = pod(own) {
            let next =
                if rest.is_empty() { parts.peek().copied().unwrap_or_default() } else { rest };
            let is_there = own.contains("kubepods") || above == ".." || is_of_pods(above);
            return (is_of_kubelet && is_there)
                .then(|| InPod { uid, container: container_of(next) });
        }
        let is_node = parts.peek().is_some_and(|next| is_node(part, next));
        is_of_kubelet = match part {
            // As it is seen from a cgroup's own namespace, whose outside nobody within can name.
            ".." => is_of_kubelet,
            "kubelet" | "kubelet.slice" => is_of_kubelet,
            _ if is_node => {
                parts.next();
                is_of_kubelet
            }
            // containerd with another driver than kubelet's makes one part of three:
            // `kubepods-burstable-pod….slice:cri-containerd:9c1d…`.
            "system.slice" => {
                parts.next_if(|next| RUNTIMES.contains(next)).is_some() && is_of_kubelet
            }
            _ => is_of_kubelet && is_of_pods(part),
        };
        above = part;
    }
    None
}

/// Services in whose cgroups containers may lie.
const RUNTIMES: [&str; 7] = [
    "containerd.service",
    "crio.service",
    "docker.service",
    "k3s.service",
    "k3s-agent.service",
    "rke2-server.service",
    "rke2-agent.service",
];

/// Whether it is a container that the system's own runtime has: one in which kubelet may run, as
/// with kind.
fn is_node(part: &str, next: &str) -> bool {
    let has_runtime = match part {
        "docker" => !next.ends_with(".scope"),
        "system.slice" => next.starts_with("docker-"),
        "machine.slice" => next.starts_with("libpod-"),
        _ => false,
    };
    has_runtime && container_of(next).is_some()
}

/// Whether all pods, or those of one class of service, lie there.
fn is_of_pods(part: &str) -> bool {
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let part = part.strip_prefix("kubelet-").unwrap_or(part);
    matches!(
        part,
        "kubepods" | "burstable" | "besteffort" | "kubepods-burstable" | "kubepods-besteffort"
    )
}

/// The identifier of the outermost container, of a pod or not: `docker-9c1d….scope`,
/// `cri-containerd-9c1d….scope`, or the identifier alone.
pub fn container(path: &str) -> Option<&str> {
    path.split(['/', ':']).find_map(container_of)
}

fn container_of(part: &str) -> Option<&str> {
    let part = part.rsplit(':').next().unwrap_or(part);
    let part = part.strip_suffix(".scope").unwrap_or(part);
    part.rsplit('-').next().filter(|id| id.len() == DIGITS && is_hexadecimal(id))
}

/// `kubepods-burstable-pod3f2a91c4_….slice`, or `pod3f2a91c4-…`.
fn pod(part: &str) -> Option<&str> {
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let (before, uid) = part.rsplit_once("pod")?;
    let is_pod = match before.strip_suffix('-') {
        None => before.is_empty(),
        Some(above) => is_of_pods(above) && above.contains("kubepods"),
    };
    let is_uid = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-' || byte == b'_';
    (is_pod && UID.contains(&uid.len()) && uid.bytes().all(is_uid)).then_some(uid)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The name in records; none of what Kubernetes allows as no name.
pub fn name(namespace: &str, pod: &str, container: Option<&str>) -> Option<String> {
    let parts: Vec<&str> = [namespace, pod].into_iter().chain(container).collect();
    let are_names = parts.iter().all(|part| is_name(part));
    are_names.then(|| parts.join("/"))
}

/// Labels of RFC 1123, and dots between them: no slash, nothing unsafe, and not `..`.
fn is_name(text: &str) -> bool {
    let is_in = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'.';
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    NAME.contains(&text.len())
        && text.bytes().all(is_in)
        && is_end(text.chars().next())
        && is_end(text.chars().last())
}

/// Whether a cgroup of a record is a name rather than a path.
pub fn is_named(cgroup: &str) -> bool {
    let parts = cgroup.split('/');
    (2..=3).contains(&parts.clone().count()) && parts.clone().all(is_name)
}

/// `NAMESPACE/POD` of a cgroup of a record. A pod without a name keeps its path; what is of no pod
/// has none.
pub fn pod_of(cgroup: &str) -> Option<&str> {
    if !is_named(cgroup) {
        return of_cgroup(cgroup).map(|_| cgroup);
    }
    let end = cgroup.match_indices('/').nth(1).map_or(cgroup.len(), |(end, _)| end);
    cgroup.get(..end)
}

/// `NAMESPACE` of a cgroup of a record, as [`pod_of`].
pub fn namespace_of(cgroup: &str) -> Option<&str> {
    match is_named(cgroup) {
        true => cgroup.split('/').next(),
        false => pod_of(cgroup),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_and_containers_are_found_in_the_paths_of_all_runtimes() {
        let id = &"9c1d2e3f4a5b6c7d8e9f".repeat(4)[..DIGITS];
        let (dashes, bars) =
            ("0f5e9bcf-4a5b-4a6c-9d35-8c0e3cf5a1b2", "0f5e9bcf_4a5b_4a6c_9d35_8c0e3cf5a1b2");
        let hash = "a1b2c3d4e5f60718293a4b5c6d7e8f90";
        let slice = format!("kubepods-burstable-pod{bars}.slice");
        let kind = "/kubelet.slice/kubelet-kubepods.slice";
        for (path, uid, has_container) in [
            // systemd: containerd, CRI-O and its monitor, cri-dockerd, guaranteed, a static pod.
            (
                format!(
                    "/kubepods.slice/kubepods-burstable.slice/{slice}/cri-containerd-{id}.scope"
                ),
                bars,
                true,
            ),
            (
                format!("/kubepods.slice/kubepods-burstable.slice/{slice}/crio-{id}.scope"),
                bars,
                true,
            ),
            (
                format!("/kubepods.slice/kubepods-burstable.slice/{slice}/crio-conmon-{id}.scope"),
                bars,
                true,
            ),
            (
                format!("/kubepods.slice/kubepods-besteffort.slice/{slice}/docker-{id}.scope/init"),
                bars,
                true,
            ),
            (
                format!("/kubepods.slice/kubepods-pod{bars}.slice/cri-containerd-{id}.scope"),
                bars,
                true,
            ),
            (
                format!("/kubepods.slice/kubepods-pod{hash}.slice/cri-containerd-{id}.scope"),
                hash,
                true,
            ),
            (format!("/kubepods.slice/kubepods-pod{bars}.slice"), bars, false),
            // cgroupfs.
            (format!("/kubepods/burstable/pod{dashes}/{id}"), dashes, true),
            (format!("/kubepods/pod{hash}/{id}"), hash, true),
            // Another driver in containerd than in kubelet.
            (format!("/system.slice/containerd.service/{slice}:cri-containerd:{id}"), bars, true),
            (format!("/system.slice/k3s-agent.service/{slice}:cri-containerd:{id}"), bars, true),
            // kind: a node in a container.
            (format!("/docker/{id}/kubelet/kubepods/pod{dashes}/{id}"), dashes, true),
            (format!("{kind}/kubelet-{slice}/cri-containerd-{id}.scope"), bars, true),
            // From a container's own namespace of cgroups.
            (format!("/../../{slice}/cri-containerd-{id}.scope"), bars, true),
        ] {
            let found = InPod { uid, container: has_container.then_some(id) };
            assert_eq!(of_cgroup(&path), Some(found), "{path}");
        }
        assert_eq!(container(&format!("/system.slice/docker-{id}.scope")), Some(id));
        assert_eq!(container(&format!("/machine.slice/libpod-{id}.scope/container")), Some(id));
    }

    /// Whoever has a cgroup of his own (a container, a user's manager) may make others in it.
    #[test]
    fn a_cgroup_that_is_only_called_like_a_pod_s_is_none() {
        let [own, other] = ["9c", "1d"].map(|pair| pair.repeat(32));
        let (uid, fake) =
            ("0f5e9bcf-4a5b-4a6c-9d35-8c0e3cf5a1b2", "a1b2c3d4-0000-4000-8000-00000000");
        let bars = fake.replace('-', "_");
        let slice = format!("kubepods-burstable-pod{bars}.slice");
        let within = format!("kubepods.slice/kubepods-burstable.slice/{slice}/crio-{other}.scope");
        for path in [
            format!("/user.slice/user-1000.slice/user@1000.service/{within}"),
            format!("/user.slice/user-1000.slice/user@1000.service/app.slice/pod{fake}/{other}"),
            format!("/user.slice/user-1000.slice/libpod-{own}.scope/kubelet/kubepods/pod{fake}"),
            format!("/system.slice/evil.service/{within}"),
            format!("/system.slice/evil.service/kubepods/burstable/pod{fake}/{other}"),
            format!("/system.slice/evil.service/{slice}:cri-containerd:{other}"),
            format!("/system.slice/evil.service/docker/{own}/kubepods/pod{fake}"),
            format!("/evil/kubelet.slice/kubelet-kubepods.slice/kubelet-{slice}"),
            format!("/mykubepods-pod{bars}.slice"),
            format!("/pod{fake}/{other}"),
            format!("/docker/{own}/pod{fake}/{other}"),
        ] {
            assert_eq!(of_cgroup(&path), None, "{path}");
        }
        // In a pod all is of this pod, and of the container that kubelet's runtime made in it.
        for below in [
            format!("kubepods/burstable/pod{fake}/{other}"),
            within.clone(),
            format!("pod{fake}"),
            other.clone(),
            format!("{slice}:cri-containerd:{other}"),
        ] {
            let path = format!("/kubepods/burstable/pod{uid}/{own}/{below}");
            assert_eq!(of_cgroup(&path), Some(InPod { uid, container: Some(&own) }), "{path}");
        }
        assert_eq!(container(&format!("/docker/{own}/docker/{other}")), Some(&*own));
    }

    #[test]
    fn what_is_of_no_pod_has_none() {
        let id = "9c".repeat(32);
        let long = format!("/kubepods/pod{}", "a".repeat(1 << 20));
        for path in [
            "",
            "/",
            "/system.slice/podman.service",
            "/kubepods.slice/kubepods-besteffort.slice",
            "/kubepods/pod../../etc",
            "/kubepods/pod",
            "/kubepods/podnothexadecimal",
            "/tripod0f5e9bcf-4a5b",
            "/pod\u{1b}[31m0f5e9bcf",
            "/podé0f5e9bcf",
            &format!("/docker/{id}"),
            &long,
        ] {
            assert_eq!(of_cgroup(path), None, "{path:.60}");
        }
    }

    #[test]
    fn a_name_is_harmless_or_none() {
        assert_eq!(name("shop", "db-0", Some("postgres")).as_deref(), Some("shop/db-0/postgres"));
        assert_eq!(name("shop", "a.b-0", None).as_deref(), Some("shop/a.b-0"));
        let long = "a".repeat(254);
        for bad in ["", ".", "..", "a/b", "A", "a\n", "-a", "a-", "\u{202e}a", "é", &long] {
            assert_eq!(name("shop", bad, None), None, "{bad}");
            assert_eq!(name(bad, "db-0", Some("c")), None, "{bad}");
            assert_eq!(name("shop", "db-0", Some(bad)), None, "{bad}");
        }
    }

    #[test]
    fn pods_and_namespaces_are_parts_of_names_and_paths_stay() {
        let path = "/kubepods/pod0f5e9bcf-4a5b/x";
        for (cgroup, pod, namespace) in [
            ("shop/db-0/postgres", Some("shop/db-0"), Some("shop")),
            ("shop/db-0", Some("shop/db-0"), Some("shop")),
            (path, Some(path), Some(path)),
            ("/system.slice/cron.service", None, None),
            ("cron", None, None),
            ("a/b/c/d", None, None),
            ("", None, None),
        ] {
            assert_eq!((pod_of(cgroup), namespace_of(cgroup)), (pod, namespace), "{cgroup}");
        }
    }
}

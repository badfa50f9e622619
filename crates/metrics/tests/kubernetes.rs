//! The DaemonSet of the watch: it is YAML, and it may no more than the unit of systemd.

use serde::Deserialize as _;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// What systemd does with `DynamicUser=`, lbolt does itself in a container: it changes the user.
const OF_USER: [&str; 3] = ["CHOWN", "SETGID", "SETUID"];

fn packaged(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The manifest's objects of a kind.
fn object(kind: &str) -> Value {
    let text = packaged("kubernetes/daemonset.yaml");
    let documents = serde_yaml_ng::Deserializer::from_str(&text);
    let mut objects = documents.map(|document| Value::deserialize(document).unwrap());
    objects.find(|object| object["kind"] == kind).unwrap()
}

fn names(list: &Value) -> BTreeSet<String> {
    let names = list.as_array().unwrap().iter();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_daemon_set_has_the_capabilities_of_the_unit() {
    let unit = packaged("lbolt-watch.service");
    let bounds = unit.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let of_unit = bounds.unwrap().split(' ').map(|name| name.strip_prefix("CAP_").unwrap());
    let expected: BTreeSet<String> = of_unit.chain(OF_USER).map(str::to_owned).collect();
    let pod = &object("DaemonSet")["spec"]["template"]["spec"];
    let security = &pod["containers"][0]["securityContext"];
    assert_eq!(names(&security["capabilities"]["add"]), expected);
    assert_eq!(names(&security["capabilities"]["drop"]), BTreeSet::from(["ALL".to_owned()]));
    for (name, value) in [
        ("privileged", false),
        ("allowPrivilegeEscalation", false),
        ("readOnlyRootFilesystem", true),
    ] {
        assert_eq!(security[name], value, "{name}");
    }
    assert_eq!(pod["containers"].as_array().unwrap().len(), 1);
    assert_eq!((&pod["hostPID"], &pod["hostNetwork"]), (&true.into(), &Value::Null));
    assert_eq!(pod["automountServiceAccountToken"], false);
}

#[test]
fn the_daemon_set_writes_its_history_and_nothing_else() {
    let pod = &object("DaemonSet")["spec"]["template"];
    let container = &pod["spec"]["containers"][0];
    let mounts = container["volumeMounts"].as_array().unwrap();
    let writable = mounts.iter().filter(|mount| mount["readOnly"] != true);
    let writable: Vec<_> = writable.map(|mount| mount["mountPath"].as_str().unwrap()).collect();
    assert_eq!(writable, ["/var/lib/lbolt"]);
    // Each mount has its volume, at the same path of the node.
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    assert_eq!(volumes.len(), mounts.len());
    for mount in mounts {
        let of = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
        assert_eq!(of["hostPath"]["path"], mount["mountPath"]);
    }
    let arguments = names(&container["args"]);
    let port = &pod["metadata"]["annotations"]["prometheus.io/port"];
    let listening = format!("--prometheus=0.0.0.0:{}", port.as_str().unwrap());
    assert!(arguments.contains(&listening) && arguments.contains("--listen-public"));
    assert!(arguments.contains("/var/lib/lbolt/history"));
    assert_eq!(container["ports"][0]["containerPort"].to_string(), port.as_str().unwrap());
    let labels = &pod["metadata"]["labels"];
    assert_eq!(&object("DaemonSet")["spec"]["selector"]["matchLabels"], labels);
    let version = format!("lbolt:{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(container["image"], version);
}

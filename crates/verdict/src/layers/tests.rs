//! Made stacks, whose times are known; and any: their layers sum to the top's response.

use super::*;
use model::record::Op;
use proptest::prelude::*;

const TOP: u32 = 1;
const MIDDLE: u32 = 2;
const LEGS: [u32; 2] = [3, 4];

fn stack() -> DeviceStack {
    let mut stack = DeviceStack::default();
    stack.add(TOP, vec![MIDDLE]);
    stack.add(MIDDLE, LEGS.to_vec());
    stack
}

fn row(request_id: u64, device: u32, above_id: Option<u64>, (begin, end): (i64, i64)) -> Request {
    Request {
        request_id,
        device,
        above_id,
        op: Op::Write,
        queued_ns: Some(begin),
        completed_ns: Some(end),
        ..Request::default()
    }
}

fn name(device: u32) -> String {
    ["?", "top", "middle", "leg0", "leg1"][device as usize].to_owned()
}

fn value(findings: &[Finding], layer: u32, quantity: &str) -> f64 {
    let subject = Subject::Layer(Layer { device: name(TOP), layer: name(layer) });
    let is_it = |f: &&Finding| f.subject == subject && f.quantity == quantity;
    findings.iter().find(is_it).and_then(|f| f.value).unwrap()
}

fn told(rows: &[Request]) -> Vec<Finding> {
    let mut layers = Layers::new(stack());
    rows.iter().for_each(|row| layers.add(row, true));
    let findings = layers.findings(&name);
    assert!(layers.trees.is_empty() && layers.places.is_empty(), "nothing is kept");
    for finding in &findings {
        assert!(model::record::quantity(&finding.quantity).is_some(), "{}", finding.quantity);
    }
    findings
}

/// Three neighbours become one request of each leg, which is joined to the first of them; another
/// one beside them does not.
#[test]
fn what_was_merged_into_anothers_request_is_followed_to_it() {
    let at = |row: Request, block: u64, blocks: u32| Request {
        offset_bytes: Some(block * 4096),
        length_bytes: blocks * 4096,
        ..row
    };
    let write = |id: u64, block: u64, blocks: u32| {
        let top = at(row(id, TOP, None, (0, 100)), block, blocks);
        [top, at(row(id + 1, MIDDLE, Some(id), (10, 90)), block, blocks)]
    };
    let mut rows: Vec<Request> = [write(0, 8, 1), write(2, 9, 2), write(4, 10, 1), write(6, 12, 1)]
        .into_iter()
        .flatten()
        .collect();
    rows.sort_by_key(|row| row.queued_ns);
    for (leg, id) in LEGS.into_iter().zip([8, 9]) {
        rows.push(at(row(id, leg, Some(1), (20, 80)), 1000, 4));
    }
    let findings = told(&rows);
    let of = |layer: u32, quantity: &str| value(&findings, layer, quantity);
    assert_eq!(LEGS.map(|leg| of(leg, "layer_requests_count")), [1.0, 1.0]);
    assert_eq!(
        LEGS.map(|leg| of(leg, "layer_own_ns")),
        [90.0, 90.0],
        "half of 60 for each of three"
    );
    assert_eq!(of(MIDDLE, "layer_own_ns"), 60.0);
    assert_eq!(of(MIDDLE, "layer_unfollowed_ns"), 80.0, "the neighbour's");
    assert_eq!(of(TOP, "layer_own_ns"), 80.0);
}

/// By hand: 10 ns until the middle has it, 20 until the legs have it, both for 30, one of them for
/// 20 more, then 15 in the middle and 5 at the top.
#[test]
fn a_mirrors_write_divides_among_its_layers() {
    let findings = told(&[
        row(0, TOP, None, (0, 100)),
        row(1, MIDDLE, Some(0), (10, 95)),
        row(2, LEGS[0], Some(1), (30, 60)),
        row(3, LEGS[1], Some(1), (30, 80)),
    ]);
    let own = [TOP, MIDDLE, LEGS[0], LEGS[1]].map(|of| value(&findings, of, "layer_own_ns"));
    assert_eq!(own, [15.0, 35.0, 15.0, 35.0]);
    assert_eq!(value(&findings, LEGS[1], "layer_own_percent"), 35.0);
    assert_eq!(value(&findings, MIDDLE, "layer_own_mean_ns"), 35.0);
    assert_eq!(value(&findings, TOP, "layer_response_ns"), 100.0);
    let layers: Vec<_> = findings.iter().filter_map(|f| f.subject.get("layer")).collect();
    let mut order = layers;
    order.dedup();
    assert_eq!(order, ["top", "middle", "leg0", "leg1"], "from the top down");
}

/// dm-delay holds a request back, and then its disk has it.
#[test]
fn what_a_layer_holds_back_is_its_own() {
    let rows: Vec<Request> = (0..100)
        .flat_map(|n| {
            let at = n * 30_000_000;
            let top = row(n as u64 * 2, MIDDLE, None, (at, at + 20_100_000));
            let disk = (at + 20_000_000, at + 20_090_000);
            [top, row(n as u64 * 2 + 1, LEGS[0], Some(n as u64 * 2), disk)]
        })
        .collect();
    let mut layers = Layers::new(stack());
    rows.iter().for_each(|row| layers.add(row, true));
    assert_eq!(layers.slowest(), [(MIDDLE, MIDDLE)].into());
    let findings = layers.findings(&name);
    let mean = |layer: u32| {
        let subject = Subject::Layer(Layer { device: name(MIDDLE), layer: name(layer) });
        let is_it = |f: &&Finding| f.subject == subject && f.quantity == "layer_own_mean_ns";
        findings.iter().find(is_it).and_then(|f| f.value).unwrap()
    };
    assert_eq!((mean(MIDDLE), mean(LEGS[0])), (20_010_000.0, 90_000.0));
}

#[test]
fn what_could_not_be_followed_is_nobodys_own() {
    let findings = told(&[
        row(0, TOP, None, (0, 100)),
        row(1, MIDDLE, Some(0), (10, 90)),
        // Of a part of a sequence its sequence has the time.
        Request { parent_id: Some(1), ..row(2, LEGS[0], Some(0), (20, 30)) },
        row(3, TOP, None, (200, 300)),
        row(4, MIDDLE, Some(3), (200, 300)),
        row(5, LEGS[0], Some(4), (200, 300)),
        // Not completed in the trace, and of somebody else.
        Request { completed_ns: None, ..row(6, LEGS[0], Some(4), (200, 300)) },
        row(7, LEGS[0], Some(99), (210, 290)),
        row(8, LEGS[0], None, (210, 290)),
    ]);
    let of = |layer, quantity| value(&findings, layer, quantity);
    assert_eq!((of(TOP, "layer_own_ns"), of(TOP, "layer_unfollowed_ns")), (20.0, 0.0));
    assert_eq!((of(MIDDLE, "layer_own_ns"), of(MIDDLE, "layer_unfollowed_ns")), (0.0, 80.0));
    assert_eq!(of(MIDDLE, "layer_unfollowed_percent"), 40.0);
    assert_eq!((of(LEGS[0], "layer_own_ns"), of(LEGS[0], "layer_requests_count")), (100.0, 1.0));
}

#[test]
fn a_device_of_which_nothing_beneath_is_known_has_no_layers() {
    assert_eq!(told(&[row(0, TOP, None, (0, 100)), row(1, TOP, None, (5, 70))]), []);
}

#[test]
fn beneath_the_eighth_layer_all_is_the_eighths() {
    let mut stack = DeviceStack::default();
    (0..11).for_each(|upper| stack.add(upper, vec![upper + 1]));
    let mut layers = Layers::new(stack);
    for device in 0..12u32 {
        let (above, at) = (device.checked_sub(1).map(u64::from), i64::from(device));
        layers.add(&row(device.into(), device, above, (at, 100 - at)), true);
    }
    let findings = layers.findings(&|device| device.to_string());
    let own = |layer: u32| {
        let subject = Subject::Layer(Layer { device: "0".into(), layer: layer.to_string() });
        findings.iter().find(|f| f.subject == subject && f.quantity == "layer_own_ns")?.value
    };
    assert_eq!((0..9).map(own).collect::<Vec<_>>(), {
        let mut expected = vec![Some(2.0); 7];
        expected.extend([Some(86.0), None]);
        expected
    });
}

/// A tree of any shape: each request serves one before it, at any time.
fn trees() -> impl Strategy<Value = Vec<(usize, u32, i64, i64)>> {
    prop::collection::vec((0usize..20, 2u32..5, 0i64..1000, 0i64..1000), 0..20)
}

proptest! {
    #[test]
    fn the_layers_sum_to_the_tops_response(all in prop::collection::vec(trees(), 1..8)) {
        let (mut rows, mut response_ns) = (Vec::new(), 0);
        for (number, tree) in all.iter().enumerate() {
            let base = number as u64 * 100;
            let begin = number as i64 * 300;
            rows.push(row(base, TOP, None, (begin, begin + 1000)));
            response_ns += 1000;
            for (place, (above, device, at, took)) in tree.iter().enumerate() {
                let above = base + (above % (place + 1)) as u64;
                // Arrival after the one above is what traces are sorted by.
                let from = begin + at;
                rows.push(row(base + place as u64 + 1, *device, Some(above), (from, from + took)));
            }
        }
        let mut layers = Layers::new(stack());
        // In each tree's own order: what arrives before the one that it serves is not its.
        rows.sort_by_key(|row| (row.queued_ns, row.request_id));
        rows.iter().for_each(|row| layers.add(row, true));
        let findings = layers.findings(&name);
        let sum = |quantity: &str| {
            let of = findings.iter().filter(|f| f.quantity == quantity);
            of.map(|f| f.value.unwrap()).sum::<f64>()
        };
        if findings.is_empty() {
            return Ok(());
        }
        let whole = sum("layer_own_ns") + sum("layer_unfollowed_ns");
        prop_assert!((whole - response_ns as f64).abs() < 1e-3, "{whole} of {response_ns}");
        let percent = sum("layer_own_percent") + sum("layer_unfollowed_percent");
        prop_assert!((percent - 100.0).abs() < 1e-6);
        prop_assert!(findings.iter().all(|f| f.value.unwrap() >= -1e-6));
    }
}

//! Where the time of a request to a stack of devices goes: each moment of it belongs to one layer.
//!
//! A request to the top and those that serve it (`above_id`) are a tree. A moment belongs to the
//! requests in flight then that none beneath serves; where there are several (the legs of a mirror,
//! the parts of a split request) in equal shares. So the own times of a tree's requests sum to the
//! top's response, whatever their times are: what of a request lies outside of the one above it is
//! none of the top's time.
//!
//! The time of a request to a device that lies on others, beneath which the trace has none for it,
//! is kept apart: its driver may have taken it, or a device beneath, whose requests could not be
//! joined.
//!
//! A device merges bios that are neighbours into one request, which is joined to the first of them
//! alone. The others' times beneath are those of that request, which is found by its place: it is
//! longer than what it serves by what follows there.
//!
//! Layers beneath the eighth ([`LAYERS_MOST`]) count as the eighth's own.
//!
//! Non-goals: who is to blame (`super::verdict`), what a queue or device did in it
//! (`super::response`).

use hashbrown::HashMap;
use model::histogram::SparseHistogram;
use model::record::requests::{DeviceStack, LAYERS_MOST};
use model::record::subject::Layer;
use model::record::{Finding, Flags, Request, Subject};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;

const OWN: &str = "each moment of the top's response belongs to the requests in flight that none \
    beneath serves, in equal shares";

/// Requests that serve more than one above are remembered up to so many: what they serve comes at
/// the same time.
const MERGED_MOST: usize = 1024;

/// A request of a tree.
#[derive(Debug, Clone)]
struct Node {
    device: u32,
    begin_ns: i64,
    end_ns: i64,
    /// Where it is on its device; empty where it has no data.
    bytes: Range<u64>,
    above: Option<usize>,
    depth: usize,
    has_beneath: bool,
    /// The file's number of it; none of what serves this request beside the one that it is joined
    /// to.
    id: Option<u64>,
}

/// A request that serves more than the one above that it is joined to.
#[derive(Debug, Clone)]
struct Merged {
    /// The device above, and the bytes there that it serves.
    above: u32,
    bytes: Range<u64>,
    device: u32,
    begin_ns: i64,
    end_ns: i64,
}

/// What a layer's requests have of the time of a top's.
#[derive(Debug, Clone, Default)]
struct Sum {
    requests: u64,
    response_ns: f64,
    own_ns: f64,
    unfollowed_ns: f64,
    own: SparseHistogram,
    depth: usize,
}

/// Finds where the time goes, of rows in the order of their arrival.
#[derive(Debug, Default)]
pub struct Layers {
    stack: DeviceStack,
    /// Trees by the number of their top; and of each request in one: the tree, and its place.
    trees: HashMap<u64, Vec<Node>>,
    places: HashMap<u64, (u64, usize)>,
    ends: BinaryHeap<Reverse<(i64, u64)>>,
    merged: VecDeque<Merged>,
    /// By top device and layer.
    sums: BTreeMap<(u32, u32), Sum>,
}

impl Layers {
    /// Of devices that lie on each other so.
    pub fn new(stack: DeviceStack) -> Self {
        Self { stack, ..Self::default() }
    }

    /// Takes the next row. Trees begin with requests that are selected.
    pub fn add(&mut self, row: &Request, is_selected: bool) {
        let (Some(begin_ns), Some(end_ns)) = (row.arrival_ns(), row.completed_ns) else { return };
        if row.parent_id.is_some() || row.is_orphan() || end_ns < begin_ns {
            return;
        }
        self.end_until(begin_ns);
        let id = row.request_id;
        let from = row.offset_bytes.unwrap_or(0);
        let node = Node {
            device: row.device,
            begin_ns,
            end_ns,
            bytes: from..from + row.offset_bytes.map_or(0, |_| u64::from(row.length_bytes)),
            above: None,
            depth: 0,
            has_beneath: false,
            id: Some(id),
        };
        match row.above_id {
            Some(above) => self.serve(id, node, above),
            None if is_selected
                && self.stack.is_upper(row.device)
                && !row.flags.contains(Flags::OWN) =>
            {
                self.places.insert(id, (id, 0));
                self.trees.insert(id, vec![node]);
                self.ends.push(Reverse((end_ns, id)));
            }
            None => {}
        }
    }

    /// A request beneath another one, of whose time it can have no more than there is.
    fn serve(&mut self, id: u64, node: Node, above: u64) {
        let Some((top, place)) = self.places.get(&above).copied() else { return };
        let Some(tree) = self.trees.get_mut(&top) else { return };
        let number = tree.len();
        let Some(upper) = tree.get_mut(place).filter(|upper| upper.depth + 1 < LAYERS_MOST) else {
            return;
        };
        let behind = upper.bytes.start.saturating_add(node.bytes.end - node.bytes.start);
        if !upper.bytes.is_empty() && behind > upper.bytes.end {
            let Node { device, begin_ns, end_ns, .. } = node;
            let (above, bytes) = (upper.device, upper.bytes.start..behind);
            self.merged.truncate(MERGED_MOST - 1);
            self.merged.push_front(Merged { above, bytes, device, begin_ns, end_ns });
        }
        self.places.insert(id, (top, number));
        let served = upper.beneath(place, node);
        tree.push(served);
    }

    /// What serves a tree's request beside the one that it is joined to.
    fn follow_merged(&self, tree: &mut Vec<Node>) {
        for place in 0..tree.len() {
            let Some(upper) = tree.get_mut(place) else { return };
            if upper.has_beneath || upper.bytes.is_empty() || upper.depth + 1 == LAYERS_MOST {
                continue;
            }
            let serves = |merged: &&Merged| {
                merged.above == upper.device
                    && merged.bytes.start <= upper.bytes.start
                    && merged.bytes.end >= upper.bytes.end
                    && merged.begin_ns < upper.end_ns
                    && merged.end_ns > upper.begin_ns
            };
            let found: Vec<&Merged> = self.merged.iter().filter(serves).collect();
            let found: Vec<Node> =
                found.into_iter().map(|merged| merged.serving(upper, place)).collect();
            tree.extend(found);
        }
    }

    /// Ends the trees whose top was completed before a moment: no more of them comes.
    fn end_until(&mut self, now_ns: i64) {
        while let Some(Reverse((end_ns, top))) = self.ends.peek().copied() {
            if end_ns >= now_ns {
                return;
            }
            self.ends.pop();
            self.end(top);
        }
    }

    fn end(&mut self, top: u64) {
        let Some(mut tree) = self.trees.remove(&top) else { return };
        tree.iter().filter_map(|node| node.id).for_each(|id| _ = self.places.remove(&id));
        self.follow_merged(&mut tree);
        let Some(device) = tree.first().map(|node| node.device) else { return };
        for (node, own_ns) in tree.iter().zip(own_times(&tree)) {
            let sum = self.sums.entry((device, node.device)).or_default();
            // Counted where it is joined.
            sum.requests += u64::from(node.id.is_some());
            sum.depth = sum.depth.max(node.depth);
            sum.response_ns += (node.end_ns - node.begin_ns) as f64;
            let is_bottom = !self.stack.is_upper(node.device) || node.depth + 1 == LAYERS_MOST;
            if is_bottom || node.has_beneath {
                sum.own_ns += own_ns;
                sum.own.record(own_ns.round() as u64);
            } else {
                sum.unfollowed_ns += own_ns;
            }
        }
    }

    /// For each device that is a top, the layer in which most of its requests' time went.
    pub fn slowest(&mut self) -> BTreeMap<u32, u32> {
        self.end_until(i64::MAX);
        let mut slowest: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
        for ((top, layer), sum) in &self.sums {
            let most = slowest.entry(*top).or_insert((sum.own_ns, *layer));
            if sum.own_ns > most.0 {
                *most = (sum.own_ns, *layer);
            }
        }
        slowest.into_iter().map(|(top, (_, layer))| (top, layer)).collect()
    }

    /// All findings, each stack from its top down. `name` is a device's.
    pub fn findings(&mut self, name: &dyn Fn(u32) -> String) -> Vec<Finding> {
        self.end_until(i64::MAX);
        let mut layers: Vec<(&(u32, u32), &Sum)> = self.sums.iter().collect();
        layers.sort_by_key(|((top, layer), sum)| (*top, sum.depth, *layer));
        let whole_ns = |top: u32| self.sums.get(&(top, top)).map_or(0.0, |sum| sum.response_ns);
        let of = |((top, layer), sum): (&(u32, u32), &Sum)| {
            let subject = Subject::Layer(Layer { device: name(*top), layer: name(*layer) });
            of_layer(&subject, sum, whole_ns(*top))
        };
        // A device of which nothing beneath is in the trace is a device as any other.
        let is_divided = |top: u32| self.sums.keys().any(|(of, layer)| *of == top && *layer != top);
        layers.into_iter().filter(|((top, _), _)| is_divided(*top)).flat_map(of).collect()
    }
}

impl Node {
    /// Another one as it serves this one, which is at a place of its tree: of whose time it can
    /// have no more than there is.
    fn beneath(&mut self, place: usize, node: Node) -> Node {
        self.has_beneath = true;
        let begin_ns = node.begin_ns.clamp(self.begin_ns, self.end_ns);
        let end_ns = node.end_ns.clamp(begin_ns, self.end_ns);
        Node { begin_ns, end_ns, above: Some(place), depth: self.depth + 1, ..node }
    }
}

impl Merged {
    fn serving(&self, upper: &mut Node, place: usize) -> Node {
        let Self { device, begin_ns, end_ns, .. } = *self;
        let (above, depth, has_beneath) = (None, 0, false);
        let node =
            Node { device, begin_ns, end_ns, bytes: 0..0, above, depth, has_beneath, id: None };
        upper.beneath(place, node)
    }
}

fn of_layer(subject: &Subject, sum: &Sum, whole_ns: f64) -> Vec<Finding> {
    let found = |name, value| Finding::new(subject, name, value, sum.requests, OWN);
    let percent = |ns: f64| (whole_ns > 0.0).then(|| 100.0 * ns / whole_ns);
    let known = sum.own.count();
    let mean_ns = (known > 0).then(|| sum.own_ns / known as f64);
    let p99_ns = sum.own.quantile_ns(0.99).map(|ns| ns as f64);
    let mut findings = vec![
        found("layer_requests_count", Some(sum.requests as f64)),
        found("layer_response_ns", Some(sum.response_ns)),
        found("layer_own_ns", Some(sum.own_ns)),
        found("layer_own_percent", percent(sum.own_ns)),
        found("layer_unfollowed_ns", Some(sum.unfollowed_ns)),
        found("layer_unfollowed_percent", percent(sum.unfollowed_ns)),
    ];
    // Of none there is no mean.
    if known > 0 {
        findings.push(Finding { count: known, ..found("layer_own_mean_ns", mean_ns) });
        findings.push(Finding { count: known, ..found("layer_own_p99_ns", p99_ns) });
    }
    findings
}

/// The own time of each request of a tree, whose requests come behind those that they serve and lie
/// within them.
fn own_times(tree: &[Node]) -> Vec<f64> {
    // Ends before begins of the same moment.
    let mut steps: Vec<(i64, bool, usize)> = Vec::with_capacity(2 * tree.len());
    for (place, node) in tree.iter().enumerate().filter(|(_, node)| node.end_ns > node.begin_ns) {
        steps.extend([(node.begin_ns, true, place), (node.end_ns, false, place)]);
    }
    // Of those that begin at once the upper first, of those that end at once the lower.
    steps.sort_unstable_by_key(|(ns, is_begin, place)| {
        (*ns, *is_begin, if *is_begin { *place } else { usize::MAX - place })
    });
    let mut sweep = Sweep { own_ns: vec![0.0; tree.len()], ..Sweep::default() };
    sweep.beneath.resize(tree.len(), 0);
    sweep.since_ns.resize(tree.len(), None);
    for (now_ns, is_begin, place) in steps {
        sweep.pass(now_ns);
        let above = tree.get(place).and_then(|node| node.above);
        if is_begin {
            sweep.begin(place, above);
        } else {
            sweep.end(place, above);
        }
    }
    sweep.own_ns
}

/// Time passes, and belongs to those that none beneath serves.
#[derive(Debug, Default)]
struct Sweep {
    now_ns: i64,
    /// What one of those who share each moment has had so far.
    share_ns: f64,
    sharing: usize,
    /// How many serve each, and what a share had come to when it began to have one.
    beneath: Vec<usize>,
    since_ns: Vec<Option<f64>>,
    own_ns: Vec<f64>,
}

impl Sweep {
    fn pass(&mut self, now_ns: i64) {
        if self.sharing > 0 {
            self.share_ns += (now_ns - self.now_ns) as f64 / self.sharing as f64;
        }
        self.now_ns = now_ns;
    }

    fn begin(&mut self, place: usize, above: Option<usize>) {
        if let Some(above) = above {
            if let Some(0) = self.beneath.get(above) {
                self.share_no_more(above);
            }
            self.beneath.get_mut(above).into_iter().for_each(|count| *count += 1);
        }
        self.share(place);
    }

    fn end(&mut self, place: usize, above: Option<usize>) {
        self.share_no_more(place);
        if let Some(above) = above {
            self.beneath.get_mut(above).into_iter().for_each(|count| *count -= 1);
            if let Some(0) = self.beneath.get(above) {
                self.share(above);
            }
        }
    }

    fn share(&mut self, place: usize) {
        if let Some(since_ns) = self.since_ns.get_mut(place) {
            *since_ns = Some(self.share_ns);
            self.sharing += 1;
        }
    }

    fn share_no_more(&mut self, place: usize) {
        let since_ns = self.since_ns.get_mut(place).and_then(Option::take);
        if let (Some(since_ns), Some(own_ns)) = (since_ns, self.own_ns.get_mut(place)) {
            *own_ns += self.share_ns - since_ns;
            self.sharing -= 1;
        }
    }
}

#[cfg(test)]
mod tests;

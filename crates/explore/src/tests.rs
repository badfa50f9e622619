//! What is counted, against counting each request by itself.

use super::brush::DIMENSIONS;
use super::groups::{Groups, ends};
use super::*;
use model::record::{Commands, Context, FileKey, FileKind, FileNumber, Flags, Op, Request};
use proptest::prelude::*;

const MS: i64 = 1_000_000;

fn name(device: u32) -> String {
    format!("disk{device}")
}

/// A trace of rows; with cells, however short it is.
fn index_of(rows: &[Request], is_sorted: bool, with_cells: bool) -> Index {
    let context = Context::default();
    let mut commands = Commands::default();
    for name in ["postgres", "tar", "dd"] {
        commands.number(name.as_bytes());
    }
    let most = rows.iter().filter_map(|row| row.offset_bytes).max();
    let mut builder = Builder::new(&context, Files::new(&context, &name), is_sorted, most);
    rows.iter().for_each(|row| builder.add(row, &commands));
    let mut index = builder.finish();
    if with_cells {
        let ends = ends(&index.rows, &index.classes);
        index.groups = Some(Groups::of(&index.rows, &index.classes, &ends));
    }
    index
}

fn row(at_ns: i64, response_ns: Option<i64>, place: u64, who: u32) -> Request {
    let inode = u64::from(who / 3);
    let number = FileNumber { file_system: 8, inode, generation: 0 };
    let kind = if who.is_multiple_of(5) { FileKind::Journal } else { FileKind::Device };
    Request {
        device: who % 2,
        op: OPERATIONS[who as usize % 4],
        offset_bytes: (!who.is_multiple_of(3) || who.is_multiple_of(2)).then_some(place * 4096),
        length_bytes: 4096 * (1 + who),
        queued_ns: Some(at_ns),
        completed_ns: response_ns.map(|ns| at_ns + ns),
        command: Some(model::record::CommandId(who % 3)),
        file: who.is_multiple_of(4).then_some(FileKey { kind, number }),
        ..Request::default()
    }
}

fn any_row() -> impl Strategy<Value = Request> {
    let response = prop::option::weighted(0.9, 1_i64..1 << 40);
    (0_i64..1 << 32, response, 0_u64..1 << 20, 0_u32..12)
        .prop_map(|(at, response, place, who)| row(at, response, place, who))
}

fn sorted(mut rows: Vec<Request>) -> Vec<Request> {
    rows.sort_by_key(|row| row.queued_ns);
    rows
}

/// Whether a row is of a selection, as the answer tells it.
fn is_of(index: &Index, brush: &Brush, row: &Request) -> bool {
    let at = row.queued_ns.unwrap();
    let known = |of: &[u16], number: usize| of.is_empty() || of.contains(&(number as u16));
    let device = index.devices().iter().position(|device| *device == row.device).unwrap();
    let operation = OPERATIONS.iter().position(|op| *op == row.op).unwrap();
    let response = row.completed_ns.map(|ns| (ns - at) as f64);
    let is_slow = |from_ns: f64| response.is_none_or(|ns| ns >= from_ns);
    let is_quick = |until_ns: f64| response.is_some_and(|ns| ns < until_ns);
    let shown = brush.shown_device.map(usize::from);
    let is_at = |is_there: &dyn Fn(u64) -> bool| {
        shown == Some(device) && row.offset_bytes.is_some_and(is_there)
    };
    brush.from_ns.is_none_or(|ns| at >= ns)
        && brush.until_ns.is_none_or(|ns| at < ns)
        && known(&brush.devices, device)
        && known(&brush.operations, operation)
        && brush.response_from_ns.is_none_or(|ns| is_slow(ns.floor()))
        && brush.response_until_ns.is_none_or(|ns| is_quick(ns.ceil()))
        && brush.place_from_bytes.is_none_or(|from| is_at(&|place| place >= from))
        && brush.place_until_bytes.is_none_or(|until| is_at(&|place| place < until))
}

fn any_brush() -> impl Strategy<Value = Brush> {
    let time = prop::option::of((0_i64..1 << 32, 1_i64..1 << 36));
    let place = prop::option::of((0_u64..1 << 20, 1_u64..1 << 20));
    let response = prop::option::of((1_f64..1e9, 1.0_f64..1e6));
    let few = |most| prop::collection::vec(0..most, 0..2);
    (time, place, response, few(1_u16), few(4_u16)).prop_map(|(time, place, response, d, o)| {
        Brush {
            from_ns: time.map(|(from, _)| from),
            until_ns: time.map(|(from, width)| from + width),
            place_from_bytes: place.map(|(from, _)| from * 4096),
            place_until_bytes: place.map(|(from, height)| (from + height) * 4096),
            response_from_ns: response.map(|(from, _)| from),
            response_until_ns: response.map(|(from, factor)| from * factor),
            devices: d,
            operations: o,
            ..Brush::default()
        }
    })
}

fn check(index: &Index, rows: &[Request], brush: &Brush, most: usize) {
    let view = index.view_of(brush, most).unwrap();
    let is_counted = |row: &&Request| is_of(index, &view.brush, row);
    let expected: Vec<&Request> = rows.iter().filter(is_counted).collect();
    assert_eq!(view.requests, expected.len() as u64, "{:?}", view.brush);
    let of_discards = brush.operations.iter().all(|op| OPERATIONS[usize::from(*op)] == Op::Discard);
    let of_discards = of_discards && !brush.operations.is_empty();
    let bytes = |row: &Request, of_discards: bool| match of_discards {
        true => u64::from(row.length_bytes),
        false => row.moved_bytes(),
    };
    assert_eq!(view.bytes, expected.iter().map(|row| bytes(row, of_discards)).sum::<u64>());
    let sum = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
    assert_eq!(view.flow.iter().map(|flow| sum(&flow.requests)).sum::<u64>(), view.requests);
    assert_eq!(sum(&view.responses.counts) + view.unanswered, view.requests);
    let took = |row: &&Request| row.completed_ns.map(|ns| ns - row.queued_ns.unwrap());
    let longest = expected.iter().filter_map(took).max();
    assert_eq!(view.times.max_ns.is_some(), longest.is_some());
    if let Some((max_ns, longest)) = view.times.max_ns.zip(longest) {
        assert!((max_ns / (longest as f64).max(100.0) - 1.0).abs() < 0.001, "{max_ns} {longest}");
    }
    let columns = view.times_ns.len() - 1;
    assert_eq!(view.responses.counts.len(), columns * view.responses.edges.len().max(1) - columns);
    assert_eq!(view.places.counts.len(), columns * (view.places.edges.len().saturating_sub(1)));
    let shown = view.brush.shown_device.unwrap();
    let placed = expected.iter().filter(|row| {
        index.devices()[usize::from(shown)] == row.device && row.offset_bytes.is_some()
    });
    assert_eq!(sum(&view.places.counts), placed.count() as u64);
    for (column, times) in view.times_ns.windows(2).enumerate() {
        let is_in = |row: &&&Request| (times[0]..times[1]).contains(&row.queued_ns.unwrap());
        let here: u64 = view.flow.iter().map(|flow| u64::from(flow.requests[column])).sum();
        assert_eq!(here, expected.iter().filter(is_in).count() as u64, "column {column}");
    }
    // A dimension is listed without its own restriction.
    let without = Brush { operations: Vec::new(), ..view.brush.clone() };
    for line in &view.lists.operations.lines {
        let op = OPERATIONS[usize::from(line.number)];
        let of_op = rows.iter().filter(|row| row.op == op && is_of(index, &without, row));
        assert_eq!(line.requests, of_op.clone().count() as u64, "{op:?}");
        let all: u64 = of_op.map(|row| bytes(row, op == Op::Discard)).sum();
        assert_eq!(line.bytes, all, "{op:?}");
    }
}

proptest! {
    #[test]
    fn one_by_one_each_request_is_counted_where_it_belongs(
        rows in prop::collection::vec(any_row(), 1..200), brush in any_brush(),
    ) {
        let rows = sorted(rows);
        check(&index_of(&rows, true, false), &rows, &brush, usize::MAX);
    }

    #[test]
    fn cells_count_exactly_what_the_answer_says_that_they_count(
        rows in prop::collection::vec(any_row(), 1..200), brush in any_brush(),
    ) {
        let rows = sorted(rows);
        check(&index_of(&rows, true, true), &rows, &brush, 0);
    }

    #[test]
    fn what_is_found_is_of_the_selection_and_in_order(
        rows in prop::collection::vec(any_row(), 1..200), brush in any_brush(), most in 1_usize..20,
    ) {
        let rows = sorted(rows);
        let index = index_of(&rows, true, false);
        let brush = index.view(&brush).unwrap().brush;
        let of: Vec<usize> = (0..rows.len()).filter(|n| is_of(&index, &brush, &rows[*n])).collect();
        let cells = index_of(&rows, true, true);
        for index in [&index, &cells] {
            let first = index.find(&brush, Order::First, most).unwrap();
            let first: Vec<usize> = first.iter().map(|found| found.row as usize).collect();
            prop_assert_eq!(&first[..], &of[..most.min(of.len())]);
            let slowest = index.find(&brush, Order::Slowest, most).unwrap();
            let took = |row: &Request| row.completed_ns.map(|ns| ns - row.queued_ns.unwrap());
            let mut times: Vec<i64> = of.iter().filter_map(|n| took(&rows[*n])).collect();
            times.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(slowest.len(), most.min(times.len()));
            for (found, expected) in slowest.iter().zip(times) {
                let off = found.response_ns.unwrap() / (expected as f64).max(100.0) - 1.0;
                prop_assert!(off.abs() < 0.001, "{:?} {}", found, expected);
            }
        }
    }

    #[test]
    fn rows_in_any_order_make_the_index_of_the_sorted_ones(
        rows in prop::collection::vec(any_row(), 1..100), brush in any_brush(),
    ) {
        let index = index_of(&rows, false, false);
        check(&index, &rows, &brush, usize::MAX);
        for found in index.find(&Brush::default(), Order::First, 100).unwrap() {
            let row = &rows[found.row as usize];
            prop_assert_eq!(row.queued_ns, Some(found.arrived_ns));
        }
    }

    #[test]
    fn what_is_kept_is_read_again(
        rows in prop::collection::vec(any_row(), 0..100), cut in 0.0_f64..1.0, sorted_rows: bool,
    ) {
        let index = index_of(&sorted(rows), sorted_rows, true);
        let mut bytes = Vec::new();
        index.write("key", &mut bytes).unwrap();
        prop_assert_eq!(&Index::read("key", &mut &bytes[..]).unwrap(), &index);
        prop_assert!(Index::read("other", &mut &bytes[..]).is_err());
        let part = &bytes[..(bytes.len() as f64 * cut) as usize];
        prop_assert!(Index::read("key", &mut &part[..]).is_err());
    }

    #[test]
    fn a_damaged_index_is_refused(at in 0_usize..6000, bits in 1_u8..=255) {
        let of = |n: i64| row(n * MS, Some(n), n as u64, n as u32 % 12);
        let rows: Vec<Request> = (0..200).map(of).collect();
        let mut bytes = Vec::new();
        index_of(&rows, true, true).write("key", &mut bytes).unwrap();
        let place = at % bytes.len();
        bytes[place] ^= bits;
        prop_assert!(Index::read("key", &mut &bytes[..]).is_err());
    }
}

#[test]
fn a_long_trace_has_blocks_and_times_of_every_scale() {
    let count = 3 * (1 << 16) + 17;
    // Nanoseconds apart, then seconds.
    let at = |n: i64| if n < count / 2 { n * 3 } else { n * 1_000_000_007 };
    let rows: Vec<Request> =
        (0..count).map(|n| row(at(n), Some(1000 + n), n as u64, (n % 12) as u32)).collect();
    let index = index_of(&rows, true, true);
    let (first_ns, end_ns) = index.span_ns().unwrap();
    assert_eq!(first_ns, 0);
    assert!((end_ns - at(count - 1)).abs() < 60_000, "{end_ns}");
    let whole = index.view_of(&Brush::default(), 0).unwrap();
    assert_eq!((whole.requests, whole.one_by_one), (count as u64, false));
    assert!(whole.times_ns.len() > 60, "{}", whole.times_ns.len());
    let half = Brush { until_ns: Some(at(count / 2 - 1) + 1), ..Brush::default() };
    let part = index.view_of(&half, usize::MAX).unwrap();
    assert_eq!((part.requests, part.one_by_one), (count as u64 / 2, true));
}

#[test]
fn own_rows_and_parts_of_others_are_left_out_and_keep_their_numbers() {
    let own = Request { flags: Flags::OWN, ..row(0, Some(5), 1, 1) };
    let part = Request { parent_id: Some(1), ..row(1, Some(5), 1, 1) };
    let index = index_of(&[own, part, row(2, Some(5), 1, 1)], true, false);
    assert_eq!((index.rows(), index.left_out()), (3, 2));
    assert_eq!(index.view(&Brush::default()).unwrap().requests, 1);
    assert_eq!(index.find(&Brush::default(), Order::First, 9).unwrap()[0].row, 2);
}

#[test]
fn a_completion_whose_request_was_never_seen_has_no_response_time() {
    let orphan = Request { queued_ns: None, ..row(5, Some(5), 1, 1) };
    let view = index_of(&[orphan], true, false).view(&Brush::default()).unwrap();
    assert_eq!((view.requests, view.unanswered, view.times.max_ns), (1, 1, None));
}

#[test]
fn requests_whose_times_count_from_their_issue_are_counted() {
    let issued = Request { queued_ns: None, issued_ns: Some(5), ..row(5, Some(9), 1, 1) };
    let started = Request { started_ns: Some(5), ..issued };
    let own = Request { flags: Flags::OWN, ..issued };
    let index = index_of(&[row(4, Some(5), 1, 1), issued, started, own], true, false);
    assert_eq!(index.from_issue(), 1);
    assert_eq!(index.view(&Brush::default()).unwrap().requests, 3);
}

#[test]
fn a_trace_without_requests_has_no_view_and_what_is_not_there_is_named() {
    let none = index_of(&[], true, true);
    assert!(none.view(&Brush::default()).unwrap_err().contains("no requests"));
    assert_eq!(none.find(&Brush::default(), Order::First, 9).unwrap(), []);
    let one = index_of(&[row(0, Some(5), 1, 1)], true, false);
    assert_eq!(one.view(&Brush::default()).unwrap().requests, 1);
    for brush in [
        Brush { devices: vec![7], ..Brush::default() },
        Brush { roles: vec![700], ..Brush::default() },
        Brush { shown_device: Some(3), ..Brush::default() },
    ] {
        let error = one.view(&brush).unwrap_err();
        assert!(error.starts_with("there is no "), "{error}");
    }
}

#[test]
fn roles_and_files_are_those_of_the_verdict() {
    let rows = sorted((0..12).map(|who| row(i64::from(who), Some(9), 1, who)).collect());
    let index = index_of(&rows, true, false);
    let view = index.view(&Brush::default()).unwrap();
    let names = |list: &super::view::List, names: &[String]| -> Vec<String> {
        list.lines.iter().map(|line| names[usize::from(line.number)].clone()).collect()
    };
    let roles = names(&view.lists.roles, index.roles());
    assert!(roles.contains(&"postgres".into()) && roles.contains(&"journal".into()), "{roles:?}");
    let files = names(&view.lists.files, index.files());
    assert!(files.contains(&"journal of disk8".into()), "{files:?}");
    let numbers: u64 = view.lists.files.lines.iter().map(|line| line.requests).sum();
    assert_eq!((numbers, DIMENSIONS), (12, 4));
    let journal = index.roles().iter().position(|role| role == "journal").unwrap() as u16;
    let of = index.view(&Brush { roles: vec![journal], ..Brush::default() }).unwrap();
    assert_eq!(of.requests, 1);
    assert_eq!(of.lists.roles, view.lists.roles, "listed without its own restriction");
}

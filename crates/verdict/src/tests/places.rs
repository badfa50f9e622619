//! On which device waits are that have no request of their own.

use super::*;
use model::record::{FileKey, FileKind, FileNumber};

/// What is untraced and what is not placed, of a wait beside a read of metadata by a thread, and
/// beside its own discard.
fn waited(reader: u32, own: Option<Op>) -> (Vec<f64>, Vec<f64>) {
    let mut load = Load::with(&["git", "updatedb"]);
    for number in 0..100 {
        load.request(reader, Op::Read, number * 100 * MS, 60 * MS, 4096);
    }
    for row in &mut load.rows {
        let number = FileNumber::default();
        row.file = Some(FileKey { kind: FileKind::Metadata, number });
    }
    if let Some(op) = own {
        load.request(1, op, 70 * MS, 20 * MS, 4096);
    }
    let begin_ns = if own.is_some() { 75 * MS } else { 10 * MS };
    load.context.waits.push(Wait {
        kind: WaitKind::Request,
        pid: 1,
        begin_ns,
        end_ns: begin_ns + 15 * MS,
        for_request: 1,
        ..Wait::default()
    });
    load.context.processes.push(Process { pid: 3, ..load.context.processes[0].clone() });
    let findings = load.findings();
    (values(&findings, "unplaced_waits_ns"), values(&findings, "unplaced_untraced_ns"))
}

#[test]
fn who_waits_for_a_block_that_another_thread_reads_is_not_on_another_device() {
    // Another thread of the program reads it: it is there.
    assert_eq!(waited(3, None), (vec![], vec![]));
    // Somebody else reads metadata: it may be that.
    assert_eq!(waited(2, None), (vec![15e6; 2], vec![]));
}

#[test]
fn who_waits_for_its_own_discard_is_on_its_device() {
    assert_eq!(waited(2, Some(Op::Discard)), (vec![], vec![]));
}

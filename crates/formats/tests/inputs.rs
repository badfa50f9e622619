//! Inputs that are not quite as a format's program writes them, each with the requests that are
//! right, counted by hand: whose queueing is known in part, that are sent twice, or that lie in
//! files of other encodings, units and shapes.

#![allow(clippy::unwrap_used, reason = "a test")]

use formats::import::{self, Input};
use model::record::requests::Provenance;
use model::record::{Op, Request};
use trace::intake::Intake;

/// The rows of files of one trace, of a format or of what they are taken for.
fn read(files: &[&[u8]], format: Option<&str>) -> Result<(Vec<Request>, Provenance), String> {
    let input = |bytes: &&[u8]| Input::from_bytes("trace", bytes.to_vec()).unwrap();
    let mut inputs: Vec<Input> = files.iter().map(input).collect();
    let mut rows: Vec<Request> = Vec::new();
    let mut intake = Intake::new(&mut rows, "import");
    let format = format.map(|name| import::named(name).unwrap());
    import::read(&mut inputs, format, &mut intake).map_err(|error| error.to_string())?;
    let (provenance, _) = intake.finish().unwrap();
    Ok((rows, provenance))
}

/// Of each row in order of arrival its waiting until the issue and its device time, in us.
fn times(text: &str) -> Vec<(Option<i64>, Option<i64>)> {
    let (rows, provenance) = read(&[text.as_bytes()], None).unwrap();
    assert_eq!(provenance.counts.rejected, 0, "{:?}", provenance.notes);
    let of = |row: &Request| {
        let queued_ns = row.queued_ns.or(row.started_ns);
        let between = |from: Option<i64>, to: Option<i64>| Some((to? - from?) / 1000);
        (between(queued_ns, row.issued_ns), between(row.issued_ns, row.completed_ns))
    };
    rows.iter().map(of).collect()
}

fn utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Of one request in three the queueing is known; of the others the time from the issue is.
#[test]
fn each_request_keeps_the_times_that_are_known_of_it() {
    let wanted = [(Some(100), Some(200)), (None, Some(5000)), (None, Some(300))];
    let blkparse = "\
        8,0 1 1 0.001000000 9 Q R 1000 + 8 [dd]\n\
        8,0 1 2 0.001100000 9 D R 1000 + 8 [dd]\n\
        8,0 1 3 0.001300000 0 C R 1000 + 8 [0]\n\
        8,0 1 4 0.002000000 9 D W 2000 + 16 [kworker]\n\
        8,0 1 5 0.003000000 9 D R 3000 + 8 [dd]\n\
        8,0 1 6 0.003300000 0 C R 3000 + 8 [0]\n\
        8,0 1 7 0.007000000 0 C W 2000 + 16 [0]\n";
    let perf = "\
        dd 9 [001] 1.001000: block:block_rq_insert: 8,0 R 4096 () 1000 + 8 [dd]\n\
        dd 9 [001] 1.001100: block:block_rq_issue: 8,0 R 4096 () 1000 + 8 [dd]\n\
        dd 9 [001] 1.001300: block:block_rq_complete: 8,0 R () 1000 + 8 [0]\n\
        dd 9 [001] 1.002000: block:block_rq_issue: 8,0 W 8192 () 2000 + 16 [dd]\n\
        dd 9 [001] 1.003000: block:block_rq_issue: 8,0 R 4096 () 3000 + 8 [dd]\n\
        dd 9 [001] 1.003300: block:block_rq_complete: 8,0 R () 3000 + 8 [0]\n\
        dd 9 [001] 1.007000: block:block_rq_complete: 8,0 W () 2000 + 16 [0]\n";
    let bcc = "\
        TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
        0.001300    dd             9      sda       R 1000       4096      0.100   0.200\n";
    let without = "\
        TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  LAT(ms)\n\
        0.003300    dd             9      sda       R 3000       4096     0.300\n\
        0.007000    dd             9      sda       W 2000       8192     5.000\n";
    assert_eq!(times(blkparse), wanted);
    assert_eq!(times(perf), wanted);
    // Two captures, one of them with -Q.
    let (rows, _) = read(&[bcc.as_bytes(), without.as_bytes()], None).unwrap();
    let known = rows.iter().map(|row| row.started_ns.is_some()).collect::<Vec<_>>();
    assert_eq!(known, [true, false, false]);
    assert_eq!(rows.iter().map(|row| row.completed_ns.unwrap()).max(), Some(7_000_000 - 1_000_000));
}

/// What a cache answered was not at the disk.
#[test]
fn a_request_of_a_cache_has_a_response_and_no_device_time() {
    let thesios = "\
        application,op_type,request_io_size_bytes,start_time,simulated_disk_start_time,\
        simulated_latency\n\
        a,READ,4096,1700000000.000000,1700000000.002000,0.005\n\
        a,READ,4096,1700000001.000000,0.0,0.000050\n";
    assert_eq!(times(thesios), [(Some(2000), Some(3000)), (None, None)]);
}

/// A device that is busy gives a request back, and it is issued again: at once or later, beside one
/// that overlaps it, in the same place after its completion.
#[test]
fn what_is_issued_again_is_the_same_request() {
    // Requeued (R), and two that overlap in their places. The device had it from its last issue on.
    let overlap = "\
        8,0 1 1 0.001000000 9 D R 1000 + 8 [dd]\n\
        8,0 1 2 0.001100000 9 D R 1004 + 8 [dd]\n\
        8,0 1 3 0.001200000 9 R R 1000 + 8 [0]\n\
        8,0 1 4 0.001300000 9 D R 1000 + 8 [dd]\n\
        8,0 1 5 0.001500000 0 C R 1004 + 8 [0]\n\
        8,0 1 6 0.001900000 0 C R 1000 + 8 [0]\n";
    let (rows, provenance) = read(&[overlap.as_bytes()], None).unwrap();
    let took = |row: &Request| (row.completed_ns.unwrap() - row.arrival_ns().unwrap()) / 1000;
    assert_eq!(rows.iter().map(took).collect::<Vec<_>>(), [400, 600]);
    let counts = provenance.counts;
    assert_eq!((counts.requeued, counts.unanswered, counts.orphaned), (1, 0, 0));
    // The same place is read again after its completion: two requests.
    let again = "\
        8,0 1 1 0.001000000 9 D R 1000 + 8 [dd]\n\
        8,0 1 2 0.001400000 0 C R 1000 + 8 [0]\n\
        8,0 1 3 0.002000000 9 D R 1000 + 8 [dd]\n\
        8,0 1 4 0.002100000 9 D R 1000 + 8 [dd]\n\
        8,0 1 5 0.002600000 0 C R 1000 + 8 [0]\n";
    assert_eq!(times(again).len(), 2);
    let (rows, provenance) = read(&[again.as_bytes()], None).unwrap();
    assert_eq!(rows.iter().map(took).collect::<Vec<_>>(), [400, 600]);
    assert_eq!((provenance.counts.requeued, provenance.counts.unanswered), (1, 0));
    // Completed in two parts.
    let parts = "\
        8,0 1 1 0.001000000 9 D W 1000 + 16 [dd]\n\
        8,0 1 2 0.001200000 0 C W 1000 + 8 [0]\n\
        8,0 1 3 0.001700000 0 C W 1008 + 8 [0]\n";
    let (rows, provenance) = read(&[parts.as_bytes()], None).unwrap();
    assert_eq!(rows.iter().map(took).collect::<Vec<_>>(), [700]);
    assert_eq!((rows[0].length_bytes, provenance.counts.unanswered), (8192, 0));
    assert_eq!(provenance.counts.orphaned, 0);
}

/// Text of other programs' making: of one content in every encoding, put together of two files with
/// a mark each, with quotes round all columns.
#[test]
fn text_has_encodings_marks_and_quotes_of_its_own() {
    let fiu = "329131208190249 4892 syslogd 904265560 8 W 6 0 531e779687832a3c28516b48cd6d4d6f\n\
        329131208190350 4892 sys logd 904265568 8 W 6 0 4fd0f43dc39fe68fcdbe51b1d2ea8c19\n";
    let wpa = "Disk,IO Type,Process,Init Time (ms),IO Time (ns),Size (B),Min Offset\r\n\
        0,Write,a.exe (12),\"1,080.5\",\"2,000\",\"16,384\",0x400\r\n";
    let biosnoop = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
        0.007000 dd 9 sda W 2000 8192 5.000\n";
    for text in [fiu, wpa, biosnoop] {
        let plain = read(&[text.as_bytes()], None).unwrap().0;
        assert!(!plain.is_empty(), "{text}");
        for bytes in [utf16(text), format!("\u{feff}{text}").into_bytes()] {
            let (rows, provenance) = read(&[&bytes], None).unwrap();
            assert_eq!((rows, provenance.counts.rejected), (plain.clone(), 0), "{text}");
        }
    }
    let msr = "128166372003061629,hm,0,Write,7014912,4096,26\n";
    let two = format!("\u{feff}{msr}\u{feff}{msr}");
    let (rows, provenance) = read(&[two.as_bytes()], None).unwrap();
    assert_eq!((rows.len(), provenance.counts.rejected), (2, 0));
}

/// A table that nobody knows, as a spreadsheet or pandas writes it.
#[test]
fn a_described_table_is_as_a_spreadsheet_writes_it() {
    let columns = Some("columns=time:s,op,offset:sector,length:1k,response:ms");
    let wanted = (500_000_000, Op::Read, Some(8192), 4096, Some(750_000_000));
    for text in [
        "1,W,0,4,0\n1.5,R,16,4,250\n",
        "t,op,lba,kb,ms\n1,W,0,4,0\n1.5,R,16,4,250\n",
        "\"t\",\"op\",\"lba\",\"kb\",\"ms\"\n1,W,0,4,0\n\"1.5\",\"R\",\"16\",\"4\",\"250\"\n",
        "t;op;lba;kb;ms\n1;write;0;4;0\n1.5;read;16;4;250\n",
        "1\tWRITE\t0\t4\t0.0\r\n1.5\tREAD\t16\t4\t250.0\r\n",
        "1,W,0,4,0\n1.5e0,R,16,4,2.5e+02\n",
        "1,W,0.0,4.0,0\n1.5,R,16.0,4.0,250\n",
    ] {
        let (rows, provenance) = read(&[text.as_bytes()], columns).unwrap();
        assert_eq!(provenance.counts.rejected, 0, "{text} {:?}", provenance.notes);
        let [_, row] = rows.as_slice() else { panic!("{text} {rows:?}") };
        let found = (row.queued_ns.unwrap(), row.op, row.offset_bytes, row.length_bytes);
        assert_eq!((found.0, found.1, found.2, found.3, row.completed_ns), wanted, "{text}");
    }
    let (rows, provenance) =
        read(&[b"time,op,length\n1,W,512\n2,R,1024\n"], Some("columns=time,op,length")).unwrap();
    assert_eq!((rows.len(), provenance.counts.rejected), (2, 0));
}

/// What has a head and no request is empty, of its format.
#[test]
fn a_file_without_requests_is_called_empty() {
    for text in [
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n",
        "device_id,opcode,offset,length,timestamp\n",
        "\u{feff}",
        "\u{feff}\r\n",
        "TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  LAT(ms)\n",
        "fio version 2 iolog\n",
        "application,op_type,request_io_size_bytes,start_time,simulated_disk_start_time,\
        simulated_latency\n",
    ] {
        match read(&[text.as_bytes()], None) {
            Ok((rows, provenance)) => {
                assert_eq!((rows.len(), provenance.counts.rejected), (0, 0), "{text}");
            }
            Err(said) => {
                assert!(said.contains("empty") || said.contains("no request"), "{text} {said}")
            }
        }
    }
    let msr: &[u8] = b"128166372003061629,hm,0,Write,7014912,4096,26\n";
    for empty in [&b""[..], b"\n \n", "\u{feff}".as_bytes(), b"\xff\xfe"] {
        assert_eq!(read(&[empty, msr, empty], None).unwrap().0.len(), 1, "{empty:?}");
    }
    let head = b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n";
    assert_eq!(read(&[head, msr], None).unwrap().0.len(), 1);
}

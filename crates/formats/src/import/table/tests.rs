//! Known lines of each table, what is wrong with bad ones, and what lines could be.

use super::*;
use crate::import::{FORMATS, named};

fn row(format: &Format, line: &str) -> Result<Request, &'static str> {
    let Reading::Table(table) = format.import else { panic!("{} is no table", format.name) };
    table.row(line.as_bytes(), &mut Devices::default())
}

#[test]
fn a_line_is_a_request_in_units_of_ours() {
    let of = |op, device, offset, length, queued_ns| Request {
        op,
        device,
        offset_bytes: Some(offset),
        length_bytes: length,
        queued_ns: Some(queued_ns),
        ..Request::default()
    };
    for (format, line, wanted) in [
        (
            &MQSIM,
            "938513000 4 264719034 16 0",
            of(Op::Write, 4, 135_536_145_408, 8192, 938_513_000),
        ),
        (&MQSIM_SECONDS, "2.5047095481 0 8 8 1", of(Op::Read, 0, 4096, 4096, 2_504_709_548)),
        (&DISKSIM_ASCII, "6.145000 3  1024 16 b", of(Op::Read, 3, 524_288, 8192, 6_145_000)),
        (&REPLAYER, "1.250 0 1073741824 65536 0", of(Op::Write, 0, 1 << 30, 65536, 1_250_000)),
        (&MIDAS, "0.5 3 2 4096 7", of(Op::Discard, 0, 8192, 4096, 500_000_000)),
    ] {
        assert_eq!(row(format, line), Ok(wanted), "{line}");
    }
}

#[test]
fn bad_lines_say_what_is_wrong_with_them() {
    for (format, line, why) in [
        (&MQSIM, "", "too few columns"),
        (&MQSIM, "1 0 8 8", "too few columns"),
        (&MQSIM, "1 0 8 8 1 1", "too many columns"),
        (&MQSIM, "1 0 8 8 2", "no operation"),
        (&MQSIM, "1 -1 8 8 1", "no device"),
        (&MQSIM, "1 0 36028797018963968 8 1", "no offset"),
        (&MQSIM, "1 0 8 8388608 1", "no length"),
        (&MQSIM, "-1 0 8 8 1", "no time"),
        (&MQSIM, "1.5 0 8 8 1", "no time"),
        (&MQSIM, "9223372036854775808 0 8 8 1", "no time"),
        (&DISKSIM_ASCII, "1.5 0 8 8 g", "no operation"),
        (&DISKSIM_ASCII, "1.5 0 8 8 100000000", "no operation"),
        (&DISKSIM_ASCII, "-1.5 0 8 8 1", "no time"),
        (&DISKSIM_ASCII, "9223372036855 0 8 8 1", "no time"),
        (&MIDAS, "0.5 4 2 4096 7", "no operation"),
    ] {
        assert_eq!(row(format, line), Err(why), "{line}");
    }
}

/// The formats that a text is taken for.
fn guessed(text: &str) -> Vec<&'static str> {
    let is_it = |format: &&&Format| (format.guess)(text.as_bytes(), true) != Guess::No;
    FORMATS.iter().filter(is_it).map(|format| format.name()).collect()
}

#[test]
fn what_five_words_can_mean_is_told_by_their_numbers() {
    for (text, names) in [
        ("1.5 0 8 8 1\n2.5 0 8 8 0\n", &["disksim-ascii"][..]),
        ("1 0 8 8 3\n2 0 8 8 2\n", &["disksim-ascii"]),
        ("1 0 8 8 1\n1000000000 0 8 8 0\n", &["mqsim"]),
        ("1 0 8 8 1\n2 0 8 8 0\n", &["mqsim", "disksim-ascii"]),
        // As ms these would be minutes apart.
        ("938513000 4 264719034 16 0\n938828000 3 197570570 16 0\n", &["mqsim"]),
        ("1 0 8 8 x\n2 0 8 8 y\n", &[]),
        // Nine decimals of a ms are ps.
        ("242.504709548 0 274432 8 1\n242.504897120 0 48576 16 0\n", &["mqsim-seconds"]),
        (
            "0.1 0 8 8 1\n0.2 0 8 8 0\n0.30000000000000004 0 8 8 0\n",
            &["mqsim-seconds", "disksim-ascii"],
        ),
        ("0.1 0 8 8 1\n0.2 0 8 8 0\n0.3 0 8 8 0\n", &["disksim-ascii"]),
        ("938513000\t4\t264719034\t16\t0\n938828000\t3\t197570570\t16\t0\n", &["mqsim"]),
        // As sectors these would be requests of 2 to 32 MiB, half a PiB away.
        ("0.000 0 8192 4096 1\n1.250 0 1073741824 65536 0\n", &["replayer"]),
        ("0.146559796 1 0 4096 0\n0.5 3 2 4096 0\n2.25 0 1 8192 0\n", &["midas"]),
        // Of one request nothing tells.
        ("0.1 1 512 4096 0\n", &["replayer", "midas"]),
        // Requests of 512 bytes, or of 256 KiB.
        ("0.0 5 0 512 1\n2.5 5 512 512 1\n", &["disksim-ascii", "replayer"]),
        ("0 0 8192 4096 1\n1250 0 1073741824 65536 0\n", &["mqsim", "replayer"]),
    ] {
        assert_eq!(guessed(text), names, "{text}");
    }
}

#[test]
fn a_user_names_units_and_columns() {
    let units = |time, size| Units::of(time, size).unwrap();
    let with = |time, size| DISKSIM_ASCII_IN_USE.with(&units(time, size)).unwrap();
    let found = row(with(Some("s"), Some("B")), "1.5 0 512 4096 1").unwrap();
    assert_eq!((found.queued_ns, found.length_bytes), (Some(1_500_000_000), 4096));
    assert_eq!(found.offset_bytes, Some(512));
    assert!(Units::of(Some("h"), None).is_err() && Units::of(None, Some("mile")).is_err());
    let msr = named("msr").unwrap();
    assert!(msr.with(&units(Some("s"), None)).unwrap_err().to_string().contains("msr"));
    let table = named("columns=op,-,device,offset:4k,length,time:ms,response:us").unwrap();
    for line in
        ["W,x,sda,2,4096,1.5,70", "write\tx\tsda\t2\t4096\t1.5\t70", "w x sda 2 4096 1.5 70"]
    {
        let found = row(table, line).unwrap();
        assert_eq!(
            (found.op, found.offset_bytes, found.length_bytes),
            (Op::Write, Some(8192), 4096)
        );
        assert_eq!((found.queued_ns, found.completed_ns), (Some(1_500_000), Some(1_570_000)));
    }
    for bad in
        ["", "time,length", "time,op,length,size", "time:h,op,length", "time,op:2=read,length"]
    {
        assert!(named(&format!("columns={bad}")).is_err(), "{bad}");
    }
}

static DISKSIM_ASCII_IN_USE: Format = DISKSIM_ASCII;

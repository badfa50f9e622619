//! Known lines of each table, and what is wrong with bad ones.

use super::*;

/// The row of a line by itself.
fn of(
    row: fn(&[u8], &mut Devices) -> Result<Request, &'static str>,
) -> impl Fn(&[u8]) -> Result<Request, &'static str> {
    move |line| row(line, &mut Devices::default())
}

mod of_spc {
    use super::{super::*, of};

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        for line in [&b"1,20941264,8192,W,0.551706"[..], b"1, 20941264, 8192, w, 0.551706,x,,y"] {
            let row = of(spc::row)(line).unwrap();
            assert_eq!((row.device, row.op, row.length_bytes), (1, Op::Write, 8192));
            assert_eq!(row.offset_bytes, Some(10_721_927_168));
            assert_eq!((row.queued_ns, row.completed_ns), (Some(551_706_000), None));
        }
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not five fields"),
            ("0,1,512,R", "not five fields"),
            ("ASU,LBA,Size,Opcode,Timestamp", "no ASU"),
            ("0,1,512,X,0.5", "neither R nor W"),
            ("0,36028797018963968,512,R,0.5", "no LBA"),
            ("0,-1,512,R,0.5", "no LBA"),
            ("0,1,-512,R,0.5", "no size"),
            ("0,1,512,R,-0.5", "no time"),
            ("0,1,512,R,1e3", "no time"),
            ("0,1,512,R,9999999999", "no time"),
        ] {
            let found = of(spc::row)(line.as_bytes()).map_err(|why| why.to_owned());
            assert_eq!(found, Err(why.to_owned()), "{line}");
        }
    }

    #[test]
    fn times_since_1970_are_another_formats() {
        assert_eq!((spc::FORMAT.guess)(b"0,R,20941264,8192,1577808000000046\n", true), Guess::No);
        assert_eq!((spc::FORMAT.guess)(b"0,20941264,8192,R,0.5\n", true), Guess::Yes);
    }
}

mod of_tencent {
    use super::{super::*, of};

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let row = of(tencent::row)(b"1538323200,4247200,128,1,1058").unwrap();
        assert_eq!((row.device, row.op, row.length_bytes), (1058, Op::Write, 65536));
        assert_eq!(row.offset_bytes, Some(2_174_566_400));
        assert_eq!((row.queued_ns, row.completed_ns), (Some(1_538_323_200_000_000_000), None));
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not five fields"),
            ("1538323200,0,8,1", "not five fields"),
            ("Timestamp,Offset,Size,IOType,VolumeID", "no volume"),
            ("1538323200,0,8,2,1", "neither 0 nor 1 as type"),
            ("1538323200,0,8,R,1", "neither 0 nor 1 as type"),
            ("1538323200,36028797018963968,8,1,1", "no offset"),
            ("1538323200,0,8388608,1,1", "no size"),
            ("99999999999,0,8,1,1", "no time"),
            ("-5,0,8,1,1", "no time"),
            ("1538323200,0,8,1,-1", "no volume"),
        ] {
            assert_eq!(of(tencent::row)(line.as_bytes()), Err(why), "{line}");
        }
    }

    #[test]
    fn five_numbers_of_another_kind_are_not_taken_for_it() {
        assert_eq!((tencent::FORMAT.guess)(b"12,4247200,128,1,1058\n", true), Guess::No);
        assert_eq!((tencent::FORMAT.guess)(b"1538323200,4247200,128,1,1058\n", true), Guess::Yes);
    }
}

mod of_alibaba {
    use super::{super::*, of};

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let row = of(alibaba::row)(b"64,R,1005056000,4096,1577808000000046").unwrap();
        assert_eq!((row.device, row.op, row.length_bytes), (64, Op::Read, 4096));
        assert_eq!(row.offset_bytes, Some(1_005_056_000));
        assert_eq!((row.queued_ns, row.completed_ns), (Some(1_577_808_000_000_046_000), None));
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not five fields"),
            ("1,R,0,1", "not five fields"),
            ("device_id,opcode,offset,length,timestamp", "no device"),
            ("-1,R,0,1,1", "no device"),
            ("1,read,0,1,1", "neither R nor W"),
            ("1,R,-1,1,1", "no offset"),
            ("1,R,0,4294967296,1", "no length"),
            ("1,R,0,1,9999999999999999999", "no time"),
            ("1,R,0,1,-1", "no time"),
            ("1,R,0,1,", "no time"),
        ] {
            assert_eq!(of(alibaba::row)(line.as_bytes()), Err(why), "{line}");
        }
    }

    #[test]
    fn times_that_are_not_of_these_years_are_another_formats() {
        assert_eq!((alibaba::FORMAT.guess)(b"0,R,20941264,8192,55170\n", true), Guess::No);
        assert_eq!(
            (alibaba::FORMAT.guess)(b"0,R,20941264,8192,1577808000000046\n", true),
            Guess::Yes
        );
    }
}

mod of_msr {
    use super::{super::*, of};

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let line = b"128166385295514663,hm,0,Write,9056014336,2048,2833";
        let row = of(msr::row)(line).unwrap();
        assert_eq!(
            (row.op, row.offset_bytes, row.length_bytes),
            (Op::Write, Some(9_056_014_336), 2048)
        );
        // 22 February 2007, 17:08:49.55 UTC, as date(1) has it.
        assert_eq!(row.queued_ns, Some(1_172_164_929_551_466_300));
        assert_eq!(row.completed_ns.unwrap() - row.queued_ns.unwrap(), 283_300);
    }

    /// As a program writes it that puts each field, or each text, in quotes.
    #[test]
    fn quotes_around_fields_change_nothing() {
        let plain = "128166385295514663,hm,0,Write,9056014336,2048,2833\n".repeat(9);
        let all: String =
            plain.lines().map(|line| format!("\"{}\"\n", line.replace(',', "\",\""))).collect();
        let texts = plain.replace("hm", "\"hm\"").replace("Write", "\"Write\"");
        let read = |text: &str| {
            assert_eq!((msr::FORMAT.guess)(text.as_bytes(), true), Guess::Yes, "{text}");
            let mut rows: Vec<Request> = Vec::new();
            let mut intake = Intake::new(&mut rows, "test");
            let mut inputs = [Input::from_bytes("x", text.as_bytes().to_vec()).unwrap()];
            crate::import::read(&mut inputs, Some(&msr::FORMAT), &mut intake).unwrap();
            let (provenance, _) = intake.finish().unwrap();
            (rows, provenance.notes)
        };
        let wanted = read(&plain);
        assert_eq!(wanted.0.len(), 9);
        assert_eq!(read(&all), wanted);
        assert_eq!(read(&texts), wanted);
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not seven fields"),
            ("128166385295514663,hm,0,Scan,0,1,1", "neither Read nor Write"),
            ("99999999999999999999,hm,0,Read,0,1,1", "no time"),
            ("9223372036854775807,hm,0,Read,0,1,1", "a time beyond all years"),
            ("128166385295514663,hm,0,Read,x,1,1", "no offset"),
            ("128166385295514663,hm,0,Read,0,4294967296,1", "no size"),
            ("128166385295514663,hm,0,Read,0,1,", "no response time"),
        ] {
            assert_eq!(of(msr::row)(line.as_bytes()), Err(why), "{line}");
        }
    }
}

mod of_systor17 {
    use super::{super::*, of};

    #[test]
    fn a_line_is_a_request_in_units_of_ours() {
        let line = b"1455591804.310701000,0.006475000,R,3,203468398592,32768";
        let row = of(systor17::row)(line).unwrap();
        assert_eq!((row.op, row.device, row.length_bytes), (Op::Read, 3, 32768));
        assert_eq!(row.offset_bytes, Some(203_468_398_592));
        assert_eq!(row.queued_ns, Some(1_455_591_804_310_701_000));
        assert_eq!(row.completed_ns, Some(1_455_591_804_317_176_000));
    }

    #[test]
    fn a_request_without_a_completion_is_of_no_known_kind() {
        let row = of(systor17::row)(b"1455591804.310701000,,,3,512,4096").unwrap();
        assert_eq!((row.op, row.completed_ns), (Op::Other, None));
    }

    #[test]
    fn bad_lines_say_what_is_wrong_with_them() {
        for (line, why) in [
            ("", "not six fields"),
            ("1.0,0.1,R,0,0", "not six fields"),
            ("1.0,0.1,r,0,0,1", "neither R nor W"),
            ("1.0,0.1,,0,0,1", "neither R nor W"),
            ("-1.0,0.1,R,0,0,1", "no time"),
            ("9999999999.0,0.1,R,0,0,1", "no time"),
            ("1.0,-0.1,R,0,0,1", "no response time"),
            ("9223372036.0,9.1,R,0,0,1", "no response time"),
            ("1.0,0.1,R,x,0,1", "no LUN"),
            ("1.0,0.1,R,0,-1,1", "no offset"),
            ("1.0,0.1,R,0,0,4294967296", "no size"),
        ] {
            assert_eq!(of(systor17::row)(line.as_bytes()), Err(why), "{line}");
        }
    }
}

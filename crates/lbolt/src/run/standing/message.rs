//! What the part that captures tells the part that keeps, and is told, as frames.
//!
//! Non-goals: sockets (`super::part`, `crate::run::wire`).

use super::capture;
use crate::cli::{CaptureMethod, Condition};
use crate::print::exit::{Failure, Fault};
use analyze::watched::Span;
use clap::ValueEnum as _;
use model::record::{Context, Rollup, Wait, from_json, to_json};
use serde_json::{Value, json};
use std::time::Duration;

/// What a capture tells.
pub(crate) enum Message {
    /// It has begun; what this machine keeps it from, as sentences.
    Begun { limits: Vec<String> },
    /// What has come since the last time.
    Second(Second),
    /// What was waited for has happened, or was requested.
    Incident(Box<Incident>),
    /// It has ended, and was not told to.
    Failed(Failure),
}

/// What has come since the last time.
pub(crate) struct Second {
    /// Of this time, and what has become known of those before.
    pub(crate) rows: Vec<Rollup>,
    /// The span that goes on.
    pub(crate) span: Span,
    /// Waits of threads that go on for long by now.
    pub(crate) going_on: Vec<Wait>,
}

/// The seconds before something happened, and those after it.
pub(crate) struct Incident {
    /// What happened.
    pub(crate) why: String,
    /// Requests for which there was no memory.
    pub(crate) crowded_out: u64,
    /// The requests, as a file of them has them.
    pub(crate) requests: Vec<u8>,
    /// What a run keeps besides.
    pub(crate) context: Context,
}

impl Message {
    /// As a frame: its head and its body.
    pub(super) fn into_frame(self) -> (Value, Vec<u8>) {
        match self {
            Self::Begun { limits } => (json!({"begun": {"limits": limits}}), Vec::new()),
            Self::Second(Second { rows, span, going_on }) => {
                let Span { number, from_ns, until_ns, from_unix_ns, until_unix_ns } = span;
                let times = [from_ns, until_ns, from_unix_ns, until_unix_ns];
                let head = json!({
                    "number": number,
                    "times": times,
                    "rows": to_json(&rows),
                    "going_on": to_json(&going_on),
                });
                (json!({ "second": head }), Vec::new())
            }
            Self::Incident(incident) => {
                let Incident { why, crowded_out, requests, context } = *incident;
                let context = json!({
                    "calls": to_json(&context.calls),
                    "waits": to_json(&context.waits),
                    "journal_use": to_json(&context.journal_use),
                    "commits": to_json(&context.commits),
                    "processes": to_json(&context.processes),
                    "files": to_json(&context.files),
                    "cpu_times": to_json(&context.cpu_times),
                    "pressure": to_json(&context.pressure),
                });
                let head = json!({"why": why, "crowded_out": crowded_out, "context": context});
                (json!({ "incident": head }), requests)
            }
            Self::Failed(failure) => {
                let code = failure.fault.code();
                (json!({"failed": {"code": code, "message": failure.message}}), Vec::new())
            }
        }
    }

    /// Of a frame; none of one that is no message.
    pub(super) fn from_frame(head: &Value, body: Vec<u8>) -> Option<Self> {
        let (kind, head) = head.as_object()?.iter().next()?;
        match kind.as_str() {
            "begun" => {
                let limits = head.get("limits")?.as_array()?.iter().filter_map(text);
                Some(Self::Begun { limits: limits.collect() })
            }
            "second" => {
                let times = head.get("times")?.as_array()?;
                let time = |place: usize| times.get(place).and_then(Value::as_i64);
                let span = Span {
                    number: head.get("number")?.as_u64()?,
                    from_ns: time(0)?,
                    until_ns: time(1)?,
                    from_unix_ns: time(2)?,
                    until_unix_ns: time(3)?,
                };
                let rows = from_json(head.get("rows")?)?;
                let going_on = from_json(head.get("going_on")?)?;
                Some(Self::Second(Second { rows, span, going_on }))
            }
            "incident" => {
                let of = head.get("context")?;
                let context = Context {
                    calls: from_json(of.get("calls")?)?,
                    waits: from_json(of.get("waits")?)?,
                    journal_use: from_json(of.get("journal_use")?)?,
                    commits: from_json(of.get("commits")?)?,
                    processes: from_json(of.get("processes")?)?,
                    files: from_json(of.get("files")?)?,
                    cpu_times: from_json(of.get("cpu_times")?)?,
                    pressure: from_json(of.get("pressure")?)?,
                    ..Context::default()
                };
                let why = text(head.get("why")?)?;
                let crowded_out = head.get("crowded_out")?.as_u64()?;
                let incident = Incident { why, crowded_out, requests: body, context };
                Some(Self::Incident(Box::new(incident)))
            }
            "failed" => {
                let fault = Fault::of_code(head.get("code")?.as_u64()?);
                let message = text(head.get("message")?)?;
                Some(Self::Failed(Failure { fault, message }))
            }
            _ => None,
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// What a capture is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// Send the last seconds now, for this reason.
    Write(String),
    /// End.
    Stop,
}

impl Order {
    pub(super) fn head(self) -> Value {
        match self {
            Self::Write(why) => json!({ "write": why }),
            Self::Stop => json!({ "stop": null }),
        }
    }

    pub(super) fn of_head(head: &Value) -> Option<Self> {
        let (order, why) = head.as_object()?.iter().next()?;
        match order.as_str() {
            "write" => text(why).map(Self::Write),
            "stop" => Some(Self::Stop),
            _ => None,
        }
    }
}

/// How it is to be captured, and what is waited for, as the first frame of the part that keeps.
pub(super) fn head_of_options(options: &capture::Options, conditions: &[Condition]) -> Value {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let conditions: Vec<&str> = conditions.iter().map(|one| one.text.as_str()).collect();
    json!({
        "devices": options.devices,
        "method": options.method.to_possible_value().map(|value| value.get_name().to_owned()),
        "ring_bytes": options.ring_bytes,
        "with_syscalls": options.with_syscalls,
        "span_ns": ns(options.span),
        "delay_ns": ns(options.delay),
        "with_files": options.with_files,
        "keep_ns": ns(options.keep),
        "keep_bytes": options.keep_bytes,
        "after_ns": ns(options.after),
        "own_process": options.own_process,
        "conditions": conditions,
    })
}

/// The same from such a frame; none of another.
pub(super) fn options_of_head(head: &Value) -> Option<(capture::Options, Vec<Condition>)> {
    let number = |name: &str| head.get(name)?.as_u64();
    let time = |name: &str| number(name).map(Duration::from_nanos);
    let is = |name: &str| head.get(name)?.as_bool();
    let texts = |name: &str| -> Option<Vec<String>> {
        head.get(name)?.as_array()?.iter().map(text).collect()
    };
    let options = capture::Options {
        devices: texts("devices")?,
        method: CaptureMethod::from_str(head.get("method")?.as_str()?, false).ok()?,
        ring_bytes: number("ring_bytes")?.try_into().ok()?,
        with_syscalls: is("with_syscalls")?,
        span: time("span_ns")?,
        delay: time("delay_ns")?,
        with_files: is("with_files")?,
        keep: time("keep_ns")?,
        keep_bytes: number("keep_bytes")?,
        after: time("after_ns")?,
        own_process: number("own_process")?.try_into().ok()?,
    };
    let conditions: Option<Vec<Condition>> =
        texts("conditions")?.iter().map(|text| text.parse().ok()).collect();
    Some((options, conditions?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Call;

    fn sent(message: Message) -> Message {
        let (head, body) = message.into_frame();
        let head = serde_json::from_str(&head.to_string()).unwrap();
        Message::from_frame(&head, body).unwrap()
    }

    #[test]
    fn messages_come_as_they_were_sent() {
        let begun = sent(Message::Begun { limits: vec!["no calls".to_owned()] });
        assert!(matches!(begun, Message::Begun { limits } if limits == ["no calls"]));
        let span = Span { number: 3, from_ns: -1, until_ns: 5, from_unix_ns: 7, until_unix_ns: 9 };
        let rows = vec![Rollup { count: 4, ..Rollup::default() }];
        let going_on = vec![Wait { pid: 7, ..Wait::default() }];
        let second = Second { rows: rows.clone(), span, going_on: going_on.clone() };
        let Message::Second(second) = sent(Message::Second(second)) else { panic!() };
        assert_eq!((second.rows, second.span, second.going_on), (rows, span, going_on));
        let context = Context { calls: vec![Call::default()], ..Context::default() };
        let incident = Incident {
            why: "p99".into(),
            crowded_out: 2,
            requests: vec![1, 2],
            context: context.clone(),
        };
        let Message::Incident(incident) = sent(Message::Incident(Box::new(incident))) else {
            panic!()
        };
        assert_eq!((incident.why.as_str(), incident.crowded_out), ("p99", 2));
        assert_eq!((incident.requests, incident.context), (vec![1, 2], context));
        let failure = Failure { fault: Fault::Usage, message: "no".into() };
        let Message::Failed(failure) = sent(Message::Failed(failure)) else { panic!() };
        assert!(failure.fault == Fault::Usage && failure.message == "no");
        assert!(Message::from_frame(&json!({"other": 1}), Vec::new()).is_none());
    }

    #[test]
    fn options_and_orders_come_as_they_were_sent() {
        let options = capture::Options {
            devices: vec!["vda".into()],
            method: CaptureMethod::Bpf,
            ring_bytes: 1 << 20,
            with_syscalls: true,
            span: Duration::from_secs(60),
            delay: Duration::from_millis(1500),
            with_files: false,
            keep: Duration::from_secs(3),
            keep_bytes: 5,
            after: Duration::ZERO,
            own_process: 77,
        };
        let conditions: Vec<Condition> = vec!["p99(fsync) > 20ms for 3s".parse().unwrap()];
        let head = head_of_options(&options, &conditions);
        let (again, found) = options_of_head(&head).unwrap();
        assert_eq!(format!("{again:?}"), format!("{options:?}"));
        assert_eq!(found, conditions);
        assert!(options_of_head(&json!({})).is_none());
        for order in [Order::Write("a".into()), Order::Stop] {
            assert_eq!(Order::of_head(&order.clone().head()), Some(order));
        }
        assert_eq!(Order::of_head(&json!("go")), None);
    }
}

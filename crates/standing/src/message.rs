//! What the part that captures tells the part that keeps, and is told, as frames.
//!
//! Non-goals: sockets (`super::part`, `capture::wire`).

use ::verdict::watched::Span;
use messages::fault::Failure;
use model::record::{Context, Rollup, Wait};
use serde::{Deserialize, Serialize};

/// What a capture tells.
#[derive(Serialize, Deserialize)]
pub enum Message {
    /// It has begun; what this machine keeps it from, as sentences.
    Begun {
        /// What the machine keeps it from, in sentences.
        limits: Vec<String>,
    },
    /// What has come since the last time.
    Second(Second),
    /// What was waited for has happened, or was requested.
    Incident(Box<Incident>),
    /// It has ended, and was not told to.
    Failed(Failure),
}

/// What has come since the last time.
#[derive(Serialize, Deserialize)]
pub struct Second {
    /// Of this time, and what has become known of those before.
    #[serde(with = "rows")]
    pub rows: Vec<Rollup>,
    /// The span that goes on.
    pub span: Span,
    /// Waits of threads that go on for long by now.
    #[serde(with = "rows")]
    pub going_on: Vec<Wait>,
}

/// The seconds before something happened, and those after it.
#[derive(Serialize, Deserialize)]
pub struct Incident {
    /// What happened.
    pub why: String,
    /// Requests for which there was no memory.
    pub crowded_out: u64,
    /// The requests, as a file of them has them: the body of the frame.
    #[serde(skip)]
    pub requests: Vec<u8>,
    /// What a run keeps besides.
    #[serde(with = "as_json")]
    pub context: Context,
}

/// A context is sent as a killed capture leaves it.
mod as_json {
    use model::record::Context;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(context: &Context, to: S) -> Result<S::Ok, S::Error> {
        context.to_json().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Context, D::Error> {
        let json = Deserialize::deserialize(from)?;
        Context::from_json(&json).ok_or_else(|| D::Error::custom("no records of a context"))
    }
}

/// Rows as the table of their columns writes them.
mod rows {
    use model::record::{Record, from_json, to_json};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(crate) fn serialize<R: Record, S: Serializer>(
        rows: &[R],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to_json(rows).serialize(to)
    }

    pub(crate) fn deserialize<'de, R: Record, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<R>, D::Error> {
        let json = Deserialize::deserialize(from)?;
        from_json(&json).ok_or_else(|| D::Error::custom("no rows of the record"))
    }
}

impl Message {
    /// What is sent behind the message itself.
    pub(crate) fn body(&self) -> &[u8] {
        match self {
            Self::Incident(incident) => &incident.requests,
            _ => &[],
        }
    }

    /// The message with the body that came behind it.
    pub(crate) fn with(mut self, body: Vec<u8>) -> Self {
        if let Self::Incident(incident) = &mut self {
            incident.requests = body;
        }
        self
    }
}

/// What a capture is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Send the last seconds now, for this reason.
    Write(String),
    /// End.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::super::capture;
    use super::*;
    use ::capture::wire::{read_frame, write_frame};
    use cli::CaptureMethod;
    use messages::fault::Fault;
    use serde::de::DeserializeOwned;
    use serde_json::json;
    use std::io::ErrorKind;
    use std::time::Duration;

    fn through<T: DeserializeOwned>(head: &impl Serialize, body: &[u8]) -> (T, Vec<u8>) {
        let mut frame = Vec::new();
        write_frame(&mut frame, head, body).unwrap();
        read_frame(&mut &frame[..]).unwrap().unwrap()
    }

    fn sent(message: Message) -> Message {
        let (head, body) = through::<Message>(&message, message.body());
        head.with(body)
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
        let context = Context { calls: vec![model::record::Call::default()], ..Context::default() };
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
        for nonsense in [json!({"Other": 1}), json!({"Second": {"rows": [[1]]}}), json!(null)] {
            let mut frame = Vec::new();
            write_frame(&mut frame, &nonsense, &[]).unwrap();
            let refused = read_frame::<Message>(&mut &frame[..]).err().unwrap();
            assert_eq!(refused.kind(), ErrorKind::InvalidData, "{nonsense}");
        }
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
            counts_are_enough: false,
        };
        assert_eq!(through::<capture::Options>(&options, &[]).0, options);
        for order in [Order::Write("a".into()), Order::Stop] {
            assert_eq!(through::<Order>(&order, &[]).0, order);
        }
    }
}

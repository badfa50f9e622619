//! How parts of lbolt that are processes of their own speak: frames on a socket. A frame is the
//! length of its head and of its body (8 bytes each, little endian), the head as JSON, and the
//! body's bytes.
//!
//! Non-goals: other programs; the two parts are of one executable.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// No frame of ours is larger: what says so is none.
const BYTES_MOST: u64 = 8 << 30;

/// Writes a frame.
/// Errors: whoever reads is gone.
pub fn write_frame(output: &mut impl Write, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    output.write_all(&(head.len() as u64).to_le_bytes())?;
    output.write_all(&(body.len() as u64).to_le_bytes())?;
    output.write_all(&head)?;
    output.write_all(body)?;
    output.flush()
}

/// Reads the next frame; none where there is no more.
/// Errors: a frame that is not whole, or none at all; `InvalidData` where the head is no `T`.
pub fn read_frame<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut lengths = [0; 16];
    let mut known = 0;
    while known < lengths.len() {
        match input.read(&mut lengths[known..])? {
            0 if known == 0 => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => known += read,
        }
    }
    let (head, body) = lengths.split_at(8);
    let length = |bytes: &[u8]| bytes.try_into().map_or(u64::MAX, u64::from_le_bytes);
    let head = serde_json::from_slice(&bytes(input, length(head))?)?;
    Ok(Some((head, bytes(input, length(body))?)))
}

fn bytes(input: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > BYTES_MOST {
        return Err(io::Error::other("an invalid frame"));
    }
    let mut bytes = Vec::new();
    // It grows as they come: what is not there takes no memory.
    match input.take(length).read_to_end(&mut bytes)? as u64 == length {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn frames_come_one_by_one_and_a_part_of_one_is_none() {
        let mut sent = Vec::new();
        write_frame(&mut sent, &json!({"a": 1}), b"").unwrap();
        write_frame(&mut sent, &json!([]), b"body").unwrap();
        let mut input = &sent[..];
        let (head, body) = read_frame(&mut input).unwrap().unwrap();
        assert_eq!((head, body), (json!({"a": 1}), vec![]));
        let (head, body) = read_frame(&mut input).unwrap().unwrap();
        assert_eq!((head, body), (json!([]), b"body".to_vec()));
        assert!(read_frame::<Value>(&mut input).unwrap().is_none());
        let first = 16 + br#"{"a":1}"#.len();
        for length in (1..sent.len()).filter(|length| *length != first) {
            let mut input = &sent[..length];
            let found = std::iter::from_fn(|| read_frame::<Value>(&mut input).transpose());
            assert!(found.last().unwrap().is_err(), "{length}");
        }
        assert!(read_frame::<Value>(&mut &[255; 40][..]).is_err());
    }
}

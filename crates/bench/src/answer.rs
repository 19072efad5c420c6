//! What answers say, borrowed from the bytes that came.

use serde::Deserialize;
use std::borrow::Cow;

/// Characters of an answer that are shown when it was not expected.
const SHOWN: usize = 300;

/// Something is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// The service's code, or one of ours: what is counted together.
    pub(crate) code: String,
    /// The service's text, or ours.
    pub(crate) text: String,
}

impl Complaint {
    pub(crate) fn new(code: impl Into<String>, text: impl Into<String>) -> Self {
        Complaint { code: code.into(), text: text.into() }
    }

    /// An answer that is none of this protocol.
    fn unexpected(answer: &[u8]) -> Self {
        Complaint::new("UnexpectedAnswer", beginning(answer))
    }
}

#[derive(Deserialize)]
struct Refusal<'a> {
    #[serde(borrow, rename = "__type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Option<Cow<'a, str>>,
    /// As some servers spell it, or both.
    #[serde(borrow, rename = "Message", default)]
    capitalized: Option<Cow<'a, str>>,
}

/// What an answer says whose status is not 200.
pub(crate) fn refusal(status: u16, answer: &[u8]) -> Complaint {
    let Ok(refusal) = serde_json::from_slice::<Refusal<'_>>(answer) else {
        return Complaint::new(format!("HTTP {status}"), beginning(answer));
    };
    let code = refusal.kind.rsplit('#').next().unwrap_or_default();
    Complaint::new(code, refusal.message.or(refusal.capitalized).unwrap_or_default())
}

#[derive(Deserialize)]
struct QueueUrl<'a> {
    #[serde(borrow, rename = "QueueUrl")]
    url: Cow<'a, str>,
}

/// Of GetQueueUrl and CreateQueue.
pub(crate) fn queue_url(answer: &[u8]) -> Result<String, Complaint> {
    let parsed: QueueUrl<'_> = serde_json::from_slice(answer).map_err(|_| Complaint::unexpected(answer))?;
    Ok(parsed.url.into_owned())
}

#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow, rename = "MessageId")]
    id: Cow<'a, str>,
    #[serde(borrow, rename = "MD5OfMessageBody")]
    digest: Cow<'a, str>,
}

/// The digest of SendMessage's answer.
pub(crate) fn sent(answer: &[u8]) -> Result<Cow<'_, str>, Complaint> {
    let parsed: Sent<'_> = serde_json::from_slice(answer).map_err(|_| Complaint::unexpected(answer))?;
    if parsed.id.is_empty() { Err(Complaint::unexpected(answer)) } else { Ok(parsed.digest) }
}

#[derive(Deserialize)]
struct Batch<'a> {
    #[serde(borrow, rename = "Successful", default)]
    successful: Option<Vec<Done<'a>>>,
    #[serde(borrow, rename = "Failed", default)]
    failed: Option<Vec<Failed<'a>>>,
}

#[derive(Deserialize)]
struct Done<'a> {
    #[serde(borrow, rename = "Id")]
    id: Cow<'a, str>,
    /// Empty when the entry was deleted.
    #[serde(borrow, rename = "MD5OfMessageBody", default)]
    digest: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Failed<'a> {
    #[serde(borrow, rename = "Code")]
    code: Cow<'a, str>,
    #[serde(borrow, rename = "Message", default)]
    message: Option<Cow<'a, str>>,
}

/// What an answer to a batch says of each of its entries.
pub(crate) struct Entries<'a> {
    /// Index of the entry, and the digest of its body when it was sent.
    pub(crate) done: Vec<(usize, Cow<'a, str>)>,
    pub(crate) failed: Vec<Complaint>,
}

/// Reads the answer to a batch of `count` entries whose ids are 0, 1 and so on.
pub(crate) fn batch(answer: &[u8], count: usize) -> Result<Entries<'_>, Complaint> {
    let unexpected = |_| Complaint::unexpected(answer);
    let parsed: Batch<'_> = serde_json::from_slice(answer).map_err(unexpected)?;
    let mut done = Vec::with_capacity(count);
    for entry in parsed.successful.into_iter().flatten() {
        let index = entry.id.parse().ok().filter(|index| *index < count);
        let index: usize = index.ok_or_else(|| Complaint::unexpected(answer))?;
        done.push((index, entry.digest));
    }
    let failed: Vec<_> = parsed.failed.into_iter().flatten().map(Failed::complaint).collect();
    let is_complete = done.len() + failed.len() == count;
    let is_distinct =
        done.iter().fold(0_u32, |seen, (index, _)| seen | 1 << index).count_ones() as usize == done.len();
    if is_complete && is_distinct { Ok(Entries { done, failed }) } else { Err(Complaint::unexpected(answer)) }
}

impl Failed<'_> {
    fn complaint(self) -> Complaint {
        Complaint::new(self.code, self.message.unwrap_or_default())
    }
}

#[derive(Deserialize)]
struct Received<'a> {
    #[serde(borrow, rename = "Messages", default)]
    messages: Option<Vec<Message<'a>>>,
}

/// A message that came.
#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow, rename = "ReceiptHandle")]
    pub(crate) handle: Cow<'a, str>,
    #[serde(borrow, rename = "MD5OfBody")]
    pub(crate) digest: Cow<'a, str>,
    #[serde(borrow, rename = "Body")]
    pub(crate) body: Cow<'a, str>,
}

/// The messages of a receive; at most ten are expected.
pub(crate) fn received(answer: &[u8]) -> Result<Vec<Message<'_>>, Complaint> {
    let parsed: Received<'_> = serde_json::from_slice(answer).map_err(|_| Complaint::unexpected(answer))?;
    let messages = parsed.messages.unwrap_or_default();
    if messages.len() > 10 { Err(Complaint::unexpected(answer)) } else { Ok(messages) }
}

/// The first characters of an answer, on one line.
fn beginning(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(&answer[..answer.len().min(4 * SHOWN)]);
    let shown: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if shown.is_empty() { "no text".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_by_their_code() {
        for (answer, code, text) in [
            (
                r#"{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"It is missing."}"#,
                "QueueDoesNotExist",
                "It is missing.",
            ),
            (r#"{"__type":"InternalFailure","Message":"x\ny"}"#, "InternalFailure", "x\ny"),
            (r#"{"__type":"x","message":"m","Message":"m"}"#, "x", "m"),
            (r#"{"__type":"a#b"}"#, "b", ""),
            ("<html>\nno</html>", "HTTP 503", "<html> no</html>"),
            ("", "HTTP 503", "no text"),
        ] {
            assert_eq!(refusal(503, answer.as_bytes()), Complaint::new(code, text), "{answer}");
        }
        assert_eq!(refusal(500, "ä".repeat(2_000).as_bytes()).text.chars().count(), SHOWN);
    }

    #[test]
    fn a_batch_accounts_for_each_entry() {
        let answer = br#"{"Failed":[{"Code":"InternalError","Id":"1","Message":"m","SenderFault":false}],
            "Successful":[{"Id":"2","MD5OfMessageBody":"d","MessageId":"i"},{"Id":"0"}]}"#;
        let entries = batch(answer, 3).ok().unwrap();
        assert_eq!(entries.done, [(2, "d".into()), (0, "".into())]);
        assert_eq!(entries.failed, [Complaint::new("InternalError", "m")]);
        assert_eq!(batch(br#"{"Successful":[{"Id":"0"}],"Failed":null}"#, 1).ok().unwrap().done.len(), 1);
        for (answer, count) in [
            (r#"{"Successful":[{"Id":"0"}]}"#, 2),
            (r#"{"Successful":[{"Id":"0"},{"Id":"0"}]}"#, 2),
            (r#"{"Successful":[{"Id":"0"},{"Id":"2"}]}"#, 2),
            (r#"{"Successful":[{"Id":"0"},{"Id":"x"}]}"#, 2),
            ("{}", 1),
            ("[]", 1),
        ] {
            assert!(batch(answer.as_bytes(), count).is_err(), "{answer}");
        }
    }

    #[test]
    fn receives_are_lists_that_may_be_absent() {
        for empty in ["{}", r#"{"Messages":[]}"#, r#"{"Messages":null}"#] {
            assert!(received(empty.as_bytes()).unwrap().is_empty(), "{empty}");
        }
        let message =
            r#"{"MessageId":"i","ReceiptHandle":"h\"","MD5OfBody":"d","Body":"b\u00e4","Attributes":{}}"#;
        let answer = format!(r#"{{"Messages":[{message}]}}"#);
        let messages = received(answer.as_bytes()).unwrap();
        assert_eq!((&*messages[0].handle, &*messages[0].body), ("h\"", "bä"));
        let eleven = format!(r#"{{"Messages":[{}]}}"#, [message; 11].join(","));
        for wrong in [&*eleven, "", "null", r#"{"Messages":[{"Body":"b"}]}"#] {
            assert_eq!(received(wrong.as_bytes()).err().unwrap().code, "UnexpectedAnswer", "{wrong}");
        }
    }

    #[test]
    fn a_send_is_acknowledged_with_an_id_and_a_digest() {
        assert_eq!(sent(br#"{"MD5OfMessageBody":"d","MessageId":"i"}"#).unwrap(), "d");
        for wrong in ["{}", r#"{"MD5OfMessageBody":"d"}"#, r#"{"MD5OfMessageBody":"d","MessageId":""}"#] {
            assert!(sent(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert_eq!(queue_url(br#"{"QueueUrl":"u"}"#).unwrap(), "u");
        assert!(queue_url(b"{}").is_err());
    }
}

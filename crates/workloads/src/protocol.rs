//! The protocol alone: requests to commands, answers to bytes, in both dialects.

use crate::sample::{BODY_BYTES, NOW, body, message};
use crate::{Outcome, Run, Workload};
use tidegate_engine::{
    AccountId, Delivery, MessageId, MessageSeq, Position, QueueId, Receipt, Region, Reply, Sent,
    StoredMessage,
};
use tidegate_protocol::{
    Call, Context, Credential, Credentials, Decoded, Grant, ReceiptKey, Request, SecretKey, UrlSettings,
    User, decode,
};

pub(crate) const WORKLOADS: &[Workload] = &[
    Workload { name: "protocol: read a send, JSON", operations: COUNT, prepare: || reads(send_json) },
    Workload { name: "protocol: read a send, Query", operations: COUNT, prepare: || reads(send_query) },
    Workload {
        name: "protocol: read a send of ten, JSON",
        operations: COUNT,
        prepare: || reads(send_ten_json),
    },
    Workload { name: "protocol: read a receive, JSON", operations: COUNT, prepare: || reads(receive_json) },
    Workload { name: "protocol: read a receive, Query", operations: COUNT, prepare: || reads(receive_query) },
    Workload {
        name: "protocol: read a delete of ten, JSON",
        operations: COUNT,
        prepare: || reads(delete_json),
    },
    Workload {
        name: "protocol: read a delete of ten, Query",
        operations: COUNT,
        prepare: || reads(delete_query),
    },
    Workload {
        name: "protocol: verify and read a send, JSON",
        operations: COUNT,
        prepare: || reads_signed(signed_json),
    },
    Workload {
        name: "protocol: answer a send, JSON",
        operations: COUNT,
        prepare: || answers(send_json, sent),
    },
    Workload {
        name: "protocol: answer a send, Query",
        operations: COUNT,
        prepare: || answers(send_query, sent),
    },
    Workload {
        name: "protocol: answer a receive of ten, JSON",
        operations: COUNT,
        prepare: || answers(receive_json, received),
    },
    Workload {
        name: "protocol: answer a receive of ten, Query",
        operations: COUNT,
        prepare: || answers(receive_query, received),
    },
    Workload {
        name: "protocol: answer a delete of ten, JSON",
        operations: COUNT,
        prepare: || answers(delete_json, settled),
    },
    Workload {
        name: "protocol: answer a delete of ten, Query",
        operations: COUNT,
        prepare: || answers(delete_query, settled),
    },
];

const COUNT: u64 = 500;
const KEY: ReceiptKey = ReceiptKey(*b"sixteen random b");
const REQUEST_ID: [u8; 36] = *b"7c1b8a3e-92d4-4e57-8f10-2b6d0a9e4c77";
const URL: &str = "http://localhost:9324/000000000000/orders";

/// A request as a client's bytes come apart into it.
struct Raw {
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Raw {
    fn json(action: &str, body: String) -> Self {
        let mut headers = usual_headers("application/x-amz-json-1.0");
        headers.push(("x-amz-target", format!("AmazonSQS.{action}")));
        Raw { headers, body: body.into() }
    }

    fn query(body: String) -> Self {
        Raw { headers: usual_headers("application/x-www-form-urlencoded; charset=utf-8"), body: body.into() }
    }
}

/// What SDKs send besides.
fn usual_headers(content_type: &str) -> Vec<(&'static str, String)> {
    vec![
        ("host", "localhost:9324".into()),
        (
            "user-agent",
            "Boto3/1.40.0 md/Botocore#1.40.0 ua/2.1 os/linux md/arch#x86_64 lang/python#3.13.0".into(),
        ),
        ("content-type", content_type.into()),
        ("content-length", "400".into()),
        ("accept-encoding", "identity".into()),
        ("amz-sdk-invocation-id", "0f5f9f4e-6d3f-4f35-93a5-60ba9ec5a93b".into()),
        ("amz-sdk-request", "attempt=1".into()),
    ]
}

fn read(raw: &Raw, credentials: Option<&Credentials>) -> Decoded {
    let headers: Vec<_> = raw.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let request = Request { method: "POST", path: "/", query: None, headers: &&headers[..], body: &raw.body };
    let mut random = || [7; 16];
    let mut context = Context {
        now: NOW,
        request_id: REQUEST_ID,
        receipt_key: KEY,
        credentials,
        account: AccountId::default(),
        region: &Region::default(),
        urls: UrlSettings {
            public_url: None,
            trust_forwarded: false,
            scheme: "http",
            fallback_host: "localhost:9324",
        },
        random: &mut random,
    };
    decode(&request, &mut context)
}

fn reads(make: fn() -> Raw) -> Run {
    let raw = make();
    Box::new(move || {
        let mut commands = Vec::with_capacity(COUNT as usize);
        for _ in 0..COUNT {
            match read(&raw, None) {
                Decoded::Call(command, _) => commands.push(command),
                Decoded::Refused(refusal) => panic!("it was refused: {refusal:?}"),
            }
        }
        Box::new(commands) as Outcome
    })
}

fn reads_signed(make: fn() -> Raw) -> Run {
    let user = User {
        account: AccountId::default(),
        name: "shop".into(),
        access_key: "AKIDEXAMPLE".into(),
        grant: Grant::default(),
    };
    let secret = SecretKey::parse("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY").expect("a secret");
    let credentials = Credentials::new([Credential::new(user, secret)]);
    let raw = make();
    // The signing key of the day is derived once.
    assert!(matches!(read(&raw, Some(&credentials)), Decoded::Call(..)), "the signature is right");
    Box::new(move || {
        let accepted = (0..COUNT).filter(|_| matches!(read(&raw, Some(&credentials)), Decoded::Call(..)));
        assert_eq!(accepted.count() as u64, COUNT);
        Box::new(raw)
    })
}

fn answers(make: fn() -> Raw, outcome: fn() -> (Reply, Vec<StoredMessage>)) -> Run {
    let raw = make();
    let call = || match read(&raw, None) {
        Decoded::Call(_, call) => call,
        Decoded::Refused(refusal) => panic!("it was refused: {refusal:?}"),
    };
    let calls: Vec<(Call, Reply)> = (0..COUNT).map(|_| (call(), outcome().0)).collect();
    let messages = outcome().1;
    Box::new(move || {
        let mut responses = Vec::with_capacity(COUNT as usize);
        for (call, reply) in calls {
            let response = call.encode(Ok(reply), &messages);
            assert_eq!(response.status, 200);
            responses.push(response);
        }
        Box::new(responses)
    })
}

fn escaped_body() -> String {
    body().replace('"', "\\\"")
}

fn send_json() -> Raw {
    Raw::json("SendMessage", format!(r#"{{"QueueUrl":"{URL}","MessageBody":"{}"}}"#, escaped_body()))
}

fn send_ten_json() -> Raw {
    let entry = |id| format!(r#"{{"Id":"{id}","MessageBody":"{}"}}"#, escaped_body());
    let entries: Vec<_> = (0..10).map(entry).collect();
    Raw::json("SendMessageBatch", format!(r#"{{"QueueUrl":"{URL}","Entries":[{}]}}"#, entries.join(",")))
}

/// The same send with the signature of AWS's example credential.
fn signed_json() -> Raw {
    let mut raw = send_json();
    raw.headers.push(("x-amz-date", "20231114T221320Z".into()));
    raw.headers.push((
        "authorization",
        format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/us-east-1/sqs/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={SIGNATURE}"
        ),
    ));
    raw
}

const SIGNATURE: &str = "0fd59a7edecac794ff52acfd90481059676a7db4475118d190e3bef960a7f1cf";

fn url_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn query(action: &str, parameters: &str) -> Raw {
    Raw::query(format!("Action={action}&Version=2012-11-05&QueueUrl={}{parameters}", url_encoded(URL)))
}

fn send_query() -> Raw {
    query("SendMessage", &format!("&MessageBody={}", url_encoded(&body())))
}

fn receive_json() -> Raw {
    let names = r#"["All"]"#;
    Raw::json(
        "ReceiveMessage",
        format!(
            r#"{{"QueueUrl":"{URL}","MaxNumberOfMessages":10,"WaitTimeSeconds":20,"MessageSystemAttributeNames":{names},"MessageAttributeNames":{names}}}"#
        ),
    )
}

fn receive_query() -> Raw {
    let parameters =
        "&MaxNumberOfMessages=10&WaitTimeSeconds=20&AttributeName.1=All&MessageAttributeName.1=All";
    query("ReceiveMessage", parameters)
}

fn receipt(number: u64) -> Receipt {
    Receipt { queue: QueueId(3), seq: MessageSeq(1_000_000 + number), receive: 1 }
}

fn delete_json() -> Raw {
    let entry = |id| format!(r#"{{"Id":"{id}","ReceiptHandle":"{}"}}"#, KEY.encode(&receipt(id)));
    let entries: Vec<_> = (0..10).map(entry).collect();
    Raw::json("DeleteMessageBatch", format!(r#"{{"QueueUrl":"{URL}","Entries":[{}]}}"#, entries.join(",")))
}

fn delete_query() -> Raw {
    let entry = |id: u64| {
        let prefix = format!("DeleteMessageBatchRequestEntry.{}", id + 1);
        format!("&{prefix}.Id={id}&{prefix}.ReceiptHandle={}", KEY.encode(&receipt(id)))
    };
    query("DeleteMessageBatch", &(0..10).map(entry).collect::<String>())
}

fn sent() -> (Reply, Vec<StoredMessage>) {
    (Reply::Sent(vec![Ok(Sent { id: MessageId::from_random([9; 16]), sequence: None })]), Vec::new())
}

fn settled() -> (Reply, Vec<StoredMessage>) {
    (Reply::Settled(vec![Ok(()); 10]), Vec::new())
}

fn received() -> (Reply, Vec<StoredMessage>) {
    let delivery = |number| Delivery {
        receipt: receipt(number),
        position: Position(400 * number),
        receive_count: 1,
        sent_at: NOW,
        first_received_at: NOW,
        origin: None,
    };
    let stored = |number| StoredMessage {
        queue: QueueId(3),
        seq: receipt(number).seq,
        sent_at: NOW,
        message: message(number),
    };
    assert_eq!(stored(0).message.body.len(), BODY_BYTES);
    (Reply::Received((0..10).map(delivery).collect()), (0..10).map(stored).collect())
}

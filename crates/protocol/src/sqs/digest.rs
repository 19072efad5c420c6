//! The MD5 digests by which clients check what arrived (SQS developer guide, "Calculating the MD5 message
//! digest for message attributes"), and the SHA-256 by which FIFO queues know equal bodies.

use super::md5_lanes::md5_each;
use md5::{Digest as _, Md5};
use sha2::Sha256;
use tidegate_engine::{AttributeValue, MessageAttribute};

/// An MD5 digest in lower-case hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Md5Hex([u8; 32]);

impl Md5Hex {
    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The text of a digest.
    pub(crate) fn encode(digest: &[u8; 16]) -> Self {
        let mut text = [0; 32];
        write_hex(digest, &mut text);
        Md5Hex(text)
    }

    fn of(hash: Md5) -> Self {
        Md5Hex::encode(&hash.finalize().into())
    }
}

/// Writes bytes as lower-case hex into a text of twice their length.
fn write_hex(bytes: &[u8], text: &mut [u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for (byte, digits) in bytes.iter().zip(text.chunks_exact_mut(2)) {
        digits[0] = HEX[usize::from(byte >> 4)];
        digits[1] = HEX[usize::from(byte & 15)];
    }
}

/// The deduplication id of a body that was sent without one: its SHA-256 in lower-case hex. Attributes play
/// no part.
pub(crate) fn content_id(body: &[u8]) -> Box<str> {
    let mut text = [0; 64];
    write_hex(&Sha256::digest(body), &mut text);
    std::str::from_utf8(&text).expect("hex digits are ASCII").into()
}

/// The digest of a body.
pub(crate) fn of_body(body: &[u8]) -> [u8; 16] {
    Md5::digest(body).into()
}

/// The digests of several bodies, for less than one by one.
pub(crate) fn of_bodies(bodies: &[&[u8]]) -> Vec<[u8; 16]> {
    md5_each(bodies)
}

/// The digest of attributes in whatever order; `None` of none.
pub(crate) fn of_attributes<'a>(
    attributes: impl IntoIterator<Item = &'a MessageAttribute>,
) -> Option<Md5Hex> {
    let mut sorted: Vec<_> = attributes.into_iter().collect();
    if sorted.is_empty() {
        return None;
    }
    sorted.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let mut hash = Md5::new();
    for attribute in sorted {
        let transport = match attribute.value {
            AttributeValue::Text(_) => 1,
            AttributeValue::Binary(_) => 2,
        };
        add_part(&mut hash, attribute.name.as_bytes());
        add_part(&mut hash, attribute.data_type.as_bytes());
        hash.update([transport]);
        add_part(&mut hash, attribute.value.as_bytes());
    }
    Some(Md5Hex::of(hash))
}

/// The digest of the one system attribute that senders may set.
pub(crate) fn of_trace_header(value: &str) -> Md5Hex {
    let mut hash = Md5::new();
    add_part(&mut hash, b"AWSTraceHeader");
    add_part(&mut hash, b"String");
    hash.update([1]);
    add_part(&mut hash, value.as_bytes());
    Md5Hex::of(hash)
}

fn add_part(hash: &mut Md5, part: &[u8]) {
    let length = u32::try_from(part.len()).expect("a request is far below 4 GiB");
    hash.update(length.to_be_bytes());
    hash.update(part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn text(name: &str, data_type: &str, value: &str) -> MessageAttribute {
        let value = AttributeValue::Text(value.into());
        MessageAttribute { name: name.into(), data_type: data_type.into(), value }
    }

    fn binary(name: &str, data_type: &str, value: &[u8]) -> MessageAttribute {
        let value = AttributeValue::Binary(Bytes::copy_from_slice(value));
        MessageAttribute { name: name.into(), data_type: data_type.into(), value }
    }

    #[test]
    fn bodies_have_the_recorded_digests() {
        let (kib, two_kib) = ("a".repeat(1024), "a".repeat(2040));
        for (body, digest) in [
            ("message", "78e731027d8fd50ed642340b7c9a63b3"),
            ("test", "098f6bcd4621d373cade4e832627b4f6"),
            ("msg", "6e2baaf3b97dbeef01c0043275f9a0e7"),
            ("hello", "5d41402abc4b2a76b9719d911017c592"),
            (kib.as_str(), "c9a34cfc85d982698c6ac89f76071abd"),
            (two_kib.as_str(), "f44facf5a7ee0af446ecf3e0f854441e"),
            ("{\"foo\": \"bar\"}", "94232c5b8fc9272f6f73a1e36eb68fcf"),
        ] {
            assert_eq!(Md5Hex::encode(&of_body(body.as_bytes())).as_bytes(), digest.as_bytes());
        }
    }

    #[test]
    fn attributes_have_the_recorded_digests() {
        let there = text("Hello", "String", "There");
        let kenobi = text("General", "String", "Kenobi");
        let me = text("Help.Me", "String", "Me");
        let trace = b"traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01";
        for (attributes, digest) in [
            (vec![text("k", "String", "x")], "a45daa70926828a2f0a1db3418e6feb4"),
            (vec![text("Foo", "String", "Bar")], "ae7155c6026991b6d54b11589678bf9c"),
            (vec![there.clone()], "a311262e065454b75da111d535b8dacd"),
            (vec![there.clone(), me.clone()], "83fee93c1bcd8b9a5a923ffacdc636c7"),
            (vec![there.clone(), kenobi.clone()], "fca026605781cb4126a1e9044df24232"),
            (vec![me, kenobi, there], "4c360f3fdafd970e05fae2f149d997f5"),
            (vec![text("MyAttribute", "String", "foobar")], "adb59cd4678ea5a855436b949cd07ab6"),
            (vec![text("timestamp", "Number", "1493147359900")], "235c5c510d26fb653d073faed50ae77c"),
            (vec![text("color", "String", "blue")], "da1b33cc3cbfe8b1630921e78e6b9880"),
            (
                vec![
                    text("color", "String", "blue"),
                    binary("blob", "Binary", &[1, 2, 3]),
                    text("count", "Number", "3"),
                ],
                "d838729972a4b70e2d2acd9d59ac847c",
            ),
            (vec![binary("attr1", "Binary", trace)], "8cbe4db156db8a94db8b801b7addb984"),
            (
                vec![text("UserId", "Number.bigint", "1234567890123456789012")],
                "797ab158d73dcb5242dedc4412c8e855",
            ),
        ] {
            assert_eq!(
                of_attributes(&attributes).unwrap().as_bytes(),
                digest.as_bytes(),
                "{}",
                attributes[0].name
            );
        }
        assert_eq!(of_attributes(&[]), None);
    }

    #[test]
    fn a_body_without_an_id_has_the_recorded_one() {
        let id = "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5";
        assert_eq!(&*content_id(b"same"), id);
    }

    #[test]
    fn the_trace_header_has_the_recorded_digest() {
        let value = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
        assert_eq!(of_trace_header(value).as_bytes(), b"5ae4d5d7636402d80f4eb6d213245a88");
    }
}

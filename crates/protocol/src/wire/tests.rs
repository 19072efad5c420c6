//! What both dialects are read into and written from, checked by generated texts.

use super::*;
use crate::fault::Fault;
use crate::limits;
use proptest::prelude::*;

const TEXTS: ListName = ListName { json: "Texts", query: "Text" };
const MAP: MapName = MapName { json: "Map", query: &["Entry"], key: "Name", value: "Value" };

fn json(body: &str) -> Input<'_> {
    match parse_json(body.as_bytes()) {
        Ok(Value::Map(members)) => Input::new(Dialect::Json, members),
        other => panic!("{other:?} is no object"),
    }
}

fn query(form: &str) -> Input<'_> {
    Input::new(Dialect::Query, parse_query(pairs(form.as_bytes()).unwrap()).unwrap())
}

#[test]
fn lists_of_query_parameters_follow_their_numbers() {
    let texts = |form| query(form).texts(TEXTS).unwrap();
    assert_eq!(texts("Text.10=c&Text.2=b&Text.1=a"), ["a", "b", "c"]);
    assert_eq!(texts("Text=a"), ["a"]);
    assert_eq!(texts("Text=a&Text.1=b"), ["a", "b"]);
    assert_eq!(texts("Text.1=b&Text=a"), ["a", "b"]);
    assert_eq!(texts("Text="), [""; 0], "some clients send an empty list so");
    assert_eq!(texts("Other=a"), [""; 0]);
}

#[test]
fn maps_of_query_parameters_may_lack_their_number() {
    let map = |form| query(form).text_map(MAP).unwrap();
    let expected = [("a".into(), "1".into()), ("b".into(), "".into())];
    assert_eq!(map("Entry.1.Name=a&Entry.1.Value=1&Entry.2.Name=b&Entry.2.Value="), expected);
    assert_eq!(map("Entry.Name=a&Entry.Value=1"), expected[..1]);
    let missing = query("Entry.1.Name=a").text_map(MAP).unwrap_err();
    assert_eq!(missing.to_string(), "The request must contain the parameter Entry.Value.");
}

#[test]
fn of_repeated_names_the_last_counts() {
    assert_eq!(query("A=1&A=2").text("A").unwrap().unwrap(), "2");
    assert_eq!(json(r#"{"A":"1","A":"2"}"#).text("A").unwrap().unwrap(), "2");
    let map = query("Entry.1.Name=a&Entry.1.Value=1&Entry.2.Name=a&Entry.2.Value=2").text_map(MAP).unwrap();
    assert_eq!(map, [("a".into(), "2".into())]);
    assert_eq!(json(r#"{"Map":{"a":"1","a":"2"}}"#).text_map(MAP).unwrap(), [("a".into(), "2".into())]);
}

#[test]
fn numbers_and_booleans_are_texts_where_texts_are_asked_for() {
    let text = |value: &str| {
        json(&format!("{{\"A\":{value}}}")).text("A").unwrap().map(std::borrow::Cow::into_owned)
    };
    assert_eq!(text("0").as_deref(), Some("0"));
    assert_eq!(text("-7").as_deref(), Some("-7"));
    assert_eq!(text("1.5").as_deref(), Some("1.5"));
    assert_eq!(text("false").as_deref(), Some("false"));
    assert_eq!(text("null"), None);
}

#[test]
fn integers_are_whole_and_saturate() {
    let integer = |value: &str| json(&format!("{{\"A\":{value}}}")).integer("A");
    assert_eq!(integer("10"), Ok(Some(10)));
    assert_eq!(integer("1.0"), Ok(Some(1)));
    assert_eq!(integer("null"), Ok(None));
    assert_eq!(integer("1e300"), Ok(Some(i64::MAX)));
    assert_eq!(integer("18446744073709551615"), Ok(Some(i64::MAX)));
    for bad in ["1.5", "true", "\"1\"", "[]", "{}"] {
        assert!(matches!(integer(bad), Err(Fault::Malformed { .. })), "{bad}");
    }
    assert_eq!(query("A=-5").integer("A"), Ok(Some(-5)));
    assert_eq!(query("A=").integer("A"), Ok(None));
    assert!(query("A=1.5").integer("A").is_err());
}

#[test]
fn limits_hold() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse_json(nested(limits::DEPTH).as_bytes()).is_ok());
    assert!(parse_json(nested(limits::DEPTH + 1).as_bytes()).is_err());
    assert!(parse_json(nested(1_000_000).as_bytes()).is_err());
    let list = |count: usize| format!("[{}]", vec!["0"; count].join(","));
    assert!(parse_json(list(limits::VALUES - 1).as_bytes()).is_ok());
    assert!(parse_json(list(limits::VALUES).as_bytes()).is_err());
    let object = |count: usize| {
        let members: Vec<_> = (0..count).map(|i| format!("\"{i}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert!(parse_json(object(limits::MEMBERS).as_bytes()).is_ok());
    assert!(parse_json(object(limits::MEMBERS + 1).as_bytes()).is_err());

    assert!(pairs("a=1&".repeat(limits::PAIRS).as_bytes()).is_ok());
    assert!(pairs("a=1&".repeat(limits::PAIRS + 1).as_bytes()).is_err());
    let tree = |form: &str| parse_query(pairs(form.as_bytes()).unwrap()).map(drop);
    let names = |count: usize| (0..count).map(|i| format!("n{i}=x&")).collect::<String>();
    assert_eq!(tree(&names(limits::MEMBERS)), Ok(()));
    assert!(tree(&names(limits::MEMBERS + 1)).is_err());
    assert_eq!(tree(&format!("{}=x", vec!["a"; limits::DEPTH].join("."))), Ok(()));
    assert!(tree(&format!("{}=x", "a.".repeat(limits::DEPTH))).is_err());
}

#[test]
fn lone_surrogates_are_replaced_and_pairs_are_not() {
    let repaired =
        |text: &str| repair_surrogates(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(repaired(r#""a\ud800b""#).as_deref(), Some(r#""a\uffffb""#));
    assert_eq!(repaired(r#""\udc00\ud800""#).as_deref(), Some(r#""\uffff\uffff""#));
    assert_eq!(repaired(r#""\ud83c\udf0a""#), None);
    assert_eq!(repaired(r#""\\ud800""#), None, "an escaped backslash");
    assert_eq!(repaired(r#""\ud8"#), None);
}

fn written(write: impl FnOnce(&mut JsonOutput)) -> String {
    let mut out = JsonOutput::new(0);
    write(&mut out);
    String::from_utf8(out.finish()).unwrap()
}

#[test]
fn empty_lists_and_maps_are_left_out() {
    let text = written(|out| {
        out.texts(TEXTS, []);
        out.text_map(MAP, [("", ""); 0]);
        out.boolean("B", true);
        out.texts(TEXTS, ["[", "{"]);
        out.structures(TEXTS, [1, 2], |_, _| {});
        out.blob("X", &[0, 255]);
    });
    assert_eq!(text, r#"{"B":true,"Texts":["[","{"],"Texts":[{},{}],"X":"AP8="}"#);
}

/// Undoes XML character data as a parser does, line ends included.
fn read_xml(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text = text.replace("&#xD;", "\r").replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}

fn is_allowed(text: &str) -> bool {
    crate::text::forbidden_character(text).is_none()
}

proptest! {
    #[test]
    fn json_texts_round_trip(text in any::<String>()) {
        let body = written(|out| out.text("A", &text));
        let foreign: serde_json::Value = serde_json::from_str(&body).unwrap();
        prop_assert_eq!(foreign["A"].as_str(), Some(text.as_str()));
        let value = json(&body).text("A").unwrap().unwrap();
        prop_assert_eq!(&*value, &text);
    }

    #[test]
    fn xml_texts_round_trip(text in "[\r\n\t \"&<>;#a-zä\u{1F30A}]{0,80}") {
        prop_assume!(is_allowed(&text));
        let mut out = Vec::new();
        xml::write_text(&mut out, text.as_bytes());
        let escaped = String::from_utf8(out).unwrap();
        prop_assert!(!escaped.contains(['<', '>', '\r']));
        prop_assert_eq!(read_xml(&escaped), text);
    }

    #[test]
    fn query_values_round_trip(text in any::<String>()) {
        let encoded: String = text.bytes().map(|b| format!("%{b:02X}")).collect();
        let form = format!("A={encoded}");
        let value = query(&form).text("A").unwrap().unwrap_or_default();
        prop_assert_eq!(&*value, &text);
    }

    #[test]
    fn documents_of_equal_meaning_have_one_canonical_form(keys in proptest::collection::btree_set("[a-c]{1,3}", 0..6)) {
        let member = |key: &String| format!(" \"{key}\" : [1, \"{key}\"]");
        let forth: Vec<_> = keys.iter().map(member).collect();
        let back: Vec<_> = keys.iter().rev().map(member).collect();
        let (forth, back) = (format!("{{{}}}", forth.join(",")), format!("{{{}}}", back.join(" ,")));
        let canonical = parse_json(forth.as_bytes()).unwrap().canonical();
        prop_assert_eq!(&canonical, &parse_json(back.as_bytes()).unwrap().canonical());
        prop_assert_eq!(&canonical, &parse_json(canonical.as_bytes()).unwrap().canonical());
    }
}

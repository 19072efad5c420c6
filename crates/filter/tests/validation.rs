//! Which policies are refused, and in which words.

use tidegate_filter::FilterScope::{MessageAttributes, MessageBody};
use tidegate_filter::{FilterPolicy, FilterScope, limits};

fn refusal(policy: &str, scope: FilterScope) -> String {
    match FilterPolicy::parse(policy, scope) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn check(policy: &str, expected: &str) {
    assert_eq!(refusal(policy, MessageAttributes), expected, "{policy}");
}

/// A policy with one key and one rule.
fn check_rule(rule: &str, expected: &str) {
    check(&format!(r#"{{"key":[{rule}]}}"#), expected);
}

#[test]
fn recorded_refusals() {
    check(r#"{"key":[]}"#, "Empty arrays are not allowed");
    check(r#"{"key":"v"}"#, "\"key\" must be an object or an array");
    check(r#"{"key":{"suffix":"v"}}"#, "\"suffix\" must be an object or an array");
    check(r#"{"key":{"suffix":"v","prefix":"w"}}"#, "\"suffix\" must be an object or an array");
    for (rule, expected) in [
        (r#"["v"]"#, "Match value must be String, number, true, false, or null"),
        (r#"{"wrong-operator":true}"#, "Unrecognized match type wrong-operator"),
        (r#"{"suffix":"a","prefix":"b"}"#, "Only one key allowed in match expression"),
        (r#"{"cidr":["x"]}"#, "prefix match pattern must be a string"),
        (r#"{"cidr":"bad-filter"}"#, "Malformed CIDR, one '/' required"),
        (r#"{"cidr":"bad-/64filter"}"#, "Malformed CIDR, mask bits must be an integer"),
        (r#"{"cidr":"xx.11.xx/8"}"#, "Nonstandard IP address: xx.11.xx"),
        (r#"{"cidr":"xx:11:xx/64"}"#, "Nonstandard IP address: xx:11:xx"),
        (r#"{"exists":null}"#, "exists match pattern must be either true or false."),
        (r#"{"exists":"no"}"#, "exists match pattern must be either true or false."),
        (r#"{"anything-but":{"wrong-operator":null}}"#, "Unsupported anything-but pattern: wrong-operator"),
        (r#"{"anything-but":{"suffix":"v"}}"#, "Unsupported anything-but pattern: suffix"),
        (r#"{"anything-but":{"exists":false}}"#, "Unsupported anything-but pattern: exists"),
        (r#"{"anything-but":{"prefix":false}}"#, "prefix match pattern must be a string"),
        (r#"{"numeric":[]}"#, "Invalid member in numeric match: ]"),
        (r#"{"numeric":["operator"]}"#, "Unrecognized numeric range operator: operator"),
        (r#"{"numeric":[1,"<="]}"#, "Invalid member in numeric match: 1"),
        (r#"{"numeric":["=","000"]}"#, "Value of equals must be numeric"),
        (r#"{"numeric":[">="]}"#, "Value of >= must be numeric"),
        (r#"{"numeric":["<",100,">",10]}"#, "Too many elements in numeric expression"),
        (r#"{"numeric":[">=",1,">",2]}"#, "Bad numeric range operator: >"),
        (r#"{"numeric":[">",20,"test"]}"#, "Bad numeric range operator: test"),
        (r#"{"numeric":[">",3,"<",1]}"#, "Bottom must be less than top"),
        (r#"{"numeric":[">",20,"<="]}"#, "Value of <= must be numeric"),
        (r#"{"numeric":[">",20,30]}"#, "Bad value in numeric range: 30"),
        (r#"{"numeric":[">","20","<","30"]}"#, "Value of > must be numeric"),
        (r#"{"numeric":[">",20,"<","30"]}"#, "Value of < must be numeric"),
        (r#"{"numeric":[">",20,"<",30,"<",50]}"#, "Too many terms in numeric range expression"),
    ] {
        check_rule(rule, expected);
    }
    for operator in ["prefix", "suffix", "equals-ignore-case"] {
        for pattern in ["100", "null", "[]", r#"["a"]"#] {
            let expected = format!("{operator} match pattern must be a string");
            check_rule(&format!(r#"{{"{operator}":{pattern}}}"#), &expected);
        }
    }
}

#[test]
fn operators_of_event_rules_are_not_those_of_filter_policies() {
    check_rule(r#"{"wildcard":"*ball"}"#, "Unrecognized match type wildcard");
    check_rule(r#"{"exactly":"ball"}"#, "Unrecognized match type exactly");
    check_rule(r#"{"anything-but":{"wildcard":"*"}}"#, "Unsupported anything-but pattern: wildcard");
    check_rule(
        r#"{"anything-but":{"equals-ignore-case":"x"}}"#,
        "Unsupported anything-but pattern: equals-ignore-case",
    );
}

#[test]
fn refusals_that_no_recording_shows() {
    check("[]", "Filter is not an object");
    check(r#""text""#, "Filter is not an object");
    check_rule("{}", "Match expression name not found");
    for (rule, expected) in [
        (r#"{"exists":true,"prefix":"a"}"#, "Only one key allowed in match expression"),
        (r#"{"anything-but":{"prefix":"a"},"prefix":"a"}"#, "Only one key allowed in match expression"),
        (r#"{"anything-but":{"prefix":"a","x":1}}"#, "Only one key allowed in match expression"),
        (r#"{"anything-but":{"prefix":""}}"#, "Null prefix not allowed"),
        (r#"{"anything-but":{}}"#, "Anything-But expression name not found"),
        (r#"{"anything-but":null}"#, "Value of anything-but must be an array or single string/number value."),
        (r#"{"anything-but":["a",null]}"#, "Inside anything but list, start|null|boolean is not supported."),
        (r#"{"anything-but":[["a"]]}"#, "Inside anything but list, start|null|boolean is not supported."),
        (r#"{"anything-but":[]}"#, "Empty arrays are not allowed"),
        (r#"{"anything-but":"a","x":1}"#, "Too many elements in numeric expression"),
        (r#"{"numeric":["=",1],"x":1}"#, "Too many elements in numeric expression"),
        (r#"{"numeric":["=",1,2]}"#, "Too many elements in numeric expression"),
        (r#"{"numeric":5}"#, "Value of numeric must be an array."),
        (r#"{"numeric":[["="]]}"#, "Invalid member in numeric match: ["),
        (r#"{"numeric":[{}]}"#, "Invalid member in numeric match: {"),
        (r#"{"numeric":["="]}"#, "Value of equals must be numeric"),
        (r#"{"numeric":["<"]}"#, "Value of < must be numeric"),
        (r#"{"numeric":[">",2,"<=",2]}"#, "Bottom must be less than top"),
        (r#"{"numeric":[">",20,null]}"#, "Bad value in numeric range: null"),
        (r#"{"cidr":"10.0.0.0/"}"#, "Malformed CIDR, one '/' required"),
        (r#"{"cidr":"10.0.0.0/8/8"}"#, "Malformed CIDR, one '/' required"),
        (r#"{"cidr":"10.0.0.0/-1"}"#, "Malformed CIDR, mask bits must not be negative"),
        (r#"{"cidr":"10.0.0.0/32"}"#, "IPv4 mask bits must be < 32"),
        (r#"{"cidr":"10.0.0.0/2000000000"}"#, "IPv4 mask bits must be < 32"),
        (r#"{"cidr":"::/128"}"#, "IPv6 mask bits must be < 128"),
        (r#"{"cidr":"/8"}"#, "Nonstandard IP address: "),
    ] {
        check_rule(rule, expected);
    }
}

#[test]
fn the_first_fault_of_the_document_decides() {
    check(r#"{"b":[{"x":1}],"a":"v"}"#, "Unrecognized match type x");
    check(r#"{"b":"v","a":[{"x":1}]}"#, "\"b\" must be an object or an array");
    check(r#"{"k":["v",{"suffix":1,"x":1}]}"#, "suffix match pattern must be a string");
    // A fault of the whole comes after those of the parts.
    check(r#"{"a":{"b":["v"]},"c":[]}"#, "Empty arrays are not allowed");
}

#[test]
fn every_rule_is_accepted() {
    for rule in [
        r#""rugby""#,
        r#""""#,
        "301.5",
        "-12e3",
        "12345678901234567890",
        "true",
        "false",
        "null",
        r#"{"prefix":"bas"}"#,
        r#"{"suffix":"ball"}"#,
        r#"{"equals-ignore-case":"TeNNis"}"#,
        r#"{"anything-but":"x"}"#,
        r#"{"anything-but":5}"#,
        r#"{"anything-but":["x",100]}"#,
        r#"{"anything-but":{"prefix":"order-"}}"#,
        r#"{"numeric":["=",5]}"#,
        r#"{"numeric":["<",0]}"#,
        r#"{"numeric":["<=",1e12]}"#,
        r#"{"numeric":[">",0,"<=",150]}"#,
        r#"{"numeric":[">=",-1.5,"<",1.5]}"#,
        r#"{"cidr":"10.0.0.0/24"}"#,
        r#"{"cidr":"2001:db8::/32"}"#,
        r#"{"exists":true}"#,
        r#"{"exists":false}"#,
    ] {
        check_rule(rule, "accepted");
    }
}

#[test]
fn what_is_no_json_says_so() {
    for text in ["", "{", "{'key':['v']}", r#"{"key":["v"],}"#, r#"{"key":["v"]} x"#, r#"{"key":[1e999]}"#] {
        let text = refusal(text, MessageAttributes);
        assert!(text.starts_with("failed to parse JSON. "), "{text}");
    }
}

#[test]
fn keys_are_nested_in_bodies_only() {
    let nested = r#"{"a":{"b":["v"]}}"#;
    let text = "Filter policy scope MessageAttributes does not support nested filter policy";
    check(nested, text);
    check(r#"{"$or":[{"a":{"b":["v"]}},{"c":["v"]}]}"#, text);
    assert_eq!(refusal(nested, MessageBody), "accepted");
    assert_eq!(refusal(r#"{"a":{}}"#, MessageBody), "Empty objects are not allowed");
    check(r#"{"a.b":["v"]}"#, "accepted");
}

#[test]
fn or_is_a_key_unless_it_is_a_choice() {
    check(r#"{"$or":[{"a":["v"]},{"b":["v"]}]}"#, "accepted");
    check(r#"{"$or":["v"]}"#, "accepted");
    check(r#"{"$or":[{"prefix":"a"},{"suffix":"b"}]}"#, "accepted");
    check(r#"{"$or":[{"a":["v"]}]}"#, "Unrecognized match type a");
    check(r#"{"$or":[{"a":["v"]},"v"]}"#, "Unrecognized match type a");
    check(r#"{"$or":[{"a":["v"]},{"numeric":["="]}]}"#, "Unrecognized match type a");
    check(r#"{"$or":[{"a":["v"]},{}]}"#, "Empty objects are not allowed");
    check(r#"{"$or":"v"}"#, "\"$or\" must be an object or an array");
    assert_eq!(refusal(r#"{"a":{"$or":[{"b":["v"]},{"c":["v"]}]}}"#, MessageBody), "accepted");
}

fn keys(count: usize) -> String {
    let keys: Vec<_> = (0..count).map(|key| format!(r#""k{key}":["v"]"#)).collect();
    keys.join(",")
}

#[test]
fn five_keys_at_the_top() {
    let text = "Filter policy can not have more than 5 keys";
    check(&format!("{{{}}}", keys(5)), "accepted");
    check(&format!("{{{}}}", keys(6)), text);
    let choice = r#""$or":[{"a":["v"]},{"b":["v"]}]"#;
    check(&format!("{{{},{choice}}}", keys(4)), "accepted");
    check(&format!("{{{},{choice}}}", keys(5)), text);
    // Nested ones do not count: 2^7 combinations.
    assert_eq!(refusal(&format!(r#"{{"top":{{{}}}}}"#, keys(7)), MessageBody), "accepted");
}

fn values(count: u32) -> String {
    let values: Vec<_> = (0..count).map(|value| value.to_string()).collect();
    format!("[{}]", values.join(","))
}

#[test]
fn recorded_complexities() {
    let complex = "Filter policy is too complex";
    check(&format!(r#"{{"key":{}}}"#, values(150)), "accepted");
    check(&format!(r#"{{"key":{}}}"#, values(151)), complex);
    check(&format!(r#"{{"key1":{},"key2":{}}}"#, values(100), values(51)), complex);
    check(&format!(r#"{{"key1":{},"key2":{}}}"#, values(15), values(10)), "accepted");

    let v = values;
    let nested = format!(
        r#"{{"key_a":{{"key_b":{{"key_c":{}}}}},"key_d":{{"key_e":{}}},"key_f":{}}}"#,
        v(4),
        v(3),
        v(3)
    );
    assert_eq!(refusal(&nested, MessageBody), complex);
    let flat = |source, name, kind, id, space| {
        format!(
            r#"{{"source":{},"$or":[{{"metricName":{}}},{{"metricType":{},"$or":[{{"metricId":{}}},{{"spaceId":{}}}]}}]}}"#,
            v(source),
            v(name),
            v(kind),
            v(id),
            v(space)
        )
    };
    check(&flat(4, 6, 4, 4, 4), complex);
    check(&flat(3, 6, 4, 4, 7), "accepted");
    let two_choices = |kinds| {
        format!(
            r#"{{"$or":[{{"metricName":{}}},{{"namespace":{}}}],
            "detail":{{"scope":{},"$or":[{{"source":{}}},{{"type":{}}}]}}}}"#,
            v(3),
            v(2),
            v(2),
            v(1),
            v(kinds)
        )
    };
    assert_eq!(refusal(&two_choices(3), MessageBody), complex);
    // (3 + 2) × (2·2) × (1·2 + 2·2) = 120.
    assert_eq!(refusal(&two_choices(2), MessageBody), "accepted");
}

#[test]
fn limits_of_our_own() {
    let long = |bytes: usize| format!(r#"{{"key":["{}"]}}"#, "v".repeat(bytes - r#"{"key":[""]}"#.len()));
    check(&long(limits::POLICY_BYTES), "accepted");
    check(&long(limits::POLICY_BYTES + 1), "Filter policy must not be longer than 262144 bytes");

    let text = "Filter policy key must not have more than 4096 bytes or 32 levels";
    let key = |key: &str| format!(r#"{{"{key}":["v"]}}"#);
    check(&key(&"k".repeat(4_096)), "accepted");
    check(&key(&"k".repeat(4_097)), text);
    check(&key(&vec!["k"; 32].join(".")), "accepted");
    check(&key(&vec!["k"; 33].join(".")), text);
    let nested = |levels: usize| format!("{}[1]{}", r#"{"k":"#.repeat(levels), "}".repeat(levels));
    assert_eq!(refusal(&nested(32), MessageBody), "accepted");
    assert_eq!(refusal(&nested(33), MessageBody), text);
    let hostile = refusal(&"[".repeat(200_000), MessageBody);
    assert!(hostile.starts_with("failed to parse JSON. recursion limit exceeded"), "{hostile}");

    let wide = |conditions: usize| format!(r#"{{"$or":[{{{}}},{{"b":["v"]}}]}}"#, keys(conditions - 1));
    check(&wide(limits::CONDITIONS), "accepted");
    check(&wide(limits::CONDITIONS + 1), "Filter policy is too complex");

    // Products far beyond 64 bits, of choices and of values.
    let choice = |key| format!(r#""{key}":{{"$or":[{{"a":[1]}},{{"b":[1]}}]}}"#);
    let many: Vec<_> = (0..100).map(choice).collect();
    let many = format!(r#"{{"a":{{{}}}}}"#, many.join(","));
    assert_eq!(refusal(&many, MessageBody), "Filter policy is too complex");
    let deep: Vec<_> = (0..60).map(|key| format!(r#""{key}":[1,2]"#)).collect();
    let deep = format!(r#"{{"a":{{{}}}}}"#, deep.join(","));
    assert_eq!(refusal(&deep, MessageBody), "Filter policy is too complex");
}

#[test]
fn an_echo_is_bounded() {
    for prefix in ["", "x"] {
        let operator = format!("{prefix}{}", "é".repeat(100_000));
        let text = refusal(&format!(r#"{{"key":[{{"{operator}":1}}]}}"#), MessageAttributes);
        assert_eq!(text.len(), "Unrecognized match type ".len() + limits::ECHO_BYTES - prefix.len());
    }
}

#[test]
fn of_keys_with_one_name_the_last_counts() {
    let parse = |text| FilterPolicy::parse(text, MessageAttributes).unwrap();
    assert_eq!(parse(r#"{"a":["x"],"b":["z"],"a":["y"]}"#), parse(r#"{"b":["z"],"a":["y"]}"#));
}

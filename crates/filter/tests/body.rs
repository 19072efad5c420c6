//! What matches in scope `MessageBody`.

use tidegate_filter::{Body, FilterPolicy, FilterScope};

fn check(policy: &str, yes: &[&str], no: &[&str]) {
    let parsed = FilterPolicy::parse(policy, FilterScope::MessageBody).expect("a valid policy");
    for (bodies, expected) in [(yes, true), (no, false)] {
        for body in bodies {
            assert_eq!(parsed.matches_body(&Body::parse(body)), expected, "{policy} {body}");
        }
    }
}

#[test]
fn nested_keys() {
    check(
        r#"{"object":{"key":[{"prefix":"auto-"},"hardcodedvalue"],"nested_key":[{"exists":false}]},"test":[{"exists":false}]}"#,
        &[r#"{"object":{"key":"auto-test"}}"#, r#"{"object":{"key":"hardcodedvalue"}}"#],
        &[
            r#"{"object":{"key":"test-auto"}}"#,
            r#"{"object":{"key":"auto-test"},"test":"just-exists"}"#,
            r#"{"object":{"key":"auto-test","nested_key":"just-exists"}}"#,
            r#"{"object":{"test":"auto-test"}}"#,
            r#"{"test":"auto-test"}"#,
            "Regular string message",
            r#""Regular string message""#,
        ],
    );
}

#[test]
fn dots_and_nesting_are_the_same() {
    check(
        r#"{"object.nested":["string.value"]}"#,
        &[r#"{"object":{"nested":"string.value"}}"#, r#"{"object.nested":"string.value"}"#],
        &[
            r#"{"object":{"nested":"test-auto"}}"#,
            r#"{"object":{"nested.x":"string.value"}}"#,
            r#"{"object":1}"#,
        ],
    );
    for policy in [r#"{"object.nested.test":["v"]}"#, r#"{"object":{"nested":{"test":["v"]}}}"#] {
        check(
            policy,
            &[
                r#"{"object":{"nested":{"test":"v"}}}"#,
                r#"{"object.nested.test":"v"}"#,
                r#"{"object.nested":{"test":"v"}}"#,
                r#"{"object":{"nested.test":"v"}}"#,
                // Both forms: either is enough.
                r#"{"object":{"nested.test":"v"},"object.nested":{"test":"w"}}"#,
                r#"{"object":{"nested.test":"w"},"object.nested":[{"test":"v"}]}"#,
            ],
            &[r#"{"object":{"nested":{"test":"w"}}}"#, r#"{"object":{"nested":"v"}}"#, r#"{"test":"v"}"#],
        );
    }
    check(r#"{"":{"":["v"]}}"#, &[r#"{"":{"":"v"}}"#, r#"{".":"v"}"#], &[r#"{"":"v"}"#]);
}

#[test]
fn a_large_object_is_searched_like_a_small_one() {
    let filler: String = (0..100).map(|member| format!(r#""k{member}":0,"#)).collect();
    check(
        r#"{"a.b":["v"],"k7":[0]}"#,
        &[
            &format!(r#"{{{filler}"a":{{"b":"v"}}}}"#),
            &format!(r#"{{{filler}"a.b":"v"}}"#),
            &format!(r#"{{"a.b":["v"],{filler}"z":1}}"#),
        ],
        &[&format!(r#"{{{filler}"a":"v"}}"#), &format!(r#"{{{filler}"b":"v"}}"#)],
    );
}

#[test]
fn values_have_their_json_type() {
    check(r#"{"k":["5"]}"#, &[r#"{"k":"5"}"#], &[r#"{"k":5}"#]);
    check(
        r#"{"k":[5]}"#,
        &[r#"{"k":5}"#, r#"{"k":5.0}"#, r#"{"k":0.5e1}"#],
        &[r#"{"k":"5"}"#, r#"{"k":5.1}"#],
    );
    check(r#"{"k":[true]}"#, &[r#"{"k":true}"#], &[r#"{"k":"true"}"#, r#"{"k":false}"#, r#"{"k":1}"#]);
    check(r#"{"k":[null]}"#, &[r#"{"k":null}"#], &["{}", r#"{"k":"null"}"#]);
    check(r#"{"k":[""]}"#, &[r#"{"k":""}"#], &[r#"{"k":null}"#, "{}", r#"{"k":[]}"#]);
    check(r#"{"k":[{"numeric":[">",1]}]}"#, &[r#"{"k":2}"#], &[r#"{"k":"2"}"#, r#"{"k":1}"#]);
    check(r#"{"k":[{"cidr":"10.0.0.0/8"}]}"#, &[r#"{"k":"10.1.2.3"}"#], &[r#"{"k":10}"#]);
    check(r#"{"k":[{"anything-but":"x"}]}"#, &[r#"{"k":null}"#, r#"{"k":0}"#], &[r#"{"k":"x"}"#, "{}"]);
    check(r#"{"k":["a\"b"]}"#, &[r#"{"k":"a\"b"}"#, r#"{"\u006b":"a\u0022b"}"#], &[]);
}

#[test]
fn exists_looks_at_values() {
    let with_value = [r#"{"a":{"b":1}}"#, r#"{"a":{"b":null}}"#, r#"{"a":[{"c":1},{"b":0}]}"#];
    let without = ["{}", r#"{"a":1}"#, r#"{"a":{"b":[]}}"#, r#"{"a":{"b":{}}}"#, r#"{"a":{"b":{"c":1}}}"#];
    check(r#"{"a":{"b":[{"exists":true}]}}"#, &with_value, &without);
    check(r#"{"a":{"b":[{"exists":false}]}}"#, &without, &with_value);
    check(r#"{"a":[{"exists":false},"x"]}"#, &["{}", r#"{"a":"x"}"#], &[r#"{"a":"y"}"#]);
    // An empty array leaves the other keys alone.
    check(r#"{"a":[{"exists":false}],"b":["v"]}"#, &[r#"{"a":[],"b":"v"}"#], &[r#"{"a":[],"b":"w"}"#]);
}

#[test]
fn elements_are_alternatives() {
    check(
        r#"{"headers":{"route-to":["queue1"]}}"#,
        &[
            r#"{"headers":{"route-to":["queue1"]}}"#,
            r#"{"headers":{"route-to":["queue2","queue1"]}}"#,
            r#"{"headers":{"route-to":[["queue3"],[["queue1"]]]}}"#,
        ],
        &[r#"{"headers":{"route-to":["queue3"]}}"#, r#"{"headers":{"route-to":[]}}"#],
    );
    check(
        r#"{"f1":{"f2":{"f3":{"f4":["v1"]}}}}"#,
        &[
            r#"{"f1":[{"f2":{"f3":{"f4":"v1"}}}]}"#,
            r#"{"f1":[{"f2":[[{"f3":{"f4":"v2"}},{"f3":{"f4":"v1"}}]]}]}"#,
        ],
        &[
            r#"{"f1":[{"f2":[[{"f3":{"f4":"v2"}},{"f3":{"f4":"v3"}}]]}]}"#,
            r#"{"f1":[{"f2":{"fx":{"f4":"v1"}}}]}"#,
            r#"{"f1":["v1"]}"#,
        ],
    );
}

#[test]
fn one_record_has_to_satisfy_all_keys() {
    check(
        r#"{"Records":{"s3":{"object":{"key":[{"prefix":"auto-"}]}},"eventName":[{"prefix":"ObjectCreated:"}]}}"#,
        &[
            r#"{"Records":[{"eventName":"ObjectCreated:Put","s3":{"object":{"key":"auto-1.xml","size":17}}}]}"#,
            r#"{"Records":[{"eventName":"ObjectCreated:Put","s3":{"object":[[{"key":"auto-1.xml"}]]}},
                {"eventName":"ObjectRemoved:Delete","s3":{"object":{"key":"home-1.xml"}}}]}"#,
            r#"{"Records":{"eventName":"ObjectCreated:Put","s3":{"object":{"key":"auto-1.xml"}}}}"#,
        ],
        &[
            r#"{"Records":[{"eventName":"ObjectRemoved:Delete","s3":{"object":{"key":"auto-1.xml"}}}]}"#,
            r#"{"Records":[{"eventName":"ObjectCreated:Put","s3":{"object":{"key":"home-1.xml"}}}]}"#,
            r#"{"Records":[{"eventName":"ObjectCreated:Put","s3":{"object":{"key":"home-1.xml"}}},
                {"eventName":"ObjectRemoved:Delete","s3":{"object":{"key":"auto-1.xml"}}}]}"#,
            r#"{"Records":[]}"#,
        ],
    );
    // Arrays beside each other choose on their own.
    check(r#"{"a":{"x":[1]},"b":{"x":[2]}}"#, &[r#"{"a":[{"x":0},{"x":1}],"b":[{"x":2},{"x":0}]}"#], &[]);
}

#[test]
fn choices() {
    check(
        r#"{"$or":[{"metricName":["CPUUtilization","ReadLatency"]},{"namespace":["AWS/EC2","AWS/ES"]}],
        "detail":{"scope":["Service"],"$or":[{"source":["aws.cloudwatch"]},{"type":["Alarm"]}]}}"#,
        &[
            r#"{"metricName":"CPUUtilization","detail":{"scope":"Service","source":"aws.cloudwatch"}}"#,
            r#"{"metricName":"ReadLatency","detail":{"scope":"Service","source":"aws.cloudwatch"}}"#,
            r#"{"namespace":"AWS/ES","detail":{"scope":"Service","source":"aws.cloudwatch"}}"#,
            r#"{"metricName":"CPUUtilization","detail":{"scope":"Service","type":"Alarm"}}"#,
            r#"{"metricName":"AWS/EC2","namespace":"AWS/EC2","detail":{"scope":"Service","type":"Alarm"}}"#,
        ],
        &[
            r#"{"metricName":"CPUUtilization","detail":{"scope":"aws.cloudwatch","type":"Alarm"}}"#,
            r#"{"metricName":"CPUUtilization","detail":{"scope":"Service","type":"CPUUtilization"}}"#,
            r#"{"metricName":"CPUUtilization","detail":{"type":"Alarm"}}"#,
            r#"{"metricName":"CPUUtilization","detail":{"scope":"Service"}}"#,
            r#"{"metricName":"AWS/EC2","detail":{"scope":"Service","type":"Alarm"}}"#,
            r#"{"namespace":"CPUUtilization","detail":{"scope":"Service","type":"Alarm"}}"#,
        ],
    );
    // The branch has to match within one record, too.
    check(
        r#"{"r":{"a":[1],"$or":[{"b":[2]},{"c":[3]}]}}"#,
        &[r#"{"r":[{"a":1},{"a":1,"c":3}]}"#],
        &[r#"{"r":[{"a":1},{"b":2,"c":3}]}"#],
    );
}

#[test]
fn only_json_objects_match() {
    check(
        r#"{"a":[{"exists":false}]}"#,
        &["{}", " {\"b\":1}\n"],
        &["", "text", "[]", "5", "null", "{", r#"[{"b":1}]"#],
    );
    check("{}", &["{}", "text", ""], &[]);
    let deep = format!(r#"{{"b":{}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
    check(r#"{"a":[{"exists":false}]}"#, &[], &[&deep]);
    check(r#"{"a":["y"]}"#, &[r#"{"a":"x","a":"y"}"#], &[r#"{"a":"y","a":"x"}"#]);
}

/// Would take ages if the work grew faster than branches times size.
#[test]
fn hostile_bodies_end() {
    // The key is there in each of 2^12 ways, and no way is long enough.
    let both_forms = (0..12).fold("1".to_owned(), |inner, _| format!(r#"{{"a":[{inner}],"a.a":[{inner}]}}"#));
    let key = vec!["a"; 32].join(".");
    let policy = format!(r#"{{"{key}":[1]}}"#);
    check(&policy, &[], &[&both_forms]);
    let elements = vec![r#"{"a":{"a":0},"a.a":0}"#; 10_000].join(",");
    check(&policy, &[], &[&format!(r#"{{"a":[{elements}]}}"#)]);
    let alternatives: Vec<_> = (0..75).map(|i| format!(r#"{{"a.a":[0],"a.k{i}":[1]}}"#)).collect();
    let policy = format!(r#"{{"$or":[{}]}}"#, alternatives.join(","));
    check(&policy, &[], &[&format!(r#"{{"a":[{elements}]}}"#)]);
}

//! What matches in scope `MessageAttributes`.

use tidegate_filter::{Attribute, Attributes, FilterPolicy, FilterScope};

/// Attributes are written as `name:type=value`.
fn matches(policy: &str, attributes: &[&str]) -> bool {
    let policy = FilterPolicy::parse(policy, FilterScope::MessageAttributes).expect("a valid policy");
    policy.matches_attributes(&Attributes::new(attributes.iter().map(|text| attribute(text))))
}

fn attribute(text: &str) -> Attribute<'_> {
    let (name, rest) = text.split_once(':').expect("a name");
    let (data_type, value) = rest.split_once('=').expect("a type");
    Attribute { name, data_type, text: (!data_type.starts_with("Binary")).then_some(value) }
}

/// A rule, values of one attribute that match it, and values that do not.
fn check(rules: &str, yes: &[&str], no: &[&str]) {
    let policy = format!(r#"{{"key":[{rules}]}}"#);
    for (values, expected) in [(yes, true), (no, false)] {
        for value in values {
            assert_eq!(matches(&policy, &[&format!("key:{value}")]), expected, "{policy} {value}");
        }
    }
}

#[test]
fn strings() {
    check(
        r#""rugby""#,
        &["String=rugby", "String.label=rugby"],
        &["String=Rugby", "String=rugby ", "String="],
    );
    check(r#""""#, &["String="], &["String=x"]);
    check(r#""a","b""#, &["String=a", "String=b"], &["String=c", "String=ab"]);
    check(r#"{"prefix":"bas"}"#, &["String=bas", "String=baseball"], &["String=ba", "String=Baseball"]);
    check(r#"{"suffix":"ball"}"#, &["String=ball", "String=baseball"], &["String=balls", "String=all"]);
    check(
        r#"{"equals-ignore-case":"TeNNis"}"#,
        &["String=tennis", "String=TENNIS", "String=TeNNis"],
        &["String=tenni", "String=tenniss"],
    );
    check(r#"{"equals-ignore-case":"ÄÖ"}"#, &["String=äö"], &["String=ao"]);
    check(r#""a\"b\\""#, &[r#"String=a"b\"#], &[r#"String=a\"b\\"#]);
}

#[test]
fn anything_but() {
    check(r#"{"anything-but":"x"}"#, &["String=y", "String=", "Number=5"], &["String=x"]);
    check(
        r#"{"anything-but":["x",100]}"#,
        &["String=y", "Number=99", "String=100"],
        &["String=x", "Number=100", "Number=1e2"],
    );
    check(
        r#"{"anything-but":{"prefix":"order-"}}"#,
        &["String=return-1", "String=order", "Number=5"],
        &["String=order-1", "String=order-"],
    );
    // One element that differs suffices.
    check(
        r#"{"anything-but":["rugby","tennis"]}"#,
        &[r#"String.Array=["rugby","baseball"]"#, r#"String.Array=["baseball"]"#],
        &[r#"String.Array=["rugby"]"#, r#"String.Array=["rugby","tennis"]"#],
    );
}

#[test]
fn numbers() {
    check("301.5", &["Number=301.5", "Number=3.015e2", "Number=301.50"], &["Number=301", "String=301.5"]);
    check(r#""99""#, &["Number=99", "String=99"], &["Number=99.0"]);
    check(r#"{"prefix":"9"}"#, &["Number=99"], &["Number=19"]);
    check(r#"{"numeric":["=",5]}"#, &["Number=5", "Number.int=5.0"], &["Number=6", "String=5", "Number=x"]);
    check(r#"{"numeric":["<",0]}"#, &["Number=-0.00001"], &["Number=0", "Number=1"]);
    check(r#"{"numeric":["<=",0]}"#, &["Number=0", "Number=-1"], &["Number=0.00001"]);
    check(r#"{"numeric":[">",0]}"#, &["Number=0.00001"], &["Number=0", "Number=-1"]);
    check(r#"{"numeric":[">=",0]}"#, &["Number=0", "Number=1"], &["Number=-0.00001"]);
    check(
        r#"{"numeric":[">",0,"<=",150]}"#,
        &["Number=0.1", "Number=150", "Number=1.5E2"],
        &["Number=0", "Number=150.00001", "Number=-1"],
    );
    check("9007199254740993", &["Number=9007199254740993"], &["Number=9007199254740992"]);
}

#[test]
fn addresses() {
    check(
        r#"{"cidr":"10.0.0.0/24"}"#,
        &["String=10.0.0.0", "String=10.0.0.255"],
        &["String=10.0.0.256", "String=10.0.1.255", "String=10.0.0", "String=::1", "String=x"],
    );
    check(r#"{"cidr":"2001:db8::/32"}"#, &["String=2001:DB8::1"], &["String=2001:db9::1", "String=10.0.0.1"]);
}

#[test]
fn exists() {
    let (there, absent) = (r#"{"store":[{"exists":true}]}"#, r#"{"store":[{"exists":false}]}"#);
    for (attribute, is_there) in [
        ("store:String=x", true),
        ("store:String=", true),
        ("store:Number=5", true),
        ("store:Binary=", true),
        ("store:String.Array=[null]", true),
        ("store:String.Array=[]", false),
        ("Store:String=x", false),
    ] {
        assert_eq!(matches(there, &[attribute]), is_there, "{attribute}");
        assert_eq!(matches(absent, &[attribute]), !is_there, "{attribute}");
    }
    let absent_or = r#"{"store":[{"exists":false},"x"]}"#;
    assert!(matches(absent_or, &[]) && matches(absent_or, &["store:String=x"]));
    assert!(!matches(absent_or, &["store:String=y"]));
}

#[test]
fn only_exists_false_matches_what_is_absent() {
    for rules in [
        r#""x""#,
        "5",
        "null",
        r#"null,{"anything-but":"x"}"#,
        r#"{"anything-but":["x",5]}"#,
        r#"{"anything-but":{"prefix":"x"}}"#,
        r#"{"prefix":""}"#,
        r#"{"numeric":[">",-1]}"#,
        r#"{"exists":true}"#,
    ] {
        assert!(!matches(&format!(r#"{{"key":[{rules}]}}"#), &["other:String=x"]), "{rules}");
    }
}

#[test]
fn the_elements_of_a_string_array_are_alternatives() {
    let array = r#"String.Array=["soccer",5,true,null]"#;
    for rule in [
        r#""soccer""#,
        r#"{"prefix":"soc"}"#,
        "5",
        r#"{"numeric":["<",6]}"#,
        "true",
        "null",
        r#"{"exists":true}"#,
    ] {
        check(rule, &[array], &[]);
    }
    for rule in [r#""5""#, "6", "false", r#"{"suffix":"x"}"#, r#"{"exists":false}"#] {
        check(rule, &[], &[array]);
    }
    check("true,null", &["String.Array=[true]", "String.Array=[null]"], &["String=true", "String=null"]);
}

#[test]
fn an_array_that_is_none_matches_nothing() {
    for value in ["['anything']", "", "x", "{}", r#""x""#, "[1", "5"] {
        let value = format!("String.Array={value}");
        for rule in [r#""x""#, r#"{"anything-but":"x"}"#, r#"{"exists":true}"#, r#"{"exists":false}"#] {
            check(rule, &[], &[&value]);
        }
    }
    // Arrays and objects inside are no values.
    check(r#""x""#, &[], &[r#"String.Array=[["x"],{"x":"x"}]"#]);
}

#[test]
fn binary_and_unknown_types_have_no_value() {
    for value in ["Binary=", "Binary.png=", "Other=x", "string=x", "=x"] {
        check(r#""x""#, &[], &[value]);
        check(r#"{"anything-but":"y"}"#, &[], &[value]);
        check(r#"{"prefix":""}"#, &[], &[value]);
    }
}

#[test]
fn all_keys_have_to_match() {
    let policy =
        r#"{"store":["example"],"event":[{"anything-but":"cancelled"}],"price":[{"numeric":[">=",100]}]}"#;
    let message = ["store:String=example", "event:String=placed", "price:Number=100", "more:String=x"];
    assert!(matches(policy, &message));
    for left_out in 0..3 {
        let mut rest = message.to_vec();
        rest.remove(left_out);
        assert!(!matches(policy, &rest), "{rest:?}");
    }
    assert!(matches("{}", &[]) && matches("{}", &message));
}

#[test]
fn choices() {
    let policy =
        r#"{"f1":["v1"],"$or":[{"f2":["v2","v3"]},{"f3":["v4"],"$or":[{"f4":["v5"]},{"f5":["v7"]}]}]}"#;
    for (attributes, expected) in [
        (&["f1:String=v1", "f2:String=v2"][..], true),
        (&["f1:String=v1", "f2:String=v3"], true),
        (&["f1:String=v1", "f3:String=v4", "f4:String=v5"], true),
        (&["f1:String=v1", "f3:String=v4", "f5:String=v7"], true),
        (&["f1:String=v2", "f2:String=v2"], false),
        (&["f1:String=v1"], false),
        (&["f1:String=v1", "f3:String=v4"], false),
        (&["f1:String=v1", "f4:String=v5"], false),
        (&["f2:String=v2"], false),
    ] {
        assert_eq!(matches(policy, attributes), expected, "{attributes:?}");
    }
    let ordinary = r#"{"$or":[{"prefix":"a"},{"suffix":"b"}]}"#;
    assert!(matches(ordinary, &["$or:String=xb"]) && !matches(ordinary, &["prefix:String=a"]));
}

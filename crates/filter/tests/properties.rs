//! What holds of every policy and message: nothing panics, and matching agrees with a naive reading of the rules.

mod naive;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tidegate_filter::FilterScope::{MessageAttributes, MessageBody};
use tidegate_filter::{Attribute, Attributes, Body, FilterPolicy};

/// Words that make policies out of random JSON now and then.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "prefix",
            "suffix",
            "equals-ignore-case",
            "anything-but",
            "numeric",
            "cidr",
            "exists",
            "$or",
            "=",
            "<",
            ">",
            "<=",
            ">=",
            "10.0.0.0/8",
            "a",
            "b",
        ])
        .prop_map(str::to_owned),
        "[a-c.]{0,4}",
        any::<String>(),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Few keys and values, so that policies and bodies meet.
fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

fn small_value() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![json!(1), json!(2), json!("x"), json!("xy"), json!(null)])
}

fn rule() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => small_value(),
        1 => Just(json!({"prefix": "x"})),
        1 => Just(json!({"suffix": "y"})),
        1 => Just(json!({"anything-but": ["x", 1]})),
        1 => Just(json!({"anything-but": {"prefix": "xy"}})),
        1 => Just(json!({"numeric": [">", 1]})),
        1 => Just(json!({"exists": true})),
        1 => Just(json!({"exists": false})),
    ]
}

fn policy() -> impl Strategy<Value = Value> {
    let rules = prop::collection::vec(rule(), 1..3).prop_map(Value::from);
    rules.prop_recursive(3, 12, 3, |inner| {
        let object = || prop::collection::btree_map(key(), inner.clone(), 1..3);
        let or = prop::option::of(prop::collection::vec(object(), 2..4));
        (object(), or).prop_map(|(members, or)| {
            let mut object: Map<_, _> = members.into_iter().collect();
            if let Some(alternatives) = or {
                object.insert("$or".to_owned(), json!(alternatives));
            }
            Value::Object(object)
        })
    })
}

fn body() -> impl Strategy<Value = Value> {
    small_value().prop_recursive(5, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key(), inner, 0..4).prop_map(|members| json!(members)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(policy in any_json(), message in any_json(), text in any::<String>()) {
        let policies = [policy.to_string(), json!({"a": [policy]}).to_string(), text.clone()];
        let json = message.to_string();
        let attribute = |name, data_type| Attribute { name, data_type, text: Some(&json) };
        let attributes = Attributes::new([
            attribute("a", "String.Array"),
            attribute("b", "Number"),
            attribute(&text, "String"),
        ]);
        for policy in &policies {
            for scope in [MessageAttributes, MessageBody] {
                if let Ok(policy) = FilterPolicy::parse(policy, scope) {
                    policy.matches_attributes(&attributes);
                    policy.matches_body(&Body::parse(&json));
                    policy.matches_body(&Body::parse(&text));
                }
            }
        }
    }

    #[test]
    fn bodies_match_as_in_the_naive_reading(
        policy in policy().prop_filter("an object", Value::is_object),
        body in prop::collection::btree_map(key(), body(), 0..4),
    ) {
        let body = json!(body);
        match FilterPolicy::parse(&policy.to_string(), MessageBody) {
            Ok(parsed) => {
                prop_assert!(naive::combinations(&policy) <= 150);
                prop_assert_eq!(parsed.matches_body(&Body::parse(&body.to_string())), naive::matches(&policy, &body));
            }
            Err(error) => {
                prop_assert_eq!(error.to_string(), "Filter policy is too complex");
                prop_assert!(naive::combinations(&policy) > 150);
            }
        }
    }

    #[test]
    fn dotted_and_nested_bodies_match_alike(
        policy in policy().prop_filter("an object", Value::is_object),
        body in prop::collection::btree_map(key(), body(), 0..4),
    ) {
        // Without arrays there is one choice, which written flat is a body of its own.
        let choice = naive::flatten("", &json!(body)).swap_remove(0);
        let nested = choice.iter().fold(json!({}), |mut object, (path, value)| {
            let pointer = path.split('.').fold(&mut object, |object, name| &mut object[name]);
            *pointer = value.clone();
            object
        });
        if let Ok(policy) = FilterPolicy::parse(&policy.to_string(), MessageBody) {
            let flat = policy.matches_body(&Body::parse(&json!(choice).to_string()));
            prop_assert_eq!(flat, policy.matches_body(&Body::parse(&nested.to_string())));
        }
    }

    #[test]
    fn anything_but_is_the_complement_of_exact(
        excluded in prop::collection::vec(prop_oneof!["[a-c]{0,2}".prop_map(Value::from), (-2..3).prop_map(Value::from)], 1..4),
        text in prop_oneof!["[a-c]{0,2}", "-?[0-2]"],
        data_type in prop::sample::select(vec!["String", "Number"]),
    ) {
        let exact = json!({"key": excluded}).to_string();
        let but = json!({"key": [{"anything-but": excluded}]}).to_string();
        let attributes = Attributes::new([Attribute { name: "key", data_type, text: Some(&text) }]);
        let matches = |policy: &str| FilterPolicy::parse(policy, MessageAttributes).unwrap().matches_attributes(&attributes);
        prop_assert_ne!(matches(&exact), matches(&but));
    }

    #[test]
    fn numbers_compare_by_value(left in -1_000_000_000.0..1_000_000_000.0f64, right in -1_000_000_000.0..1_000_000_000.0f64) {
        let (left, right) = (format!("{left:.5}"), format!("{right:.5}"));
        for (value, bound) in [(&left, &right), (&left, &left)] {
            // Whole numbers of the fifth digit order as the decimals do.
            let scaled = |text: &str| text.replace('.', "").parse::<i64>().unwrap();
            let attributes = Attributes::new([Attribute { name: "n", data_type: "Number", text: Some(value) }]);
            for (operator, expected) in [
                ("<", scaled(value) < scaled(bound)),
                ("<=", scaled(value) <= scaled(bound)),
                ("=", scaled(value) == scaled(bound)),
                (">=", scaled(value) >= scaled(bound)),
                (">", scaled(value) > scaled(bound)),
            ] {
                let policy = format!(r#"{{"n":[{{"numeric":["{operator}",{bound}]}}]}}"#);
                let policy = FilterPolicy::parse(&policy, MessageAttributes).unwrap();
                prop_assert_eq!(policy.matches_attributes(&attributes), expected, "{} {} {}", value, operator, bound);
            }
        }
    }
}

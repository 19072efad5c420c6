use super::*;

#[test]
fn numbers_are_those_of_the_documentation() {
    let (long, too_long) = ("1".repeat(38), "1".repeat(39));
    for good in [
        "0",
        "-1",
        "+1",
        "1.5",
        ".5",
        "5.",
        "1e10",
        "-1.5E-3",
        "0001493147359900",
        "1e126",
        "1e-128",
        "0e9999",
        &long,
    ] {
        assert!(is_number(good), "{good}");
    }
    for bad in
        ["", "-", ".", "e5", "1e", "1e5x", "abc", "1,5", "NaN", "0x10", " 1", "1e127", "1e-129", "1e99999"]
    {
        assert!(!is_number(bad), "{bad}");
    }
    assert!(!is_number(&too_long));
    assert!(
        is_number(&format!("{too_long}e-1").replace("1e", "0e")),
        "a trailing zero is no significant digit"
    );
}

#[test]
fn attribute_names_follow_the_recorded_rule() {
    let longest = "n".repeat(256);
    for good in ["a", "Help.Me", "attr.1øßä", "a..b", "AWSomething", "Amazonas", "aws-x", &longest] {
        assert_eq!(check_name(good), Ok(()), "{good}");
    }
    for bad in [
        "",
        ".a",
        "a.",
        "!",
        "\"",
        "§",
        "(",
        "?",
        "a b",
        "AWS.x",
        "aws.x",
        "Amazon.x",
        "AMAZON.x",
        &"n".repeat(257),
    ] {
        assert!(check_name(bad).is_err(), "{bad}");
    }
}

#[test]
fn types_need_one_of_three_prefixes() {
    let check = |data_type: &'static str| {
        check_type(&RawAttribute {
            name: "n".into(),
            data_type: data_type.into(),
            text: None,
            binary: None,
            is_list: false,
        })
    };
    assert_eq!(check("Number.java.lang.Long"), Ok("Number"));
    assert_eq!(check("String.custom"), Ok("String"));
    assert_eq!(check("Binary.png"), Ok("Binary"));
    for bad in ["", "string", "Int", ".String", "String.\u{1}"] {
        assert!(check(bad).is_err(), "{bad}");
    }
}

#[test]
fn values_must_be_there_and_agree_with_their_type() {
    let text = |kind, value: &'static str| check_value("n", kind, Some(value.into()), None);
    assert_eq!(
        text("String", "").err().unwrap().to_string(),
        "Message (user) attribute 'n' must contain a non-empty value of type 'String'."
    );
    assert_eq!(
        text("Number", "x").err().unwrap().to_string(),
        "Can't cast the value of message (user) attribute 'n' to a number."
    );
    assert!(text("Binary", "x").is_err());
    assert!(check_value("n", "String", None, Some(vec![1])).is_err());
    assert!(check_value("n", "Binary", None, Some(vec![])).is_err());
    assert_eq!(
        check_value("n", "String", None, None).err().unwrap().to_string(),
        "The message (user) attribute 'n' must contain a non-empty message attribute value."
    );
    assert!(
        text("String", "a\u{8}").err().unwrap().to_string().starts_with("Invalid binary character '#x8'")
    );
    let number = text("Number", "0010").ok().unwrap();
    assert_eq!(number.as_bytes(), b"0010", "numbers keep their spelling");
}

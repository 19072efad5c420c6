//! Drives [`Config::load`] with text for each source; files are real ones. Nothing here reads the process's own
//! environment.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::*;

/// The sources of one load.
#[derive(Default)]
struct Sources<'a> {
    file: Option<&'a str>,
    environment: &'a [(&'a str, &'a str)],
    flags: &'a [(&'static str, &'a str)],
}

impl Sources<'_> {
    fn load(&self) -> Result<Config, ConfigError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tidegate.toml");
        if let Some(text) = self.file {
            std::fs::write(&path, text).unwrap();
        }
        let flags = Flags {
            config: self.file.map(|_| path),
            values: self.flags.iter().map(|(key, text)| (*key, (*text).to_owned())).collect(),
        };
        let environment = self.environment.iter().map(|(name, value)| (name.into(), value.into()));
        Config::load(&flags, environment)
    }

    /// The error as a person reads it, with the temporary directory left out.
    fn refusal(&self) -> String {
        let text = crate::cli::sentence(&self.load().unwrap_err());
        match text.find("/tidegate.toml") {
            Some(end) => {
                let start = text[..end].rfind(' ').map_or(0, |space| space + 1);
                format!("{}{}", &text[..start], &text[end + 1..])
            }
            None => text,
        }
    }
}

fn with_file(text: &str) -> Sources<'_> {
    Sources { file: Some(text), ..Sources::default() }
}

fn with_environment<'a>(environment: &'a [(&'a str, &'a str)]) -> Sources<'a> {
    Sources { environment, ..Sources::default() }
}

fn with_flags<'a>(flags: &'a [(&'static str, &'a str)]) -> Sources<'a> {
    Sources { flags, ..Sources::default() }
}

/// For each setting: a value other than its default, what `Debug` shows of it, and a value that is refused.
const SAMPLES: &[(&str, &str, &str, &str)] = &[
    ("listen", "127.0.0.1:80", "127.0.0.1:80", "127.0.0.1"),
    ("admin", "[::1]:81", "[::1]:81", ":81"),
    ("data_dir", "/data", "\"/data\"", ""),
    ("durability", "os", "Os", "disk"),
    ("public_url", "https://q.example/base/", "Some(PublicUrl(\"https://q.example/base\"))", "q.example"),
    ("trust_forwarded", "true", "true", "yes"),
    ("allow_anonymous", "true", "true", "1"),
    ("tls_certificate", "/c.pem", "Some(\"/c.pem\")", ""),
    ("tls_key", "/k.pem", "Some(\"/k.pem\")", ""),
    ("admin_tls", "false", "false", "no"),
    ("admin_token", "a-secret-of-operators", "Some(AdminToken(hidden))", "a-secret"),
    ("admin_token_file", "/t", "Some(\"/t\")", ""),
    ("strict_cooldowns", "false", "false", "off"),
    ("account", "123456789012", "AccountId(123456789012)", "12"),
    ("region", "eu-west-1", "Region(\"eu-west-1\")", "EU West"),
    ("log_format", "json", "Json", "xml"),
    ("log_level", "trace", "Level(Trace)", "loud"),
    ("connections_max", "5", "5", "0"),
    ("header_bytes_max", "16KiB", "16384", "1KiB"),
    ("headers_max", "50", "50", "15"),
    ("body_bytes_max", "1 MiB", "1048576", "65MiB"),
    ("body_timeout", "1m", "60s", "2h"),
    ("idle_timeout", "25s", "25s", "24999ms"),
    ("shutdown_grace", "500ms", "500ms", "6s"),
    ("segment_bytes", "1MiB", "1048576", "2GiB"),
    ("disk_max", "1TiB", "Some(1099511627776)", "1KiB"),
    ("memory", "256M", "268435456", "15MiB"),
    ("in_flight_max", "1_000", "1000", "-1"),
    ("fifo_in_flight_max", "20000", "20000", "0"),
    ("worker_threads", "7", "7", "0"),
];

/// Settings that are refused without another one.
const COMPANIONS: &[(&str, (&str, &str))] =
    &[("tls_certificate", ("tls_key", "/k")), ("tls_key", ("tls_certificate", "/c"))];

#[test]
fn defaults_are_those_of_the_table() {
    let config = Sources::default().load().unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:9324");
    assert_eq!(config.admin.to_string(), "127.0.0.1:9325");
    assert_eq!(config.data_dir, Path::new("./tidegate-data"));
    assert_eq!(config.durability, Durability::Fsync);
    assert_eq!((config.public_url, config.disk_max), (None, None));
    assert_eq!(config.idle_timeout, Duration::from_secs(75));
    assert_eq!((config.header_bytes_max, config.body_bytes_max), (32_768, 8_388_608));
    assert_eq!(config.in_flight_max, tidegate_engine::limits::IN_FLIGHT_MAX);
    assert_eq!(config.fifo_in_flight_max, tidegate_engine::limits::FIFO_IN_FLIGHT_MAX);
    assert_eq!(config.segment_bytes, tidegate_log::LogConfig::default().segment_bytes);
    assert_eq!(config.account, tidegate_engine::AccountId::default());
    assert_eq!(config.region, tidegate_engine::Region::default());
    assert!(config.strict_cooldowns && !config.allow_anonymous && !config.trust_forwarded);
    assert!(config.worker_threads >= 1);
    assert!((16 << 20..=4 << 30).contains(&config.memory));
    assert!(config.queues.is_empty() && config.credentials.is_empty());
}

/// A full batch of the largest messages, every byte escaped in JSON, fits into a body with room for what surrounds it.
#[test]
fn the_largest_batch_fits_into_a_body() {
    let config = Sources::default().load().unwrap();
    assert!(config.body_bytes_max >= tidegate_engine::limits::BATCH_BYTES * 6 + (1 << 20));
}

#[test]
fn every_setting_can_come_from_every_source() {
    let keys: Vec<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
    assert_eq!(SAMPLES.iter().map(|sample| sample.0).collect::<Vec<_>>(), keys, "a sample for each setting");
    for (setting, (key, text, expected, _)) in SETTINGS.iter().zip(SAMPLES) {
        let file = format!("{key} = \"{text}\"");
        let variable = setting.variable();
        let companions = COMPANIONS.iter().filter(|(wanted, _)| wanted == key);
        let companions: Vec<_> = companions.map(|(_, companion)| *companion).collect();
        let flags = [&companions[..], &[(key, text)]].concat();
        for (source, sources) in [
            ("file", Sources { flags: &companions, ..with_file(&file) }),
            ("environment", Sources { flags: &companions, ..with_environment(&[(&variable, text)]) }),
            ("flag", with_flags(&flags)),
        ] {
            let config = sources.load().unwrap_or_else(|error| panic!("{key} from {source}: {error}"));
            assert_eq!(config.shown(key), *expected, "{key} from {source}");
        }
        assert_ne!(
            Sources::default().load().unwrap().shown(key),
            *expected,
            "{key} differs from its default"
        );
    }
}

#[test]
fn every_setting_refuses_what_is_out_of_range() {
    for (setting, (key, _, _, bad)) in SETTINGS.iter().zip(SAMPLES) {
        let refusal = with_file(&format!("\n{key} = \"{bad}\"")).refusal();
        let allowed = setting.allowed();
        let shown = if *key == "admin_token" { "(hidden)" } else { bad };
        assert_eq!(refusal, format!("tidegate.toml, line 2: `{key}` is `{shown}`, but must be {allowed}"));
        let refusal = with_flags(&[(key, bad)]).refusal();
        let flag = setting.flag_name();
        assert_eq!(refusal, format!("flag --{flag}: `{key}` is `{shown}`, but must be {allowed}"));
        if !bad.is_empty() {
            let variable = setting.variable();
            let refusal = with_environment(&[(&variable, bad)]).refusal();
            assert_eq!(
                refusal,
                format!("environment variable {variable}: `{key}` is `{shown}`, but must be {allowed}")
            );
        }
    }
}

#[test]
fn flags_override_the_environment_and_that_the_file() {
    let file = "region = \"of-file\"\nheaders_max = 20\nconnections_max = 30\n";
    let environment = [("TIDEGATE_REGION", "of-environment"), ("TIDEGATE_HEADERS_MAX", "21")];
    let all = Sources { file: Some(file), environment: &environment, flags: &[("region", "of-flags")] };
    let config = all.load().unwrap();
    assert_eq!(config.region.as_str(), "of-flags");
    assert_eq!(config.headers_max, 21);
    assert_eq!(config.connections_max, 30);
}

/// A wrong value is not looked at when a better source overrides it.
#[test]
fn only_the_uppermost_value_counts() {
    let sources = Sources { file: Some("region = \"EU\""), flags: &[("region", "eu")], ..Sources::default() };
    assert_eq!(sources.load().unwrap().region.as_str(), "eu");
}

#[test]
fn the_file_can_be_named_in_the_environment_and_the_flag_wins() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("one.toml"), directory.path().join("two.toml"));
    std::fs::write(&one, "region = \"one\"").unwrap();
    std::fs::write(&two, "region = \"two\"").unwrap();
    let environment = || [(OsString::from("TIDEGATE_CONFIG"), one.clone().into_os_string())];
    let config = Config::load(&Flags::default(), environment()).unwrap();
    assert_eq!(config.region.as_str(), "one");
    let flags = Flags { config: Some(two.clone()), ..Flags::default() };
    assert_eq!(Config::load(&flags, environment()).unwrap().region.as_str(), "two");
}

#[test]
fn a_missing_file_is_named_with_the_cause() {
    let flags = Flags { config: Some("no/such.toml".into()), ..Flags::default() };
    let error = Config::load(&flags, []).unwrap_err();
    let text = crate::cli::sentence(&error);
    assert!(text.starts_with("the configuration file no/such.toml cannot be read: No such file"), "{text}");
}

#[test]
fn toml_errors_show_the_line() {
    let refusal = with_file("region = \"eu\"\naccount = 000000000001\n").refusal();
    assert!(refusal.starts_with("the configuration file tidegate.toml is not valid TOML: "), "{refusal}");
    assert!(refusal.contains("line 2"), "{refusal}");
}

#[test]
fn unknown_keys_are_refused_with_the_nearest() {
    for (file, expected) in [
        ("regoin = 1", "tidegate.toml, line 1: there is no setting `regoin`; did you mean `region`?"),
        (
            "#\n\ndata-dir = 1",
            "tidegate.toml, line 3: there is no setting `data-dir`; did you mean `data_dir`?",
        ),
        (
            "listen_address = 1",
            "tidegate.toml, line 1: there is no setting `listen_address`; did you mean `listen`?",
        ),
        ("[[queues]]", "tidegate.toml, line 1: there is no setting `queues`; did you mean `queue`?"),
        (
            "zzz = 1",
            "tidegate.toml, line 1: there is no setting `zzz`; `tidegate serve --help` lists the settings",
        ),
        (
            "[[queue]]\nname = 'q'\nattribute = 1",
            "tidegate.toml, line 3: there is no setting `queue.attribute`; did you mean `attributes`?",
        ),
    ] {
        assert_eq!(with_file(file).refusal(), expected);
    }
}

#[test]
fn unknown_variables_are_refused_with_the_nearest() {
    assert_eq!(
        with_environment(&[("TIDEGATE_LISEN", "x")]).refusal(),
        "there is no setting for the environment variable TIDEGATE_LISEN; did you mean `TIDEGATE_LISTEN`?"
    );
    assert_eq!(
        with_environment(&[("TIDEGATE_CONFG", "x")]).refusal(),
        "there is no setting for the environment variable TIDEGATE_CONFG; did you mean `TIDEGATE_CONFIG`?"
    );
    // A setting that someone expects, not a variable of Kubernetes.
    assert!(with_environment(&[("TIDEGATE_PORT", "9324")]).load().is_err());
}

#[test]
fn variables_that_are_not_ours_or_empty_are_passed_over() {
    let variables = [
        ("PATH", "/bin"),
        ("TIDEGATEX", "1"),
        ("tidegate_listen", "1"),
        ("TIDEGATE_REGION", ""),
        ("TIDEGATE_CONFIG", ""),
        ("TIDEGATE_SERVICE_HOST", "10.0.0.1"),
        ("TIDEGATE_SERVICE_PORT", "9324"),
        ("TIDEGATE_SERVICE_PORT_API", "9324"),
        ("TIDEGATE_PORT", "tcp://10.0.0.1:9324"),
        ("TIDEGATE_PORT_9324_TCP", "tcp://10.0.0.1:9324"),
        ("TIDEGATE_PORT_9324_TCP_PROTO", "tcp"),
        ("TIDEGATE_PORT_9324_TCP_PORT", "9324"),
        ("TIDEGATE_PORT_9324_TCP_ADDR", "10.0.0.1"),
        ("TIDEGATE_ADMIN_SERVICE_HOST", "10.0.0.1"),
    ];
    assert_eq!(with_environment(&variables).load().unwrap().region.as_str(), "us-east-1");
}

#[cfg(unix)]
#[test]
fn variables_that_are_not_text_are_refused() {
    use std::os::unix::ffi::OsStringExt;
    let variable = (OsString::from("TIDEGATE_REGION"), OsString::from_vec(vec![0xff]));
    let error = Config::load(&Flags::default(), [variable]).unwrap_err();
    assert_eq!(error.to_string(), "the environment variable TIDEGATE_REGION is not valid UTF-8");
}

#[test]
fn values_of_the_file_may_have_their_own_type() {
    let config = with_file(
        "trust_forwarded = true\nheaders_max = 0x20\nbody_bytes_max = 1_048_576\naccount = 123456789012\n",
    )
    .load()
    .unwrap();
    assert!(config.trust_forwarded);
    assert_eq!((config.headers_max, config.body_bytes_max), (32, 1 << 20));
    assert_eq!(config.account.to_string(), "123456789012");
    assert_eq!(
        with_file("listen = [1]").refusal(),
        "tidegate.toml, line 1: `listen` is a list, but must be a string, a number or a boolean"
    );
    assert!(with_file("idle_timeout = 30").load().is_err(), "a duration without a unit");
}

#[test]
fn none_takes_an_optional_value_back() {
    let sources =
        Sources { file: Some("disk_max = '1GiB'"), flags: &[("disk_max", "none")], ..Sources::default() };
    assert_eq!(sources.load().unwrap().disk_max, None);
}

#[test]
fn public_urls_are_absolute_and_plain() {
    for good in ["http://a", "https://a:1/b", "http://[::1]:9324/"] {
        assert!(PublicUrl::parse(good).is_some(), "{good}");
    }
    for bad in [
        "",
        "a",
        "/a",
        "ftp://a",
        "http://",
        "http://u@a",
        "http://a?b",
        "http://a/#b",
        "http:/a",
        "http://a b",
    ] {
        assert!(PublicUrl::parse(bad).is_none(), "{bad}");
    }
}

const CREDENTIAL: &str = "[[credentials]]\naccess_key = 'AKID'\nsecret_key = 'hush'\n";

#[test]
fn credentials_have_defaults_and_limits() {
    let config = with_file(&format!("account = '123456789012'\n{CREDENTIAL}")).load().unwrap();
    let [DeclaredCredential { user, .. }] = &config.credentials[..] else { panic!("there is one") };
    assert_eq!(user.arn(), "arn:aws:iam::123456789012:user/AKID");
    assert_eq!(user.grant, tidegate_protocol::Grant::default());
    let config = with_file(&format!(
        "{CREDENTIAL}account = '111111111111'\nuser = 'shop'\nactions = ['SQS:Send*', '*']\n\
         resources = ['arn:aws:sqs:*:*:orders-?']\n[[credentials]]\naccess_key = 123456789012\nsecret_key = 'x'\n\
         actions = []"
    ))
    .load()
    .unwrap();
    let [DeclaredCredential { user: shop, .. }, DeclaredCredential { user: other, .. }] =
        &config.credentials[..]
    else {
        panic!("there are two")
    };
    assert_eq!(shop.arn(), "arn:aws:iam::111111111111:user/shop");
    let actions: Vec<_> =
        shop.grant.actions.iter().flatten().map(tidegate_protocol::ActionPattern::as_str).collect();
    assert_eq!(actions, ["sqs:send*", "*"]);
    assert_eq!(shop.grant.resources.as_ref().unwrap()[0].as_str(), "arn:aws:sqs:*:*:orders-?");
    assert_eq!((&*other.access_key, &*other.name), ("123456789012", "123456789012"));
    assert!(other.grant.actions.as_ref().is_some_and(|actions| actions.is_empty()), "none is not all");

    let most: String = (0..1_000).map(|n| CREDENTIAL.replace("AKID", &format!("k{n}"))).collect();
    assert_eq!(with_file(&most).load().unwrap().credentials.len(), 1_000);
    assert_eq!(
        with_file(&format!("{most}{CREDENTIAL}")).refusal(),
        "1001 [[credentials]] are configured, but at most 1000 may be"
    );
}

#[test]
fn bad_credentials_are_refused_by_name() {
    for (text, refusal) in [
        (
            "credentials = 1",
            "`credentials` is a number, but must be declared in tables that begin with [[credentials]]",
        ),
        ("[[credential]]", "there is no setting `credential`; did you mean `credentials`?"),
        ("[[credentials]]\nsecret_key = 'hush'", "this [[credentials]] has no `access_key`"),
        ("[[credentials]]\naccess_key = 'a'", "this [[credentials]] has no `secret_key`"),
        (
            "[[credentials]]\nacces_key = 'a'\nsecret_key = 'hush'",
            "there is no setting `credentials.acces_key`; did you mean `access_key`?",
        ),
        (
            "[[credentials]]\naccess_key = 'a/b'\nsecret_key = 'hush'",
            "`credentials.access_key` has `a/b`, but must be",
        ),
    ] {
        let found = with_file(text).refusal();
        assert!(found.contains(refusal) && !found.contains("hush"), "{found}");
    }
    for (more, refusal) in [
        ("account = '12'", "`credentials.account` has `12`, but must be 12 digits"),
        ("user = 'a b'", "`credentials.user` has `a b`, but must be"),
        ("actions = 'sqs:*'", "`credentials.actions` is a string, but must be a list"),
        (
            "actions = ['SendMessage']",
            "`credentials.actions` has `SendMessage`, but must be `*`, or a service",
        ),
        ("resources = ['orders']", "`credentials.resources` has `orders`, but must be `*`, or an ARN"),
        ("resources = [[]]", "`credentials.resources` is a list, but must be `*`, or an ARN"),
    ] {
        let found = with_file(&format!("{CREDENTIAL}{more}")).refusal();
        assert!(found.contains(refusal), "{found}");
    }
    let twice = with_file(&format!("{CREDENTIAL}{CREDENTIAL}")).refusal();
    assert!(
        twice.starts_with("tidegate.toml, line 5: the access key AKID already has credentials: "),
        "{twice}"
    );
    assert!(twice.ends_with("tidegate.toml, line 2"), "{twice}");
}

#[test]
fn secrets_are_never_shown() {
    let shown = format!("{:?}", with_file(CREDENTIAL).load().unwrap());
    assert!(shown.contains("SecretKey(..)") && !shown.contains("hush"), "{shown}");
    for broken in
        ["secret_key = 'hush", "secret_key = hush", "secret_key = ['hush']", "secret_key = 'hush hush'"]
    {
        let refusal = with_file(&format!("[[credentials]]\naccess_key = 'a'\n{broken}\n")).refusal();
        assert!(refusal.contains("line 3") && !refusal.contains("hush"), "{refusal}");
    }
    let twice = with_file(&format!("{CREDENTIAL}secret_key = 'hush'")).refusal();
    assert!(twice.contains("line 4") && !twice.contains("hush"), "{twice}");
}

#[test]
fn credentials_open_the_apis_and_not_the_operators_pages() {
    let with_flags = |flags| Sources { flags, file: Some(CREDENTIAL), ..Sources::default() };
    assert!(with_flags(&[("listen", "0.0.0.0:1")]).load().is_ok());
    let refusal = with_flags(&[("admin", "0.0.0.0:1")]).refusal();
    assert!(refusal.contains("TIDEGATE_ADMIN_TOKEN"), "{refusal}");
}

#[test]
fn only_loopback_is_listened_on_unless_told_otherwise() {
    let open = ["0.0.0.0:1", "[::]:1", "192.168.0.1:1", "[::ffff:10.0.0.1]:1"];
    for (key, remedy, text) in [
        ("listen", ("allow_anonymous", "true"), "--allow-anonymous"),
        ("admin", ("admin_token", "a-secret-of-operators"), "TIDEGATE_ADMIN_TOKEN"),
        ("admin", ("admin_token_file", "/t"), "`admin_token_file`"),
    ] {
        for open in open {
            let refusal = with_flags(&[(key, open)]).refusal();
            assert!(
                refusal.starts_with(&format!("flag --{key}: `{key}` is {open}, which other")),
                "{refusal}"
            );
            assert!(refusal.contains(text), "{refusal}");
            assert!(with_flags(&[(key, open), remedy]).load().is_ok(), "{key} {open}");
        }
        for own in ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "localhost:1"] {
            assert!(with_flags(&[(key, own)]).load().is_ok(), "{key} {own}");
        }
    }
    assert!(with_flags(&[("admin", "0.0.0.0:1"), ("allow_anonymous", "true")]).load().is_err());
}

#[test]
fn the_token_of_operators_comes_from_one_place_and_is_never_shown() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    let file = path.to_str().unwrap();
    let config = with_flags(&[("admin_token_file", file)]).load().unwrap();
    let error = |config: &Config| crate::cli::sentence(&config.read_admin_token().unwrap_err());
    assert_eq!(
        error(&config),
        format!("`admin_token_file`: the file {file} cannot be read: No such file or directory (os error 2)")
    );
    for content in
        ["", "too-short", "two-secrets-of\noperators-here", "with a space in it", "ünicode-is-no-header"]
    {
        std::fs::write(&path, content).unwrap();
        let refused = "must hold one line, 16 to 256 ASCII characters without spaces";
        assert_eq!(error(&config), format!("`admin_token_file`: the file {file} {refused}"));
    }
    for content in ["a-secret-of-operators", "a-secret-of-operators\n", "a-secret-of-operators\r\n"] {
        std::fs::write(&path, content).unwrap();
        assert_eq!(config.read_admin_token().unwrap(), AdminToken::parse("a-secret-of-operators"));
    }
    let both = with_flags(&[("admin_token", "a-secret-of-operators"), ("admin_token_file", file)]).refusal();
    assert_eq!(both, "`admin_token` and `admin_token_file` are both set; keep one of them");

    let given = with_flags(&[("admin_token", "a-secret-of-operators")]).load().unwrap();
    assert!(!format!("{given:?} {:?}", given.read_admin_token()).contains("a-secret"));
    // What is wrong with the file is told without an excerpt.
    for wrong in ["admin_token = a-secret-of-operators", "admin_token = \"a-secret-of-operators"] {
        let refusal = with_file(wrong).refusal();
        assert!(refusal.contains("is not valid TOML: line 1, column "), "{refusal}");
        assert!(!refusal.contains("secret"), "{refusal}");
    }
}

#[test]
fn tokens_are_told_apart_to_the_last_character() {
    let token = AdminToken::parse("a-secret-of-operators").unwrap();
    assert!(token.matches(b"a-secret-of-operators"));
    for wrong in ["", "a-secret-of-operator", "a-secret-of-operatorS", "a-secret-of-operators "] {
        assert!(!token.matches(wrong.as_bytes()), "{wrong}");
    }
    for (length, good) in [(15, false), (16, true), (256, true), (257, false)] {
        assert_eq!(AdminToken::parse(&"x".repeat(length)).is_some(), good, "{length}");
    }
}

#[test]
fn tls_needs_a_certificate_and_its_key() {
    assert_eq!(
        with_flags(&[("tls_certificate", "/c")]).refusal(),
        "flag --tls-certificate: `tls_certificate` is set, but `tls_key` is not; TLS needs both"
    );
    assert_eq!(
        with_file("tls_key = '/k'").refusal(),
        "tidegate.toml, line 1: `tls_key` is set, but `tls_certificate` is not; TLS needs both"
    );
    let both = with_flags(&[("tls_certificate", "/c"), ("tls_key", "/k")]).load().unwrap();
    assert_eq!(both.tls_files(), Some(TlsFiles { certificate: "/c".into(), key: "/k".into() }));
    assert_eq!(Sources::default().load().unwrap().tls_files(), None);
}

#[test]
fn listeners_have_two_addresses() {
    let refusal = with_flags(&[("admin", "127.0.0.1:9324")]).refusal();
    assert_eq!(refusal, "`listen` and `admin` are both 127.0.0.1:9324; give them different ports");
    assert!(with_flags(&[("admin", "127.0.0.1:0"), ("listen", "127.0.0.1:0")]).load().is_ok());
}

#[test]
fn a_quota_has_room_for_a_few_segments() {
    assert_eq!(
        with_flags(&[("disk_max", "255MiB")]).refusal(),
        "`disk_max` is 255MiB, but must be at least 256MiB, room for 4 segments of 64MiB; raise it, or lower \
         `segment_bytes`"
    );
    assert!(with_flags(&[("disk_max", "255MiB"), ("segment_bytes", "8MiB")]).load().is_ok());
}

#[test]
fn queues_are_read_from_the_file() {
    let file = r#"
region = "eu-central-1"

[[queue]]
name = "orders"
attributes = { VisibilityTimeout = 60, DelaySeconds = "5", SqsManagedSseEnabled = false }
tags = { team = "shop", prio = 1 }

[[queue]]
name = "orders.fifo"
account = "123456789012"
region = "us-west-2"

[queue.attributes]
FifoQueue = true

[queue.attributes.RedrivePolicy]
deadLetterTargetArn = "arn:aws:sqs:us-west-2:123456789012:dead.fifo"
maxReceiveCount = 5

[queue.attributes.Policy]
Statement = [{ Effect = "Allow", Ratio = 0.5, Deep = { Deny = false } }]
"#;
    let queues = with_file(file).load().unwrap().queues;
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    };
    assert_eq!(queues.len(), 2);
    assert_eq!(queues[0].name.as_str(), "orders");
    assert_eq!(queues[0].account.to_string(), "000000000000");
    assert_eq!(queues[0].region.as_str(), "eu-central-1");
    let attributes = [("DelaySeconds", "5"), ("SqsManagedSseEnabled", "false"), ("VisibilityTimeout", "60")];
    assert_eq!(queues[0].attributes, pairs(&attributes));
    assert_eq!(queues[0].tags, pairs(&[("prio", "1"), ("team", "shop")]));
    assert!(queues[0].origin.to_string().ends_with("tidegate.toml, line 5"), "{}", queues[0].origin);

    assert_eq!(queues[1].name.as_str(), "orders.fifo");
    assert_eq!(queues[1].account.to_string(), "123456789012");
    assert_eq!(queues[1].region.as_str(), "us-west-2");
    let redrive =
        r#"{"deadLetterTargetArn":"arn:aws:sqs:us-west-2:123456789012:dead.fifo","maxReceiveCount":5}"#;
    let policy = r#"{"Statement":[{"Deep":{"Deny":false},"Effect":"Allow","Ratio":0.5}]}"#;
    let attributes = [("FifoQueue", "true"), ("Policy", policy), ("RedrivePolicy", redrive)];
    assert_eq!(queues[1].attributes, pairs(&attributes));
}

#[test]
fn declared_queues_are_checked() {
    for (file, expected) in [
        ("[[queue]]\n", "tidegate.toml, line 1: this [[queue]] has no `name`"),
        (
            "[[queue]]\nname = 'a b'",
            "tidegate.toml, line 2: the name of this queue is `a b`, but must be 1 to 80 letters, digits, hyphens and \
             underscores, which may end in .fifo",
        ),
        (
            "[[queue]]\nname = 'a'\naccount = 12",
            "tidegate.toml, line 3: the account of this queue is `12`, but must be 12 digits, in quotes",
        ),
        (
            "[[queue]]\nname = 'a'\nregion = 'EU'",
            "tidegate.toml, line 3: the region of this queue is `EU`, but must be 1 to 32 lower-case letters, digits \
             and hyphens",
        ),
        (
            "[[queue]]\nname = 'a'\ntags = 1",
            "tidegate.toml, line 3: `queue.tags` is a number, but must be a table",
        ),
        (
            "[[queue]]\nname = 'a'\ntags = { a = [] }",
            "tidegate.toml, line 3: `queue.tags.a` is a list, but must be a string, a number or a boolean",
        ),
        (
            "[[queue]]\nname = 'a'\nattributes = { A = { at = 2020-01-01 } }",
            "tidegate.toml, line 3: `queue.attributes.A` is a date, but must be a string, a number or a boolean",
        ),
        (
            "[queue]\nname = 'a'",
            "tidegate.toml, line 1: `queue` is a table, but must be declared in tables that begin with [[queue]]",
        ),
    ] {
        assert_eq!(with_file(file).refusal(), expected);
    }
    let twice = with_file("[[queue]]\nname = 'a'\n[[queue]]\nname = 'a'\nregion = 'us-east-1'").refusal();
    assert!(twice.starts_with("tidegate.toml, line 4: the queue a was already declared: "), "{twice}");
    assert!(twice.ends_with("tidegate.toml, line 2"), "{twice}");
    let elsewhere = with_file("[[queue]]\nname = 'a'\n[[queue]]\nname = 'a'\nregion = 'eu'");
    assert_eq!(elsewhere.load().unwrap().queues.len(), 2);
}

#[test]
fn summaries_fit_a_line_of_help() {
    for setting in SETTINGS {
        let summary = setting.summary();
        assert!(summary.len() <= 74 && !summary.ends_with('.'), "{}: {summary}", setting.key);
    }
}

/// The manual's table is the one that the server works by. `UPDATE_DOCS=1 cargo test -p tidegate manual` rewrites it.
#[test]
fn the_manual_lists_every_setting() {
    const BEGIN: &str = "<!-- settings: written by a test, see crates/server/src/config/tests.rs -->\n";
    const END: &str = "<!-- end of settings -->\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operating.md");
    let manual = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = manual.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let expected = manual::settings_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
    } else {
        assert_eq!(table, expected, "UPDATE_DOCS=1 cargo test -p tidegate manual");
    }
}

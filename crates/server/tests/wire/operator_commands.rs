//! Goal: `tidegate peek` and `tidegate redrive` do what they say, and say what to do when they cannot.

use crate::support::operators::{Said, ask, command, peek_texts};
use crate::support::server::{CERTIFICATE, Server, Setup};
use crate::support::tls::self_signed;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};

const TOKEN: &str = "a-token-of-24-characters";

/// Runs a command that names the server itself.
fn said(arguments: &[&str]) -> Said {
    command(arguments).output().unwrap().into()
}

fn url(scheme: &str, server: &Server) -> String {
    format!("{scheme}://{}", server.console)
}

#[test]
fn help_tells_what_a_command_does_its_exit_codes_and_examples() {
    for name in ["peek", "redrive"] {
        let help = said(&[name, "--help"]);
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""));
        for part in [
            "Exit codes: 0 done",
            "TIDEGATE_ADMIN_URL",
            "TIDEGATE_ADMIN_TOKEN",
            &format!("tidegate {name} orders-dead"),
        ] {
            assert!(help.out.contains(part), "{part}: {}", help.out);
        }
        let wrong = said(&[name]);
        assert_eq!(wrong.code, Some(2));
        assert!(wrong.err.contains("<QUEUE>"), "{}", wrong.err);
    }
    assert!(said(&["--help"]).out.contains("redrive"));
}

#[test]
fn peek_shows_a_line_for_each_message() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("q");
    let empty = ask(&server, &["peek", "q"]);
    assert_eq!((empty.code, empty.out.as_str(), empty.err.as_str()), (Some(0), "", "the queue is empty\n"));
    let first = client.send("q", "first\r\n\tline");
    client.receive_with("q", json!({ "VisibilityTimeout": 3_600 }));
    client.send("q", &"€".repeat(50));
    client.call("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "later", "DelaySeconds": 900 }));

    let shown = ask(&server, &["peek", "q"]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), "3 messages shown, no more\n"));
    assert!(!shown.out.contains('\x1b'), "no colours where nobody looks: {}", shown.out);
    let lines: Vec<_> = shown.out.lines().collect();
    let [head, hidden, cut, delayed] = lines[..] else { panic!("{}", shown.out) };
    let words: Vec<_> = head.split_whitespace().collect();
    assert_eq!(words, ["STATE", "AGE", "RECEIVES", "ID", "BODY"]);
    assert!(hidden.starts_with("in flight 59m") || hidden.starts_with("in flight 60m"), "{hidden}");
    assert!(hidden.contains(&first) && hidden.ends_with("first\\r\\n\\tline"), "{hidden}");
    assert!(cut.starts_with("visible ") && cut.ends_with(&format!("{}…", "€".repeat(20))), "{cut}");
    assert!(delayed.starts_with("delayed 14m") || delayed.starts_with("delayed 15m"), "{delayed}");
    let id_at = head.find("ID").unwrap();
    assert!(
        [hidden, delayed]
            .iter()
            .all(|line| line.as_bytes()[id_at - 1] == b' ' && line.as_bytes()[id_at] != b' ')
    );

    let page = ask(&server, &["peek", "q", "--max", "1"]);
    let token = page.err.split_whitespace().skip_while(|word| *word != "--after").nth(1).unwrap();
    let token = token.trim_end_matches(',');
    let rest = ask(&server, &["peek", "q", "--after", token, "--all", "--json"]);
    let messages: Vec<Value> = rest.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let bodies: Vec<_> = messages.iter().map(|message| &message["body"]).collect();
    assert_eq!(bodies, [&json!("€".repeat(50)), &json!("later")]);
    assert_eq!(client.counts("q"), [1, 1, 1]);
}

#[test]
fn a_queue_of_many_pages_is_shown_to_its_end() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("q");
    let entries: Vec<_> = (0..10).map(|n| json!({ "Id": n.to_string(), "MessageBody": "m" })).collect();
    for _ in 0..45 {
        client.call("SendMessageBatch", json!({ "QueueUrl": "q", "Entries": entries }));
    }
    let shown = ask(&server, &["peek", "q", "--all"]);
    assert_eq!((shown.out.lines().count(), shown.err.as_str()), (451, "450 messages shown, no more\n"));
    let shown = ask(&server, &["peek", "q", "--max", "450"]);
    assert_eq!(shown.out.lines().count(), 451);
    let shown = ask(&server, &["peek", "q", "--max", "205"]);
    assert_eq!(shown.out.lines().count(), 206);
    assert!(shown.err.starts_with("205 messages shown; more with --after "), "{}", shown.err);
}

#[test]
fn redrive_counts_moves_and_explains() {
    let setup = Setup::new();
    let server = setup.start();
    let client = &mut server.client();
    for queue in ["orders", "orders-dead"] {
        client.create(queue);
    }
    for n in 0..6 {
        client.send("orders-dead", &json!({ "n": n }).to_string());
    }
    let dry = ask(&server, &["redrive", "orders-dead", "--to", "orders", "--dry-run"]);
    assert_eq!((dry.code, dry.err.as_str()), (Some(0), ""));
    assert!(
        dry.out.starts_with("6 messages would move to orders; nothing was moved (dry run)\n"),
        "{}",
        dry.out
    );
    assert_eq!(client.counts("orders-dead"), [6, 0, 0]);

    let filter = setup.file("filter.json");
    fs::write(&filter, r#"{"n": [{"numeric": ["<", 3]}]}"#).unwrap();
    let filter = format!("@{}", filter.display());
    let arguments =
        ["redrive", "orders-dead", "--to", "orders", "--filter-scope", "body", "--filter", &filter];
    let moved = ask(&server, &arguments);
    let text = "3 messages moved to orders\n6 messages examined, 3 matched, 0 skipped\n";
    assert_eq!(moved, Said { code: Some(0), out: text.into(), err: String::new() });
    assert_eq!(peek_texts(&server, "orders", "body"), [0, 1, 2].map(|n| format!("{{\"n\":{n}}}")));

    let left = ask(&server, &["redrive", "orders-dead"]);
    assert_eq!(left.code, Some(3));
    assert!(
        left.out.contains("3 skipped: sent to this queue directly") && left.out.contains("--to"),
        "{}",
        left.out
    );
    let unknown = "00000000-0000-4000-8000-000000000000";
    let id = &peek_texts(&server, "orders-dead", "id")[1];
    let some =
        ask(&server, &["redrive", "orders-dead", "--to", "orders", "--id", unknown, "--id", id, "--json"]);
    let last: Value = serde_json::from_str(some.out.lines().last().unwrap()).unwrap();
    assert_eq!((some.code, &last["moved"], &last["not_found"]), (Some(3), &json!(1), &json!([unknown])));
}

#[test]
fn errors_say_what_to_do() {
    let setup = Setup::new();
    let server = setup.start();
    let client = &mut server.client();
    client.create("orders");
    client.create("orders-dead");
    for (arguments, expected) in [
        (&["peek", "ordrs-dead"][..], "there is no queue `ordrs-dead`; did you mean `orders-dead`"),
        (&["redrive", "orders", "--to", "order"], "there is no queue `order`; did you mean `orders`"),
        (&["redrive", "orders", "--to", "orders"], "source and destination are the same queue"),
        (
            &["redrive", "orders", "--filter", "{\"a\": 1}"],
            "the filter cannot be used: \"a\" must be an object or an array",
        ),
        (
            &["redrive", "orders", "--filter", "@/no/such/file"],
            "the file /no/such/file cannot be read: No such file",
        ),
        (&["redrive", "orders", "--id", "x"], "`ids` must be a list of 1 to 1000 message ids"),
        (&["peek", "orders", "--after", "x"], "`after` must be a token of a page"),
        (&["peek", "orders", "--after", "1&max=5"], "`after` must be a token of a page"),
        (&["peek", "orders", "--admin", "127.0.0.1"], "`127.0.0.1` is no URL of a server"),
        (&["peek", "orders", "--admin", "ftp://h"], "`ftp://h` is no URL of a server"),
        (
            &["peek", "orders", "--admin", &format!("http://{}", server.endpoint)],
            "is not the operators' listener of a Tidegate server",
        ),
        (&["peek", "orders", "--admin", &url("https", &server)], "no encrypted connection"),
        (&["peek", "orders", "--token-file", "/no/such/file"], "the file /no/such/file cannot be read"),
    ] {
        let said = ask(&server, arguments);
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{arguments:?}: {}", said.err);
        assert!(
            said.err.starts_with("tidegate: ") && said.err.contains(expected),
            "{arguments:?}: {}",
            said.err
        );
    }
    let gone = url("http", &server);
    drop(server);
    let said = said(&["peek", "orders", "--admin", &gone]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("is the server running? `tidegate serve` starts one"), "{}", said.err);
}

#[test]
fn the_token_is_sent_and_its_lack_explained() {
    let setup = Setup::new().env("TIDEGATE_ADMIN_TOKEN", TOKEN);
    let server = setup.start();
    server.client().create("q");
    let admin = url("http", &server);
    let arguments = ["peek", "q", "--admin", &admin];
    let none = said(&arguments);
    assert!(none.code == Some(1) && none.err.contains("set TIDEGATE_ADMIN_TOKEN"), "{none:?}");
    let with =
        |token: &str| Said::from(command(&arguments).env("TIDEGATE_ADMIN_TOKEN", token).output().unwrap());
    let wrong = with("another-token-of-some-length");
    let text = "the server does not accept the operators' token from TIDEGATE_ADMIN_TOKEN";
    assert!(wrong.code == Some(1) && wrong.err.contains(text), "{wrong:?}");
    assert!(!wrong.err.contains("another-token"), "tokens are not shown");
    assert_eq!(with(TOKEN).code, Some(0));
    assert!(with("no token").err.contains("characters that no token has"));
    let file = setup.file("token");
    fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(said(&["peek", "q", "--admin", &admin, "--token-file", file]).code, Some(0));
    let named = command(&arguments).env("TIDEGATE_ADMIN_TOKEN_FILE", file).output().unwrap();
    assert!(named.status.success());
}

#[test]
fn encrypted_servers_are_asked_with_their_authority() {
    let setup = Setup::new().tls(&self_signed());
    let server = setup.start();
    let admin = url("https", &server);
    let ca = setup.file(CERTIFICATE);
    let asked = |more: &[&str]| said(&[&["peek", "q", "--admin", &admin][..], more].concat());
    let answered = asked(&["--ca", ca.to_str().unwrap()]);
    assert!(answered.err.contains("there is no queue `q`"), "{answered:?}");
    let unknown = asked(&[]);
    assert!(unknown.code == Some(1) && unknown.err.contains("--ca names the file"), "{unknown:?}");
    fs::write(setup.file("empty"), "").unwrap();
    let empty = asked(&["--ca", setup.file("empty").to_str().unwrap()]);
    assert!(empty.err.contains("holds no certificates"), "{empty:?}");
    let plain = said(&["peek", "q", "--admin", &url("http", &server)]);
    assert!(plain.err.contains("a server that speaks TLS is asked with https://"), "{plain:?}");
}

#[test]
fn an_interrupt_stops_the_redrive_and_says_how_far_it_came() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("q");
    client.create("r");
    let entries: Vec<_> = (0..10).map(|n| json!({ "Id": n.to_string(), "MessageBody": "m" })).collect();
    for _ in 0..20 {
        client.call("SendMessageBatch", json!({ "QueueUrl": "q", "Entries": entries }));
    }
    let running = command(&["redrive", "q", "--to", "r", "--max-per-second", "20"])
        .env("TIDEGATE_ADMIN_URL", url("http", &server))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("some have moved", || client.counts("r")[0] > 3);
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap().success());
    let said = Said::from(running.wait_with_output().unwrap());
    assert_eq!((said.code, said.out.as_str()), (Some(130), ""));
    assert!(
        said.err.starts_with("interrupted: at least ") && said.err.contains(" moved so far"),
        "{}",
        said.err
    );
    wait_until("the server has stopped it", || server.log().contains("redrive ended"));
    let ([left, ..], [moved, ..]) = (client.counts("q"), client.counts("r"));
    assert!(left > 0 && moved > 3 && left + moved == 200, "{left} {moved}");
}

#[test]
fn a_variable_of_the_commands_does_not_keep_the_server_from_starting() {
    let server = Setup::new().env("TIDEGATE_ADMIN_URL", "http://127.0.0.1:9325").start();
    assert_eq!(server.page("/health").status, 200);
}

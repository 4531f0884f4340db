use super::*;

const GCM: &str = "TLS_AES_128_GCM_SHA256";

/// Refusals of lines under `[load]`, the first of which is line 8.
fn load(lines: &[&str]) -> String {
    refusal(&with(lines, &[]))
}

/// Refusals of lines of the case, the first of which is line 10.
fn case(lines: &[&str]) -> String {
    refusal(&with(&[], lines))
}

/// Refusals of an answer at line 15 about a case of a sweep.
fn answer(lines: &[&str]) -> String {
    let head = [
        "sweep.\"load.suite\" = [\"none\", \"AES128-SHA\"]",
        "[[case]]",
        "name = \"setup\"",
        "load.operation = \"handshakes\"",
        "sweep.\"target.certificate-key\" = [\"rsa:2048\"]",
        "[[answer]]",
    ];
    case(&[&head, lines].concat())
}

#[test]
fn unknown_keys_are_suggested() {
    assert_eq!(
        load(&["durration = \"1s\""]),
        "line 8: load.durration is not a key of a load; did you mean duration?"
    );
    assert_eq!(
        case(&["load.durration = \"1s\""]),
        "line 10: case bulk: load.durration is not a key of a load; did you mean duration?"
    );
    assert_eq!(
        case(&["duration = \"1s\""]),
        "line 10: duration is not a key of a case; did you mean load.duration?"
    );
    assert_eq!(
        case(&["\"load.duration\" = \"1s\""]),
        "line 10: load.duration is in quotes, which makes it another key; leave the quotes out"
    );
    assert_eq!(
        case(&["sweep.\"load.suit\" = [\"none\"]"]),
        "line 10: case bulk: load.suit is nothing to sweep; did you mean load.suite?"
    );
    assert_eq!(
        refusal("schema = 1\nquestoin = \"?\"\n"),
        "line 2: questoin is not a key of a study; did you mean question?"
    );
    assert_eq!(
        answer(&["metrics = \"rate\""]),
        "line 16: metrics is not a key of an answer; did you mean metric?"
    );
    assert!(
        load(&["colour = 1"]).contains("load.colour is not a key of a load; its keys are cpus, ")
    );
}

#[test]
fn a_bare_number_is_told_its_unit() {
    assert_eq!(
        load(&["duration = 600"]),
        "line 8: load.duration: `600` has no unit; write a time such as 500us, 150ms, 10s or 2min"
    );
    let message = case(&["target.object = 16"]);
    assert!(message.starts_with("line 10: case bulk: target.object: `16` has"), "{message}");
    assert!(message.contains("has no unit; write a size such as 512B, 16KiB"), "{message}");
    assert_eq!(
        case(&["sweep.\"load.warmup\" = [", "\"1s\",", "2.5]"]),
        "line 12: case bulk: load.warmup: `2.5` has no unit; write a time such as 500us, 150ms, \
         10s or 2min"
    );
    assert!(load(&["duration = \"600\""]).starts_with("line 8: load.duration: `600` has no unit"));
}

#[test]
fn values_of_another_type_are_told_how_they_are_written() {
    for (line, message) in [
        ("tls = 1.3", "load.tls = 1.3 lacks its quotes; write load.tls = \"1.3\""),
        ("cpus = 1", "load.cpus = 1 lacks its quotes; write load.cpus = \"1\""),
        (
            "encrypt-then-mac = \"no\"",
            "load.encrypt-then-mac = \"no\" is neither true nor false; write one of these, without \
             quotes",
        ),
        (
            "connections = \"64\"",
            "load.connections = \"64\" is not a whole number; write a whole number from 1 to \
             4294967295, without quotes",
        ),
        (
            "connections = 0",
            "load.connections = 0 is out of range; write a whole number from 1 to 4294967295",
        ),
        (
            "suite = [\"AES128-SHA\"]",
            "load.suite is a list, where one value belongs; to try several values write \
             sweep.\"load.suite\" = [...] in a case",
        ),
        ("group = { x = 1 }", "load.group is not a string; write it in quotes"),
        ("warmup = 1979-05-27", "load.warmup is not a string; write it in quotes"),
    ] {
        assert_eq!(load(&[line]), format!("line 8: {message}"));
    }
}

#[test]
fn values_that_are_none_are_told_which_there_are() {
    for (line, part) in [
        ("suite = \"TLS_AES_128_GCM_SHA265\"", "did you mean TLS_AES_128_GCM_SHA256?"),
        ("tls = \"1.1\"", "write 1.2 or 1.3, or none for plain HTTP"),
        ("verify = \"64\"", "write 1/64, or 1/1 for all"),
        ("cpus = \"one\"", "`one` is not a list of CPUs"),
        ("arrival = \"poisson 2000\"", "`poisson 2000`"),
        ("arrival = \"paced 2Gb\"", "`2Gb` has no unit of a rate"),
        ("resumption = \"0.5\"", "`0.5` is not a share; write a whole percentage such as 70%"),
    ] {
        let message = load(&[line]);
        assert!(message.starts_with("line 8: load.") && message.contains(part), "{message}");
    }
    let message = case(&["load.arrival = \"paced 800Gb/s\""]);
    assert!(
        message.starts_with("line 10: case bulk: load.arrival: a pace of 671µs is shorter"),
        "{message}"
    );
    let handshakes = ["load.operation = \"handshakes\"", "load.arrival = \"paced 1Gb/s\""];
    let message = case(&handshakes);
    assert!(message.contains("asks for no bodies, which contradicts load.arrival"), "{message}");
    let message = case(&["load.operation = \"surf\""]);
    assert!(message.contains("write one of: handshakes, one-request"), "{message}");
    let message = case(&["target.server = \"ngnix\""]);
    assert!(message.ends_with("did you mean nginx?"), "{message}");
}

#[test]
fn the_top_of_a_file_says_what_it_is() {
    assert_eq!(refusal(""), "the file has no schema; write schema = 1");
    assert_eq!(
        refusal("schema = 2"),
        "line 1: schema = 2 is not known here; this toll reads schema = 1"
    );
    assert_eq!(refusal("schema = 1"), "the study has no question; write question = \"...\"");
    assert!(
        refusal("schema = 1\nquestion = \" \"").starts_with("line 2: question is to be one line")
    );
    assert_eq!(
        refusal("schema = 1\nquestion = \"?\""),
        "the study has no case; write a [[case]] with a name, or [[primitives]]"
    );
    assert_eq!(
        refusal("schema = 1\nquestion = \"?\"\ntrials = 0"),
        "line 3: trials = 0 is out of range; write a whole number from 1 to 10000"
    );
    assert_eq!(
        refusal("schema = 1\nquestion = \"?\"\n[case]\nname = \"a\""),
        "line 3: case is a list of tables; write [[case]] above each"
    );
    assert_eq!(
        refusal("schema = 1\nquestion = \"?\"\nload = 3"),
        "line 3: load is a table; write its keys as load.KEY = VALUE"
    );
    let message = crate::parse("my study.toml", &with(&[], &[]), &allowed()).unwrap_err();
    assert!(message.to_string().starts_with("my study.toml: the file's name is not a valid name"));
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    for text in ["a =", "a = 1 2 \"", "[[case]", "a = \"x\nb = 1", "\u{0}", "= 3"] {
        let message = refusal(text);
        assert!(message.starts_with("line 1: this is not TOML: "), "{message}");
    }
    assert_eq!(
        refusal("seed = 1\nseed = 1_000"),
        "line 2: this is not TOML: duplicate key (here: seed)"
    );
    for (line, mended) in [
        ("tls = none # plain", "tls = \"none\""),
        ("cpus = 0-3", "cpus = \"0-3\""),
        ("duration = 600ms", "duration = \"600ms\""),
    ] {
        let message = load(&[line]);
        let expected = format!(" lacks its quotes; write {mended}");
        assert!(message.starts_with("line 8: ") && message.ends_with(&expected), "{message}");
    }
}

#[test]
fn cases_have_names_of_their_own() {
    let head = "schema = 1\nquestion = \"?\"\n";
    assert_eq!(
        refusal(&format!("{head}[[case]]\n")),
        "line 3: a case has no name; write name = \"...\""
    );
    assert_eq!(
        refusal(&format!("{head}[[case]]\nname = \"Bulk\"")),
        "line 4: name = \"Bulk\" is not a valid name for a case; use small letters, digits and hyphens"
    );
    assert_eq!(
        case(&["[[case]]", "name = \"bulk\""]),
        "line 10: a case bulk begins at line 8 already; rename one"
    );
    assert_eq!(
        refusal(&format!("{head}[[case]]\nname = \"bulk\"")),
        "line 3: case bulk: target.server is not given; write it"
    );
}

#[test]
fn sweeps_try_different_values() {
    for (lines, message) in [
        (&["sweep.\"load.tls\" = []"][..], "load.tls is swept over no value; write at least one"),
        (
            &["sweep.\"load.suite\" = [\"AES128-SHA\", \"TLS_RSA_WITH_AES_128_CBC_SHA\"]"],
            "load.suite = \"TLS_RSA_WITH_AES_128_CBC_SHA\" is listed in its sweep twice; leave one out",
        ),
        (
            &["sweep.\"load.tls\" = \"1.3\""],
            "load.tls is not a list; write the values to try between [ and ]",
        ),
        (
            &["sweep.load.tls = [\"1.3\"]"],
            "sweep.load needs quotes; write sweep.\"load.KEY\" = [...]",
        ),
        (
            &["sweep.\"target.if-missing\" = [\"skip\"]"],
            "target.if-missing cannot be swept; write it once",
        ),
        (
            &["sweep.\"load.tls\" = [\"1.3\"]", "load.tls = \"1.2\""],
            "load.tls is swept, and written in the same case too; leave one out",
        ),
    ] {
        assert_eq!(case(lines), format!("line 10: case bulk: {message}"));
    }
}

#[test]
fn too_many_cells_are_refused_before_they_are_made() {
    let values = (1..=400).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let times = (1..=400).map(|n| format!("\"{n}s\"")).collect::<Vec<_>>().join(", ");
    let lines = [
        format!("sweep.\"load.connections\" = [{values}]"),
        format!("sweep.\"load.warmup\" = [{times}]"),
        format!("sweep.\"load.duration\" = [{times}]"),
        format!("sweep.\"load.timeout\" = [{times}]"),
        "[[case]]".to_owned(),
        "name = \"other\"".to_owned(),
    ];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let message = case(&lines);
    assert_eq!(
        message,
        "line 8: with case bulk the study has more than 10000 cells; sweep fewer values"
    );
}

#[test]
fn a_million_values_are_refused_before_they_are_read() {
    let values = "1,".repeat(1_000_000);
    assert_eq!(
        case(&[&format!("sweep.\"load.connections\" = [{values}]")]),
        "line 8: with case bulk the study has more than 10000 cells; sweep fewer values"
    );
    let scale = with(&[], &["sweep.\"load.connections\" = [1]"])
        + &format!("\n[scale.large]\nsweep.\"load.connections\" = [{values}]");
    let message = crate::parse_at("test.toml", &scale, &allowed(), Some("large")).unwrap_err();
    assert!(message.to_string().contains("has more than 10000 values"), "{message}");
    let sizes = format!(
        "schema = 1\nquestion = \"?\"\n[[primitives]]\nname = \"a\"\nalgorithms = [\"SHA-1\"]\nsizes = [{}]",
        "\"1B\",".repeat(1_000_000)
    );
    assert!(refusal(&sizes).contains("has more than 10000 values"), "{}", refusal(&sizes));
}

#[test]
fn as_many_cells_as_there_may_be_are_read() {
    let values: Vec<String> = (1..=10_000).map(|n| n.to_string()).collect();
    let sweep = format!("sweep.\"load.connections\" = [{}]", values.join(","));
    let study = parse(&with(&[], &[&sweep]));
    assert_eq!(study.cells.len(), 10_000);
    assert_eq!(study.cells[9_999].load.connections, 10_000);
}

#[test]
fn contradictions_within_a_case_are_refused() {
    for (lines, message) in [
        (
            &["load.suite = \"none\"", "load.group = \"x25519\""][..],
            "line 11: case bulk: load.suite = none (line 10) is plain HTTP, which contradicts \
             load.group = x25519; leave one out",
        ),
        (
            &["load.suite = \"none\"", "load.tls = \"1.3\""],
            "line 11: case bulk: load.suite = none (line 10) is plain HTTP, which contradicts \
             load.tls = 1.3; leave one out",
        ),
        (
            &["load.suite = \"AES128-SHA\"", "load.group = \"x25519\""],
            "line 11: case bulk: load.suite = TLS_RSA_WITH_AES_128_CBC_SHA (line 10) has no key \
             exchange by group, which contradicts load.group = x25519; leave one out",
        ),
        (
            &["load.tls = \"1.3\"", "sweep.\"load.suite\" = [", "\"AES128-SHA\"]"],
            "line 12: case bulk: load.suite = TLS_RSA_WITH_AES_128_CBC_SHA is a suite of TLS 1.2, \
             which contradicts load.tls = 1.3 (line 10); leave one out",
        ),
        (
            &["load.suite = \"ECDHE-RSA-AES128-SHA\"", "load.key-exchange = \"fixed\""],
            "line 11: case bulk: load.suite = TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA (line 10) goes \
             through OpenSSL, whose key exchange is always fresh, which contradicts \
             load.key-exchange = fixed; leave one out",
        ),
        (
            &["load.encrypt-then-mac = true"],
            "line 10: case bulk: load.suite = (left open) has no encrypt-then-MAC (only CBC suites \
             such as AES128-SHA have), which contradicts load.encrypt-then-mac = true; leave one \
             out",
        ),
        (
            &["load.suite = \"AES128-SHA\"", "load.encrypt-then-mac = true"],
            "line 11: case bulk: load.encrypt-then-mac = true, but the server does not agree to it; \
             write target.encrypt-then-mac = true too",
        ),
        (
            &["load.resumption = \"70%\""],
            "line 10: case bulk: load.resumption = 70%, but the server gives nothing to resume; \
             write target.tickets = true too",
        ),
        (
            &["load.tls = \"1.3\"", "load.resumption = \"70%\"", "target.session-cache = true"],
            "line 11: case bulk: load.resumption = 70%, but the server gives nothing to resume; \
             write target.tickets = true too",
        ),
    ] {
        assert_eq!(case(lines), message);
    }
}

#[test]
fn contradictions_under_load_and_from_afar_are_refused() {
    let lines = ["tls = \"none\"", &format!("suite = \"{GCM}\"")];
    assert!(load(&lines).starts_with("line 9: case bulk: load.tls = none (line 8) is plain HTTP"));
    let text = with(&["tls = \"none\""], &[&format!("load.suite = \"{GCM}\"")]);
    assert!(
        refusal(&text).starts_with("line 11: case bulk: load.tls = none (line 8) is plain HTTP")
    );
    let text = with(&["tls = \"1.2\""], &[&format!("load.suite = \"{GCM}\"")]);
    assert!(
        refusal(&text).contains("is a suite of TLS 1.3, which contradicts load.tls = 1.2 (line 8)")
    );
}

#[test]
fn what_cannot_be_measured_is_refused() {
    for (lines, message) in [
        (
            &["load.operation = \"handshakes\"", "load.tls = \"none\""][..],
            "line 11: case bulk: load.tls = none is plain HTTP, which contradicts load.operation = \
             handshakes (line 10); leave one out",
        ),
        (
            &["target.cpus = \"0,7\""],
            "line 10: case bulk: target.cpus = 0,7: CPU 7 is not available to this process; it may \
             use 0-1",
        ),
        (
            &["target.certificate-key = \"ecdsa:p256\"", "load.suite = \"ECDHE-RSA-AES128-SHA\""],
            "line 11: case bulk: load.suite = TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA cannot be \
             negotiated with target.certificate-key = ecdsa:p256; it wants one such as rsa:2048",
        ),
        (
            &["load.suite = \"ECDHE-ECDSA-AES128-SHA\""],
            "line 10: case bulk: load.suite = TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA cannot be \
             negotiated with target.certificate-key = rsa:2048; it wants one such as ecdsa:p256",
        ),
        (
            &["load.duration = \"0s\""],
            "line 10: case bulk: a window of 0s measures nothing; give one such as 10s",
        ),
    ] {
        assert_eq!(case(lines), message);
    }
}

#[test]
fn answers_are_about_what_is_measured() {
    let full = |change: (&str, &str)| {
        let lines = [
            ("case", "bulk"),
            ("metric", "tls-tax"),
            ("compare", "load.suite"),
            ("baseline", "none"),
        ];
        let lines = lines.map(|(key, value)| {
            let value = if key == change.0 { change.1 } else { value };
            format!("{key} = \"{value}\"")
        });
        answer(&lines.each_ref().map(String::as_str))
    };
    let gated = |metric: &str, baseline: &str, gate: &str| {
        let compare = "compare = \"load.suite\"";
        answer(&["case = \"bulk\"", metric, compare, baseline, gate])
    };
    assert_eq!(
        full(("case", "bluk")),
        "line 16: case = \"bluk\" is not a case of this study; did you mean bulk?"
    );
    assert_eq!(
        full(("metric", "goodputt")),
        "line 17: metric: `goodputt` is not a valid value; did you mean goodput?"
    );
    assert!(full(("metric", "server-busy")).starts_with(
        "line 17: metric = \"server-busy\" is neither good nor bad, so it makes no answer; gate it"
    ));
    assert_eq!(
        full(("compare", "load.group")),
        "line 18: compare = \"load.group\" is not swept by case bulk; it sweeps load.suite"
    );
    assert_eq!(
        full(("baseline", "AES256-SHA")),
        "line 19: baseline = \"AES256-SHA\" is not a value of the sweep of load.suite; did you mean \
         TLS_RSA_WITH_AES_128_CBC_SHA?"
    );
    assert!(full(("baseline", "AES128-SHA")).starts_with(
        "line 17: metric = \"tls-tax\" is what TLS costs; write compare = \"load.suite\" or \
         \"load.tls\" and baseline = \"none\""
    ));
    let rate = "metric = \"rate\"";
    assert_eq!(
        gated(rate, "baseline = \"none\"", "gate = \"goodput >= 4\""),
        "line 20: gate: `goodput >= 4`: an answer is gated by its ratio, not by `goodput`; write a \
         gate such as ratio >= 4"
    );
    assert!(
        gated(rate, "baseline = \"none\"", "gate = \"ratio = 4\"").contains("no >=, <=, > or <")
    );
    assert_eq!(
        gated("metric = \"tls-tax\"", "baseline = \"none\"", "gate = \"ratio >= 4\""),
        "line 20: gate needs a ratio, and a tax is none; gate goodput-per-server-cpu"
    );
    assert_eq!(answer(&[]), "line 15: an answer has no case; write case = \"...\"");
    assert_eq!(
        answer(&["case = \"setup\"", "metric = \"goodput\""]),
        "line 17: metric = \"goodput\" is about bodies, but case setup makes handshakes only; use \
         rate or rate-per-server-cpu"
    );
}

#[test]
fn a_study_is_found_by_its_name_or_its_path() {
    let find = |argument: &str| StudyFile::find(argument).unwrap_err().to_string();
    assert!(find("quik").starts_with(
        "`quik` is not a built-in study; did you mean quick? (one of your own is named"
    ));
    assert!(find("bulk").contains(
        "; there are: quick, gcm-vs-cbc, primitives, clients, hardware-crypto, handshakes, stacks, \
         post-quantum, ktls, offload (one"
    ));
    assert!(find("no/such.toml").starts_with("no/such.toml: No such file or directory"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, QUICK).unwrap();
    let study = shipped_at(path.to_str().unwrap(), "0-1", None);
    assert_eq!((study.name.as_str(), study.cells.len()), ("mine", 14));
}

/// Refusals of an answer whose line 17 is `nominal`, about a case of handshakes with these lines.
fn nominal(nominal: &str, metric: &str, lines: &[&str]) -> String {
    let head = [
        "load.operation = \"handshakes\"",
        "sweep.\"target.certificate-key\" = [\"rsa:2048\", \"ed25519\"]",
        "[[answer]]",
        "case = \"bulk\"",
        metric,
        "compare = \"target.certificate-key\"",
        "baseline = \"rsa:2048\"",
        nominal,
        "[[primitives]]",
        "name = \"signatures\"",
        "algorithms = [\"RSA-2048 sign\", \"RSA-2048 decrypt\"]",
        "[[case]]",
        "name = \"other\"",
        "load.operation = \"handshakes\"",
    ];
    refusal(&with(&[], &[&head, lines].concat()))
}

#[test]
fn a_bill_needs_full_handshakes_and_the_algorithm_of_each_key() {
    const PER_CORE: &str = "metric = \"rate-per-server-cpu\"";
    assert_eq!(
        nominal("nominal = \"signatures\"", PER_CORE, &[]),
        "line 17: nominal = \"signatures\" lacks the algorithm Ed25519 sign, which is what the key of a \
         server of case bulk does; write it there"
    );
    assert_eq!(
        nominal("nominal = \"signature\"", PER_CORE, &[]),
        "line 17: nominal = \"signature\" is not a table of primitives of this study; did you mean \
         signatures?"
    );
    assert_eq!(
        nominal("nominal = \"signatures\"", "metric = \"rate\"", &[]),
        "line 17: nominal = \"signatures\" needs the metric of one core; write metric = \
         \"rate-per-server-cpu\""
    );
    for swept in [
        "sweep.\"load.resumption\" = [\"0%\", \"50%\"]",
        "sweep.\"load.operation\" = [\"handshakes\", \"requests\"]",
        "sweep.\"load.tls\" = [\"1.3\", \"none\"]",
    ] {
        let text = with(
            &[],
            &[
                "load.operation = \"one-request-per-connection\"",
                "target.tickets = true",
                swept,
                "sweep.\"load.connections\" = [1, 2]",
                "[[primitives]]",
                "name = \"signatures\"",
                "algorithms = \"RSA-2048 sign\"",
                "[[answer]]",
                "case = \"bulk\"",
                PER_CORE,
                "compare = \"load.connections\"",
                "baseline = 1",
                "nominal = \"signatures\"",
            ],
        );
        let text = match swept.contains("load.operation") {
            true => text.replace("load.operation = \"one-request-per-connection\"\n", "\n"),
            false => text,
        };
        assert_eq!(
            refusal(&text),
            "line 22: nominal = \"signatures\" needs full handshakes with a key that toll made; not all \
             cells of case bulk have it",
            "{swept}"
        );
    }
}

#[test]
fn static_rsa_needs_an_rsa_key() {
    for name in ["ecdsa:p256", "ed25519"] {
        let key = format!("target.certificate-key = \"{name}\"");
        assert_eq!(
            case(&["load.suite = \"AES128-SHA\"", &key]),
            format!(
                "line 10: case bulk: load.suite = TLS_RSA_WITH_AES_128_CBC_SHA cannot be negotiated with \
                 target.certificate-key = {name}; it wants one such as rsa:2048"
            )
        );
    }
}

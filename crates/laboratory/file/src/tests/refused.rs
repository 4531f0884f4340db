use super::*;

/// An input and why it is refused.
type Row = (String, String);

/// Lines under `[load]`, the first of which is line 8.
fn load(lines: &str) -> Row {
    (format!("[load]\n{lines}"), refusal(&with(&[lines], &[])))
}

/// Lines of the case, the first of which is line 10.
fn case(lines: &str) -> Row {
    (lines.to_owned(), refusal(&with(&[], &[lines])))
}

/// Lines under `[load]`, and others in the case.
fn load_and_case(load: &str, case: &str) -> Row {
    (format!("[load]\n{load}\n[[case]]\n{case}"), refusal(&with(&[load], &[case])))
}

/// A whole file.
fn file(text: &str) -> Row {
    (text.escape_debug().to_string(), refusal(text))
}

/// A whole file, after its first two lines.
fn body(text: &str) -> Row {
    (text.to_owned(), refusal(&format!("schema = 1\nquestion = '?'\n{text}")))
}

/// An answer at line 15 about a case of a sweep.
fn answer(lines: &str) -> Row {
    let head = "sweep.'load.suite' = ['none', 'AES128-SHA']\n\
                [[case]]\n\
                name = 'setup'\n\
                load.operation = 'handshakes'\n\
                sweep.'target.certificate-key' = ['rsa:2048']\n\
                [[answer]]";
    (format!("[[answer]]\n{lines}"), refusal(&with(&[], &[head, lines])))
}

/// An answer at line 14 about a case whose instructions are counted.
fn counted_answer(metric: &str) -> Row {
    let answer = format!(
        "[[answer]]\ncase = 'bulk'\nmetric = '{metric}'\ncompare = 'load.suite'\nbaseline = 'none'"
    );
    let head = "load.count = 'instructions'\nsweep.'load.suite' = ['none', 'AES128-SHA']";
    (answer.clone(), refusal(&with(&[], &[head, &answer])))
}

/// An answer with all its keys, but for these lines.
fn full_answer(case: &str, metric: &str, compare: &str, rest: &str) -> Row {
    answer(&format!("case = '{case}'\nmetric = '{metric}'\ncompare = '{compare}'\n{rest}"))
}

/// An answer whose line 17 is `nominal`, about a case of handshakes.
fn nominal(table: &str, metric: &str) -> Row {
    let answer = format!(
        "[[answer]]\ncase = 'bulk'\nmetric = '{metric}'\ncompare = 'target.certificate-key'\n\
         baseline = 'rsa:2048'\nnominal = '{table}'"
    );
    let head = "load.operation = 'handshakes'\n\
                sweep.'target.certificate-key' = ['rsa:2048', 'ed25519']";
    let tail = "[[primitives]]\n\
                name = 'signatures'\n\
                algorithms = ['RSA-2048 sign', 'RSA-2048 decrypt']\n\
                [[case]]\n\
                name = 'other'\n\
                load.operation = 'handshakes'";
    let message = refusal(&with(&[], &[head, &answer, tail]));
    (answer, message)
}

/// An answer whose line 16 is `nominal`, about plain HTTP and a suite, with a table of ciphers.
fn nominal_cipher(algorithm: &str, size: &str) -> Row {
    let answer = "[[answer]]\ncase = 'bulk'\nmetric = 'tls-tax'\ncompare = 'load.suite'\n\
                  baseline = 'none'\nnominal = 'ciphers'";
    let head = "sweep.'load.suite' = ['none', 'AES128-GCM-SHA256']";
    let table = format!(
        "[[primitives]]\nname = 'ciphers'\nalgorithms = ['{algorithm}']\nsizes = ['{size}']"
    );
    let message = refusal(&with(&[], &[head, answer, &table]));
    (format!("{answer}\n{table}"), message)
}

#[test]
fn the_first_error_is_that_of_the_first_line() {
    let of_load = refusal(&with(&["suite = 'AES'", "connections = 'many'"], &[]));
    assert!(of_load.starts_with("line 8: load.suite"), "{of_load}");
    let of_study = refusal("schema = 1\nquestion = '?'\ntrials = 'many'\nseed = 'none'\n");
    assert!(of_study.starts_with("line 3: trials"), "{of_study}");
}

/// What is wrong with keys, values and the form of a file.
#[test]
fn keys_and_values() {
    assert_golden!([
        load("durration = '1s'"),
        load("colour = 1"),
        load("duration = 600"),
        load("duration = '600'"),
        load("tls = 1.3"),
        load("cpus = 1"),
        load("encrypt-then-mac = 'no'"),
        load("connections = '64'"),
        load("connections = 0"),
        load("suite = ['AES128-SHA']"),
        load("group = { x = 1 }"),
        load("warmup = 1979-05-27"),
        load("suite = 'TLS_AES_128_GCM_SHA265'"),
        load("tls = '1.1'"),
        load("verify = '64'"),
        load("cpus = 'one'"),
        load("arrival = 'poisson 2000'"),
        load("arrival = 'paced 2Gb'"),
        load("resumption = '0.5'"),
        load("tls = none # plain"),
        load("cpus = 0-3"),
        load("duration = 600ms"),
        load("header = 'Range: bytes=0-9'"),
        load("source = 'nosuch0'"),
        case("load.durration = '1s'"),
        case("duration = '1s'"),
        case("'load.duration' = '1s'"),
        case("target.object = 16"),
        case("target.server = 'ngnix'"),
        case("load.operation = 'surf'"),
        case("load.arrival = 'paced 800Gb/s'"),
        case("sweep.'load.suit' = ['none']"),
        case("sweep.'load.warmup' = [\n'1s',\n2.5]"),
        case("sweep.'load.tls' = []"),
        case("sweep.'load.suite' = ['AES128-SHA', 'TLS_RSA_WITH_AES_128_CBC_SHA']"),
        case("sweep.'load.tls' = '1.3'"),
        case("sweep.load.tls = ['1.3']"),
        case("sweep.'target.if-missing' = ['skip']"),
        case("sweep.'load.tls' = ['1.3']\nload.tls = '1.2'"),
        case("[[case]]\nname = 'bulk'"),
        file(""),
        file("schema = 2"),
        file("schema = 1"),
        file("schema = 1\nquestoin = '?'"),
        file("schema = 1\nquestion = ' '"),
        file("schema = 1\nquestion = '?'"),
        body("trials = 0"),
        body("[case]\nname = 'a'"),
        body("load = 3"),
        body("[[case]]"),
        body("[[case]]\nname = 'Bulk'"),
        body("[[case]]\nname = 'bulk'"),
        body("restart = 'rounds'"),
        body("until = '3min'"),
        body("until = { interval = '5%' }"),
        body("until = { interval = '5%', at-most = 3 }"),
        body("until = { interval = '0%', at-most = '3min' }"),
        body("until = { intervall = '5%', at-most = '3min' }"),
        file("seed = 1\nseed = 1_000"),
    ]);
}

#[test]
fn what_is_no_toml_has_its_line() {
    for text in ["a =", "a = 1 2 \"", "[[case]", "a = \"x\nb = 1", "\u{0}", "= 3"] {
        assert_eq!(line(&refusal(text)), Some(1), "{text}");
    }
}

#[test]
fn the_name_of_a_file_is_its_studys() {
    let refused = crate::parse("my study.toml", &with(&[], &[]), &allowed(), None).unwrap_err();
    assert!(matches!(refused, StudyError::Lacking { .. }), "{refused}");
}

#[test]
fn contradictions() {
    assert_golden!([
        case("load.suite = 'none'\nload.group = 'x25519'"),
        case("load.suite = 'none'\nload.tls = '1.3'"),
        case("load.suite = 'AES128-SHA'\nload.group = 'x25519'"),
        case("load.tls = '1.3'\nsweep.'load.suite' = [\n'AES128-SHA']"),
        case("load.encrypt-then-mac = true"),
        case("load.suite = 'AES128-SHA'\nload.encrypt-then-mac = true"),
        case("load.resumption = '70%'"),
        case("load.requests-per-connection = '1 20%, 8 70%'"),
        case("load.operation = 'handshakes'\nload.requests-per-connection = 8"),
        case("load.client = 'wrk'\nload.requests-per-connection = 8"),
        case("load.body = 'Cargo.toml'"),
        case("load.method = 'TRACE'"),
        case("load.expect = 99"),
        case("load.sni = '127.0.0.1'"),
        case("load.names = '/no/such/file'"),
        case("target.names = 20_000"),
        case("target.names = 2\nload.client = 'wrk'"),
        case("target.names = 2\nload.suite = 'AES128-SHA'\ntarget.accelerator = 'model'"),
        case("load.tls = '1.3'\nload.resumption = '70%'\ntarget.session-cache = true"),
        case("load.operation = 'handshakes'\nload.arrival = 'paced 1Gb/s'"),
        case("load.operation = 'handshakes'\nload.tls = 'none'"),
        case("target.cpus = '0,7'"),
        case("target.certificate-key = 'ecdsa:p256'\nload.suite = 'ECDHE-RSA-AES128-SHA'"),
        case("load.suite = 'ECDHE-ECDSA-AES128-SHA'"),
        case("load.suite = 'AES128-SHA'\ntarget.certificate-key = 'ecdsa:p256'"),
        case("load.suite = 'AES128-SHA'\ntarget.certificate-key = 'ed25519'"),
        case("load.duration = '0s'"),
        load("tls = 'none'\nsuite = 'TLS_AES_128_GCM_SHA256'"),
        load_and_case("tls = 'none'", "load.suite = 'TLS_AES_128_GCM_SHA256'"),
        load_and_case("tls = '1.2'", "load.suite = 'TLS_AES_128_GCM_SHA256'"),
    ]);
}

#[test]
fn what_cannot_be_counted() {
    let counted = |keys: &str| case(&format!("load.count = 'instructions'\n{keys}"));
    assert_golden!([
        case("load.count = 'instruction'"),
        counted("target.server = 'address'\ntarget.url = 'https://127.0.0.1:1/'"),
        counted("target.server = 'tomcat'"),
        counted("target.server = 'caddy'"),
        counted("target.host = 'b'"),
        counted("target.server = 'embedded'\ntarget.accelerator = 'model'"),
        counted("load.client = 'wrk'"),
        counted("load.arrival = 'uniform 5/s'"),
        counted("load.warmup = '1s'"),
        counted("load.requests-per-connection = 8"),
        counted("load.resumption = '50%'\ntarget.tickets = true"),
        counted_answer("rate"),
        full_answer("bulk", "instructions-per-operation", "load.suite", "baseline = 'none'"),
    ]);
}

#[test]
fn answers() {
    let none = "baseline = 'none'";
    let gated = |metric: &str, gate: &str| {
        full_answer("bulk", metric, "load.suite", &format!("{none}\ngate = '{gate}'"))
    };
    assert_golden!([
        answer(""),
        answer("metrics = 'rate'"),
        full_answer("setup", "goodput", "target.certificate-key", "baseline = 'rsa:2048'"),
        full_answer("bluk", "tls-tax", "load.suite", none),
        full_answer("bulk", "goodputt", "load.suite", none),
        full_answer("bulk", "server-busy", "load.suite", none),
        full_answer("bulk", "memory-per-connection", "load.suite", none),
        full_answer(
            "setup",
            "socket-buffers-per-connection",
            "target.certificate-key",
            "baseline = 'rsa:2048'"
        ),
        full_answer("bulk", "tls-tax", "load.group", none),
        full_answer(
            "bulk",
            "goodput",
            "load.suite",
            "baseline = 'none'\nonly = { 'load.suite' = 'AES128-SHA' }",
        ),
        full_answer("bulk", "goodput", "load.suite", "baseline = 'none'\nonly = 'AES128-SHA'"),
        full_answer("bulk", "tls-tax", "load.suite", "baseline = 'AES256-SHA'"),
        full_answer("bulk", "tls-tax", "load.suite", "baseline = 'AES128-SHA'"),
        gated("rate", "goodput >= 4"),
        gated("rate", "ratio = 4"),
        gated("tls-tax", "ratio >= 4"),
        nominal("signatures", "rate-per-server-cpu"),
        nominal("signature", "rate-per-server-cpu"),
        nominal("signatures", "rate"),
        nominal_cipher("ChaCha20-Poly1305", "16KiB"),
        nominal_cipher("AES-128-GCM", "8KiB"),
    ]);
}

/// What an answer is to show fits it, and what it takes is written.
#[test]
fn what_an_answer_shows() {
    let shows = |metric: &str, show: &str| {
        let rest = format!("baseline = 'none'\nshow = {show}");
        full_answer("bulk", metric, "load.suite", &rest)
    };
    assert_golden!([
        shows("rate", "'hitrate'"),
        shows("rate", "['bill']"),
        shows("rate", "'projection'"),
        full_answer(
            "bulk",
            "rate-per-server-cpu",
            "load.suite",
            "baseline = 'none'\nshow = 'projection'\nproject = [8]"
        ),
        shows("rate", "'crossover'"),
        shows("rate", "'hit-rate'"),
        shows("server-cpu-per-operation", "'offload'"),
        shows("rate", "'device-use'"),
        shows("goodput", "'per-device'"),
        shows("goodput", "['sendfile', 'reading-client']"),
        shows("goodput", "'prediction'"),
        shows("rate", "'littles-law'"),
        full_answer("bulk", "goodput", "load.suite", "baseline = 'none'\nproject = [8]"),
    ]);
}

#[test]
fn a_bill_needs_full_handshakes() {
    let tail = "sweep.'load.connections' = [1, 2]\n\
                [[primitives]]\n\
                name = 'signatures'\n\
                algorithms = 'RSA-2048 sign'\n\
                [[answer]]\n\
                case = 'bulk'\n\
                metric = 'rate-per-server-cpu'\n\
                compare = 'load.connections'\n\
                baseline = 1\n\
                nominal = 'signatures'";
    let operation = "load.operation = 'one-request-per-connection'";
    let swept = [
        (operation, "sweep.'load.resumption' = ['0%', '50%']"),
        ("", "sweep.'load.operation' = ['handshakes', 'requests']"),
        (operation, "sweep.'load.tls' = ['1.3', 'none']"),
    ];
    for (operation, swept) in swept {
        let refused = refusal(&with(&[], &[operation, "target.tickets = true", swept, tail]));
        assert_eq!(line(&refused), Some(22), "{swept}: {refused}");
    }
}

#[test]
fn too_many_cells_are_refused_before_they_are_made() {
    let values = (1..=400).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let times = (1..=400).map(|n| format!("\"{n}s\"")).collect::<Vec<_>>().join(", ");
    let lines = format!(
        "sweep.\"load.connections\" = [{values}]\nsweep.\"load.warmup\" = [{times}]\n\
         sweep.\"load.duration\" = [{times}]\nsweep.\"load.timeout\" = [{times}]\n\
         [[case]]\nname = \"other\""
    );
    assert_eq!(line(&case(&lines).1), Some(8));
}

#[test]
fn a_million_values_are_refused_before_they_are_read() {
    let values = "1,".repeat(1_000_000);
    assert_eq!(line(&case(&format!("sweep.\"load.connections\" = [{values}]")).1), Some(8));
    let scale = with(&[], &["sweep.\"load.connections\" = [1]"])
        + &format!("\n[scale.large]\nsweep.\"load.connections\" = [{values}]");
    let refused = crate::parse("test.toml", &scale, &allowed(), Some("large")).unwrap_err();
    assert!(matches!(refused, StudyError::Wrong { line: 12, .. }), "{refused}");
    let sizes = format!(
        "[[primitives]]\nname = \"a\"\nalgorithms = [\"SHA-1\"]\nsizes = [{}]",
        "\"1B\",".repeat(1_000_000)
    );
    assert_eq!(line(&body(&sizes).1), Some(6));
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
fn a_study_is_found_by_its_name_or_its_path() {
    let unknown = ["quik", "bulk", "no/such.toml"]
        .map(|argument| (argument, StudyFile::find(argument).unwrap_err()));
    assert_golden!(unknown);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, QUICK).unwrap();
    let study = shipped_at(path.to_str().unwrap(), "0-1", None);
    assert_eq!((study.name.as_str(), study.cells.len()), ("mine", 16));
}

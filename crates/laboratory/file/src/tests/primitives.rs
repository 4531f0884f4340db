use ::primitives::{Cache, Hardware};
use study::Metric;
use units::Bytes;

use super::*;

/// A study of a table, whose lines begin at line 5.
fn table(lines: &[&str]) -> String {
    let head = ["schema = 1", "question = \"?\"", "[[primitives]]", "name = \"t\""];
    [&head, lines].concat().join("\n")
}

#[test]
fn a_study_may_have_tables_alone() {
    let study = parse(&table(&["algorithms = [\"rsa-2048\", \"aes-128-gcm\"]", "threads = 2"]));
    assert!(study.cells.is_empty());
    let [only] = &study.primitives.tables[..] else { panic!() };
    let names: Vec<_> = only.algorithms.iter().map(|a| a.name()).collect();
    assert_eq!(names, ["AES-128-GCM", "RSA-2048 sign", "RSA-2048 verify", "RSA-2048 decrypt"]);
    assert_eq!(only.libraries, ["openssl"]);
    assert_eq!(
        (only.caches.as_slice(), only.hardware.as_slice()),
        (&[Cache::Warm][..], &[Hardware::All][..])
    );
    assert_eq!((only.cpus.to_string().as_str(), only.rounds, only.samples), ("0-1", 3, 10));
    assert_eq!(only.rows(), 6 + 3);
    assert_eq!(read_back(&study).primitives, study.primitives);
}

#[test]
fn everything_can_be_written_and_is_read_back() {
    let text = table(&[
        "algorithms = [\"gcm\", \"SHA-1\"]",
        "libraries = [\"libcrypto\", \"AWS_LC\", \"/opt/ssl/libcrypto.so\"]",
        "sizes = [\"8KiB\", \"64B\"]",
        "cache = [\"warm\", \"cold\"]",
        "hardware = [\"all\", \"none\"]",
        "cpus = \"1\"",
        "rounds = 2",
        "samples = 4",
        "[[answer]]",
        "primitives = \"t\"",
        "question = \"?\"",
        "compare = \"library\"",
        "baseline = \"libcrypto\"",
        "at = [\"8KiB\", \"64B\"]",
        "show = \"projection\"",
        "project = [4, 8]",
        "[[answer]]",
        "primitives = \"t\"",
        "compare = \"algorithm\"",
        "baseline = \"sha1\"",
    ]);
    let study = parse(&text);
    let table = &study.primitives.tables[0];
    assert_eq!(table.libraries, ["openssl", "aws-lc", "/opt/ssl/libcrypto.so"]);
    assert_eq!(table.sizes, [Bytes(64), Bytes(8192)]);
    let [first, second] = &study.answers[..] else { panic!() };
    assert_eq!((first.baseline.as_str(), second.baseline.as_str()), ("openssl", "SHA-1"));
    assert_eq!(first.at, [Bytes(64), Bytes(8192)]);
    assert_eq!(second.at, [Bytes(8192)]);
    assert_eq!(read_back(&study), study);
}

#[test]
fn wrong_tables_are_refused_with_their_lines() {
    let gcm = |lines: &str| format!("algorithms = ['gcm']\n{lines}");
    let refused = [
        "".to_owned(),
        "algorithm = ['gcm']".to_owned(),
        "algorithms = []".to_owned(),
        "algorithms = ['aes-128-gmc']".to_owned(),
        "algorithms = ['rsa']\nsizes = ['1KiB']".to_owned(),
        gcm("libraries = ['openssl',\n'rustcripto']"),
        gcm("libraries = ['openssl', 'libcrypto']"),
        gcm("libraries = ['lib/libcrypto.so']"),
        gcm("sizes = ['8KB']"),
        gcm("sizes = [8]"),
        gcm("sizes = ['0B']"),
        gcm("sizes = ['1GiB']"),
        gcm("cache = 'hot'"),
        gcm("hardware = ['mmx']"),
        gcm("threads = 3"),
        gcm("cpus = '7'"),
        gcm("rounds = 0"),
        gcm("rounds = 1001"),
        gcm("samples = '9'"),
        gcm("[[primitives]]\nname = 't'\nalgorithms = ['gcm']"),
        gcm("[[primitives]]\nalgorithms = ['gcm']"),
        gcm("[[case]]\nname = 't'"),
    ];
    let refused = refused.map(|lines| (lines.clone(), refusal(&table(&[&lines]))));
    assert_golden!(refused);
}

#[test]
fn wrong_answers_are_refused_with_their_lines() {
    let head = "algorithms = ['gcm']\nlibraries = ['openssl', 'aws-lc']\n\
                sizes = ['1KiB', '8KiB']\n[[answer]]";
    let about = |lines: &str| format!("primitives = 't'\n{lines}");
    let library = |lines: &str| about(&format!("compare = 'library'\n{lines}"));
    let refused = [
        "primitives = 'u'\ncompare = 'library'\nbaseline = 'ring'".to_owned(),
        about(""),
        about("metric = 'rate'"),
        about("compare = 'librari'"),
        about("compare = 'cache'\nbaseline = 'warm'"),
        library("baseline = 'ring'"),
        library("baseline = 'openssl'\nat = '4KiB'"),
        library("baseline = 'openssl'\npublished = 'nginx-a-core'"),
        library("baseline = 'openssl'\nproject = [0]"),
        library("baseline = 'openssl'\nalong = 'size'"),
        library("baseline = 'openssl'\nrows.a = { libary = 'ring' }\nheadline = '?'"),
    ];
    let refused = refused.map(|lines| (lines.clone(), refusal(&table(&[head, &lines]))));
    assert_golden!(refused);
}

/// Their figures are of different units: an answer of each.
#[test]
fn a_table_of_bytes_and_operations_has_an_answer_of_each() {
    let text = table(&[
        "algorithms = [\"gcm\", \"RSA-2048 sign\"]",
        "libraries = [\"openssl\", \"ring\"]",
        "[[answer]]",
        "primitives = \"t\"",
        "compare = \"library\"",
        "baseline = \"ring\"",
        "rows.one = { algorithm = \"RSA-2048 sign\" }",
        "headline = \"{{ one.cycles_per_operation }}\"",
    ]);
    let answers = parse(&text).answers;
    let of = answers.iter().map(|of| (of.metric, of.written.is_some(), of.at.len()));
    let expected = [(Metric::CyclesPerByte, false, 1), (Metric::CyclesPerOperation, true, 0)];
    assert_eq!(of.collect::<Vec<_>>(), expected);
}

#[test]
fn a_scale_makes_all_tables_shorter() {
    let text = table(&[
        "algorithms = [\"gcm\"]",
        "libraries = [\"openssl\", \"ring\"]",
        "sizes = [\"1KiB\", \"8KiB\"]",
        "[[answer]]",
        "primitives = \"t\"",
        "compare = \"library\"",
        "baseline = \"ring\"",
        "at = \"8KiB\"",
        "[scale.quick]",
        "primitives.rounds = 1",
        "primitives.samples = 3",
        "primitives.sizes = \"1KiB\"",
    ]);
    let study = crate::parse("test.toml", &text, &allowed(), Some("quick")).unwrap();
    let table = &study.primitives.tables[0];
    assert_eq!((table.rounds, table.samples, &table.sizes[..]), (1, 3, &[Bytes(1024)][..]));
    assert_eq!(study.answers[0].at, [Bytes(1024)]);
    assert_eq!(study.cut.len(), 3);
    let wrong = text.replace("primitives.rounds", "primitives.round");
    let refused = crate::parse("test.toml", &wrong, &allowed(), Some("quick")).unwrap_err();
    assert!(matches!(refused, StudyError::Wrong { line: 14, .. }), "{refused}");
}

#[test]
fn a_part_is_asked_for_by_its_name() {
    let both = with(&[], &["sweep.\"load.suite\" = [\"none\", \"AES128-SHA\"]"]);
    let both = format!(
        "{both}\n{}",
        table(&["algorithms = [\"gcm\"]"]).split_off("schema = 1\nquestion = \"?\"\n".len())
    );
    let only = |wanted: &[&str]| {
        let mut study = parse(&both);
        let wanted: Vec<String> = wanted.iter().map(|&text| text.to_owned()).collect();
        crate::only(&mut study, &wanted).map(|()| study).map_err(|error| error.to_string())
    };
    let tables = only(&["primitives=t"]).unwrap();
    assert_eq!((tables.cells.len(), tables.primitives.tables.len()), (0, 1));
    assert_eq!(tables.cut.len(), 1);
    let cells = only(&["suite=none"]).unwrap();
    assert_eq!((cells.cells.len(), cells.primitives.tables.len()), (1, 0));
    let refused = [&["primitives=x"][..], &["primitives=t", "suite=none"]];
    let refused = refused.map(|wanted| (wanted.join(" "), only(wanted).unwrap_err()));
    assert_golden!(refused);
    let mut often = parse(&both);
    often.set_trials(2);
    assert_eq!((often.trials, often.primitives.tables[0].rounds), (2, 2));
    assert_eq!(often.cut.len(), 2);
}

#[test]
fn the_shipped_table_study_is_read_and_its_quick_form_is_short() {
    let quick = |name| shipped_at(name, "0-1", Some("quick"));
    let primitives = quick("primitives");
    assert!(primitives.cells.is_empty() && primitives.answers.len() >= 4);
    assert!(
        primitives.primitives.forecast().seconds() < 120.0,
        "{}",
        primitives.primitives.forecast()
    );
    let part = quick("gcm-vs-cbc");
    let answer = part.answers.iter().find(|answer| answer.case == "ciphers").unwrap();
    assert_eq!(answer.published.len(), 2);
    let part = part.primitives;
    assert!(part.forecast().seconds() < 15.0, "{}", part.forecast());
}

#[test]
fn the_guides_example_is_a_table() {
    let guide = documents::GUIDE;
    let (_, part) = guide.split_once("## Algorithms alone").unwrap();
    let (_, example) = part.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let study = parse(&format!("schema = 1\nquestion = \"?\"\n{example}"));
    assert_eq!(study.primitives.tables[0].libraries.len(), 3);
}

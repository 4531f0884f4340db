//! `--vary`: the cells that it makes, in whatever form the cases are written, and what is refused.

use super::*;
use study::Param;

fn file(text: &str) -> StudyFile {
    StudyFile { name: "test.toml".to_owned(), text: text.to_owned() }
}

fn varied(text: &str, wanted: &[&str]) -> Result<StudyFile, StudyError> {
    let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    file(text).varied(&allowed(), None, &wanted)
}

fn study(text: &str, wanted: &[&str]) -> Study {
    let file = varied(text, wanted).unwrap_or_else(|error| panic!("{error}"));
    file.read(&allowed(), None).unwrap()
}

const LIBRARY: &str = "target.library=rustls-ring,openssl";

#[test]
fn a_varied_study_is_the_study_with_that_sweep() {
    let sweep = "sweep.\"target.library\" = [\"rustls-ring\", \"openssl\"]";
    let suites = "sweep.\"load.suite\" = [\"none\", \"TLS_AES_128_GCM_SHA256\"]";
    let answer = "[[answer]]\ncase = \"bulk\"\nmetric = \"goodput-per-server-cpu\"\n\
                  compare = \"target.library\"\nbaseline = \"rustls-ring\"";
    let by_hand = parse(&with(&[], &[sweep, suites, answer]));
    assert_eq!(study(&with(&[], &[suites]), &[LIBRARY]), by_hand);
    assert_eq!(by_hand.cells.len(), 4);
    assert_eq!(study(&with(&[], &[suites, "# end"]), &[LIBRARY]), by_hand);
    let headed = with(&[], &["[case.sweep] # a comment", &suites["sweep.".len()..]]);
    assert_eq!(study(&headed, &[LIBRARY]), by_hand);
    let braces = format!("sweep = {{ {} }}", &suites["sweep.".len()..]);
    assert_eq!(study(&with(&[], &[&braces]), &[LIBRARY]), by_hand);
    let head = with(&[], &[]).split("[[case]]").next().unwrap().to_owned();
    let inline = format!("case = [{{ name = \"bulk\", {braces} }}]\n{head}");
    assert_eq!(study(&inline, &[LIBRARY]), by_hand);
}

#[test]
fn a_table_that_is_written_by_hand_is_what_the_option_adds() {
    let text = with(&[], &["[[vary]]", "\"target.library\" = [\"rustls-ring\", \"openssl\"]"]);
    let by_hand = parse(&text);
    let libraries = by_hand.cells.iter().map(|cell| cell.params["target.library"].to_string());
    assert_eq!(libraries.collect::<Vec<_>>(), ["rustls-ring", "openssl"]);
    let [rule] = &by_hand.answers[..] else { panic!("{:?}", by_hand.answers) };
    assert_eq!((&*rule.compare, &*rule.baseline), ("target.library", "rustls-ring"));
    assert_eq!(study(&with(&[], &[]), &[LIBRARY]), by_hand);
}

#[test]
fn each_case_is_compared_in_the_metrics_of_its_answers() {
    let handshakes = "[[case]]\nname = \"keys\"\nload.operation = \"handshakes\"";
    let answer = |metric: &str| {
        format!(
            "[[answer]]\ncase = \"bulk\"\nmetric = \"{metric}\"\ncompare = \"load.suite\"\nbaseline = \"none\""
        )
    };
    let text = with(
        &[],
        &[
            "sweep.\"load.suite\" = [\"none\", \"TLS_AES_128_GCM_SHA256\"]",
            handshakes,
            &answer("tls-tax"),
            &answer("p99"),
            &answer("response-time"),
        ],
    );
    let study = study(&text, &["load.connections=4,8"]);
    let own = study.answers.iter().filter(|rule| rule.compare == "load.connections");
    let own: Vec<_> = own.map(|rule| (&*rule.case, rule.metric.name(), &*rule.baseline)).collect();
    assert_eq!(
        own,
        [
            ("bulk", "p99", "4"),
            ("bulk", "response-time", "4"),
            ("keys", "rate-per-server-cpu", "4")
        ]
    );
    assert_eq!(study.cells.len(), 6);
}

/// The first value is left out of one scale, all others of the other.
#[test]
fn a_scale_drops_the_answers_of_what_is_varied_as_it_drops_others() {
    let text = with(
        &[],
        &[
            "sweep.\"load.suite\" = [\"none\", \"TLS_AES_128_GCM_SHA256\"]",
            "[[answer]]\ncase = \"bulk\"\nmetric = \"p99\"\ncompare = \"load.suite\"\nbaseline = \"none\"",
            "[[vary]]\n\"target.library\" = [\"rustls-ring\", \"openssl\"]",
            "[scale.first]\nsweep.\"target.library\" = [\"rustls-ring\"]",
            "[scale.second]\nsweep.\"target.library\" = [\"openssl\"]",
            "sweep.\"load.suite\" = [\"TLS_AES_128_GCM_SHA256\"]",
        ],
    );
    let study = |scale: Option<&str>| file(&text).read(&allowed(), scale).unwrap();
    let compared = |study: &Study| {
        study.answers.iter().map(|rule| rule.compare.clone()).collect::<Vec<String>>()
    };
    let dropped =
        |study: &Study| study.cut.iter().filter(|cut| cut.kind == "fewer answers").count();
    let whole = study(None);
    assert_eq!((compared(&whole).len(), dropped(&whole)), (2, 0));
    let first = study(Some("first"));
    assert_eq!((compared(&first), dropped(&first)), (vec!["load.suite".to_owned()], 1));
    // Both are without their baseline, and one note counts both.
    let second = study(Some("second"));
    assert_eq!((compared(&second), dropped(&second)), (vec![], 1));
}

/// What `toll run` keeps is the text that says it, and an author's own words stay.
#[test]
fn several_keys_are_varied_and_the_text_says_so() {
    let text = with(&[], &["# An author's words."]);
    let file = varied(&text, &["target.tickets=true,false", "target.library-path=/opt/a,/opt/b"]);
    let file = file.unwrap();
    assert!(
        file.text.contains("# An author's words.") && file.text.matches("# --vary").count() == 2
    );
    let study = file.read(&allowed(), None).unwrap();
    assert_eq!(study, parse(&file.text));
    let values =
        |key: &str| study.cells.iter().map(|cell| cell.params[key].clone()).collect::<Vec<Param>>();
    let text = |value: &str| Param::Text(value.to_owned());
    assert_eq!(values("target.library-path")[..2], [text("/opt/a"), text("/opt/a")]);
    assert_eq!(values("target.tickets")[..2], [Param::Flag(true), Param::Flag(false)]);
    // --only chooses among them.
    let mut part = study.clone();
    crate::only(&mut part, &["library-path=/opt/b".to_owned()]).unwrap();
    assert_eq!(part.cells.len(), 2);
}

#[test]
fn every_shipped_study_with_cases_can_be_varied() {
    let machine = machine("0-7");
    for (name, _) in crate::shipped() {
        let file = StudyFile::find(name).unwrap();
        let plain = file.read(&machine, None).unwrap();
        let wanted = ["target.environment=A=1,A=2".to_owned()];
        match file.varied(&machine, None, &wanted) {
            Ok(varied) => {
                let varied = varied.read(&machine, None).unwrap();
                assert_eq!(varied.cells.len(), 2 * plain.cells.len(), "{name}");
            }
            Err(error) => assert!(plain.cells.is_empty(), "{name}: {error}"),
        }
    }
}

#[test]
fn what_cannot_be_varied_is_refused_with_what_to_do() {
    let swept = with(&[], &["sweep.\"target.library\" = [\"openssl\"]"]);
    let written = with(&[], &["target.library = \"openssl\""]);
    let plain = with(&[], &[]);
    let broken = with(&[], &["load.nonsense = 1"]);
    let included = "schema = 1\nquestion = \"?\"\ninclude = [\"quick\"]";
    let unquoted = with(&[], &["[[vary]]", "target.library = [\"openssl\", \"rustls-ring\"]"]);
    let refused = |text: &str, wanted: &str| varied(text, &[wanted]).unwrap_err().to_string();
    assert_golden!(
        [
            ("swept already", refused(&swept, LIBRARY)),
            ("written in the case", refused(&written, LIBRARY)),
            ("no value", refused(&plain, "target.library")),
            ("one value", refused(&plain, "target.library=openssl")),
            ("an empty value", refused(&plain, "target.library=openssl,")),
            ("twice", refused(&plain, "target.library=openssl,openssl")),
            ("no such key", refused(&plain, "library=openssl,rustls-ring")),
            ("no such value", refused(&plain, "target.library=openssl,openssel")),
            ("what cannot be measured", refused(&plain, "target.names=0,1")),
            ("no case", refused(included, LIBRARY)),
            ("wrong without it", refused(&broken, LIBRARY)),
            ("by hand, without quotes", refusal(&unquoted)),
        ]
        .map(|(what, why)| (what, why.chars().take(300).collect::<String>()))
    );
}

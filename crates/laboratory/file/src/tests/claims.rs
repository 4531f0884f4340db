//! Published claims in study files, and studies that include others.

use study::Metric;

use super::documents::seconds;
use super::{allowed, assert_golden, machine, parse, refusal};
use crate::StudyFile;

const STUDY: &str = r#"
schema = 1
question = "?"
reference = "xeon-e5-v3-2014"
[target]
server = "embedded"
[[primitives]]
name = "ciphers"
algorithms = ["AES-128-GCM", "AES-128-CBC-HMAC-SHA1"]
libraries = ["openssl"]
sizes = ["1KiB", "16KiB"]
[[case]]
name = "files"
load.tls = "1.2"
sweep."load.suite" = ["AES128-SHA", "AES128-GCM-SHA256"]
"#;

fn with(claim: &str) -> String {
    format!("{STUDY}[[claim]]\n{claim}")
}

#[test]
fn a_claim_names_rows_of_cases_and_of_tables() {
    let study = parse(&with(
        "published = \"nginx-large-files\"\nmetric = \"goodput\"\n\
         of = { case = \"files\", \"load.suite\" = \"AES128-GCM-SHA256\" }\n\
         over = { case = \"files\", \"load.suite\" = \"AES128-SHA\" }\nwhy = \"another CPU\"\n\
         [[claim]]\npublished = \"cipher\"\nmetric = \"cycles-per-byte\"\n\
         of = { primitives = \"ciphers\", algorithm = \"AES-128-GCM\" }\n\
         over = { primitives = \"ciphers\", algorithm = \"AES-128-CBC-HMAC-SHA1\" }",
    ));
    let [files, ciphers] = &study.claims[..] else { panic!("{:?}", study.claims) };
    let of_files = files.measured.as_ref().unwrap();
    let of = |row: &study::headline::RowOf| row.params.get("load.suite").unwrap().to_string();
    assert_eq!(of(&of_files.of), "TLS_RSA_WITH_AES_128_GCM_SHA256");
    assert_eq!((of_files.metric, files.why.as_deref()), (Metric::Goodput, Some("another CPU")));
    let row = &ciphers.measured.as_ref().unwrap().of;
    // The largest size, as in headlines.
    assert_eq!(row.params.get("size").unwrap().to_string(), "16KiB");
    let names: Vec<_> =
        study.params("ciphers").into_iter().filter(|own| row.is("ciphers", own)).collect();
    assert_eq!(names.len(), 1, "{row:?}");
}

#[test]
fn claims_that_nothing_can_decide_are_refused() {
    let gcm = "{ case = \"files\", \"load.suite\" = \"AES128-GCM-SHA256\" }";
    let refused = [
        "metric = \"goodput\"".to_owned(),
        "published = \"nginx\"\nwhy = \"w\"".to_owned(),
        "published = \"nginx-a-core\"".to_owned(),
        format!("published = \"nginx-large-files\"\nmetric = \"goodput\"\nof = {gcm}"),
        format!("published = \"nginx-a-core\"\nmetric = \"rate\"\nof = {gcm}"),
        format!(
            "published = \"nginx-a-core\"\nmetric = \"goodput-per-server-cpu\"\nof = {gcm}\nover = {gcm}"
        ),
        format!("published = \"nginx-a-core\"\nof = {gcm}"),
        format!("published = \"cipher\"\nmetric = \"cycles-per-byte\"\nof = {gcm}\nover = {gcm}"),
        "published = \"nginx-in-all\"\nmetric = \"goodput\"\nof = { case = \"flies\" }".to_owned(),
        "published = \"nginx-in-all\"\nmetric = \"goodput\"\nof = { case = \"files\", cores = 1 }"
            .to_owned(),
        "published = \"nginx-in-all\"\nmetric = \"goodput\"\nof = { case = \"files\", best = true }".to_owned(),
        "published = \"nginx-in-all\"\nwhy = \"w\"\nbecause = \"x\"".to_owned(),
    ];
    assert_golden!(refused.map(|claim| {
        let why = refusal(&with(&claim));
        (claim, why)
    }));
}

/// Why the studies that a file includes cannot be had.
fn included(folder: &std::path::Path, file: &str) -> String {
    let path = folder.join(file).display().to_string();
    let file = StudyFile::find(&path).unwrap();
    let refused =
        file.read(&allowed(), None).and_then(|study| file.included(&study, &allowed(), None));
    let message = refused.map(|all| all.len()).unwrap_err().to_string();
    assert!(!message.contains('\n'), "{message}");
    message.replace(&format!("{}/", folder.display()), "")
}

#[test]
fn what_cannot_be_included_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let text = if text.contains("[[") {
            text.to_owned()
        } else {
            format!("schema = 1\nquestion = \"?\"\n{text}")
        };
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    write("one.toml", STUDY);
    write("own-name.toml", &STUDY.replace("question", "name = \"one\"\nquestion"));
    write("itself.toml", "include = [\"itself.toml\"]");
    write("a.toml", "include = [\"b.toml\"]");
    write("b.toml", "include = [\"a.toml\"]");
    write("absent.toml", "include = [\"one.toml\", \"none.toml\"]");
    write("unknown.toml", "include = [\"gcm-vs-cbd\"]");
    write("twice.toml", "include = [\"one.toml\", \"one.toml\"]");
    write("names.toml", "include = [\"one.toml\", \"own-name.toml\"]");
    write("none.toml.toml", "include = []");
    write("cases.toml", &STUDY.replace("question", "include = [\"quick\"]\nquestion"));
    let files = [
        "itself.toml",
        "a.toml",
        "absent.toml",
        "unknown.toml",
        "twice.toml",
        "names.toml",
        "none.toml.toml",
        "cases.toml",
    ];
    assert_golden!(files.map(|file| (file, included(folder.path(), file))));
}

#[test]
fn the_papers_are_five_studies_in_three_sizes() {
    let file = StudyFile::find("papers").unwrap();
    for scale in [Some("quick"), Some("reference"), None] {
        let machine = machine("0-1");
        let study = file.read(&machine, scale).unwrap();
        let all = file.included(&study, &machine, scale).unwrap();
        assert_eq!(all.len(), 5);
        let times: Vec<f64> = all.iter().map(|(_, study)| seconds(study)).collect();
        match scale {
            Some("quick") => assert!(times.iter().sum::<f64>() < 25.0 * 60.0, "{times:?}"),
            Some(_) => assert!(times.iter().all(|time| *time < 40.0 * 60.0), "{times:?}"),
            None => {}
        }
        for (_, study) in &all {
            assert!(study.claims.len() > 3, "{}", study.name);
        }
    }
}

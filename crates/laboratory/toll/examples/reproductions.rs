//! The page `docs/reproductions.md`, from the summaries in `docs/reproductions/`: `make reproductions`. A test
//! writes it again and compares.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use answer::claims::{ClaimResult, JudgedClaim, judge};
use answer::summary::Summary;
use cpus::CpuList;
use file::StudyFile;
use jiff::Timestamp;
use observe::Machine;
use study::{Reference, Study};

/// Where the summaries are, and beside them the counts of `make bench-ktls` as it prints them.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reproductions");
const KTLS: &str = "ktls-instructions.txt";

const HEAD: &str = include_str!("reproductions.md");

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", page(Path::new(FOLDER))?);
    Ok(())
}

/// A study with the machines on which it was repeated.
struct Paper {
    study: Study,
    machines: Vec<OnMachine>,
}

struct OnMachine {
    name: String,
    summary: Summary,
    claims: Vec<JudgedClaim>,
}

fn page(folder: &Path) -> Result<String, Box<dyn Error>> {
    let papers = papers(folder)?;
    let mut text = HEAD.to_owned();
    for paper in &papers {
        write!(text, "\n{}", glance(paper))?;
    }
    for paper in &papers {
        write!(text, "\n{}", section(paper)?)?;
        let counts = folder.join(KTLS);
        if paper.study.name == "ktls" && counts.exists() {
            let counts = std::fs::read_to_string(counts)?;
            write!(
                text,
                "\nInstructions, counted in a virtual machine whose kernel has TLS (`make bench-ktls`); an instruction \
                 is not time:\n\n```\n{}\n```\n",
                counts.trim_end()
            )?;
        }
    }
    Ok(text)
}

fn papers(folder: &Path) -> Result<Vec<Paper>, Box<dyn Error>> {
    // What a claim is about does not depend on the machine that writes the page.
    let topology = "0-1".parse::<CpuList>()?.into();
    let file = StudyFile::find("papers")?;
    let included = file.included(&file.read(&topology, None)?, &topology, None)?;
    let mut files: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(files) => files.map(|file| Ok(file?.path())).collect::<Result<_, std::io::Error>>()?,
        Err(_) => Vec::new(),
    };
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let read = |file: &PathBuf| {
        let summary = Summary::read(&std::fs::read_to_string(file)?);
        summary.map_err(|error| Box::from(format!("{}: {error}", file.display())))
    };
    let summaries = files.iter().map(read).collect::<Result<Vec<Summary>, Box<dyn Error>>>()?;
    let paper = |(_, study): (StudyFile, Study)| {
        let own = summaries.iter().filter(|summary| summary.study == study.name);
        let machines = own.map(|summary| OnMachine {
            name: machine(summary.machine.as_ref()),
            claims: judge(&study.claims, &summary.rows.iter().collect::<Vec<_>>(), &summary.cut),
            summary: summary.clone(),
        });
        Paper { machines: machines.collect(), study }
    };
    Ok(included.into_iter().map(paper).collect())
}

const COLUMNS: &str = "| claim | published | here | |\n|---|---|---|---|\n";

/// Its claims in a table, of the first machine.
fn glance(Paper { study, machines }: &Paper) -> String {
    let link = format!("**[{}](#{})**", source(study), study.name);
    let Some(OnMachine { claims, name, .. }) = machines.first() else {
        return format!("{link}: not yet measured on a reference machine.\n");
    };
    let claimed = claims.iter().map(row).collect::<String>();
    format!("{link}, on {name}: {}.\n\n{COLUMNS}{claimed}", counts(claims))
}

/// How many claims hold, in a clause.
fn counts(claims: &[JudgedClaim]) -> String {
    let count = |is: fn(ClaimResult) -> bool| claims.iter().filter(|of| is(of.result)).count();
    let measured = count(|of| of != ClaimResult::NotMeasurable);
    let holds = count(|of| of == ClaimResult::Holds);
    let differs = count(|of| matches!(of, ClaimResult::DiffersLess | ClaimResult::DiffersMore));
    format!(
        "of {} claims {measured} can be measured, {holds} hold and {differs} differ",
        claims.len()
    )
}

fn section(Paper { study, machines }: &Paper) -> Result<String, Box<dyn Error>> {
    let mut text = format!("## {}\n\n{}. {}\n\n", study.name, source(study), study.question);
    writeln!(text, "```sh\ntoll run {} --scale reference\n```", study.name)?;
    if machines.is_empty() {
        writeln!(text, "\nNot yet measured on a reference machine. What is claimed:\n")?;
        for claim in &study.claims {
            writeln!(text, "- {}: {}", claim.published.what, claim.published.says)?;
        }
    }
    for OnMachine { name, summary, claims } in machines {
        let day = summary.started_unix_ms.map(day).transpose()?;
        writeln!(text, "\n### {name}, {}\n", day.as_deref().unwrap_or("on an unknown day"))?;
        writeln!(text, "{}\n", versions(summary))?;
        text += COLUMNS;
        text.extend(claims.iter().map(row));
        let why = claims.iter().filter_map(|claim| Some((claim, claim.why.as_ref()?)));
        let why: Vec<String> = why
            .map(|(JudgedClaim { what, result, .. }, why)| {
                format!("- {what}, {}: {why}.\n", result.words())
            })
            .collect();
        if !why.is_empty() {
            write!(text, "\nWhy:\n\n{}", why.concat())?;
        }
        for headline in &summary.headlines {
            write!(text, "\n{headline}\n")?;
        }
    }
    Ok(text)
}

fn row(claim: &JudgedClaim) -> String {
    let JudgedClaim { what, published, here, result, .. } = claim;
    let result = match result {
        ClaimResult::Holds => "**holds**".to_owned(),
        other => other.words().to_owned(),
    };
    let cells = [what, published, here, &result].map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | "))
}

fn source(study: &Study) -> String {
    let reference = study.reference.as_deref().and_then(|name| Reference::find(name).ok());
    reference.map_or_else(|| study.name.clone(), |reference| reference.source)
}

/// `AMD EPYC, 2 CPUs, in a virtual machine`.
fn machine(machine: Option<&Machine>) -> String {
    let Some(Machine { processor, .. }) = machine else { return "an unknown machine".to_owned() };
    let model = processor.model.known().unwrap_or(&processor.architecture);
    let cpus = processor.online_cpus.known().map(|cpus| format!(", {cpus} CPUs"));
    let is_virtual = processor.hypervisor.known().is_some_and(|of| !of.is_empty());
    let is_virtual = if is_virtual { ", a virtual machine" } else { "" };
    format!("{model}{}{is_virtual}", cpus.unwrap_or_default())
}

/// What was measured by, and at which scale.
fn versions(summary: &Summary) -> String {
    let servers = summary.targets.iter().filter_map(|target| target.version.clone());
    let libraries = summary.rows.iter().filter_map(|row| row.library.clone());
    let mut versions: Vec<String> = Vec::new();
    for version in std::iter::once(format!("toll {}", summary.toll)).chain(servers).chain(libraries)
    {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    let scale = summary.cut.iter().find_map(|cut| cut.scale.as_ref());
    let scale = scale.map_or_else(String::new, |scale| format!(" with --scale {scale}"));
    format!("Measured{scale} by {}.", versions.join("; "))
}

/// `2026-11-26`.
fn day(unix_ms: u64) -> Result<String, Box<dyn Error>> {
    Ok(Timestamp::from_millisecond(unix_ms.try_into()?)?.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reproductions.md");

    #[test]
    fn the_page_is_that_of_the_summaries() {
        let page = page(Path::new(FOLDER)).unwrap();
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            std::fs::write(PAGE, page).unwrap();
        } else {
            let written = std::fs::read_to_string(PAGE).unwrap();
            assert!(written == page, "make reproductions writes docs/reproductions.md anew");
        }
    }

    #[test]
    fn a_paper_without_a_summary_has_no_figures() {
        let page = page(Path::new("/nowhere")).unwrap();
        assert_eq!(page.matches("not yet measured on a reference machine").count(), 5);
        assert_eq!(page.matches("\n## ").count(), 6);
        assert!(!page.contains("holds**"), "{page}");
    }
}

//! Flame graphs: a still picture of each cell in the page, and a link to the whole graph in the result
//! folder.
//!
//! The whole graph is about ten times as large, for its narrow frames and its script. A picture in an
//! image element runs no script and asks for nothing, whatever the functions of a server are called.

use journal::Role;
use minijinja::context;
use minijinja::value::Value;
use units::thousands;

use crate::run::Run;

/// All pictures of a page together, in bytes: a page is to stay small enough to be sent around.
const MOST: usize = 2_000_000;

/// Those of all cells that have stacks: as a data URL where there is room for it, or why the stacks are not
/// the cell's.
pub(super) fn flames(run: &Run<'_>) -> Vec<Value> {
    let mut room = MOST;
    let titles = run.findings.evidence.iter();
    let flame = |(cell, title): &(String, String)| {
        let (_, folded) = run.stacks.iter().find(|(of, _)| of == cell)?;
        let count = profile::count(folded);
        let wrong = wrong(run, cell, count);
        let picture = profile::flame_picture(folded, title).filter(|_| wrong.is_none());
        let picture = picture.map(|svg| data_url(&svg)).filter(|url| url.len() <= room);
        room -= picture.as_ref().map_or(0, String::len);
        Some(context! { cell, title, samples => thousands(count), picture, wrong })
    };
    titles.filter_map(flame).collect()
}

/// Whether these are other stacks than those of the last trial in which the cell was sampled.
fn wrong(run: &Run<'_>, cell: &str, count: u64) -> Option<String> {
    let is_profile = |place: &journal::Place| place.role == Role::Profile && place.cell == cell;
    let mut trials = run.lines.iter().rev().filter(|trial| is_profile(&trial.place));
    let known = trials.find_map(|trial| trial.line.profile.as_ref()).map(profile::Profile::samples);
    let journal = match known {
        Some(known) if known == count => return None,
        Some(known) => format!("{} samples of this cell", thousands(known)),
        None => "no samples of this cell".to_owned(),
    };
    let count = thousands(count);
    Some(format!(
        "profile/{cell}.folded has {count} samples, and the journal {journal}: it belongs to another trial, \
         so it is not drawn."
    ))
}

/// An SVG as a URL (RFC 2397); what is no letter, digit or harmless sign is written in hexadecimal.
pub(super) fn data_url(svg: &str) -> String {
    let mut url = "data:image/svg+xml,".to_owned();
    for byte in svg.bytes() {
        match byte.is_ascii_alphanumeric() || b" -_.,:;=()".contains(&byte) {
            true => url.push(byte.into()),
            false => url += &format!("%{byte:02X}"),
        }
    }
    url
}

//! `[[rank]]`, which says where the load is made, and `load.ranks`, how many of them make it.

use std::net::IpAddr;
use std::num::NonZeroU32;

use ::keys::WrongValue;
use load::{Plan, Rank, Source as From};
use peers::Peer;
use targets::Target;

use super::check::refused_by_client;
use super::draft::Draft;
use super::error::Flaw;
use super::fields::Field;

pub(super) const NAME: &str = "rank";

/// A rank, and where the file says so.
pub(super) struct WrittenRank {
    pub(super) place: Rank,
    line: usize,
}

/// The ranks of a study, in the order of the file.
pub(super) fn check(fields: Field<'_>, places: Vec<Rank>) -> Result<Vec<WrittenRank>, Flaw> {
    let mut ranks: Vec<WrittenRank> = Vec::new();
    for (fields, place) in fields.tables(NAME)?.into_iter().zip(places) {
        if !is_host(&place.host) {
            return Err(fields.field("host")?.wrong(
                "is not a valid name for a machine; write one such as lg1, and its user in the \
                 configuration of ssh",
            ));
        }
        let shares_a_cpu = |other: &&WrittenRank| {
            let own = &other.place.cpus;
            other.place.host == place.host && own.without(&place.cpus).as_ref() != Some(own)
        };
        if let Some(other) = ranks.iter().find(shares_a_cpu) {
            let what = format!(
                "has a CPU of {} that the rank of line {} has too; give each its own",
                place.host, other.line
            );
            return Err(fields.field("cpus")?.wrong(&what));
        }
        ranks.push(WrittenRank { place, line: fields.line() });
    }
    Ok(ranks)
}

/// Names and addresses; MPI takes a colon or a comma for the begin of something else.
fn is_host(host: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !host.is_empty() && !host.starts_with('-') && host.chars().all(fits)
}

/// Writes into a plan how many of the ranks make its load, and refuses what they cannot.
pub(super) fn settle(
    draft: &Draft<'_>,
    target: &Target,
    load: &mut Plan,
    ranks: &[WrittenRank],
) -> Result<(), Flaw> {
    let count = match (load.ranks, ranks.len()) {
        (None, 0) => return Ok(()),
        (None, all) => all,
        (Some(asked), all) if asked.get() as usize > all => {
            let what =
                format!("load.ranks = {asked}, but the study has {all} [[{NAME}]]; write more");
            return Err(draft.load.flaw("ranks", what));
        }
        (Some(asked), _) => asked.get() as usize,
    };
    load.ranks = u32::try_from(count).ok().and_then(NonZeroU32::new);
    if let Some(cpus) = draft.load.field("cpus") {
        return Err(cpus.flaw(
            "has no effect where ranks make the load, which have CPUs of their own; leave it out",
        ));
    }
    let conflicts = load.conflicts();
    if let Some(conflict) = conflicts.iter().find(|conflict| conflict.cause == "ranks") {
        let what = format!("load.{}: ranks {}; leave it out", conflict.key, conflict.why);
        return Err(draft.load.flaw(conflict.key, what));
    }
    let ranks = &ranks[..count];
    let places: Vec<Rank> = ranks.iter().map(|rank| rank.place.clone()).collect();
    let shares = load
        .shared(&places)
        .map_err(|WrongValue { key, why }| draft.load.flaw(key, format!("load.{why}")))?;
    let known = addresses(target);
    for (rank, share) in ranks.iter().zip(&shares) {
        if let Some(known) = &known {
            rank.place.loads(known).map_err(|why| Flaw::at(rank.line, why))?;
        }
        check_client(target, share).map_err(|why| Flaw::at(rank.line, why))?;
    }
    Ok(())
}

/// The addresses at which a server listens; `None` where that takes a look at a name server.
fn addresses(target: &Target) -> Option<Vec<IpAddr>> {
    match &target.url {
        Some(url) => Some(vec![url.host().parse().ok()?]),
        // The address that ssh comes in by.
        None if target.host.is_some() && target.listen.is_empty() => None,
        None => Some(target.addresses()),
    }
}

/// Other programs have fewer ways, and only ab chooses an address.
fn check_client(target: &Target, share: &Plan) -> Result<(), String> {
    let Some(peer) = Peer::of(share.client) else { return Ok(()) };
    let can_bind = share.client == load::Client::Ab;
    if let Some(source) =
        share.source.iter().find(|source| !can_bind || matches!(source, From::Interface(_)))
    {
        let what = if can_bind { "an address" } else { "no source" };
        return Err(format!("rank.source = {source}, but {peer} takes {what}; change one"));
    }
    // Whether the source is there is known on the rank's machine.
    refused_by_client(target, &Plan { source: Vec::new(), ..share.clone() })
}

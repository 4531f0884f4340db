//! One rank's share of a job, with the files that it needs in it.

use std::fs;
use std::net::SocketAddr;

use load::{Files, Job, Mix, Plan, Rank, Trust, Url};
use peers::{Offer, Peer};
use serde::{Deserialize, Serialize};

/// One rank's share of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Share {
    plan: Plan,
    url: Url,
    objects: Option<Mix>,
    files: Option<Files>,
    address: SocketAddr,
    trust: Trusted,
    seed: u64,
    /// The text of the plan's session file, where it has one of its own.
    session: Option<String>,
    /// Whether the server offers what the plan asks for and nothing else.
    is_offered_alone: bool,
}

/// [`Trust`] without a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Trusted {
    Anyone,
    System,
    /// In PEM form.
    Certificates(String),
}

impl Share {
    /// The share of each rank. Each has a seed of its own: equal jobs load alike.
    ///
    /// # Errors
    /// There is too little to share, or a file cannot be read.
    pub(crate) fn of(job: &Job, ranks: &[Rank], offer: Offer) -> Result<Vec<Self>, String> {
        let plans = job.plan.shared(ranks)?;
        let trust = match &job.trust {
            Trust::Anyone => Trusted::Anyone,
            Trust::System => Trusted::System,
            Trust::File(path) => Trusted::Certificates(
                fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?,
            ),
        };
        let own = job.plan.session.as_ref().filter(|session| !load::is_built_in(session));
        let session = own.map(|path| load::session_text(path)).transpose()?;
        let share = |(number, (plan, rank)): (u64, (Plan, &Rank))| {
            let address = SocketAddr::new(rank.to.unwrap_or(job.address.ip()), job.address.port());
            // Other programs connect to what the URL says.
            let url = match Peer::of(plan.client) {
                Some(_) => Url::at(job.url.is_tls(), address, job.url.path()),
                None => job.url.clone(),
            };
            Self {
                plan: Plan { ca: None, ..plan },
                url,
                objects: job.objects.clone(),
                files: job.files,
                address,
                trust: trust.clone(),
                seed: job.seed.wrapping_add(number.wrapping_mul(SEEDS)),
                session: session.clone(),
                is_offered_alone: offer == Offer::AsPlanned,
            }
        };
        Ok((0..).zip(plans.into_iter().zip(ranks)).map(share).collect())
    }

    /// The job, with the folder of its files, which goes when that is dropped.
    ///
    /// # Errors
    /// The files cannot be written.
    #[cfg(feature = "mpi")]
    pub(crate) fn job(self) -> std::io::Result<(Job, Offer, tempfile::TempDir)> {
        let folder = tempfile::tempdir()?;
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).map(|()| path)
        };
        let mut plan = self.plan;
        if let Some(text) = &self.session {
            plan.session = Some(write("session.toml", text)?);
        }
        let trust = match &self.trust {
            Trusted::Anyone => Trust::Anyone,
            Trusted::System => Trust::System,
            Trusted::Certificates(text) => Trust::File(write("certificates.pem", text)?),
        };
        let job = Job {
            objects: self.objects,
            files: self.files,
            trust,
            seed: self.seed,
            ..Job::new(plan, self.url, self.address)
        };
        let offer = if self.is_offered_alone { Offer::AsPlanned } else { Offer::Anything };
        Ok((job, offer, folder))
    }

    /// What the rank does.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The server that it loads.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Between the seeds of two ranks: odd, so that none comes twice.
const SEEDS: u64 = 0x9e37_79b9_7f4a_7c15;

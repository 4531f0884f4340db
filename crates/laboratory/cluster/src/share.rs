//! One rank's share of a job, with the files that it needs in it.

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;

use load::{Job, Plan, Rank, Trust, Url};
use peers::{Offer, Peer};
use serde::{Deserialize, Serialize};
use targets::ClientPem;

/// One rank's share of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Share {
    /// Its files are those of toll's machine, whose texts follow.
    pub(crate) job: Job,
    /// Of the plan's session file, where it has one of its own.
    session: Option<String>,
    /// Of the certificates that are accepted, in PEM form, where they are in a file.
    certificates: Option<String>,
    /// With what its connections authenticate themselves.
    client: Option<ClientPem>,
    /// Whether the server offers what the plan asks for and nothing else.
    is_offered_alone: bool,
}

impl Share {
    /// The share of each rank. Each has a seed of its own: equal jobs load alike.
    ///
    /// # Errors
    /// There is too little to share, or a file cannot be read.
    pub(crate) fn of(job: &Job, ranks: &[Rank], offer: Offer) -> Result<Vec<Self>, String> {
        let plans = job.plan.shared(ranks).map_err(|wrong| wrong.why)?;
        let names = job.drawn_names().map_err(|error| error.to_string())?;
        let client = match (&job.plan.client_certificate, &job.plan.client_key) {
            (Some(certificate), Some(key)) => Some(ClientPem::read(certificate, key)?),
            _ => None,
        };
        let certificates = match &job.trust {
            Trust::Anyone | Trust::System => None,
            Trust::File(path) => Some(
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
                job: Job {
                    plan: Plan { ca: None, names: None, ..plan },
                    url,
                    address,
                    seed: job.seed.wrapping_add(number.wrapping_mul(SEEDS)),
                    names: names.clone(),
                    is_of_rank: true,
                    ..job.clone()
                },
                session: session.clone(),
                certificates: certificates.clone(),
                client: client.clone(),
                is_offered_alone: offer == Offer::AsPlanned,
            }
        };
        Ok((0..).zip(plans.into_iter().zip(ranks)).map(share).collect())
    }

    /// The job, with its files, which it can read as long as these are open.
    ///
    /// # Errors
    /// The files cannot be written.
    pub(crate) fn job(self) -> io::Result<(Job, Offer, Vec<File>)> {
        let mut files = Vec::new();
        let mut write = |text: &str| {
            let (path, file) = targets::unnamed(text)?;
            files.push(file);
            io::Result::Ok(path)
        };
        let mut job = self.job;
        if let Some(text) = &self.session {
            job.plan.session = Some(write(text)?);
        }
        if let Some(client) = &self.client {
            job.plan.client_certificate = Some(write(&client.certificate)?);
            job.plan.client_key = Some(write(client.key.pem())?);
        }
        if let Some(text) = &self.certificates {
            job.trust = Trust::File(write(text)?);
        }
        let offer = if self.is_offered_alone { Offer::AsPlanned } else { Offer::Anything };
        Ok((job, offer, files))
    }
}

/// Between the seeds of two ranks: odd, so that none comes twice.
const SEEDS: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use load::HostName;

    #[test]
    fn the_files_of_a_share_have_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let [session, certificates, client, key, list] =
            ["session.toml", "ca.pem", "client.pem", "client.key", "names"]
                .map(|name| folder.path().join(name));
        let page = "schema = 1\n[[page]]\nname = \"all\"\nget = \"/\"\ncontains = \"hello\"\n";
        fs::write(&session, page).unwrap();
        fs::write(&certificates, "not looked at").unwrap();
        fs::write(&client, "a certificate").unwrap();
        fs::write(&key, "a secret").unwrap();
        fs::write(&list, "b.example\na.example\n").unwrap();
        let plan = Plan {
            session: Some(session.clone()),
            client_certificate: Some(client.clone()),
            client_key: Some(key.clone()),
            names: Some(list),
            ..Plan::default()
        };
        let url = "https://127.0.0.1/".parse().unwrap();
        let job = Job {
            trust: Trust::File(certificates.clone()),
            ..Job::new(plan, url, ([127, 0, 0, 1], 443).into())
        };
        let place = Rank { host: "lg1".into(), cpus: 0.into(), source: None, to: None };
        let share = Share::of(&job, &[place], Offer::Anything).unwrap().remove(0);

        // What it shows where it is printed; what it is sent as has the key.
        assert!(!format!("{share:?}").contains("a secret"));
        assert!(serde_json::to_string(&share).unwrap().contains("a secret"));
        let (its, _, files) = share.job().unwrap();
        assert_eq!(its.plan.names, None);
        assert_eq!(
            its.names.iter().map(HostName::as_str).collect::<Vec<_>>(),
            ["b.example", "a.example"]
        );
        let Trust::File(trusted) = its.trust else { panic!("{:?}", its.trust) };
        for (path, of) in [
            (its.plan.session.unwrap(), session),
            (trusted, certificates),
            (its.plan.client_certificate.unwrap(), client),
            (its.plan.client_key.unwrap(), key),
        ] {
            assert_eq!(fs::read(&path).unwrap(), fs::read(of).unwrap());
            // What the path leads to was removed, or never had a name.
            let metadata = fs::metadata(&path).unwrap();
            assert_eq!(
                (metadata.nlink(), metadata.mode() & 0o777),
                (0, 0o600),
                "{}",
                path.display()
            );
        }
        assert_eq!(files.len(), 4);
    }
}

//! What a dry run shows of the servers: the commands that would start them.

use std::path::Path;

use study::{Only, Study};
use targets::{Settings, Target};
use tls::Version;

/// The commands that would be started for the study's servers, in the order of starting, with the
/// places that they would have in the result folder; `objects` stands for the folder of the objects.
/// Where a server is not installed, that is said instead.
pub fn commands(study: &Study, objects: &str, folder: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut command = |(target, only): (Target, Only)| {
        let server = target.server;
        if !server.is_started() {
            return format!("none for {server}: it runs already");
        };
        let settings = settings(&target, only);
        if let Some(host) = &target.host {
            let (root, folder) = (Path::new("OBJECTS"), Path::new("FOLDER"));
            let command = targets::command(server, &settings, root, folder, server.name());
            return format!("on {host}: {}", command.unwrap_or_default());
        }
        let number = names.iter().filter(|name| *name == server.name()).count() + 1;
        names.push(server.name().to_owned());
        let name = match number {
            1 => server.name().to_owned(),
            _ => format!("{server}-{number}"),
        };
        server
            .find(&settings)
            .and_then(|_| {
                targets::command(server, &settings, objects.as_ref(), folder.as_ref(), &name)
            })
            .unwrap_or_else(|| format!("{server}: not installed"))
    };
    let study::Hosts { shell, silence, .. } = &study.hosts;
    let agents = study.remote_cpus().into_keys().map(|host| shell.words(&host, *silence).join(" "));
    agents.chain(study.servers().into_iter().map(|(setup, _)| command(setup))).collect()
}

/// All versions, suites and groups of the server's own choice, where it is to choose: what a cell
/// wants, its client asks for.
pub(super) fn settings(target: &Target, only: Only) -> Settings {
    let Only { version, suite, group, in_callgrind } = only;
    Settings {
        versions: version.map_or_else(|| vec![Version::Tls12, Version::Tls13], |only| vec![only]),
        suites: suite.into_iter().collect(),
        groups: group.into_iter().collect(),
        in_callgrind,
        ..Settings::of(target.clone())
    }
}

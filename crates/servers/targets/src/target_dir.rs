//! The folders of one target inside the result folder.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use objects::HostName;
use tls::{AskClient, Authority, Identity};

use crate::secret::Secret;
use crate::{ClientFiles, Settings, Target, TargetError};

/// Servers of one kind in one result folder before something must be wrong.
const MOST: usize = 10_000;

/// The file of a target's certificate, in its folder.
pub(crate) const CERTIFICATE: &str = "server.crt";
pub(crate) const KEY: &str = "server.key";
/// The authority of the client's certificate, that certificate, and its key, where the server asks for one.
pub(crate) const CLIENT_AUTHORITY: &str = "client-ca.crt";
const CLIENT_CERTIFICATE: &str = "client.crt";
const CLIENT_KEY: &str = "client.key";
/// That of what signed the certificates of its names, where it has some.
pub(crate) const AUTHORITY: &str = "authority.crt";
/// The folder of those, `NAME.crt`; beside each, `NAME.crt.key` leads to the one key, as HAProxy wants it.
pub(crate) const NAMES: &str = "names";

/// A target's name and its folders, which no other target has. All paths are absolute.
pub(crate) struct TargetDir {
    /// `nginx`, then `nginx-2` ...
    pub(crate) name: String,
    /// For what the server writes.
    pub(crate) logs: PathBuf,
    /// For what toll writes: key, certificate, configuration.
    pub(crate) folder: PathBuf,
    /// Its private key in PEM form, for each of its processes.
    key_pem: Vec<u8>,
    /// The key of the certificate with which clients are to authenticate themselves.
    client_key_pem: Option<Vec<u8>>,
}

/// Without the key.
impl fmt::Debug for TargetDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TargetDir").field("name", &self.name).finish_non_exhaustive()
    }
}

impl TargetDir {
    /// Makes the folders of a new target in the result folder, and a fresh key with its certificate.
    pub(crate) fn claim(
        result_folder: &Path,
        kind: &str,
        settings: &Settings,
    ) -> Result<Self, TargetError> {
        let result_folder =
            std::path::absolute(result_folder).map_err(TargetError::file(result_folder))?;
        let targets = result_folder.join("targets");
        fs::create_dir_all(&targets).map_err(TargetError::file(&targets))?;
        for number in 1..=MOST {
            let name = if number == 1 { kind.to_owned() } else { format!("{kind}-{number}") };
            let folder = targets.join(&name);
            match fs::create_dir(&folder) {
                Ok(()) => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(TargetError::file(&folder)(e)),
            }
            let logs = result_folder.join("logs").join(&name);
            fs::create_dir_all(&logs).map_err(TargetError::file(&logs))?;
            let Target { certificate_key, client_certificate_key, listen, .. } = &settings.target;
            let identity = Identity::generate_for(*certificate_key, listen)?;
            identity.write_certificate(&folder.join(CERTIFICATE))?;
            if let Some(count) = settings.target.names {
                certify_names(count, &identity, &folder)?;
            }
            let client_key_pem = match settings.target.client_certificate {
                AskClient::None => None,
                AskClient::Ask | AskClient::Require => {
                    let (client, authority) = Identity::issued_client(*client_certificate_key)?;
                    let path = folder.join(CLIENT_AUTHORITY);
                    fs::write(&path, authority).map_err(TargetError::file(&path))?;
                    client.write_certificate(&folder.join(CLIENT_CERTIFICATE))?;
                    Some(client.key_pem)
                }
            };
            return Ok(Self { name, logs, folder, key_pem: identity.key_pem, client_key_pem });
        }
        Err(TargetError::Settings(format!(
            "{} holds {MOST} targets already; use another result folder",
            targets.display()
        )))
    }

    /// Writes the keys for a process, which they go with.
    pub(crate) fn write_keys(&self) -> Result<Vec<Secret>, TargetError> {
        let client = self.client_key_pem.iter().map(|pem| (CLIENT_KEY, pem));
        [(KEY, &self.key_pem)]
            .into_iter()
            .chain(client)
            .map(|(name, pem)| {
                let path = self.folder.join(name);
                Secret::write(path.clone(), pem).map_err(TargetError::file(&path))
            })
            .collect()
    }

    /// The files with which clients are to authenticate themselves, where the server asks for that.
    pub(crate) fn client(&self) -> Option<ClientFiles> {
        let file = |name| self.folder.join(name);
        (self.client_key_pem.is_some())
            .then(|| ClientFiles { certificate: file(CLIENT_CERTIFICATE), key: file(CLIENT_KEY) })
    }

    /// The file of what clients are to trust.
    pub(crate) fn trusted(&self, settings: &Settings) -> PathBuf {
        self.folder.join(if settings.target.names.is_some() { AUTHORITY } else { CERTIFICATE })
    }

    /// A new file for what the server prints, and its path.
    pub(crate) fn log(&self, name: &str) -> Result<(PathBuf, File), TargetError> {
        let path = self.logs.join(name);
        let file = File::create(&path).map_err(TargetError::file(&path))?;
        Ok((path, file))
    }
}

/// Writes a certificate for each name of a server, and that of what signed them.
fn certify_names(count: NonZeroU32, of: &Identity, folder: &Path) -> Result<(), TargetError> {
    let authority = Authority::generate()?;
    let write =
        |path: PathBuf, text: &[u8]| fs::write(&path, text).map_err(TargetError::file(&path));
    write(folder.join(AUTHORITY), &authority.certificate_pem)?;
    let names = folder.join(NAMES);
    fs::create_dir(&names).map_err(TargetError::file(&names))?;
    let all: Vec<HostName> = objects::names(count).collect();
    let certificates = authority.certify(all.iter().map(HostName::as_str), &of.key_pem)?;
    for (name, certificate) in all.iter().zip(certificates) {
        write(names.join(format!("{name}.crt")), &certificate)?;
        let link = names.join(format!("{name}.crt.key"));
        std::os::unix::fs::symlink(folder.join(KEY), &link).map_err(TargetError::file(&link))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let mut settings = Settings::new(cpus::CpuList::from(0));
        // An RSA key takes half a second to make.
        settings.target.certificate_key = tls::CertificateKey::EcdsaP256;
        settings
    }

    #[test]
    fn a_second_server_of_a_kind_gets_folders_of_its_own() {
        let result = tempfile::tempdir().unwrap();
        let claim = |_| TargetDir::claim(result.path(), "nginx", &settings()).unwrap().name;
        let names: Vec<String> = (0..3).map(claim).collect();
        assert_eq!(names, ["nginx", "nginx-2", "nginx-3"]);
        assert!(result.path().join("logs/nginx-3").is_dir());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let result = tempfile::tempdir().unwrap();
        let file = result.path().join("file");
        fs::write(&file, "").unwrap();
        let error = TargetDir::claim(&file, "nginx", &settings()).unwrap_err();
        assert!(
            matches!(&error, TargetError::File { path, .. } if path.starts_with(&file)),
            "{error}"
        );
    }
}

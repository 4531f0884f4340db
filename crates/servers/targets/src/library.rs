//! Which TLS library a server really runs on: what the kernel has mapped into its process. What a
//! server was built with, and what its path says, are not proof of that.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use object::{Object, ObjectSymbol};
use offload::ProviderPath;
use procfs::process::Process;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use tls::{Group, Stack};

use crate::TargetError;

/// OpenSSL's two libraries, the one that has a version in it first.
pub(crate) const OPENSSL: [&str; 2] = ["libcrypto.so", "libssl.so"];
/// The text before the number in the version string of a library.
const FAMILIES: [&str; 3] = ["OpenSSL ", "LibreSSL ", "AWS-LC "];
/// The first OpenSSL that has groups with ML-KEM.
const FIRST_WITH_ML_KEM: (u32, u32) = (3, 5);

/// The word for the OpenSSL of `make openssl`.
const BUILT: &str = "openssl-built";
/// Where that lies, in `target`.
const BUILT_FOLDER: &str = "openssl/lib";

/// The TLS library that a server should run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub enum TlsLibrary {
    /// One that it has; its OpenSSL is that of the target's `library-path`.
    Own(Stack),
    /// The newer OpenSSL that `make openssl` builds.
    Built,
}

impl TlsLibrary {
    /// The files that it is made of, by the start of their names, the one that has a version in it first.
    pub(crate) fn files(self) -> Vec<&'static str> {
        self.stack().file().map_or_else(|| OPENSSL.to_vec(), |file| vec![file])
    }

    /// The same, whatever its version is.
    pub fn stack(self) -> Stack {
        match self {
            Self::Own(stack) => stack,
            Self::Built => Stack::OpenSsl,
        }
    }
}

impl Default for TlsLibrary {
    fn default() -> Self {
        Self::Own(Stack::OpenSsl)
    }
}

impl fmt::Display for TlsLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(stack) => stack.fmt(f),
            Self::Built => f.write_str(BUILT),
        }
    }
}

impl FromStr for TlsLibrary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            BUILT => Ok(Self::Built),
            _ => text.parse().map(Self::Own).map_err(|error| format!("{error}, or {BUILT}")),
        }
    }
}

/// The first folder that has it, or where it is looked for first.
pub(crate) fn built_folder() -> PathBuf {
    let mut folders: Vec<_> = shared_library::build_folders()
        .into_iter()
        .map(|folder| folder.join(BUILT_FOLDER))
        .collect();
    let place = folders.iter().position(|folder| folder.is_dir()).unwrap_or(0);
    folders.swap_remove(place)
}

/// A library that a process has mapped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedLibrary {
    pub path: PathBuf,
    /// The version in the file, such as `OpenSSL 3.0.22`, where it has one.
    pub version: Option<String>,
}

impl MappedLibrary {
    /// Whether this file is one of that folder, or one that a link in the folder leads to.
    pub fn is_from(&self, folder: &Path) -> bool {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = file.find(".so").map(|end| &file[..end + ".so".len()]);
        name.is_some_and(|name| is_of(&self.path, folder, name))
    }

    /// Whether it is an OpenSSL without this group. No, where its version is not known.
    pub fn lacks(&self, group: Group) -> bool {
        let number = || {
            let mut parts = self.version.as_deref()?.strip_prefix("OpenSSL ")?.split('.');
            Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
        };
        group.is_of_tls13_only() && number().is_some_and(|number| number < FIRST_WITH_ML_KEM)
    }

    /// Whether it is the file of this name, whatever follows that.
    pub fn is(&self, name: &str) -> bool {
        self.path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name))
    }
}

impl fmt::Display for MappedLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match &self.version {
            Some(version) => write!(f, " ({version})"),
            None => Ok(()),
        }
    }
}

/// The libraries of these names that a process has mapped or, where it has none, a descendant of it:
/// a command may be a shell that starts the server. None where they are linked statically, where the
/// server runs on something else, and where it is another user's.
pub(crate) fn mapped_by_tree(pid: u32, names: &[&str]) -> Vec<MappedLibrary> {
    let of_process = mapped(pid, names).unwrap_or_default();
    if !of_process.is_empty() {
        return of_process;
    }
    let of_children = children(pid).into_iter().map(|child| mapped_by_tree(child, names));
    of_children.into_iter().find(|libraries| !libraries.is_empty()).unwrap_or_default()
}

/// The children of all threads of a process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let tasks = Process::new(pid.cast_signed()).and_then(|process| process.tasks());
    let tasks = tasks.into_iter().flatten().flatten();
    tasks.filter_map(|task| task.children().ok()).flatten().collect()
}

/// What a program calls in libssl for the handshakes of QUIC, by a function that it imports: OpenSSL's own (from 3.5 on),
/// or BoringSSL's, which quictls and AWS-LC have too.
const QUIC_APIS: [(&str, &str); 2] = [
    ("SSL_set_quic_tls_cbs", "OpenSSL's QUIC TLS callbacks (SSL_set_quic_tls_cbs)"),
    ("SSL_provide_quic_data", "BoringSSL's QUIC functions (SSL_provide_quic_data)"),
];
/// A program with such a layer may define functions of these names itself.
const QUIC_COMPAT: &str = "none of libssl's functions (a layer of its own over OpenSSL's TLS)";

/// By which of them the program that a process runs serves QUIC; `None` where its file is not to be seen.
pub(crate) fn quic_api(pid: u32, binary: &Path) -> Option<String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let path = path_in(&maps, binary.file_name()?.to_str()?)?;
    let program = fs::read(seen_by(pid, &path)).ok()?;
    let imported = imports(&program)?;
    let api = QUIC_APIS.iter().find(|(name, _)| imported.iter().any(|import| import == name));
    Some(api.map_or(QUIC_COMPAT, |(_, api)| api).to_owned())
}

/// The functions that a program takes from libraries; `None` where it is no ELF file.
fn imports(program: &[u8]) -> Option<Vec<String>> {
    let file = object::File::parse(program).ok()?;
    let imported = file.dynamic_symbols().filter(ObjectSymbol::is_undefined);
    Some(imported.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect())
}

/// A file as a process sees it: its path may lead to another one here.
fn seen_by(pid: u32, path: &Path) -> PathBuf {
    Path::new(&format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path))
}

fn mapped(pid: u32, names: &[&str]) -> io::Result<Vec<MappedLibrary>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let paths = names.iter().filter_map(|name| path_in(&maps, name));
    let version = |path: &Path| version_of(&seen_by(pid, path));
    Ok(paths.map(|path| MappedLibrary { version: version(&path), path }).collect())
}

/// The first mapped file whose name begins so.
fn path_in(maps: &str, name: &str) -> Option<PathBuf> {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|start| &line[start..]));
    let of_name = |path: &&str| path.rsplit('/').next().is_some_and(|file| file.starts_with(name));
    paths.map(|path| path.strip_suffix(" (deleted)").unwrap_or(path)).find(of_name).map(Into::into)
}

/// The device and the inode of a file, and when it was changed.
type Identity = (u64, u64, SystemTime);

/// Read once as long as the file stays the same: it has megabytes, and its server may be started again
/// each round.
fn version_of(path: &Path) -> Option<String> {
    static READ: Mutex<Vec<(Identity, Option<String>)>> = Mutex::new(Vec::new());
    let file = fs::metadata(path).ok()?;
    let identity = (file.dev(), file.ino(), file.modified().ok()?);
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, version)) = read.iter().find(|(of, _)| *of == identity) {
        return version.clone();
    }
    let content = fs::read(path).ok()?;
    let version = FAMILIES.iter().find_map(|family| version_in(&content, family));
    read.push((identity, version.clone()));
    version
}

/// `OpenSSL 3.0.22` of `OpenSSL 3.0.22 25 Aug 2026` among other bytes.
fn version_in(content: &[u8], family: &str) -> Option<String> {
    let is_version = |place: &usize| {
        let rest = &content[place + family.len()..];
        content[*place..].starts_with(family.as_bytes())
            && rest.first().is_some_and(u8::is_ascii_digit)
    };
    let last = content.len().checked_sub(family.len())?;
    let start = (0..last).filter(|at| content[*at] == family.as_bytes()[0]).find(is_version)?;
    let number = &content[start + family.len()..];
    let end = number.iter().position(|byte| !byte.is_ascii_graphic())?;
    let number = std::str::from_utf8(&number[..end]).ok()?;
    Some(format!("{family}{number}"))
}

/// Whether there is a library to run a server on in this folder.
pub(crate) fn check_folder(folder: &Path, library: TlsLibrary) -> Result<(), TargetError> {
    let looked = folder.display();
    match library {
        _ if library.files().into_iter().any(|name| has(folder, name)) => Ok(()),
        TlsLibrary::Built => Err(TargetError::NotBuilt {
            what: "a newer OpenSSL",
            looked: looked.to_string(),
            command: "make openssl",
        }),
        TlsLibrary::Own(_) => Err(TargetError::Settings(format!(
            "{looked} holds no {}; name the folder of a shared {} in library-path",
            library.files().join(" and no "),
            if library.stack().file().is_some() { library.stack().name() } else { "OpenSSL" },
        ))),
    }
}

fn has(folder: &Path, name: &str) -> bool {
    files(folder, name).next().is_some()
}

/// The files of a folder whose names begin so.
fn files(folder: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(move |entry| entry.file_name().to_string_lossy().starts_with(name))
        .map(|entry| entry.path())
}

/// Refuses a server that runs on another library than that of the given folder.
pub(crate) fn check_mapped(
    server: &str,
    folder: &Path,
    library: TlsLibrary,
    mapped: &[MappedLibrary],
) -> Result<(), TargetError> {
    for name in library.files() {
        let is_wanted = has(folder, name);
        let why = match mapped.iter().find(|library| library.is(name)) {
            Some(library) if !is_wanted || is_of(&library.path, folder, name) => continue,
            Some(library) => format!("it has mapped {library} instead"),
            None if is_wanted => {
                format!("it has mapped no {name} (a program that is linked statically takes none)")
            }
            None => continue,
        };
        return Err(TargetError::Library {
            name: server.to_owned(),
            folder: folder.to_owned(),
            why,
        });
    }
    Ok(())
}

/// Refuses a server that has not loaded its provider.
pub(crate) fn check_provider(
    server: &str,
    pid: u32,
    provider: &ProviderPath,
) -> Result<(), TargetError> {
    let path = fs::canonicalize(provider.path()).unwrap_or_else(|_| provider.path().to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match mapped_by_tree(pid, &[&name]).iter().any(|library| library.path == path) {
        true => Ok(()),
        false => Err(TargetError::Settings(format!(
            "{server} has not loaded the provider {}: its OpenSSL refuses it",
            path.display()
        ))),
    }
}

/// Whether a mapped file lies in the folder, or a link in the folder leads to it.
fn is_of(path: &Path, folder: &Path, name: &str) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    path.starts_with(real(folder)) || files(folder, name).any(|file| real(&file) == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0 r-xp 00000000 08:01 17   /usr/sbin/nginx
7f00 r--p 00000000 08:01 18   /opt/my ssl/libcrypto.so.3 (deleted)
7f10 r-xp 00001000 08:01 18   /opt/my ssl/libcrypto.so.3 (deleted)
7f20 rw-p 00000000 00:00 0
7f30 r-xp 00001000 08:01 19   /usr/lib/libssl.so.3
7ffc rw-p 00000000 00:00 0    [stack]
";

    /// What a library defines is no import of it: HAProxy and nginx may define functions of QUIC themselves.
    #[test]
    fn a_function_is_imported_or_defined() {
        let mapped = mapped(std::process::id(), &OPENSSL).unwrap();
        let imports = |name: &str| {
            let library = mapped.iter().find(|library| library.is(name)).unwrap();
            imports(&fs::read(&library.path).unwrap()).unwrap()
        };
        let function = "EVP_DigestInit_ex".to_owned();
        assert!(imports("libssl.so").contains(&function));
        assert!(!imports("libcrypto.so").contains(&function));
        assert_eq!(super::imports(b"#!/bin/sh"), None);
        let own = quic_api(std::process::id(), &std::env::current_exe().unwrap());
        assert_eq!(own.as_deref(), Some(QUIC_COMPAT));
    }

    #[test]
    fn mapped_files_are_found_by_name() {
        assert_eq!(path_in(MAPS, "libcrypto.so"), Some("/opt/my ssl/libcrypto.so.3".into()));
        assert_eq!(path_in(MAPS, "libssl.so"), Some("/usr/lib/libssl.so.3".into()));
        assert_eq!(path_in("", "libssl.so"), None);
    }

    #[test]
    fn a_version_is_the_text_in_the_file() {
        let content = b"\0OpenSSL error\0OpenSSL 3.0.22 25 Aug 2026\0";
        assert_eq!(version_in(content, "OpenSSL ").as_deref(), Some("OpenSSL 3.0.22"));
        assert_eq!(version_in(b"OpenSSL ", "OpenSSL "), None);
        assert_eq!(version_in(b"", "OpenSSL "), None);
    }

    #[test]
    fn a_file_that_changed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libcrypto.so.3");
        for (content, seconds) in [("OpenSSL 3.0.1 ", 1), ("OpenSSL 3.0.2 ", 2)] {
            fs::write(&path, format!("{content}\0")).unwrap();
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
            assert_eq!(version_of(&path).as_deref(), Some(content.trim()));
        }
    }

    #[test]
    fn an_older_openssl_lacks_the_post_quantum_group() {
        let lacks = |version: Option<&str>, group| {
            let version = version.map(str::to_owned);
            MappedLibrary { path: "/lib/libcrypto.so.3".into(), version }.lacks(group)
        };
        for group in [Group::X25519MlKem768, Group::Secp256r1MlKem768, Group::MlKem1024] {
            assert!(lacks(Some("OpenSSL 3.4.9"), group));
        }
        assert!(!lacks(Some("OpenSSL 3.4.9"), Group::X25519));
        for version in [Some("OpenSSL 3.5.0"), Some("OpenSSL 4.0.3"), Some("AWS-LC 1.2"), None] {
            assert!(!lacks(version, Group::X25519MlKem768), "{version:?}");
        }
    }

    #[test]
    fn what_is_not_built_says_how_it_is_built() {
        let error = check_folder(Path::new("/nowhere/lib"), TlsLibrary::Built).unwrap_err();
        let TargetError::NotBuilt { looked, command, .. } = error else { panic!("{error}") };
        assert_eq!((looked.as_str(), command), ("/nowhere/lib", "make openssl"));
    }

    #[test]
    fn a_folder_is_to_be_what_is_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let check = || check_folder(folder.path(), TlsLibrary::default());
        assert!(check().is_err());
        let own = folder.path().join("libcrypto.so.3");
        fs::write(&own, "x").unwrap();
        check().unwrap();

        let library = |path: &Path| MappedLibrary { path: path.to_owned(), version: None };
        let real = fs::canonicalize(&own).unwrap();
        let system = Path::new("/usr/lib/libssl.so.3");
        let openssl = TlsLibrary::default();
        check_mapped("nginx", folder.path(), openssl, &[library(&real), library(system)]).unwrap();
        let other = Path::new("/usr/lib/libcrypto.so.3");
        let refusal = |mapped: &[MappedLibrary]| {
            check_mapped("nginx", folder.path(), openssl, mapped).unwrap_err().to_string()
        };
        assert!(refusal(&[library(other)]).contains("/usr/lib/libcrypto.so.3"));
        assert!(refusal(&[]).contains("libcrypto.so"));
    }
}

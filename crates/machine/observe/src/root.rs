use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Fact;

/// The folder in which `/proc`, `/sys` and `/boot` lie: `/`, or a tree that was recorded elsewhere.
///
/// Paths are written as the kernel's, from `/`, and errors name them so.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Root {
    pub fn machine() -> Self {
        Self(PathBuf::from("/"))
    }

    /// The tree in this folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Where a file of the kernel lies.
    pub fn path(&self, file: &str) -> PathBuf {
        self.0.join(file.trim_start_matches('/'))
    }

    pub fn text(&self, file: &str) -> Fact<String> {
        let text = std::fs::read_to_string(self.path(file));
        text.map_err(|error| format!("cannot read {file}: {error}")).into()
    }

    /// The content of a file of one line, without its end.
    pub fn line(&self, file: &str) -> Fact<String> {
        self.text(file).map(|text| text.trim().to_owned())
    }

    pub fn number<T: FromStr>(&self, file: &str) -> Fact<T> {
        self.numbers(file).map(|[number]| number)
    }

    /// As many numbers as belong there.
    pub fn numbers<T: FromStr, const N: usize>(&self, file: &str) -> Fact<[T; N]> {
        self.line(file).and_then(|text| {
            let numbers: Option<Vec<T>> =
                text.split_ascii_whitespace().map(|number| number.parse().ok()).collect();
            let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
            numbers.ok_or_else(|| format!("{file} holds `{text}`, not {N} numbers")).into()
        })
    }

    /// The names in a folder, ascending; none where there is no such folder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(folder)) else { return Vec::new() };
        let name =
            |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let mut names: Vec<String> = entries.filter_map(name).collect();
        names.sort();
        names
    }

    /// The numbers of all entries of `folder` that are called `prefix` and a number, ascending.
    pub fn numbered(&self, folder: &str, prefix: &str) -> Vec<usize> {
        let number = |name: String| name.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<usize> = self.names(folder).into_iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The CPUs that the kernel knows.
    pub fn cpus(&self) -> Vec<usize> {
        self.numbered("/sys/devices/system/cpu", "cpu")
    }

    /// The CPUs that share a core with one, itself among them, as a list.
    pub fn thread_siblings(&self, cpu: usize) -> Fact<String> {
        self.line(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))
    }

    /// The flags of the first CPU.
    pub fn cpu_flags(&self) -> Fact<Vec<String>> {
        self.cpuinfo(&["flags", "Features"])
            .map(|flags| flags.split_ascii_whitespace().map(str::to_owned).collect())
    }

    /// The value of the first of `names` that `/proc/cpuinfo` has, of the first CPU.
    pub fn cpuinfo(&self, names: &[&str]) -> Fact<String> {
        self.text("/proc/cpuinfo").and_then(|text| {
            let field = |name: &&str| {
                text.lines().find_map(|line| {
                    let (key, value) = line.split_once(':')?;
                    (key.trim() == *name).then(|| value.trim().to_owned())
                })
            };
            let value = names.iter().find_map(field);
            value
                .ok_or_else(|| format!("/proc/cpuinfo has no line `{}`", names.join("` or `")))
                .into()
        })
    }

    /// What the kernel was built with: `y`, `m` or nothing for `CONFIG_<option>`, from the places
    /// where distributions leave the running kernel's configuration.
    pub fn kernel_config(&self, option: &str) -> Fact<Option<String>> {
        let release = self.line("/proc/sys/kernel/osrelease");
        let release = release.known().map_or("", String::as_str);
        let places = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
        let text = unpacked(&self.path("/proc/config.gz"))
            .or_else(|| places.iter().find_map(|file| self.text(file).known().cloned()))
            .filter(|text| text.contains("CONFIG_"));
        let Some(text) = text else {
            return Fact::unknown(format_args!(
                "the kernel's configuration is neither in /proc/config.gz nor in {}",
                places[0]
            ));
        };
        let set = format!("CONFIG_{option}=");
        let value = text.lines().find_map(|line| line.strip_prefix(&set));
        Fact::Known(value.map(|value| value.trim().to_owned()))
    }
}

fn unpacked(path: &Path) -> Option<String> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).ok()?).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn errors_name_the_kernels_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let Fact::Unknown { not_available_here: why } =
            root.number::<u64>("/proc/sys/net/core/somaxconn")
        else {
            panic!("there is no such file");
        };
        assert!(why.contains("/proc/sys/net/core/somaxconn"), "{why}");
        std::fs::create_dir_all(root.path("/proc/sys/net/core")).unwrap();
        std::fs::write(root.path("/proc/sys/net/core/somaxconn"), "many\n").unwrap();
        let found = root.number::<u64>("/proc/sys/net/core/somaxconn");
        let Fact::Unknown { not_available_here: why } = found else { panic!("{found:?}") };
        assert!(why.contains("/proc/sys/net/core/somaxconn") && why.contains("many"), "{why}");
    }

    #[test]
    fn the_configuration_is_read_packed_and_plain() {
        let config = b"# CONFIG_TLS is not set\nCONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_TLSX=m\n";
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert!(root.kernel_config("TLS").known().is_none());
        std::fs::create_dir_all(root.path("/proc/sys/kernel")).unwrap();
        std::fs::create_dir_all(root.path("/boot")).unwrap();
        std::fs::write(root.path("/proc/sys/kernel/osrelease"), "6.1.0\n").unwrap();
        std::fs::write(root.path("/boot/config-6.1.0"), config).unwrap();
        let both =
            |root: &Root| [root.kernel_config("TLS"), root.kernel_config("IRQ_TIME_ACCOUNTING")];
        let expected = [Fact::Known(None), Fact::Known(Some("y".to_owned()))];
        assert_eq!(both(&root), expected);
        std::fs::remove_file(root.path("/boot/config-6.1.0")).unwrap();
        let packed = std::fs::File::create(root.path("/proc/config.gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
        packed.write_all(config).unwrap();
        packed.finish().unwrap();
        assert_eq!(both(&root), expected);
    }
}

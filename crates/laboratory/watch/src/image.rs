//! The programs and libraries that a process has mapped: their names of functions, how their frames are unwound, and
//! where in the file a function is.
//!
//! They are read from what the process has mapped (`/proc/PID/map_files`), so that it does not matter whether the file
//! was replaced since, or lies in a container.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use object::{
    Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, RelocationTarget,
    SymbolKind,
};
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};

/// Where functions return to whose returns are counted.
pub(crate) const TRAMPOLINE: &str = "[uprobes]";
/// A larger file is not read.
const LARGEST: u64 = 512 << 20;

/// What is kept of a program or library.
#[derive(Debug, Default)]
pub(crate) struct Image {
    /// The file's name: `libcrypto.so.3`.
    pub(crate) name: String,
    /// The section `.eh_frame` and its index, each with its address in the file.
    pub(crate) frames: Section,
    pub(crate) index: Section,
    /// Where the file's bytes are in the memory: offset, length, address.
    segments: Vec<(u64, u64, u64)>,
    /// Its code, where it calls other libraries.
    code: Vec<Section>,
    /// What the loader fills in with the addresses of other libraries' functions, by place.
    slots: HashMap<u64, String>,
    /// Address, end and name, by address.
    functions: Vec<(u64, u64, String)>,
    pub(crate) build_id: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Section {
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Image {
    fn of(name: String, bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let section = |name| {
            let section = file.section_by_name(name)?;
            Some(Section { address: section.address(), bytes: section.data().ok()?.to_vec() })
        };
        let mut functions: Vec<(u64, u64, String)> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            // An exported function may have a name with its version.
            .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?)))
            .filter(|(_, _, name)| !name.is_empty())
            .map(|(at, size, name)| (at, at + size, demangled(name)))
            .collect();
        let dynamic = file.dynamic_symbol_table();
        let slot = |(place, relocation): (u64, object::Relocation)| {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
            let symbol = dynamic.as_ref()?.symbol_by_index(symbol).ok()?;
            Some((place, symbol.name().ok()?.to_owned()))
        };
        let slots = file.dynamic_relocations().into_iter().flatten().filter_map(slot);
        functions.sort_unstable();
        functions.dedup();
        Some(Self {
            name,
            frames: section(".eh_frame").unwrap_or_default(),
            index: section(".eh_frame_hdr").unwrap_or_default(),
            segments: file
                .segments()
                .map(|segment| (segment.file_range(), segment.address()))
                .map(|((offset, length), address)| (offset, length, address))
                .collect(),
            code: [".text", ".plt", ".plt.sec"].into_iter().filter_map(section).collect(),
            slots: slots.collect(),
            functions,
            build_id: file
                .build_id()
                .ok()
                .flatten()
                .map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()),
        })
    }

    /// The function at an address of the file's own.
    pub(crate) fn function(&self, address: u64) -> Option<&str> {
        let after = self.functions.partition_point(|(start, _, _)| *start <= address);
        // Of several at one place one may have no size.
        let before = self.functions[..after].iter().rev().take(8);
        before.into_iter().find(|(_, end, _)| address < *end).map(|(_, _, name)| name.as_str())
    }

    /// The function of another library that is called by the instruction before an address (x86-64): directly, or by
    /// the jump that stands for it (System V ABI, AMD64, 5.2).
    pub(crate) fn called_before(&self, address: u64) -> Option<&str> {
        let operand = |at: u64| {
            let bytes = self.code_at(at, 4)?;
            Some(i32::from_le_bytes(bytes.try_into().ok()?).into())
        };
        if self.code_at(address.checked_sub(6)?, 2) == Some(&[0xff, 0x15]) {
            let slot = address.wrapping_add_signed(operand(address - 4)?);
            return self.slots.get(&slot).map(String::as_str);
        }
        if self.code_at(address - 5, 1) != Some(&[0xe8]) {
            return None;
        }
        let mut jump = address.wrapping_add_signed(operand(address - 4)?);
        // endbr64, bnd
        for (prefix, length) in [(&[0xf3, 0x0f, 0x1e, 0xfa][..], 4), (&[0xf2], 1)] {
            if self.code_at(jump, length) == Some(prefix) {
                jump += length as u64;
            }
        }
        if self.code_at(jump, 2) != Some(&[0xff, 0x25]) {
            return None;
        }
        let slot = (jump + 6).wrapping_add_signed(operand(jump + 2)?);
        self.slots.get(&slot).map(String::as_str)
    }

    fn code_at(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.code.iter().find_map(|section| {
            let from = usize::try_from(address.checked_sub(section.address)?).ok()?;
            section.bytes.get(from..from.checked_add(length)?)
        })
    }

    /// Where in the file a function begins.
    pub(crate) fn offset_of(&self, function: &str) -> Option<u64> {
        let (address, _, _) = self.functions.iter().find(|(_, _, name)| name == function)?;
        let holds = |(_, length, at): &&(u64, u64, u64)| (*at..at + length).contains(address);
        let (offset, _, at) = self.segments.iter().find(holds)?;
        Some(address - at + offset)
    }

    fn address_of(&self, file_offset: u64) -> Option<u64> {
        let holds = |(offset, length, _): &&(u64, u64, u64)| {
            (*offset..offset + length).contains(&file_offset)
        };
        let (offset, _, address) = self.segments.iter().find(holds)?;
        Some(file_offset - offset + address)
    }
}

/// The path of a function that a compiler has mangled (`_ZN` of C++ and of Rust, with the length before each part),
/// without what it is called with, and without Rust's hash; another name as it is.
fn demangled(name: &str) -> String {
    let mut parts = Vec::new();
    let mut rest = name.strip_prefix("_ZN").unwrap_or_default();
    while let Some(digits) = rest.find(|of: char| !of.is_ascii_digit()).filter(|end| *end > 0)
        && let Ok(length) = rest[..digits].parse::<usize>()
        && let Some(part) = rest.get(digits..digits.saturating_add(length))
    {
        parts.push(part);
        rest = &rest[digits + length..];
    }
    let is_hash = |part: &&str| part.len() == 17 && part.starts_with('h');
    if parts.len() > 1 && parts.last().is_some_and(is_hash) {
        parts.pop();
    }
    if parts.is_empty() { name.to_owned() } else { parts.join("::") }
}

/// A part of a process's memory that a file is mapped to.
#[derive(Debug, Clone)]
pub(crate) struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    pub(crate) image: Arc<Image>,
    /// Where the file is found that is mapped, even if it was replaced.
    pub(crate) opened: PathBuf,
    /// Where the process has it from.
    pub(crate) path: PathBuf,
    /// The device and the number of the file.
    pub(crate) file: (u64, u64),
    /// Whether the file has been replaced or removed since.
    pub(crate) is_deleted: bool,
}

impl Mapping {
    /// An address of the process as one of the file's own.
    pub(crate) fn own_address(&self, address: u64) -> Option<u64> {
        self.image.address_of(address - self.start + self.offset)
    }
}

/// The files that were read, by device and number.
#[derive(Debug, Default)]
pub(crate) struct Images(HashMap<(u64, u64), Option<Arc<Image>>>);

impl Images {
    /// The executable mappings that a process has now; none of one that has ended.
    pub(crate) fn mapped_by(&mut self, pid: u32) -> Vec<Mapping> {
        let maps = Process::new(pid.cast_signed()).and_then(|process| process.maps());
        let maps = maps.map(|maps| maps.0).unwrap_or_default();
        maps.into_iter().filter_map(|map| self.mapping(pid, map)).collect()
    }

    fn mapping(&mut self, pid: u32, map: MemoryMap) -> Option<Mapping> {
        if !map.perms.contains(MMPermissions::EXECUTE) {
            return None;
        }
        let (start, end) = map.address;
        let file = (libc::makedev(map.dev.0.cast_unsigned(), map.dev.1.cast_unsigned()), map.inode);
        let opened = PathBuf::from(format!("/proc/{pid}/map_files/{start:x}-{end:x}"));
        let (path, is_deleted) = match map.pathname {
            MMapPath::Path(path) => {
                let text = path.to_string_lossy();
                match text.strip_suffix(" (deleted)") {
                    Some(path) => (PathBuf::from(path), true),
                    None => (path, false),
                }
            }
            MMapPath::Vdso => {
                let memory = || {
                    let mut bytes = vec![0; (end - start) as usize];
                    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
                    memory.read_exact_at(&mut bytes, start).ok()?;
                    Image::of("[vdso]".to_owned(), &bytes).map(Arc::new)
                };
                let image = self.0.entry((0, 0)).or_insert_with(memory).clone()?;
                let path = PathBuf::from("[vdso]");
                let (offset, is_deleted) = (0, false);
                return Some(Mapping { start, end, offset, image, opened, path, file, is_deleted });
            }
            MMapPath::Other(name) if name == "uprobes" => {
                let image = Arc::new(Image { name: TRAMPOLINE.to_owned(), ..Image::default() });
                let (path, offset, is_deleted) = (PathBuf::from(TRAMPOLINE), 0, false);
                return Some(Mapping { start, end, offset, image, opened, path, file, is_deleted });
            }
            _ => return None,
        };
        // Where this user may not follow the kernel's link, by the path as the process sees it.
        let through_root =
            PathBuf::from(format!("/proc/{pid}/root")).join(path.strip_prefix("/").ok()?);
        let is_open = File::open(&opened).is_ok();
        let opened = if is_open || is_deleted { opened } else { through_root };
        let read = || {
            let file = File::open(&opened).ok()?;
            let mut bytes = Vec::new();
            file.take(LARGEST).read_to_end(&mut bytes).ok()?;
            let name = path.file_name()?.to_string_lossy().into_owned();
            Image::of(name, &bytes).map(Arc::new)
        };
        let image = self.0.entry(file).or_insert_with(read).clone()?;
        Some(Mapping { start, end, offset: map.offset, image, opened, path, file, is_deleted })
    }
}

/// Which mapping has an address.
pub(crate) fn at(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    mappings.iter().find(|map| (map.start..map.end).contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that calls two functions of others: the first through a jump with endbr64, the second directly.
    #[test]
    fn the_function_that_a_call_names_is_found() {
        let mut text = vec![0x90];
        // At 0x1001: call 0x2000.
        text.extend([0xe8, 0xfa, 0x0f, 0, 0]);
        // At 0x1006: call *0x3008(of the file).
        text.extend([0xff, 0x15, 0xfc, 0x1f, 0, 0]);
        // At 0x100c: call of its own function at 0x1000.
        text.extend([0xe8, 0xef, 0xff, 0xff, 0xff]);
        let stub = vec![0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xf6, 0x0f, 0, 0];
        let section = |address, bytes| Section { address, bytes };
        let image = Image {
            code: vec![section(0x1000, text), section(0x2000, stub)],
            slots: [(0x3000, "first".to_owned()), (0x3008, "second".to_owned())].into(),
            ..Image::default()
        };
        assert_eq!(image.called_before(0x1006), Some("first"));
        assert_eq!(image.called_before(0x100c), Some("second"));
        assert_eq!(image.called_before(0x1011), None);
        assert_eq!(image.called_before(0x9000), None);
    }

    #[test]
    fn mangled_names_are_paths_and_others_stay() {
        for (name, plain) in [
            ("_ZN6rustls4conn10ConnectionC2Ev", "rustls::conn::Connection"),
            ("_ZN4ring3rsa4sign17h8ac607eae3df2c7aE", "ring::rsa::sign"),
            ("EVP_DigestSign", "EVP_DigestSign"),
            ("_ZN99x", "_ZN99x"),
            ("_ZN", "_ZN"),
        ] {
            assert_eq!(demangled(name), plain);
        }
    }

    #[test]
    fn this_programs_libcrypto_has_what_is_counted_and_its_tables() {
        openssl::init();
        let maps = Images::default().mapped_by(std::process::id());
        let of = |name: &str| maps.iter().find(|map| map.image.name.starts_with(name)).unwrap();
        let crypto = &of("libcrypto.so").image;
        let offset = crypto.offset_of("EVP_DigestSign").unwrap();
        assert_eq!(
            crypto.address_of(offset).and_then(|at| crypto.function(at)),
            Some("EVP_DigestSign")
        );
        assert!(!crypto.frames.bytes.is_empty() && !crypto.index.bytes.is_empty());
        assert!(of("libssl.so").image.slots.values().any(|name| name == "EVP_DigestSign"));
    }
}

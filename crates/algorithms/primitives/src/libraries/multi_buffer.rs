//! toll's own kernels, which hash as many messages at once as a backend has lanes.

use multibuffer::{Algorithm as Function, Backend, Hasher, Sha1, Sha256, Sha512};

use crate::algorithm::{Algorithm, Hash};
use crate::hardware::Hardware;
use crate::libraries::library::{About, Library, OpenError};
use crate::material::Material;
use crate::routine::{Failed, Routine, Unavailable};

/// The kernels, with one backend or the best that there is for each algorithm.
pub(crate) struct MultiBuffer {
    id: String,
    title: String,
    backend: Option<Backend>,
}

impl MultiBuffer {
    /// By one of the names of libraries.
    pub(crate) fn named(id: &str) -> Result<Self, OpenError> {
        let backend = match id {
            "multibuffer-portable" => Backend::Portable,
            "multibuffer-sha-ni" => Backend::ShaNi,
            "multibuffer-avx2" => Backend::Avx2,
            "multibuffer-avx512vl" => Backend::Avx512Vl,
            "multibuffer-avx512" => Backend::Avx512,
            _ => {
                let title = "multi-buffer".to_owned();
                return Ok(Self { id: id.to_owned(), title, backend: None });
            }
        };
        let hardware = Hardware::of_this_process();
        if !backend.is_available() {
            return Err(OpenError::NotHere(format!("{id}: this processor has no {backend}")));
        }
        if !hardware.allows(backend) {
            return Err(OpenError::NotHere(format!("{id}: --hardware {hardware} masks it")));
        }
        let title = format!("multi-buffer {backend}");
        Ok(Self { id: id.to_owned(), title, backend: Some(backend) })
    }
}

impl Library for MultiBuffer {
    fn about(&self) -> About<'_> {
        About { id: &self.id, title: &self.title, origin: "multibuffer" }
    }

    fn prepare(&self, algorithm: Algorithm, _: &Material) -> Result<Routine, Unavailable> {
        match algorithm {
            Algorithm::Hash(Hash::Sha1) => many::<Sha1>(self.backend),
            Algorithm::Hash(Hash::Sha256) => many::<Sha256>(self.backend),
            Algorithm::Hash(Hash::Sha512) => many::<Sha512>(self.backend),
            _ => Err(Unavailable::because("the multi-buffer kernels only hash")),
        }
    }

    fn processor_features(&self) -> Option<String> {
        Some(self.backend.or_else(best::<Sha256>).map_or_else(String::new, |b| b.to_string()))
    }
}

/// The fastest backend that this process may use.
fn best<A: Function>() -> Option<Backend> {
    let hardware = Hardware::of_this_process();
    let usable =
        |backend: &Backend| hardware.allows(*backend) && Hasher::<A>::with(*backend).is_ok();
    [Backend::best::<A>(), Backend::Avx512, Backend::Avx2, Backend::ShaNi, Backend::Portable]
        .into_iter()
        .find(usable)
}

fn many<A: Function>(backend: Option<Backend>) -> Result<Routine, Unavailable> {
    let backend = backend.or_else(best::<A>);
    let backend = backend.ok_or_else(|| Unavailable::because("no backend may be used"))?;
    let hasher = Hasher::<A>::with(backend).map_err(Unavailable::because)?;
    let mut digests = vec![A::ZEROS; hasher.lanes()];
    Ok(Routine::Many {
        lanes: hasher.lanes(),
        run: Box::new(move |messages, output| {
            hasher.hash_many(messages, &mut digests).map_err(|_| Failed::of("hash_many"))?;
            let bytes = A::ZEROS.as_ref().len();
            for (digest, output) in digests.iter().zip(output.chunks_exact_mut(bytes)) {
                output.copy_from_slice(digest.as_ref());
            }
            Ok(())
        }),
    })
}

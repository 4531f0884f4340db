//! Whether the result of a timed routine is right, according to a second library.
//!
//! Where the result follows from the input it must be the same, byte by byte. Where it is made with
//! chance, the second library takes the other part: it verifies the signature, derives the same
//! secret from the public key that was shown, opens the encapsulation. Of a verifier it is asked
//! that it refuses a damaged signature; the one that it accepts was made by one library and accepted
//! by a second beforehand.

use crate::algorithm::{Agreement, Algorithm, Kem, Side, Signing};
use crate::libraries::library::Library;
use crate::material::{KemKeys, Material};
use crate::routine::{Failed, Routine};

/// Why a result that only one library makes has no figure.
pub(crate) const NO_SECOND: &str = "there is no second library here to check its result";

/// Runs a routine once on an input, from a clean buffer.
pub(crate) fn once(
    routine: &mut Routine,
    algorithm: Algorithm,
    input: &[u8],
) -> Result<Vec<u8>, Failed> {
    let mut output = vec![0; algorithm.output_bytes(input.len())];
    match routine {
        Routine::Apart(step) => {
            let bytes = step(input, &mut output)?;
            output.truncate(bytes);
        }
        Routine::InPlace { front, seal } => {
            output[*front..*front + input.len()].copy_from_slice(input);
            seal(&mut output)?;
        }
        Routine::Many { lanes, run } => {
            let messages = vec![input.to_vec(); *lanes];
            let place = output.len();
            output.resize(place * *lanes, 0);
            run(&messages, &mut output)?;
            output.truncate(algorithm.result_bytes(&output[..place]));
        }
    }
    Ok(output)
}

/// The libraries that can check another one's results, and what they said.
pub struct Checker<'a> {
    libraries: &'a [Box<dyn Library>],
}

impl<'a> Checker<'a> {
    /// With these, in the order in which they are asked.
    pub fn new(libraries: &'a [Box<dyn Library>]) -> Self {
        Self { libraries }
    }

    /// The libraries of other origin, in the order in which they are asked.
    pub(crate) fn others(&self, library: &dyn Library) -> impl Iterator<Item = &dyn Library> {
        let others = self.libraries.iter().map(Box::as_ref);
        others.filter(move |other| other.origin() != library.origin())
    }

    /// Checks what `library` made of `material`, and says who confirms it.
    pub fn check(
        &self,
        library: &dyn Library,
        algorithm: Algorithm,
        material: &Material,
        output: &[u8],
    ) -> Result<String, Failed> {
        for second in self.others(library) {
            let Some(agrees) = agrees(second, algorithm, material, output) else {
                continue;
            };
            let title = second.title().to_owned();
            if !agrees? {
                return Err(Failed::because(format!("its result is not that of {title}")));
            }
            if is_verifier(algorithm) && accepts_damage(library, algorithm, material)? {
                return Err(Failed::because("it accepts a damaged signature"));
            }
            return Ok(title);
        }
        Err(Failed::because(NO_SECOND))
    }
}

fn is_verifier(algorithm: Algorithm) -> bool {
    use Algorithm::{Ecdsa, Ed25519, Rsa};
    matches!(
        algorithm,
        Rsa(_, Signing::Verify) | Ecdsa(_, Signing::Verify) | Ed25519(Signing::Verify)
    )
}

fn accepts_damage(
    library: &dyn Library,
    algorithm: Algorithm,
    material: &Material,
) -> Result<bool, Failed> {
    let mut damaged = material.input.clone();
    // The last byte belongs to the last number of any form of signature.
    if let Some(last) = damaged.last_mut() {
        *last ^= 1;
    }
    let material = material.with_input(damaged);
    match library.prepare(algorithm, &material) {
        Ok(mut routine) => Ok(once(&mut routine, algorithm, &material.input).is_ok()),
        Err(why) => Err(Failed::because(why)),
    }
}

/// Whether `second` agrees; `None` where it cannot say.
fn agrees(
    second: &dyn Library,
    algorithm: Algorithm,
    material: &Material,
    output: &[u8],
) -> Option<Result<bool, Failed>> {
    let run = |algorithm: Algorithm, material: &Material| {
        let mut routine = second.prepare(algorithm, material).ok()?;
        Some(once(&mut routine, algorithm, &material.input))
    };
    let equals = |algorithm, material: &Material, expected: &[u8]| {
        Some(run(algorithm, material)?.map(|made| made == expected))
    };
    use Algorithm as A;
    match algorithm {
        A::Ecdsa(curve, Signing::Sign) => {
            let verify = A::Ecdsa(curve, Signing::Verify);
            Some(Ok(run(verify, &material.with_input(output.to_vec()))?.is_ok()))
        }
        A::X25519(Agreement::Exchange) | A::Ecdh(_, Agreement::Exchange) => {
            let derive = match algorithm {
                A::Ecdh(curve, _) => A::Ecdh(curve, Agreement::Derive),
                _ => A::X25519(Agreement::Derive),
            };
            let secret = output.len().checked_sub(derive.output_bytes(0))?;
            let (public, secret) = output.split_at_checked(secret)?;
            equals(derive, &material.with_input(public.to_vec()).turned(), secret)
        }
        A::MlKem768(Kem::Generate) => {
            // Whoever encapsulates to the public part must be understood by the secret part.
            let keys = KemKeys::of(output)?;
            let mut pair = material.with_input(keys.encapsulation.clone());
            pair.kem = Some(keys);
            let made = match run(A::MlKem768(Kem::Encapsulate), &pair)? {
                Ok(made) => made,
                Err(_) => return Some(Ok(false)),
            };
            let (ciphertext, secret) = made.split_at_checked(made.len().checked_sub(32)?)?;
            let opened = run(A::MlKem768(Kem::Decapsulate), &pair.with_input(ciphertext.to_vec()));
            // A secret part that the second library does not even read is none.
            Some(Ok(opened.is_some_and(|opened| opened.is_ok_and(|opened| opened == secret))))
        }
        A::MlKem768(Kem::Encapsulate) => {
            let (ciphertext, secret) = output.split_at_checked(output.len().checked_sub(32)?)?;
            let material = material.with_input(ciphertext.to_vec());
            equals(A::MlKem768(Kem::Decapsulate), &material, secret)
        }
        A::X25519MlKem768(Side::Server) => {
            let (share, secret) = output.split_at_checked(output.len().checked_sub(64)?)?;
            let material = material.with_input(share.to_vec()).turned();
            equals(A::X25519MlKem768(Side::Client), &material, secret)
        }
        _ => equals(algorithm, material, output),
    }
}

impl Material {
    /// Seen from the other side: its key pair is the own one.
    fn turned(mut self) -> Self {
        std::mem::swap(&mut self.own, &mut self.peer);
        self
    }
}

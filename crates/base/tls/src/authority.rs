//! Certificates of several names for one key, and the authority of one run that signs them.

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{BasicConstraints, KeyUsage, SubjectAlternativeName};

use crate::certificate::{CertificateKey, IdentityError, certificate};

/// The subject of the authority.
const SUBJECT: &str = "toll";

/// Signs certificates, for as long as it lives; its key is in no file.
pub struct Authority {
    key: PKey<Private>,
    /// For clients to trust, in PEM form.
    pub certificate_pem: Vec<u8>,
}

impl Authority {
    /// A fresh one. Its key is small, so that it makes certificates quickly.
    pub fn generate() -> Result<Self, IdentityError> {
        let key = CertificateKey::EcdsaP256.generate()?;
        let itself = (SUBJECT, &*key);
        let certificate = certificate(itself, itself, &|builder| {
            builder.append_extension(BasicConstraints::new().critical().ca().build()?)?;
            builder.append_extension(KeyUsage::new().critical().key_cert_sign().build()?)
        })?;
        Ok(Self { certificate_pem: certificate.to_pem()?, key })
    }

    /// Certificates of these names for this key, each in PEM form and valid as its server's own.
    pub fn certify(
        &self,
        names: impl Iterator<Item: AsRef<str>>,
        key_pem: &[u8],
    ) -> Result<Vec<Vec<u8>>, IdentityError> {
        let key = PKey::private_key_from_pem(key_pem)?;
        let certify = |name: &str| {
            let certificate = certificate((name, &key), (SUBJECT, &self.key), &|builder| {
                builder.append_extension(BasicConstraints::new().critical().build()?)?;
                let names = SubjectAlternativeName::new()
                    .dns(name)
                    .build(&builder.x509v3_context(None, None))?;
                builder.append_extension(names)
            })?;
            certificate.to_pem()
        };
        let all: Result<_, ErrorStack> = names.map(|name| certify(name.as_ref())).collect();
        Ok(all?)
    }
}

#[cfg(test)]
mod tests {
    use openssl::x509::X509;

    use super::*;
    use crate::Identity;

    #[test]
    fn each_name_has_a_certificate_of_the_same_key() {
        let authority = Authority::generate().unwrap();
        let issuer = X509::from_pem(&authority.certificate_pem).unwrap();
        let identity = Identity::generate(CertificateKey::EcdsaP384).unwrap();
        let names = ["a.toll.test", "b.toll.test"];
        let all = authority.certify(names.iter(), &identity.key_pem).unwrap();
        let key = PKey::private_key_from_pem(&identity.key_pem).unwrap();
        for (name, pem) in names.iter().zip(&all) {
            let certificate = X509::from_pem(pem).unwrap();
            assert!(certificate.verify(&issuer.public_key().unwrap()).unwrap());
            assert!(certificate.public_key().unwrap().public_eq(&key));
            let names = certificate.subject_alt_names().unwrap();
            assert_eq!(names.iter().filter_map(|of| of.dnsname()).collect::<Vec<_>>(), [*name]);
        }
        assert_ne!(all[0], all[1]);
    }
}

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

use super::*;
use crate::User;
use crate::authn::Identity;

/// The middle of 2030.
const NOW: i64 = 1_908_000_000;

type Signer = CertifiedIssuer<'static, KeyPair>;

/// What differs from a certificate that is good from 2020 to 2040.
struct Made {
    years: (i32, i32),
    usage: Vec<ExtendedKeyUsagePurpose>,
    is_ca: bool,
}

impl Default for Made {
    fn default() -> Self {
        Self { years: (2020, 2040), usage: vec![ExtendedKeyUsagePurpose::ClientAuth], is_ca: false }
    }
}

fn params(name: &str, made: &Made) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(made.years.0, 1, 1);
    params.not_after = date_time_ymd(made.years.1, 1, 1);
    params.extended_key_usages = made.usage.clone();
    params.is_ca = if made.is_ca { IsCa::Ca(BasicConstraints::Unconstrained) } else { IsCa::NoCa };
    params
}

fn ca(years: (i32, i32)) -> Made {
    Made { years, usage: Vec::new(), is_ca: true }
}

fn authority(name: &str, years: (i32, i32)) -> Signer {
    CertifiedIssuer::self_signed(params(name, &ca(years)), KeyPair::generate().unwrap()).unwrap()
}

fn leaf(signer: &Issuer<'_, KeyPair>, made: &Made) -> CertificateDer<'static> {
    params("alice", made).signed_by(&KeyPair::generate().unwrap(), signer).unwrap().der().clone()
}

fn peer(chain: &[CertificateDer<'static>]) -> PeerCertificates {
    PeerCertificates::new(chain).unwrap()
}

fn known(_: &[u8]) -> Outcome {
    Outcome::Known(Box::new(Identity { user: User::named("alice"), ..Identity::default() }))
}

#[track_caller]
fn check(authorities: &Authorities, peer: &PeerCertificates, now: i64, refused: Option<&str>) {
    match (authorities.judge(peer, now, known), refused) {
        (Outcome::Known(_), None) => {}
        (Outcome::Refused(why), Some(part)) => assert!(why.contains(part), "{why}"),
        (outcome, _) => panic!("{outcome:?} instead of {refused:?}"),
    }
}

#[test]
fn only_what_an_authority_signed_for_clients_and_for_now_is_good() {
    let (ours, theirs) = (authority("ca", (2020, 2040)), authority("ca", (2020, 2040)));
    let authorities = Authorities::from_pem(&ours.pem()).unwrap();
    let check = |der: CertificateDer<'static>, refused| check(&authorities, &peer(&[der]), NOW, refused);
    let with = |usage: &[ExtendedKeyUsagePurpose]| Made { usage: usage.to_vec(), ..Made::default() };
    check(leaf(&ours, &Made::default()), None);
    check(leaf(&ours, &with(&[])), None);
    check(leaf(&ours, &with(&[ExtendedKeyUsagePurpose::Any])), None);
    check(leaf(&ours, &with(&[ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth])), None);
    check(leaf(&ours, &with(&[ExtendedKeyUsagePurpose::ServerAuth])), Some("RequiredEkuNotFound"));
    check(leaf(&theirs, &Made::default()), Some("failed"));
    check(leaf(&authority("other", (2020, 2040)), &Made::default()), Some("UnknownIssuer"));
    check(leaf(&ours, &Made { years: (2020, 2029), ..Made::default() }), Some("CertExpired"));
    check(leaf(&ours, &Made { years: (2031, 2040), ..Made::default() }), Some("CertNotValidYet"));
    check(vec![48, 0].into(), Some("BadDer"));
}

#[test]
fn a_chain_may_lead_over_others() {
    let root = authority("root", (2020, 2040));
    let between =
        |made: &Made| CertifiedIssuer::signed_by(params("between", made), KeyPair::generate().unwrap(), &root);
    let authorities = Authorities::from_pem(&root.pem()).unwrap();
    for (made, refused) in [
        (ca((2020, 2040)), None),
        (ca((2020, 2029)), Some("CertExpired")),
        (Made { usage: vec![ExtendedKeyUsagePurpose::ServerAuth], ..ca((2020, 2040)) }, Some("RequiredEkuNotFound")),
        // Who is no authority signs for nobody.
        (Made::default(), Some("EndEntityUsedAsCa")),
    ] {
        let between = between(&made).unwrap();
        let own = leaf(&between, &Made::default());
        check(&authorities, &peer(&[own.clone(), between.der().clone()]), NOW, refused);
        check(&authorities, &peer(&[own]), NOW, Some("UnknownIssuer"));
    }
}

#[test]
fn an_authority_that_has_expired_signs_for_nobody() {
    let old = authority("ca", (2020, 2029));
    let authorities = Authorities::from_pem(&old.pem()).unwrap();
    check(&authorities, &peer(&[leaf(&old, &Made::default())]), NOW, Some("UnknownIssuer"));
}

#[test]
fn a_verdict_stands_until_something_changes() {
    let (first, second) = (authority("first", (2020, 2035)), authority("second", (2020, 2040)));
    let authorities = Authorities::from_pem(&first.pem()).unwrap();
    let shown = peer(&[leaf(&first, &Made { years: (2020, 2031), ..Made::default() })]);
    check(&authorities, &shown, NOW, None);
    let unasked = |_: &[u8]| panic!("it was verified already");
    assert!(matches!(authorities.judge(&shown, NOW + 1, unasked), Outcome::Known(_)));
    let year = 366 * 24 * 3600;
    check(&authorities, &shown, NOW + year, Some("CertExpired"));
    // A clock that was put back.
    check(&authorities, &shown, NOW, None);
    assert!(authorities.replace("no certificate").is_err());
    check(&authorities, &shown, NOW, None);
    authorities.replace(&second.pem()).unwrap();
    check(&authorities, &shown, NOW, Some("UnknownIssuer"));
    authorities.replace(&format!("{}\n{}", second.pem(), first.pem())).unwrap();
    check(&authorities, &shown, NOW, None);
}

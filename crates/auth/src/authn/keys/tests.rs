use super::*;

/// Keys made for these tests, each written in several ways, with the ids that OpenSSL computes.
macro_rules! key {
    ($name:literal) => {
        include_str!(concat!("../../../tests/keys/", $name, ".pem"))
    };
}

const EC256: &str = "xR4tOnJ9CMo-ak0geHoM2vUspU_hYVn2_Ar9h0Coisw";
const EC384: &str = "FgU1TVfXR10UYV1VNWAff2ACNRIkg7apbHGtkQ5VQKk";
const RSA: &str = "KqO99zYf_1oTb5buMQq2U9RAUippgdW6iCNPQ2Gbms0";

#[test]
fn a_key_has_one_id_however_it_is_written() {
    let check = |pem: &str, id: &str, algorithm: &str| {
        let keys = public_keys(pem).unwrap();
        assert_eq!((keys[0].id(), keys[0].algorithm()), (id, algorithm), "{pem}");
    };
    for pem in [key!("ec256.pub"), key!("ec256.crt"), key!("ec256.sec1"), key!("ec256.p8")] {
        check(pem, EC256, "ES256");
    }
    for pem in [key!("ec384.pub"), key!("ec384.sec1"), key!("ec384.p8")] {
        check(pem, EC384, "ES384");
    }
    for pem in [key!("rsa.pub"), key!("rsa.pub1"), key!("rsa.crt"), key!("rsa.p1"), key!("rsa.p8")] {
        check(pem, RSA, "RS256");
    }
    let both = format!("{}{}", key!("rsa.pub"), key!("ec256.crt"));
    assert_eq!(public_keys(&both).unwrap().len(), 2);
}

#[test]
fn what_is_signed_verifies_and_nothing_else() {
    for pem in [key!("ec256.sec1"), key!("ec256.p8"), key!("ec384.p8"), key!("rsa.p1"), key!("rsa.p8")] {
        let key = SigningKey::from_pem(pem).unwrap();
        let signature = key.sign(b"message").unwrap();
        assert!(key.public().verifies(b"message", &signature));
        assert!(!key.public().verifies(b"another", &signature));
        assert!(!key.public().verifies(b"message", &signature[1..]));
        assert!(!key.public().verifies(b"message", b""));
    }
    let made = SigningKey::from_pem(&SigningKey::generate_pem().unwrap()).unwrap();
    assert_eq!(made.public().algorithm(), "ES256");
}

#[test]
fn what_is_no_key_is_refused() {
    assert_eq!(public_keys("").unwrap_err(), KeyError::NoPublicKey);
    assert_eq!(public_keys("junk\n").unwrap_err(), KeyError::NoPublicKey);
    let broken = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    assert_eq!(public_keys(broken).unwrap_err(), KeyError::NoPublicKey);
    assert_eq!(SigningKey::from_pem(key!("rsa.pub")).err(), Some(KeyError::NoPrivateKey));
}

#[test]
fn keys_are_shown() {
    let jwk = public_keys(key!("ec256.pub")).unwrap()[0].to_jwk();
    assert_eq!(
        (&jwk["kty"], &jwk["crv"], &jwk["alg"], &jwk["use"]),
        (&json!("EC"), &json!("P-256"), &json!("ES256"), &json!("sig"))
    );
    assert_eq!(jwk["x"].as_str().map(str::len), Some(43));
    let jwk = public_keys(key!("rsa.pub")).unwrap()[0].to_jwk();
    assert_eq!((&jwk["kty"], &jwk["e"], &jwk["kid"]), (&json!("RSA"), &json!("AQAB"), &json!(RSA)));
}

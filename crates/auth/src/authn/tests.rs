use super::*;

/// Knows the token `good`, refuses `bad`, and takes the certificate `[1]`.
struct Fake;

impl Authenticator for Fake {
    fn authenticate(&self, credential: &Credential<'_>, _: &[String]) -> Outcome {
        let known = |name: &str| Outcome::Known(Box::new(Identity { user: User::named(name), ..Identity::default() }));
        match credential {
            Credential::Token("good") => known("by-token"),
            Credential::Token("bad") => Outcome::Refused("it is bad".to_owned()),
            Credential::Certificate(peer) if peer.own() == [1] => known("by-certificate"),
            Credential::Certificate(peer) if peer.own() == [2] => Outcome::Refused("not for clients".to_owned()),
            _ => Outcome::NotMine,
        }
    }
}

fn check(presented: Presented<'_>, expect: Result<&str, &str>) {
    let authentication = Authentication::new(vec![Box::new(Fake)], true, Vec::new());
    let got = authentication.request(&presented);
    match (&got, expect) {
        (Ok(identity), Ok(name)) => assert_eq!(identity.user.name, name),
        (Err(refusal), Err(text)) => assert_eq!(refusal.to_string(), text),
        _ => panic!("{got:?} instead of {expect:?}"),
    }
}

fn header(authorization: &str) -> Presented<'_> {
    Presented { authorization: Some(authorization), ..Presented::default() }
}

#[test]
fn credentials_decide() {
    check(Presented::default(), Ok("system:anonymous"));
    check(header("Bearer good"), Ok("by-token"));
    check(header("bearer good x"), Ok("by-token"));
    check(header("Bearer unknown"), Err("invalid bearer token"));
    check(header("Bearer bad"), Err("it is bad"));
    check(header("Bearer a b"), Err("invalid bearer token"));
    check(header("Bearer"), Ok("system:anonymous"));
    check(header("Bearer  good"), Ok("system:anonymous"));
    check(header("Basic YTpi"), Ok("system:anonymous"));
}

#[test]
fn certificates_come_first_and_tokens_may_follow() {
    let check_with = |certificate: u8, authorization: &str, expect: Result<&str, &str>| {
        let peer = PeerCertificates::new(&[vec![certificate].into()]);
        let authorization = Some(authorization);
        check(Presented { certificate: peer.as_ref(), authorization, ..Presented::default() }, expect);
    };
    check_with(1, "Bearer bad", Ok("by-certificate"));
    check_with(2, "Bearer good", Ok("by-token"));
    check_with(2, "", Err("not for clients"));
    check_with(2, "Bearer bad", Err("[not for clients, it is bad]"));
    check_with(3, "", Ok("system:anonymous"));
}

#[test]
fn a_websocket_may_carry_a_token() {
    let with =
        |protocols: &'static [&'static str]| Presented { websocket_protocols: protocols, ..Presented::default() };
    // The token `good`.
    check(with(&["v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.Z29vZA"]), Ok("by-token"));
    check(with(&["base64url.bearer.authorization.k8s.io.Z29vZA"]), Err("missing additional subprotocol"));
    check(
        with(&["x", "base64url.bearer.authorization.k8s.io.!"]),
        Err("invalid base64.bearer.authorization token encoding"),
    );
}

#[test]
fn anonymous_can_be_switched_off() {
    let authentication = Authentication::new(vec![Box::new(Fake)], false, Vec::new());
    assert!(authentication.request(&Presented::default()).is_err());
    let known = authentication.request(&header("Bearer good")).unwrap();
    assert_eq!(known.user.groups, ["system:authenticated"]);
}

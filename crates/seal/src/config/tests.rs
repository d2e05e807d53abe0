use proptest::prelude::*;

use super::*;

/// 32 bytes.
const LONG: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// 16 bytes.
const SHORT: &str = "AAECAwQFBgcICQoLDA0ODw==";

/// A document with these entries below `resources`.
fn document(entries: &str) -> String {
    format!("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n{entries}")
}

fn entry(resources: &str, providers: &str) -> String {
    format!("- resources: {resources}\n  providers: {providers}\n")
}

fn parse(text: &str) -> Result<Config, String> {
    Config::parse("c.yaml", text.as_bytes(), true).map_err(|e| e.to_string())
}

fn refuse(text: &str, why: &str) {
    let error = parse(text).unwrap_err();
    assert_eq!(error, why, "{text}");
}

/// What is wrong with these entries.
fn invalid(entries: &str, why: &str) {
    refuse(&document(entries), &format!("error while parsing file: {why}"));
}

/// What is wrong with one provider.
fn invalid_provider(provider: &str, why: &str) {
    invalid(&entry("[secrets]", &format!("[{provider}]")), why);
}

#[test]
fn the_older_name_and_json_are_read_too() {
    let text = r#"{"apiVersion":"v1","kind":"EncryptionConfig","resources":[{"resources":["secrets"],"providers":[{"identity":{}}]}]}"#;
    let config = parse(text).unwrap();
    assert!(matches!(config.entries[0].providers[..], [Provider::Identity]));
    assert_eq!(config.hash().len(), "sha256:".len() + 64);
}

#[test]
fn every_provider_is_read() {
    let keys = |name: &str, secret: &str| format!("{{keys: [{{name: {name}, secret: {secret}}}]}}");
    let providers = format!(
        "[{{aesgcm: {}}}, {{aescbc: {}}}, {{secretbox: {}}}, {{kms: {{apiVersion: v2, name: k, endpoint: 'unix:///k.sock', timeout: 5s}}}}, {{identity: {{}}}}]",
        keys("a", SHORT),
        keys("b", LONG),
        keys("c", LONG)
    );
    let config = parse(&document(&entry("[secrets, '*.apps', pandas.awesome.bears.example]", &providers))).unwrap();
    let names: Vec<String> = config.entries[0].resources.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["secrets", "*.apps", "pandas.awesome.bears.example"]);
    match &config.entries[0].providers[..] {
        [
            Provider::AesGcm(gcm),
            Provider::AesCbc(cbc),
            Provider::Secretbox(secretbox),
            Provider::Kms(service),
            Provider::Identity,
        ] => {
            assert_eq!((gcm[0].name.as_str(), gcm[0].secret.expose().len()), ("a", 16));
            assert_eq!((cbc[0].name.as_str(), cbc[0].secret.expose().len()), ("b", 32));
            assert_eq!((secretbox[0].name.as_str(), secretbox[0].secret.expose().len()), ("c", 32));
            assert_eq!((service.socket.as_str(), service.timeout), ("/k.sock", Duration::from_secs(5)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn documents_are_read_strictly() {
    let decoding = |why: &str| {
        format!("error while parsing file: error decoding encryption provider configuration file \"c.yaml\": {why}")
    };
    refuse(
        "",
        "error while parsing file: error while loading file: encryption provider configuration file \"c.yaml\" is empty",
    );
    refuse("a: 1", &decoding("Object 'Kind' is missing"));
    refuse("kind: EncryptionConfiguration", &decoding("Object 'apiVersion' is missing"));
    refuse(
        "kind: EncryptionConfig\napiVersion: apiserver.config.k8s.io/v1",
        &decoding("no kind \"EncryptionConfig\" is registered for version \"apiserver.config.k8s.io/v1\""),
    );
    refuse(
        &document("- resources: [secrets]\n  provider: []\n  providers: [{identity: {x: 1}}]\n"),
        &decoding(
            "strict decoding error: unknown field \"resources[0].provider\", unknown field \"resources[0].providers[0].identity.x\"",
        ),
    );
    refuse(
        &document("- resources: [secrets]\n  resources: [pods]\n  providers: [{identity: {}}]\n"),
        &decoding("strict decoding error: yaml: unmarshal errors:\n  line 5: key \"resources\" already set in map"),
    );
    refuse(
        &document(&entry("[1]", "[{identity: {}}]")),
        &decoding(
            "json: cannot unmarshal number into Go struct field ResourceConfiguration.resources.resources of type string",
        ),
    );
    refuse(&document(&entry("[secrets]", "[{kms: {timeout: soon}}]")), &decoding("time: invalid duration \"soon\""));
}

#[test]
fn something_has_to_be_said_about_something() {
    invalid(" []", "resources: Required value: at least one resources is required");
    invalid(
        "- {}\n",
        "[resources[0].resources: Required value: at least one resources[0].resources is required, resources[0].providers: Required value: at least one resources[0].providers is required]",
    );
}

#[test]
fn names_of_resources_are_checked() {
    let identity = "[{identity: {}}]";
    for (name, why) in [
        ("Secrets", "resource name should not contain capital letters"),
        ("*", "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"),
        ("serviceipallocations", "resources which do not have REST API/s cannot be encrypted"),
        (
            "events.events.k8s.io",
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file",
        ),
        ("*.extensions", "'extensions' group has been removed and cannot be used for encryption"),
        ("secrets.*", "encrypting the same resource across groups is not supported"),
    ] {
        invalid(
            &entry(&format!("['{name}']"), identity),
            &format!("resources[0].resources[0]: Invalid value: \"{name}\": {why}"),
        );
    }
    let overlap = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";
    let duplicate = "the same resource cannot be specified multiple times";
    for (names, shown, why) in [
        ("[secrets, '*.']", r#"["secrets","*."]"#, overlap),
        ("['*.apps', deployments.apps]", r#"["*.apps","deployments.apps"]"#, overlap),
        ("[secrets, '*.*']", r#"["secrets","*.*"]"#, overlap),
        ("[secrets, secrets]", r#"["secrets","secrets"]"#, duplicate),
    ] {
        invalid(&entry(names, identity), &format!("resources[0].resources: Invalid value: {shown}: {why}"));
    }
    assert!(parse(&document(&entry("[secrets, '*.apps', pods.metrics.k8s.io]", identity))).is_ok());
}

#[test]
fn rules_that_an_earlier_one_hides_are_refused() {
    let identity = "[{identity: {}}]";
    let rules = |names: &[&str]| {
        document(&names.iter().map(|name| entry(&format!("['{name}']"), identity)).collect::<String>())
    };
    for (names, rule, earlier) in [
        (["*.", "secrets"], "secrets", "*."),
        (["*.apps", "deployments.apps"], "deployments.apps", "*.apps"),
        (["*.*", "*."], "*.", "*.*"),
        (["*.*", "secrets"], "secrets", "*.*"),
        (["*.apps", "*.apps"], "*.apps", "*.apps"),
    ] {
        let why =
            format!("error while building transformers: resource \"{rule}\" is masked by earlier rule \"{earlier}\"");
        refuse(&rules(&names), &why);
    }
    assert!(parse(&rules(&["secrets", "secrets", "*.", "*.apps", "*.*"])).is_ok());
}

#[test]
fn an_element_is_one_provider() {
    invalid_provider(
        "{}",
        "resources[0].providers[0]: Invalid value: provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity",
    );
    invalid_provider(
        &format!("{{identity: {{}}, secretbox: {{keys: [{{name: a, secret: {LONG}}}]}}}}"),
        "resources[0].providers[0]: Invalid value: more than one provider specified in a single element, should split into different list elements",
    );
}

#[test]
fn keys_have_names_and_lengths() {
    let at = "resources[0].providers[0].aesgcm.keys";
    invalid_provider("{aesgcm: {}}", &format!("{at}: Required value: at least one keys is required"));
    for (key, why) in [
        (format!("{{secret: {LONG}}}"), "name: Required value: name is a mandatory field for a key"),
        ("{name: a}".to_owned(), "secret: Required value: secret is a mandatory field for a key"),
        ("{name: a, secret: '...'}".to_owned(), "secret: Invalid value: \"REDACTED\": secrets must be base64 encoded"),
        (
            "{name: a, secret: AAEC}".to_owned(),
            "secret: Invalid value: \"REDACTED\": secret is not of the expected length, got 3, expected one of [16 24 32]",
        ),
    ] {
        invalid_provider(&format!("{{aesgcm: {{keys: [{key}]}}}}"), &format!("{at}[0].{why}"));
    }
    invalid_provider(
        &format!("{{secretbox: {{keys: [{{name: a, secret: {SHORT}}}]}}}}"),
        "resources[0].providers[0].secretbox.keys[0].secret: Invalid value: \"REDACTED\": secret is not of the expected length, got 16, expected one of [32]",
    );
    invalid_provider(
        &format!("{{aesgcm: {{keys: [{{name: a, secret: {LONG}}}, {{name: a, secret: {SHORT}}}]}}}}"),
        &format!("{at}[1].name: Duplicate value: \"a\""),
    );
}

#[test]
fn key_services_are_checked() {
    let at = "resources[0].providers[0].kms";
    let good = "apiVersion: v2, name: k, endpoint: 'unix:///k.sock'";
    for (kms, why) in [
        (
            "apiVersion: v2, endpoint: 'unix:///k.sock'",
            "name: Required value: name is a mandatory field for a provider",
        ),
        (
            "apiVersion: v2, name: 'a:b', endpoint: 'unix:///k.sock'",
            "name: Invalid value: \"a:b\": invalid KMS provider name a:b, must not contain ':'",
        ),
        ("apiVersion: v2, name: k", "endpoint: Invalid value: \"\": endpoint is a mandatory field for a kms"),
        (
            "apiVersion: v2, name: k, endpoint: 'http://x'",
            "endpoint: Invalid value: \"http://x\": unsupported scheme \"http\" for KMS provider, only unix is supported",
        ),
        (&format!("{good}, timeout: 0s"), "timeout: Invalid value: \"0s\": timeout should be a positive value"),
        (&format!("{good}, timeout: -1s"), "timeout: Invalid value: \"-1s\": timeout should be a positive value"),
        (&format!("{good}, cachesize: 10"), "cachesize: Invalid value: 10: cachesize is not supported in v2"),
        (
            "apiVersion: v3, name: k, endpoint: 'unix:///k.sock'",
            "apiVersion: Invalid value: \"v3\": unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported",
        ),
        (
            "name: k, endpoint: 'unix:///k.sock', cachesize: 0",
            "cachesize: Invalid value: 0: cachesize should be a positive value, or negative to disable",
        ),
    ] {
        invalid_provider(&format!("{{kms: {{{kms}}}}}"), &format!("{at}.{why}"));
    }
    let twice =
        entry("[secrets]", &format!("[{{kms: {{{good}}}}}]")) + &entry("[pods]", &format!("[{{kms: {{{good}}}}}]"));
    invalid(
        &twice,
        "resources[1].providers[0].kms.name: Invalid value: \"k\": duplicate KMS provider name k, names must be unique",
    );
}

#[test]
fn key_services_of_version_1_are_refused() {
    let why = "error while building transformers: KMSv1 is deprecated and is not supported by this server. Use KMSv2 instead (apiVersion: v2).";
    refuse(&document(&entry("[secrets]", "[{kms: {name: k, endpoint: 'unix:///k.sock'}}]")), why);
}

#[test]
fn no_key_is_ever_shown() {
    let keys = format!("{{keys: [{{name: a, secret: {LONG}}}]}}");
    let texts = [
        document(&entry("[secrets]", &format!("[{{aesgcm: {keys}}}]"))),
        document(&entry("[secrets]", &format!("[{{aesgcm: {keys}, aescbc: {keys}}}]"))),
        document(&entry("[secrets]", &format!("[{{aesgcm: {keys}, x: {LONG}}}]"))),
        document(&entry("[secrets]", &format!("[{{aesgcm: {LONG}}}]"))),
        document(&entry("[secrets]", &format!("[{{aesgcm: {{keys: [{LONG}]}}}}]"))),
        document(&entry("[secrets]", &format!("[{{aesgcm: {{keys: [{{name: a, secret: '{LONG}!'}}]}}}}]"))),
        document(&entry(
            "[secrets]",
            &format!("[{{aesgcm: {{keys: [{{name: a, secret: {LONG}, secret: {LONG}}}]}}}}]"),
        )),
        format!("secret: {LONG}"),
        format!("secret: {LONG}\n  x: [\n"),
        format!("{{\"secret\": \"{LONG}\""),
    ];
    let bytes = "[0, 1, 2, 3, 4, 5";
    for text in texts {
        let shown = match Config::parse("c.yaml", text.as_bytes(), true) {
            Ok(config) => format!("{config:?} {config:#?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!shown.contains(&LONG[..12]) && !shown.contains(bytes), "{text}: {shown}");
    }
}

fn some_text() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        "[a-zA-Z0-9*.:/]{0,12}",
        Just("unix:///k.sock".to_owned()),
        Just("v2".to_owned()),
        Just("secrets".to_owned()),
        Just("*.*".to_owned()),
        any::<String>(),
    ]
}

fn some_secret() -> impl Strategy<Value = String> + Clone {
    prop_oneof![Just(LONG.to_owned()), Just(SHORT.to_owned()), Just(format!("{LONG}{LONG}")), some_text()]
}

/// Documents that are nearly right.
fn some_document() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::{Value, json};
    let leaf = prop_oneof![some_text().prop_map(Value::from), any::<i32>().prop_map(Value::from), Just(Value::Null)];
    let keys = proptest::collection::vec((some_text(), some_secret()), 0..3).prop_map(
        |keys| json!({"keys": keys.iter().map(|(n, s)| json!({"name": n, "secret": s})).collect::<Vec<_>>()}),
    );
    let kms = (some_text(), some_text(), some_text(), leaf.clone()).prop_map(
        |(version, name, endpoint, other)| json!({"apiVersion": version, "name": name, "endpoint": endpoint, "timeout": other}),
    );
    let provider = prop_oneof![
        keys.clone().prop_map(|k| json!({"aesgcm": k})),
        keys.clone().prop_map(|k| json!({"aescbc": k})),
        keys.prop_map(|k| json!({"secretbox": k})),
        kms.prop_map(|k| json!({"kms": k})),
        Just(json!({"identity": {}})),
        leaf.clone(),
        (some_text(), leaf).prop_map(|(name, value)| json!({name: value})),
    ];
    let entry = (proptest::collection::vec(some_text(), 0..3), proptest::collection::vec(provider, 0..3))
        .prop_map(|(resources, providers)| json!({"resources": resources, "providers": providers}));
    proptest::collection::vec(entry, 0..3).prop_map(|entries| {
        json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": entries})
    })
}

proptest! {
    #[test]
    fn random_texts_are_read_or_refused(text in any::<String>()) {
        let _ = Config::parse("c.yaml", text.as_bytes(), true);
    }

    #[test]
    fn random_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Config::parse("c.yaml", &bytes, true);
    }

    #[test]
    fn random_documents_are_read_or_refused(document in some_document(), reload in any::<bool>()) {
        match Config::parse("c.yaml", document.to_string().as_bytes(), reload) {
            Ok(config) => {
                let usable = config.entries.iter().all(|e| !e.resources.is_empty() && !e.providers.is_empty());
                prop_assert!(usable);
                let shown = format!("{config:?}");
                prop_assert!(!shown.contains(LONG));
            }
            Err(error) => prop_assert!(!error.to_string().contains(LONG)),
        }
    }
}

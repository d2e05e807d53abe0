//! What tenants are refused by kube-apiserver they are refused here: tens of thousands of requests over everything that is
//! served, in every scope and spelling, against verdicts that a real kube-apiserver gave to the same requests.
//!
//! The verdicts are in `facts/verdicts.facts`. They are written by this test, pointed at any server whose administrator's
//! token is known:
//!
//! ```text
//! PAWL_VERDICTS_PORT=6443 PAWL_VERDICTS_CA=ca.crt PAWL_VERDICTS_TOKEN=… \
//!     cargo test --package pawl --test verdicts -- --ignored record
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use crate::tenancy::cases::{self, Case, Resource};
use crate::tenancy::{TENANTS, ask, furnish, is_allowed};
use futures::{StreamExt, stream};
use http::Method;
use pawl_testing::{Client, Failure, Place, Protocol, Trust};
use serde_json::{Value, json};

/// The requests that it is about, and the reason.
type Reason = (fn(&Case) -> bool, &'static str);

/// Where kube-apiserver refuses and this server does not, or does what that one cannot: why that is right.
const REASONS: &[Reason] = &[(
    |case| case.method == Method::HEAD && cases::DOCUMENTS.contains(&case.path.as_str()),
    "HEAD tells of a document what GET would, to the same people; kube-apiserver does so of some documents",
)];

/// What only this server has.
const OWN: &str = "/apis/storage.pawl.dev/";

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Who asked may not.
    Refused,
    Done,
    /// Who asked may, and is told that there is no such thing or that it is not done like this.
    NotDone,
}

impl Verdict {
    fn of(code: u16) -> Self {
        match code {
            401 | 403 => Self::Refused,
            200..300 => Self::Done,
            _ => Self::NotDone,
        }
    }

    fn letter(self) -> char {
        match self {
            Self::Refused => '.',
            Self::Done => '+',
            Self::NotDone => '-',
        }
    }
}

/// One answer of a server.
struct Answered {
    tenant: &'static str,
    case: Case,
    code: u16,
    body: Vec<u8>,
}

/// Asks a server everything for everybody. Nothing is changed by it.
async fn ask_all(admin: &Client, cases: &[Case]) -> Vec<Answered> {
    let all = cases.iter().flat_map(|case| TENANTS.map(|tenant| (tenant, case.clone())));
    let answers = stream::iter(all).map(async |(tenant, case)| {
        let (code, body) = ask(admin, tenant, &case).await.unwrap_or_else(|e| panic!("{tenant} {case:?}: {e}"));
        Answered { tenant, case, code, body }
    });
    answers.buffered(16).collect().await
}

fn facts() -> PathBuf {
    PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("tests/facts/verdicts.facts")
}

/// A line for each path: `path GET=+.. DELETE=...`, a letter for each tenant.
fn written(version: &str, answers: &[Answered]) -> String {
    let mut lines: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
    for answered in answers {
        let methods = lines.entry(&answered.case.path).or_default();
        methods.entry(answered.case.method.as_str()).or_default().push(Verdict::of(answered.code).letter());
    }
    let mut text =
        format!("# Verdicts of kube-apiserver {version}: . refused, + done, - may be asked and is not done.\n");
    let _ = writeln!(text, "# {}", TENANTS.join(" "));
    for (path, methods) in lines {
        text.push_str(path);
        for (method, letters) in methods {
            let _ = write!(text, " {method}={letters}");
        }
        text.push('\n');
    }
    text
}

/// The verdicts by path, method and tenant.
fn recorded() -> BTreeMap<(String, String, &'static str), Verdict> {
    let text = fs::read_to_string(facts()).unwrap();
    let mut verdicts = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (path, methods) = line.split_once(' ').unwrap();
        for (method, letters) in methods.split(' ').map(|field| field.split_once('=').unwrap()) {
            for (tenant, letter) in TENANTS.into_iter().zip(letters.chars()) {
                let verdicts_of = [Verdict::Refused, Verdict::Done, Verdict::NotDone];
                let verdict = verdicts_of.into_iter().find(|verdict| verdict.letter() == letter).unwrap();
                verdicts.insert((path.to_owned(), method.to_owned(), tenant), verdict);
            }
        }
    }
    verdicts
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_here_that_kube_apiserver_refuses() {
    let mut place = Place::new();
    let server = place.start().await;
    let admin = place.client(Protocol::Http2);
    furnish(&admin).await.unwrap();
    let resources = cases::resources(&admin).await.unwrap();
    let answers = ask_all(&admin, &cases::all(&resources)).await;
    let recorded = recorded();
    let (mut wrong, mut stricter, mut unknown) = (Vec::new(), 0, BTreeSet::new());
    for Answered { tenant, case, code, .. } in &answers {
        let here = Verdict::of(*code);
        let key = (case.path.clone(), case.method.to_string(), *tenant);
        // Nobody else serves these; whether who is let in may come in is asked below, as of everything.
        if case.path.starts_with(OWN) {
            continue;
        }
        let Some(there) = recorded.get(&key) else {
            unknown.insert(&case.path);
            continue;
        };
        let let_in = *there == Verdict::Refused && here != Verdict::Refused;
        let done = here == Verdict::Done && *there != Verdict::Done;
        if (let_in || done) && !REASONS.iter().any(|(covers, _)| covers(case)) {
            wrong.push(format!("{tenant}: {} {}: {there:?} there, {code} here", case.method, case.path));
        }
        stricter += usize::from(here == Verdict::Refused && *there != Verdict::Refused);
    }
    println!("{} requests, {stricter} of them refused here and not there", answers.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), answers.len(), wrong.join("\n"));
    assert!(unknown.is_empty(), "record verdicts for {unknown:?}");
    assert!(answers.len() >= 3000);
    check_authorized(&admin, &resources, &answers).await.unwrap();
    server.assert_no_panic();
    server.stop().await;
}

/// Everything that is served, what discovery does not show included, is a line of the matrix of roles (`crates/auth/tests/matrix.txt`).
#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_served_is_in_the_matrix_of_roles() {
    let mut place = Place::new();
    let server = place.start().await;
    let admin = place.client(Protocol::Http2);
    let matrix = fs::read_to_string(
        PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../auth/tests/matrix.txt"),
    )
    .unwrap();
    let lines: BTreeSet<&str> = matrix.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let mut unlisted = BTreeSet::new();
    for resource in cases::resources(&admin).await.unwrap() {
        let group = resource.root.strip_prefix("/apis/").and_then(|rest| rest.split('/').next());
        let line = group.map_or_else(|| resource.plural.clone(), |group| format!("{}.{group}", resource.plural));
        let mut below = resource.below.clone();
        for hidden in ["history", "usedby", "invalidobjects", "restore", "snapshot"] {
            let namespaced = format!("{}/namespaces/default/{}/x/{hidden}", resource.root, resource.plural);
            let alone = format!("{}/{}/x/{hidden}", resource.root, resource.plural);
            for path in [namespaced, alone] {
                let told = admin.get(&path).await.unwrap();
                let told = String::from_utf8_lossy(&told.body).into_owned();
                if !told.contains("the server could not find the requested resource") {
                    below.push(hidden.to_owned());
                }
            }
        }
        let all = below.iter().map(|below| format!("{line}/{below}")).chain([line.clone()]);
        unlisted.extend(all.filter(|name| !lines.contains(name.as_str())));
        for hidden in ["history", "usedby", "invalidobjects"] {
            let name = format!("{line}/{hidden}");
            let is_served = below.iter().any(|below| below == hidden);
            assert!(is_served || !lines.contains(name.as_str()), "{name} is in the matrix, and nobody serves it");
        }
    }
    assert!(unlisted.is_empty(), "not in the matrix: {unlisted:?}");
    server.stop().await;
}

/// Whoever got to see an object may do to exactly that object what was asked: a review of access says so. No verdict of
/// another server is needed for it.
async fn check_authorized(admin: &Client, resources: &[Resource], answers: &[Answered]) -> Result<(), Failure> {
    let mut claims: BTreeSet<(&str, String)> = BTreeSet::new();
    for answered in answers.iter().filter(|answered| Verdict::of(answered.code) == Verdict::Done) {
        let shown: Value = serde_json::from_slice(&answered.body).unwrap_or_default();
        let kind = shown["kind"].as_str().unwrap_or_default();
        let together = if answered.case.method == Method::DELETE { "deletecollection" } else { "list" };
        let objects = match shown["items"].as_array() {
            Some(items) => items.iter().map(|item| (together, kind.trim_end_matches("List"), item)).collect(),
            None => vec![(verb(&answered.case.method), kind, &shown)],
        };
        for (verb, kind, object) in objects {
            let version = shown["apiVersion"].as_str().unwrap_or_default();
            let root = format!("/api{}/{version}", if version.contains('/') { "s" } else { "" });
            let found = resources.iter().find(|r| r.kind == kind && r.root == root);
            // What is answered and not stored belongs to nobody.
            let (Some(resource), Some(_)) = (found, object["metadata"]["uid"].as_str()) else { continue };
            let asked = attributes(resource, verb, object, &answered.case.path);
            claims.insert((answered.tenant, asked.to_string()));
        }
    }
    assert!(claims.len() > 50, "something was done: {}", claims.len());
    for (tenant, asked) in &claims {
        let asked: Value = serde_json::from_str(asked)?;
        let groups = if *tenant == "system:anonymous" { "system:unauthenticated" } else { "system:authenticated" };
        let spec = json!({"user": tenant, "groups": [groups], "resourceAttributes": asked});
        assert!(is_allowed(admin, &spec).await?, "{tenant} did what {tenant} may not: {asked}");
    }
    println!("{} kinds of things were done, all by those who may", claims.len());
    Ok(())
}

fn attributes(resource: &Resource, verb: &str, object: &Value, path: &str) -> Value {
    let group = resource.root.strip_prefix("/apis/").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let metadata = &object["metadata"];
    // Some may list just what they name; nobody deletes or makes by a name that only the answer tells.
    let name = if matches!(verb, "create" | "deletecollection") { &Value::Null } else { &metadata["name"] };
    // A namespace is in itself.
    let itself = resource.plural == "namespaces" && verb != "list";
    let inside = if itself { name } else { &metadata["namespace"] };
    let path = path.split('?').next().unwrap_or_default().replace("%2F", "/");
    let below = resource.below.iter().find(|below| path.ends_with(&format!("/{below}")));
    json!({"verb": verb, "group": group, "resource": resource.plural, "namespace": inside, "name": name,
        "subresource": below})
}

fn verb(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "get",
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes down the verdicts of the server that the environment names"]
async fn record() {
    let setting = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} says which server is asked"));
    let ca = fs::read_to_string(setting("PAWL_VERDICTS_CA")).unwrap();
    let port = setting("PAWL_VERDICTS_PORT").parse().unwrap();
    let trust = Trust { ca, certificate: None };
    let admin = Client::new(port, Protocol::Http2, &trust).with_token(&setting("PAWL_VERDICTS_TOKEN"));
    furnish(&admin).await.unwrap();
    let version = admin.get("/version").await.unwrap().expect(200)["gitVersion"].as_str().unwrap().to_owned();
    let resources = cases::resources(&admin).await.unwrap();
    let answers = ask_all(&admin, &cases::all(&resources)).await;
    fs::write(facts(), written(&version, &answers)).unwrap();
    println!("{} verdicts of {version} were written down", answers.len());
}

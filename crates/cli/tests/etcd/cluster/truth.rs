//! What the store itself says that happened, and whether that is what everybody was told.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures::StreamExt;
use pawl_kv::{Event, Kv, WatchMessage};
use pawl_kv_etcd::testing::Etcd;
use serde_json::Value;

use super::clients::{Told, identity};
use super::faults::Cluster;

const MAPS: &str = "/registry/configmaps/default/";
const FENCE: &str = "/registry/pawl.dev/leader";
const LEASE: &str = "/registry/leases/kube-system/pawl-controllers";

/// Everything that happened after a revision, up to the writing of a key.
pub struct Truth(Vec<Event>);

impl Truth {
    pub async fn read(etcd: &Etcd, after: u64, last: &str) -> Self {
        let store = etcd.store().await.unwrap();
        let mut watch = store.watch("/registry/".into(), after).await.unwrap();
        let mut events = Vec::new();
        loop {
            if let WatchMessage::Events(more) = watch.next().await.unwrap().unwrap() {
                let ends = more.iter().any(|event| event.key == format!("{MAPS}{last}"));
                events.extend(more);
                if ends {
                    return Self(events);
                }
            }
        }
    }

    /// What every watcher must have been told, exactly that and in this order.
    pub fn told(&self) -> Vec<Told> {
        let of_maps = self.0.iter().filter(|event| event.key.starts_with(MAPS.as_bytes()));
        let told = of_maps.map(|event| {
            let kind = match (&event.value, &event.previous) {
                (Some(_), None) => "ADDED",
                (Some(_), Some(_)) => "MODIFIED",
                (None, _) => "DELETED",
            };
            let held = event.value.as_ref().or(event.previous.as_ref().map(|held| &held.value)).unwrap();
            let (name, _, value) = identity(&serde_json::from_slice(held).unwrap());
            (event.revision, kind.to_owned(), name, value)
        });
        told.collect()
    }

    /// What was shown to anybody is in the store's history, under that version. It says so of what was written, too.
    pub fn check_shown(&self, shown: &[(String, u64, u64)]) {
        let told = self.told();
        let there: HashSet<(&str, u64, u64)> = told
            .iter()
            .filter(|(_, kind, ..)| kind != "DELETED")
            .map(|(at, _, name, value)| (name.as_str(), *at, *value))
            .collect();
        for (name, version, value) in shown {
            let it = (name.as_str(), *version, *value);
            assert!(there.contains(&it), "{it:?} was shown and is not in the store's history");
        }
    }

    /// Who led, from which revision on.
    fn reigns(&self) -> BTreeMap<u64, String> {
        let named = self.0.iter().filter(|event| event.key == FENCE);
        named.map(|event| (event.revision, String::from_utf8(event.value.clone().unwrap().to_vec()).unwrap())).collect()
    }

    /// Whoever wrote his name at the fence held the Lease when he did.
    pub fn check_reigns(&self) -> usize {
        let mut holder = String::new();
        let mut reigns = 0;
        for event in &self.0 {
            if event.key == LEASE {
                let lease: Value = serde_json::from_slice(event.value.as_ref().unwrap()).unwrap();
                holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
            } else if event.key == FENCE {
                assert_eq!(event.value.as_ref().unwrap(), &holder, "at {}", event.revision);
                reigns += 1;
            }
        }
        reigns
    }

    /// Every effect of a controller happened while its server led: none of an earlier leader after the next one had begun.
    /// Effects are what happened once to what lives in namespaces that were made for it; whose they are is in the audit logs.
    /// Gives how many there were.
    pub fn check_effects(&self, cluster: &Cluster, prefix: &str) -> usize {
        let (reigns, claims) = (self.reigns(), claims(cluster, prefix));
        let mut effects = 0;
        for event in &self.0 {
            let key = std::str::from_utf8(&event.key).unwrap();
            let verb = match (&event.value, &event.previous) {
                (Some(_), None) => "create",
                (None, _) => "delete",
                _ => continue,
            };
            let parts: Vec<&str> = key.split('/').collect();
            let [_, _, resource, namespace, name] = parts[..] else { continue };
            // Of a kind that a controller makes once in each namespace.
            if !matches!((resource, name), ("serviceaccounts", "default") | ("configmaps", "kube-root-ca.crt")) {
                continue;
            }
            let effect = (verb.to_owned(), resource.to_owned(), namespace.to_owned());
            let Some(claimed) = claims.get(&effect) else { continue };
            let [server] = claimed[..] else { panic!("{effect:?} was done by all of {claimed:?}") };
            let (since, leader) = reigns.range(..=event.revision).next_back().expect("a leader");
            assert_eq!(
                cluster.named(leader),
                Some(server),
                "server {server} did {effect:?} at {}, while {leader} led since {since}",
                event.revision
            );
            effects += 1;
        }
        effects
    }
}

/// Which servers say that they did something: verb, resource and namespace.
type Claims = HashMap<(String, String, String), Vec<usize>>;

fn claims(cluster: &Cluster, prefix: &str) -> Claims {
    let mut claims = Claims::new();
    for (number, server) in cluster.servers.iter().enumerate() {
        let log = std::fs::read(server.place.path("audit.log")).unwrap_or_default();
        // A server that is killed may leave half a line.
        let lines = log.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        for line in lines {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let about = &line["objectRef"];
            let namespace = text(&about["namespace"]);
            if namespace.starts_with(prefix) && matches!(line["responseStatus"]["code"].as_u64(), Some(200 | 201)) {
                let claim = (text(&line["verb"]), text(&about["resource"]), namespace);
                let claimed = claims.entry(claim).or_default();
                if !claimed.contains(&number) {
                    claimed.push(number);
                }
            }
        }
    }
    claims
}

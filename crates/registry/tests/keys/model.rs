//! Random writes, key changes, damage, unsafe deletes, restores and restarts, against a plain model of them. It takes as long as
//! `PAWL_FUZZ_SECONDS` says, and always begins with the same runs.

use std::collections::{BTreeMap, BTreeSet};

use pawl_deletion::DeleteOptions;
use pawl_registry::{DeleteRequest, Selection};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use super::{World, aesgcm, context};

const KEYS: [(&str, u8); 3] = [("one", 1), ("two", 2), ("three", 3)];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const STEPS: usize = 60;

/// What is stored under a name.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    /// Which key sealed it; nobody's, where it is damaged.
    key: Option<usize>,
    value: u64,
}

#[derive(Default)]
struct Model {
    objects: BTreeMap<&'static str, Held>,
    quarantine: BTreeMap<String, (&'static str, Held)>,
    /// The keys in use; the first one seals.
    keys: Vec<usize>,
    count: u64,
}

impl Model {
    fn can_read(&self, held: &Held) -> bool {
        held.key.is_some_and(|key| self.keys.contains(&key))
    }

    fn code(&self, name: &str) -> u16 {
        match self.objects.get(name) {
            None => 404,
            Some(held) if self.can_read(held) => 200,
            Some(_) => 500,
        }
    }

    fn unreadable(&self) -> BTreeSet<String> {
        let closed = self.objects.iter().filter(|(_, held)| !self.can_read(held));
        closed.map(|(name, _)| format!("secrets:n:{name}")).collect()
    }

    fn providers(&self) -> Value {
        let keys: Vec<(&str, u8)> = self.keys.iter().map(|key| KEYS[*key]).collect();
        json!([aesgcm(&keys)])
    }
}

/// What the registry says otherwise than the model.
async fn difference(world: &World, model: &Model) -> Option<String> {
    for name in NAMES {
        let (code, value) = match world.stage.get(&world.secrets, name).await {
            Ok(object) => (200, object["metadata"]["annotations"]["value"].as_str().map(str::to_owned)),
            Err(status) => (status.code, None),
        };
        let held = model.objects.get(name).filter(|_| model.code(name) == 200).map(|held| held.value.to_string());
        if code != model.code(name) || value != held {
            return Some(format!("{name} is {code} {value:?}, should be {} {held:?}", model.code(name)));
        }
    }
    let listed = world.list(Selection::default()).await.map_err(|status| status.code);
    let expected = match model.unreadable().is_empty() {
        true => Ok(model.objects.keys().map(|name| (*name).to_owned()).collect::<Vec<_>>()),
        false => Err(500),
    };
    if listed != expected {
        return Some(format!("listed {listed:?}, should be {expected:?}"));
    }
    let shown = world.stage.served("storage.pawl.dev", "v1", "unreadableobjects");
    let shown: BTreeSet<String> = world.stage.names(&shown).into_iter().collect();
    (shown != model.unreadable()).then(|| format!("unreadable {shown:?}, should be {:?}", model.unreadable()))
}

/// Waits until the registry says what the model says.
async fn agree(world: &World, model: &Model, what: &str) {
    let deadline = tokio::time::Instant::now() + super::DEADLINE;
    while let Some(difference) = difference(world, model).await {
        assert!(tokio::time::Instant::now() < deadline, "{what}: {difference}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

async fn write(world: &World, model: &mut Model, name: &'static str) {
    model.count += 1;
    let value = model.count;
    let annotations = json!({"annotations": {"value": value.to_string()}});
    let code = match model.code(name) {
        404 => {
            let mut secret = json!({"kind": "Secret", "apiVersion": "v1", "metadata": annotations});
            secret["metadata"]["name"] = json!(name);
            world.stage.create(&world.secrets, secret).await.map_or_else(|status| status.code, |_| 200)
        }
        _ => {
            let patched = world.stage.merge(&world.secrets, name, "", json!({"metadata": annotations})).await;
            patched.map_or_else(|status| status.code, |_| 200)
        }
    };
    if model.code(name) == 500 {
        assert_eq!(code, 500);
        return;
    }
    assert_eq!(code, 200);
    model.objects.insert(name, Held { key: Some(model.keys[0]), value });
}

async fn delete(world: &World, model: &mut Model, name: &'static str, ignore_read_errors: bool) {
    let options = DeleteOptions { ignore_read_errors, ..DeleteOptions::default() };
    let request = DeleteRequest { namespace: "n", name, options: &options };
    let revision = world.secrets.stored.cache.get(&format!("n/{name}")).map(|entry| entry.revision);
    let deleted = world.stage.registry.delete(&context(), &world.secrets, request).await;
    let code = deleted.map_or_else(|status| status.code, |_| 200);
    match (ignore_read_errors, model.code(name)) {
        (false, expected) => assert_eq!(code, expected),
        (true, 500) => assert_eq!(code, 200),
        (true, _) => assert_eq!(code, 422),
    }
    if code == 200
        && let Some(held) = model.objects.remove(name)
        && ignore_read_errors
    {
        model.quarantine.insert(format!("secrets:n:{name}:{}", revision.unwrap()), (name, held));
    }
}

async fn restore(world: &World, model: &mut Model, at: usize) {
    let Some(kept) = model.quarantine.keys().nth(at).cloned() else { return };
    let (name, held) = model.quarantine[&kept].clone();
    let restored = world.stage.registry.restore(&context(), &kept).await;
    match model.objects.contains_key(name) {
        true => assert_eq!(restored.err().map(|status| status.code), Some(409)),
        false => {
            assert!(restored.is_ok(), "{kept}");
            model.quarantine.remove(&kept);
            model.objects.insert(name, held);
        }
    }
}

async fn run(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut model = Model { keys: vec![0], ..Model::default() };
    let mut world = World::new(model.providers()).await;
    // The first one has the directory.
    let mut before: Vec<World> = Vec::new();
    let namespace = json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "n"}});
    world.stage.create(&world.stage.served("", "v1", "namespaces"), namespace).await.unwrap();
    for step in 0..STEPS {
        let name = NAMES[random.random_range(0..NAMES.len())];
        let action = random.random_range(0..12);
        match action {
            0..4 => write(&world, &mut model, name).await,
            4 => delete(&world, &mut model, name, false).await,
            5 | 6 => delete(&world, &mut model, name, true).await,
            7 => {
                let key = world.secrets.stored.full_key(&format!("n/{name}"));
                super::put(&world, &key, b"damaged").await;
                model.objects.insert(name, Held { key: None, value: 0 });
            }
            8 | 9 => {
                let at = random.random_range(0..NAMES.len());
                restore(&world, &mut model, at).await;
            }
            10 => {
                let first = random.random_range(0..KEYS.len());
                let others = (0..KEYS.len()).filter(|key| *key != first && random.random_bool(0.5));
                model.keys = std::iter::once(first).chain(others.collect::<Vec<_>>()).collect();
                world.use_keys(model.providers()).await;
            }
            _ => {
                let again = world.again(model.providers()).await;
                before.push(std::mem::replace(&mut world, again));
            }
        }
        agree(&world, &model, &format!("seed {seed}, step {step}, action {action} on {name}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_registry_says_what_a_plain_model_says() {
    let seconds = std::env::var("PAWL_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
    for seed in 0.. {
        if seed >= 24 && std::time::Instant::now() >= until {
            return;
        }
        run(seed).await;
    }
}

//! In which order the content of a namespace goes.
//!
//! Pods first, and nothing else while a pod is on its way out. Then what no lien holds, but not what a pod that is held
//! still uses. What liens hold waits for their release; when nothing moves for a while it goes in spite of them, again
//! pods first. That something used by what is going by itself waits for it is no standstill.

use std::collections::HashSet;
use std::time::Duration;

use pawl_usage::Target;
use tokio::time::Instant;

use super::content::Remaining;

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Round {
    /// Nothing is left.
    Finish,
    /// These go now, by their place in the content.
    Delete { objects: Vec<usize>, ignore_liens: bool },
    /// Nothing can be done but wait; `held` says whether liens are waited for.
    Wait { held: bool },
}

/// What to do about the content of a namespace. `stalled` says that nothing has moved for a while.
pub fn plan(content: &[Remaining], stalled: bool) -> Round {
    if content.is_empty() {
        return Round::Finish;
    }
    let pick = |wanted: &dyn Fn(&Remaining) -> bool| -> Vec<usize> {
        content.iter().enumerate().filter(|(_, object)| wanted(object)).map(|(i, _)| i).collect()
    };
    let go = |objects: Vec<usize>, ignore_liens| Round::Delete { objects, ignore_liens };
    let free_pods = pick(&|object| object.is_pod() && object.is_free());
    if !free_pods.is_empty() {
        return go(free_pods, false);
    }
    let held_pods = pick(&|object| object.is_pod() && object.is_held());
    if content.iter().any(|object| object.is_pod() && object.deleting) {
        return if stalled && !held_pods.is_empty() {
            go(held_pods, true)
        } else {
            Round::Wait { held: !held_pods.is_empty() }
        };
    }
    let used: HashSet<&Target> =
        content.iter().flat_map(|pod| pod.uses.targets.iter().map(|(target, _)| target)).collect();
    let is_used = |object: &Remaining| object.target.as_ref().is_some_and(|target| used.contains(target));
    let free = pick(&|object| object.is_free() && !is_used(object));
    if !free.is_empty() {
        return go(free, false);
    }
    let held = pick(&Remaining::is_held);
    match (stalled, held_pods.is_empty(), held.is_empty()) {
        (true, false, _) => go(held_pods, true),
        (true, true, false) => go(held, true),
        _ => Round::Wait { held: !held.is_empty() },
    }
}

/// Whether a namespace gets on: less of something than ever before is a move, a lien that comes and goes is none.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    least: Option<[usize; 4]>,
    moved: Instant,
}

impl Progress {
    pub fn new(now: Instant) -> Self {
        Self { least: None, moved: now }
    }

    /// Takes in what is there now. Returns for how long nothing has moved.
    pub fn watch(&mut self, content: &[Remaining], now: Instant) -> Duration {
        let measure = [
            content.len(),
            content.iter().filter(|object| !object.deleting).count(),
            content.iter().map(|object| object.liens.len()).sum(),
            content.iter().map(|object| object.finalizers.len()).sum(),
        ];
        let least = self.least.get_or_insert_with(|| {
            self.moved = now;
            measure
        });
        for (least, now_there) in least.iter_mut().zip(measure) {
            if now_there < *least {
                *least = now_there;
                self.moved = now;
            }
        }
        if content.iter().any(|object| object.awaits.is_some()) {
            self.moved = now;
        }
        now.saturating_duration_since(self.moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pawl_usage::{Used, User, Uses, Who};
    use serde_json::json;
    use std::sync::Arc;

    fn pod_with(secret: &str) -> Arc<Uses> {
        let pod = json!({"metadata": {"namespace": "n"}, "spec": {"volumes": [{"secret": {"secretName": secret}}]}});
        Uses::of(User::Pod, pod.as_object().unwrap())
    }

    /// Reads content from words: `pod:name`, `secret:name`, with `+lien`, `+used`, `+deleting`,
    /// `+finalizer`, `+uses=name`, `+awaits=volume`.
    fn content(text: &str) -> Vec<Remaining> {
        let table = pawl_registry::Table::new(pawl_kinds::builtin(), 1);
        text.split_whitespace()
            .map(|word| {
                let mut parts = word.split('+');
                let (kind, name) = parts.next().unwrap().split_once(':').unwrap();
                let served = table.preferred("", &format!("{kind}s")).unwrap();
                let mut object = Remaining {
                    served: Arc::clone(served),
                    name: name.to_owned(),
                    uid: name.to_owned(),
                    deleting: false,
                    liens: Vec::new(),
                    finalizers: Vec::new(),
                    target: Used::of("", &format!("{kind}s")).map(|used| Target::new(used, "n", name)),
                    uses: Arc::default(),
                    in_use: false,
                    awaits: None,
                };
                for part in parts {
                    match part.split_once('=') {
                        Some(("uses", secret)) => object.uses = pod_with(secret),
                        Some(("awaits", volume)) => {
                            object.awaits = Some(Who { user: User::Volume, key: volume.into() });
                        }
                        _ if part == "used" => object.in_use = true,
                        _ if part == "lien" => object.liens.push("a.b/c".to_owned()),
                        _ if part == "finalizer" => object.finalizers.push("a.b/c".to_owned()),
                        _ => object.deleting = true,
                    }
                }
                object
            })
            .collect()
    }

    fn check(text: &str, stalled: bool, expect: &str) {
        let content = content(text);
        let got = match plan(&content, stalled) {
            Round::Finish => "finish".to_owned(),
            Round::Wait { held } => format!("wait{}", if held { " for liens" } else { "" }),
            Round::Delete { objects, ignore_liens } => {
                let names: Vec<&str> = objects.iter().map(|i| content[*i].name.as_str()).collect();
                format!("delete{} {}", if ignore_liens { " in spite of liens" } else { "" }, names.join(" "))
            }
        };
        assert_eq!(got, expect, "{text} stalled={stalled}");
    }

    #[test]
    fn pods_go_before_what_they_use() {
        check("", false, "finish");
        check("secret:s pod:p configmap:c", false, "delete p");
        check("secret:s pod:p+deleting", false, "wait");
        check("secret:s pod:p+deleting", true, "wait");
        check("secret:s configmap:c", false, "delete s c");
        check("secret:s+deleting", false, "wait");
    }

    #[test]
    fn what_no_lien_holds_goes_first() {
        check("secret:s+lien configmap:c", false, "delete c");
        check("secret:s+lien configmap:c+deleting", false, "wait for liens");
        check("secret:s+lien", false, "wait for liens");
        check("pod:p+lien+uses=s secret:s secret:t", false, "delete t");
        check("pod:p+lien+uses=s secret:s", false, "wait for liens");
        check("pod:p+lien pod:q secret:s", false, "delete q");
        check("pod:p+lien pod:q+deleting secret:s", false, "wait for liens");
    }

    #[test]
    fn what_is_left_goes_when_nothing_moves() {
        check("secret:s+lien", true, "delete in spite of liens s");
        check("secret:s+lien configmap:c", true, "delete c");
        check("secret:s+lien configmap:c+deleting", true, "delete in spite of liens s");
        check("pod:p+lien+uses=s secret:s secret:t+lien", true, "delete in spite of liens p");
        check("pod:p+lien pod:q+deleting", true, "delete in spite of liens p");
    }

    #[test]
    fn what_is_used_is_held_before_its_lien_is_there() {
        check("secret:s+used configmap:c", false, "delete c");
        check("secret:s+used", false, "wait for liens");
        check("secret:s+used", true, "delete in spite of liens s");
    }

    #[test]
    fn to_wait_for_what_is_going_is_no_standstill() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut progress = Progress::new(start);
        for seconds in [1, 30, 61] {
            assert_eq!(progress.watch(&content("secret:s+lien+awaits=pv"), at(seconds)).as_secs(), 0);
        }
        assert_eq!(progress.watch(&content("secret:s+lien"), at(65)).as_secs(), 4);
    }

    #[test]
    fn a_lien_that_comes_and_goes_is_no_move() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut progress = Progress::new(start);
        assert_eq!(progress.watch(&content("secret:s+lien secret:t+lien"), at(1)).as_secs(), 0);
        assert_eq!(progress.watch(&content("secret:s+lien secret:t+lien"), at(3)).as_secs(), 2);
        assert_eq!(progress.watch(&content("secret:s+lien secret:t"), at(4)).as_secs(), 0);
        assert_eq!(progress.watch(&content("secret:s+lien secret:t+lien"), at(6)).as_secs(), 2);
        assert_eq!(progress.watch(&content("secret:s+lien secret:t"), at(7)).as_secs(), 3);
        assert_eq!(progress.watch(&content("secret:s+lien"), at(8)).as_secs(), 0);
        assert_eq!(progress.watch(&content("secret:s+lien+deleting+finalizer"), at(9)).as_secs(), 0);
        assert_eq!(progress.watch(&content("secret:s+lien+deleting+finalizer"), at(19)).as_secs(), 10);
    }
}

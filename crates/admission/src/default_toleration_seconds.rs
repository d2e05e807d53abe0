//! A pod stays for a while on a node that is not ready or not reached, unless it says itself what it tolerates.

use pawl_meta::object::Object;
use pawl_meta::{GroupResource, read};
use serde_json::json;

use crate::{AdmissionVerdict, Attributes, Plugin};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const EFFECT: &str = "NoExecute";

/// Seconds for either taint.
pub struct DefaultTolerationSeconds {
    pub not_ready: i64,
    pub unreachable: i64,
}

impl DefaultTolerationSeconds {
    fn tolerate(&self, pod: &mut Object) {
        let Some(spec) = read::map_mut(pod, "spec") else { return };
        for (taint, seconds) in [(NOT_READY, self.not_ready), (UNREACHABLE, self.unreachable)] {
            if read::each(spec, "tolerations").any(|toleration| concerns(toleration, taint)) {
                continue;
            }
            if let Some(tolerations) = read::list_mut(spec, "tolerations") {
                tolerations
                    .push(json!({"key": taint, "operator": "Exists", "effect": EFFECT, "tolerationSeconds": seconds}));
            }
        }
    }
}

impl Plugin for DefaultTolerationSeconds {
    fn name(&self) -> &'static str {
        "DefaultTolerationSeconds"
    }

    fn looks_at_others(&self, _resource: &GroupResource) -> bool {
        false
    }

    fn mutate<'a>(&'a self, attributes: &'a Attributes<'a>, object: &'a mut Object) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            if attributes.is("", "pods") {
                self.tolerate(object);
            }
            Ok(())
        })
    }
}

/// Whether a toleration says something about evictions for a taint. An empty key or effect means all of them.
fn concerns(toleration: &Object, taint: &str) -> bool {
    let matches = |field, wanted| matches!(read::text(toleration, field), text if text.is_empty() || text == wanted);
    matches("key", taint) && matches("effect", EFFECT)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fake::{Request, Stored};

    fn default(taint: &str, seconds: i64) -> Value {
        json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds})
    }

    fn check(request: &Request, given: Value, expect: Value) {
        let plugin = DefaultTolerationSeconds { not_ready: 300, unreachable: 60 };
        let result = request.mutate(&plugin, json!({"spec": {"tolerations": given}}), &Stored::default());
        assert_eq!(result, Ok(json!({"spec": {"tolerations": expect}})));
    }

    #[test]
    fn pods_tolerate_for_a_while() {
        let (ready, reached) = (default(NOT_READY, 300), default(UNREACHABLE, 60));
        let create = Request::create("", "pods");
        check(&create, json!([]), json!([ready, reached]));
        check(&create, json!(null), json!([ready, reached]));
        let other = json!({"key": "a", "operator": "Exists"});
        check(&create, json!([other]), json!([other, ready, reached]));
        let own = json!({"key": NOT_READY, "operator": "Exists"});
        check(&create, json!([own]), json!([own, reached]));
        let scheduling = json!({"key": UNREACHABLE, "operator": "Exists", "effect": "NoSchedule"});
        check(&create, json!([scheduling]), json!([scheduling, ready, reached]));
        let all = json!({"operator": "Exists"});
        check(&create, json!([all]), json!([all]));
        check(&Request::update("", "pods", json!({})), json!([]), json!([ready, reached]));
        let status = Request { subresource: "status", ..Request::update("", "pods", json!({})) };
        check(&status, json!([]), json!([]));
        check(&Request::create("apps", "pods"), json!([]), json!([]));
    }
}

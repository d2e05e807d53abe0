//! SelfSubjectReview and TokenReview.

use pawl_meta::{Status, time};
use serde_json::{Map, Value, json};

use super::access::with_status;
use crate::User;
use crate::authn::Authentication;

/// Tells the asker who they are.
pub fn review_self(asker: &User) -> Value {
    json!({
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": time::now()},
        "status": {"userInfo": asker.to_value()},
    })
}

/// Tells whom a token stands for, and for which audiences.
pub fn review_token(review: &Value, authentication: &Authentication) -> Result<Value, Status> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let token = spec.get("token").and_then(Value::as_str).unwrap_or_default();
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let audiences = spec.get("audiences").and_then(Value::as_array).into_iter().flatten();
    let asked: Vec<String> = audiences.filter_map(Value::as_str).map(str::to_owned).collect();
    let audiences = if asked.is_empty() { authentication.audiences() } else { &asked };
    let mut status = Map::new();
    match authentication.token(token, audiences) {
        Ok(identity) => {
            if !audiences.is_empty() && !identity.audiences.iter().any(|a| audiences.contains(a)) {
                return Err(Status::internal("error validating audiences"));
            }
            status.insert("authenticated".to_owned(), json!(true));
            status.insert("user".to_owned(), identity.user.to_value());
            if !identity.audiences.is_empty() {
                status.insert("audiences".to_owned(), json!(identity.audiences));
            }
        }
        Err(refusal) => {
            status.insert("user".to_owned(), json!({}));
            status.insert("error".to_owned(), json!(refusal.to_string()));
        }
    }
    Ok(with_status(review, Value::Object(status)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authn::StaticTokens;

    fn check(review: Value, expect: Value) {
        let tokens = StaticTokens::parse("tokens.csv", "secret,alice,u1,\"a,b\"\n").unwrap();
        let tokens = tokens.with_audiences(vec!["api".to_owned()]);
        let authentication = Authentication::new(vec![Box::new(tokens)], true, vec!["api".to_owned()]);
        let got = review_token(&review, &authentication);
        assert_eq!(got.map_or_else(|e| json!(e.message), |answer| answer["status"].clone()), expect);
    }

    #[test]
    fn tokens_are_reviewed() {
        check(
            json!({"spec": {"token": "secret"}}),
            json!({
                "authenticated": true,
                "user": {"username": "alice", "uid": "u1", "groups": ["a", "b", "system:authenticated"]},
                "audiences": ["api"],
            }),
        );
        let unknown = json!({"user": {}, "error": "invalid bearer token"});
        check(json!({"spec": {"token": "no-such-token"}}), unknown.clone());
        check(json!({"spec": {"token": "secret", "audiences": ["other"]}}), unknown);
        check(json!({"spec": {}}), json!("token is required for TokenReview in authentication"));
    }

    #[test]
    fn the_asker_sees_itself() {
        let alice = User::named("alice").with_groups(["system:authenticated"]);
        let answer = review_self(&alice);
        let expect = json!({"userInfo": {"username": "alice", "groups": ["system:authenticated"]}});
        assert_eq!(answer["status"], expect);
    }
}

//! A guided run of the five promises: each request and its answer as they happen, and what would have been lost elsewhere.
//!
//! Nothing is canned: what is shown was sent and answered, and a promise that does not hold is shown as one that does not. Who
//! calls brings a private server, and starts it again with other keys for the last promise.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use crate::look::{list, text};
use crate::screen::{Colour, Screen};
use crate::server::{Answer, Server};

/// The narrowest terminal that is common, and a margin.
const WIDTH: usize = 78;
/// What happens a moment later must have happened by then.
const PATIENCE: Duration = Duration::from_secs(20);
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const OWN: &str = "/apis/storage.pawl.dev/v1";

/// A tour on its way.
pub struct Tour {
    screen: Screen,
    began: Instant,
    requests: usize,
    /// The promises, and what was found against each.
    promises: Vec<(&'static str, Vec<String>)>,
}

impl Tour {
    pub fn begin(screen: Screen) -> Self {
        let tour = Self { screen, began: Instant::now(), requests: 0, promises: Vec::new() };
        tour.text("", "A private server was started in a temporary directory. What follows is sent to it now, and answered by it.");
        tour
    }

    /// The promises that one server shows.
    pub async fn promises(&mut self, server: &Server) -> Result<(), String> {
        self.fields(server).await?;
        self.liens(server).await?;
        self.in_use(server).await?;
        self.schemas(server).await
    }

    async fn fields(&mut self, server: &Server) -> Result<(), String> {
        self.promise("A field that the server does not know is reported, not dropped");
        let maps = "/api/v1/namespaces/default/configmaps";
        let typed = json!({"metadata": {"name": "web"}, "dta": {"colour": "blue"}});
        let path = format!("{maps}?fieldValidation=Strict");
        self.ask(server, Method::POST, &path, JSON, &typed, 400).await?;
        let answer = self.ask(server, Method::POST, &format!("{maps}?fieldValidation=Warn"), JSON, &typed, 201).await?;
        self.holds(answer.warnings.iter().any(|warning| warning.contains("dta")), "a warning names the field");
        self.elsewhere(
            "(before Kubernetes 1.25, or with fieldValidation=Ignore) the ConfigMap is stored empty without a word.",
        );
        Ok(())
    }

    async fn liens(&mut self, server: &Server) -> Result<(), String> {
        self.promise("What is held by a lien cannot be deleted");
        let secret = json!({"metadata": {"name": "db"}, "stringData": {"password": "s3cret"}});
        self.ask(server, Method::POST, SECRETS, JSON, &secret, 201).await?;
        let path = format!("{SECRETS}/db");
        let lien = json!({"metadata": {"liens": ["example.com/payments"]}});
        self.ask(server, Method::PATCH, &path, MERGE, &lien, 200).await?;
        self.ask(server, Method::DELETE, &path, JSON, &Value::Null, 409).await?;
        self.ask(server, Method::PATCH, &path, MERGE, &json!({"metadata": {"liens": []}}), 200).await?;
        self.elsewhere("there are no liens: the deletion is answered 200, and the Secret is gone.");
        Ok(())
    }

    async fn in_use(&mut self, server: &Server) -> Result<(), String> {
        self.promise("A Secret in use stays");
        let path = format!("{SECRETS}/db");
        let wish = json!({"metadata": {"annotations": {"kubernetes.io/enable-secret-protection": "yes"}}});
        self.ask(server, Method::PATCH, &path, MERGE, &wish, 200).await?;
        let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "secret": {"secretName": "db"}}]}});
        self.ask(server, Method::POST, "/api/v1/namespaces/default/pods", JSON, &pod, 201).await?;
        let refused = self.ask(server, Method::DELETE, &path, JSON, &Value::Null, 409).await?;
        self.holds(refused.body.to_string().contains("default/web"), "the refusal names the Pod");
        let used = self.ask(server, Method::GET, &format!("{path}/usedby"), JSON, &Value::Null, 200).await?;
        self.holds(list(&used.body, "/users").count() == 1, "usedby names the Pod");
        let now = json!({"gracePeriodSeconds": 0});
        self.ask(server, Method::DELETE, "/api/v1/namespaces/default/pods/web", JSON, &now, 200).await?;
        // Its lien goes a moment after its last user.
        self.until(server, &path, |answer| answer.body.pointer("/metadata/liens").is_none()).await?;
        self.ask(server, Method::DELETE, &path, JSON, &Value::Null, 200).await?;
        self.elsewhere("the Secret goes while the Pod runs, and the Pod does not come back after its next restart.");
        Ok(())
    }

    async fn schemas(&mut self, server: &Server) -> Result<(), String> {
        self.promise("Tightening a CRD does not break what is stored");
        let loose = json!({"type": "string"});
        self.ask(server, Method::POST, DEFINITIONS, JSON, &widgets(&loose), 201).await?;
        self.until(server, WIDGETS, |answer| answer.code == 200).await?;
        let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
            "spec": {"size": "vast"}});
        self.ask(server, Method::POST, WIDGETS, JSON, &widget, 201).await?;
        let tight = widgets(&json!({"type": "string", "enum": ["small", "large"]}));
        let path = format!("{DEFINITIONS}/widgets.example.com");
        self.note("Before it is applied: what would the new schema refuse?");
        let found = self.ask(server, Method::POST, &format!("{path}/invalidobjects"), JSON, &tight, 200).await?;
        self.holds(list(&found.body, "/items").count() == 1, "the object is named before anything is changed");
        let versions = json!({"spec": {"versions": tight.pointer("/spec/versions")}});
        self.ask(server, Method::PATCH, &path, MERGE, &versions, 200).await?;
        let invalid = format!("{path}/invalidobjects");
        self.until(server, &invalid, |answer| list(&answer.body, "/items").count() == 1).await?;
        let one = format!("{WIDGETS}/w");
        self.note("What is stored can still be labelled; what is changed must fit.");
        self.ask(server, Method::PATCH, &one, MERGE, &json!({"metadata": {"labels": {"team": "a"}}}), 200).await?;
        self.ask(server, Method::PATCH, &one, MERGE, &json!({"spec": {"size": "huge"}}), 422).await?;
        self.elsewhere(
            "(before Kubernetes 1.30) every write to the object is refused, even the removal of a finalizer.",
        );
        Ok(())
    }

    /// Stores what the next start will have no key for.
    pub async fn before_the_key_is_lost(&mut self, server: &Server) -> Result<(), String> {
        self.promise("What cannot be read is named, and can be removed by who may");
        let secret = json!({"metadata": {"name": "lost"}, "stringData": {"password": "s3cret"}});
        self.ask(server, Method::POST, SECRETS, JSON, &secret, 201).await?;
        self.note("Now the server is stopped, and started again with another key.");
        Ok(())
    }

    pub async fn after_the_key_is_lost(&mut self, server: &Server) -> Result<(), String> {
        let kept = "/api/v1/namespaces/default/configmaps/web";
        self.ask(server, Method::GET, kept, JSON, &Value::Null, 200).await?;
        self.ask(server, Method::GET, SECRETS, JSON, &Value::Null, 500).await?;
        let named = self.ask(server, Method::GET, &format!("{OWN}/unreadableobjects"), JSON, &Value::Null, 200).await?;
        self.holds(list(&named.body, "/items").any(|item| text(item, "/spec/name") == "lost"), "it is named");
        let unread = json!({"ignoreStoreReadErrorWithClusterBreakingPotential": true});
        self.ask(server, Method::DELETE, &format!("{SECRETS}/lost"), JSON, &unread, 200).await?;
        self.ask(server, Method::GET, SECRETS, JSON, &Value::Null, 200).await?;
        let path = format!("{OWN}/quarantinedobjects");
        let kept = self.ask(server, Method::GET, &path, JSON, &Value::Null, 200).await?;
        let name = list(&kept.body, "/items").map(|item| text(item, "/metadata/name").to_owned()).next();
        self.holds(name.is_some(), "what was removed is kept in quarantine");
        self.note("The key was found again? Even the removal can be undone.");
        let restore = format!("{path}/{}/restore", name.unwrap_or_default());
        self.ask(server, Method::POST, &restore, JSON, &json!({}), 201).await?;
        self.elsewhere(
            "every list of Secrets fails, a namespace with one in it never ends, and the way out is etcdctl.",
        );
        Ok(())
    }

    /// What held, and whether everything did.
    pub fn end(self) -> bool {
        self.say(&format!("\n{}", self.screen.paint(Colour::Bold, "Summary")));
        for (at, (promise, against)) in self.promises.iter().enumerate() {
            let (word, colour) =
                if against.is_empty() { ("held", Colour::Green) } else { ("DID NOT HOLD", Colour::Red) };
            self.say(&format!("  {}. {promise}: {}", at + 1, self.screen.paint(colour, word)));
            for why in against {
                self.text("       ", why);
            }
        }
        let took = self.began.elapsed().as_secs_f64();
        self.say(&format!(
            "\n{} requests in {took:.1} s. The server is gone, and its directory goes now.",
            self.requests
        ));
        self.say("Next: pawl serve, and in another shell: kubectl pawl why TYPE/NAME");
        self.promises.iter().all(|(_, against)| against.is_empty())
    }

    fn promise(&mut self, title: &'static str) {
        self.promises.push((title, Vec::new()));
        let title = format!("{}. {title}", self.promises.len());
        self.say(&format!("\n{}\n", self.screen.paint(Colour::Bold, &title)));
    }

    /// Counts what was expected and is not so against the promise.
    fn holds(&mut self, holds: bool, what: &str) {
        if let (false, Some((_, against))) = (holds, self.promises.last_mut()) {
            against.push(format!("expected: {what}"));
        }
    }

    /// Sends a request, and shows it with its answer.
    async fn ask(
        &mut self,
        server: &Server,
        method: Method,
        path: &str,
        form: &str,
        body: &Value,
        expected: u16,
    ) -> Result<Answer, String> {
        self.requests += 1;
        let sent = self.screen.paint(Colour::Cyan, &format!("> {method}"));
        self.say(&format!("{sent} {}", folded(path, "    ", method.as_str().len() + 3)));
        if !body.is_null() {
            self.text("    ", &body.to_string());
        }
        let answer = server.send(method, path, form, body).await?;
        let colour = if answer.code < 400 { Colour::Green } else { Colour::Red };
        self.say(&format!("{} {}", self.screen.paint(colour, &format!("< {}", answer.code)), said(&answer)));
        for warning in &answer.warnings {
            self.text("    ", &format!("Warning: {warning}"));
        }
        self.holds(answer.code == expected, &format!("{expected} for {path}, and not {}", answer.code));
        Ok(answer)
    }

    /// Looks until something is so: what happens a moment later.
    async fn until(&mut self, server: &Server, path: &str, so: impl Fn(&Answer) -> bool) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.requests += 1;
            if so(&server.send(Method::GET, path, JSON, &Value::Null).await?) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("{path} has not become what it should"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn note(&self, text: &str) {
        self.say("");
        self.text("", text);
    }

    fn elsewhere(&self, text: &str) {
        self.say("");
        self.text("", &format!("Elsewhere {text}"));
    }

    fn text(&self, before: &str, text: &str) {
        self.say(&format!("{before}{}", folded(text, before, before.len())));
    }

    fn say(&self, line: &str) {
        self.screen.say(&format!("{line}\n"));
    }
}

/// What an answer says, in a line or some.
fn said(answer: &Answer) -> String {
    let body = &answer.body;
    let message = text(body, "/message");
    if !message.is_empty() {
        return folded(message, "    ", 6);
    }
    let named = |item: &Value| text(item, "/name").to_owned();
    let told = match text(body, "/kind") {
        "InvalidObjectList" => {
            let fields = list(body, "/items").flat_map(|item| list(item, "/problems")).map(|p| text(p, "/message"));
            format!("{} refused: {}", list(body, "/items").count(), fields.collect::<Vec<_>>().join("; "))
        }
        "UsedBy" => {
            let users = list(body, "/users").map(|user| format!("{} {}", text(user, "/kind"), named(user)));
            format!("used by {}", users.collect::<Vec<_>>().join(", "))
        }
        kind if kind.ends_with("List") => {
            let names: Vec<&str> = list(body, "/items").map(|item| text(item, "/metadata/name")).collect();
            format!("{kind}: {}", if names.is_empty() { "nothing".to_owned() } else { names.join(", ") })
        }
        "Status" => text(body, "/status").to_owned(),
        kind => format!("{kind} {}", text(body, "/metadata/name")),
    };
    folded(&told, "    ", 6)
}

/// Text in lines that fit, the first of which is begun already.
fn folded(text: &str, before: &str, begun: usize) -> String {
    let mut out = String::new();
    let mut at = begun;
    for word in text.split_inclusive([' ', ',', '/', '{']) {
        let length = word.trim_end().chars().count();
        if at + length > WIDTH && at > before.len() {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.push_str(before);
            at = before.len();
        }
        out.push_str(word);
        at += word.chars().count();
    }
    out
}

fn widgets(size: &Value) -> Value {
    let spec = json!({"type": "object", "properties": {"size": size}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_where_they_can() {
        let text = "word ".repeat(60);
        assert!(folded(text.trim_end(), "    ", 10).lines().all(|line| line.len() <= WIDTH));
        assert_eq!(folded("short", "    ", 0), "short");
    }
}

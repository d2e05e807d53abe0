//! One `check` line: a place, what is demanded of it, and under which condition.

use pawl_meta::{ErrorKind, Errors, go};
use pawl_schema::TypeKind;
use serde_json::{Map, Value};

use super::at::At;
use super::condition::{Condition, Scene};
use super::judge::{self, Report};
use super::labels;
use super::place::{EMPTY, Place};
use super::primitive::{Context, Primitive, Shown};
use super::shown;
use super::words::{Flow, Line, Modifiers};

pub(super) struct CheckLine {
    pub place: Place,
    pub flow: Flow,
    primitive: Primitive,
    condition: Option<Condition>,
    always: bool,
    joined: bool,
    kind: Option<ErrorKind>,
    detail: Option<&'static str>,
    /// Where errors are reported, when that is elsewhere than where the line looks.
    at: Option<&'static str>,
}

impl CheckLine {
    /// Reads what follows `check`.
    pub fn parse(cx: Context, line: &Line) -> Result<Self, String> {
        let mut words = line.words.clone();
        let modifiers = Modifiers::take(&mut words)?;
        let (path, rest) = words.split_first().ok_or("a check without a path")?;
        let place = Place::parse(cx.block, path)?;
        let primitive = Primitive::parse(Context { of: place.of, ..cx }, rest)?;
        let condition = line.condition(cx)?;
        Ok(Self {
            place,
            flow: modifiers.flow,
            primitive,
            condition,
            always: modifiers.always,
            joined: modifiers.joined,
            kind: modifiers.kind,
            detail: line.detail(),
            at: modifiers.at,
        })
    }

    pub fn run(&self, scene: Scene<'_>, at: &At<'_>, errors: &mut Errors) {
        if self.condition.as_ref().is_some_and(|condition| !condition.holds(scene)) {
            return;
        }
        let mut report = Report { errors, kind: self.kind, detail: self.detail, joined: self.joined };
        if self.place.is_self() {
            return self.run_on_itself(scene.object, at, &mut report);
        }
        self.place.visit(scene.object, scene.old, at, &mut |value, _, here| {
            let elsewhere = self.at.map(|path| at.field(path));
            self.look(scene, value, at, elsewhere.as_ref().unwrap_or(here), &mut report);
        });
    }

    fn look(&self, scene: Scene<'_>, value: Option<&Value>, block: &At<'_>, at: &At<'_>, report: &mut Report<'_>) {
        let set = self.place.is_set(value);
        match &self.primitive {
            Primitive::Required => {
                if !set {
                    report.add(ErrorKind::Required, at, String::new, "");
                }
                return;
            }
            Primitive::Selects(labels) => {
                return selects(&self.place, value.filter(|_| set || self.place.pointer), labels, scene, block, report);
            }
            Primitive::UniqueSibling if set => return unique_sibling(&self.place, value, scene, at, report),
            _ => {}
        }
        let value = match value {
            Some(value) if set => value,
            Some(value) if self.always && !value.is_null() => value,
            _ if self.always => &self.place.zero,
            _ => return,
        };
        judge::judge(&self.primitive, scene, value, self.place.of, at, report);
    }

    /// `check .`: the object itself is what is wrong.
    fn run_on_itself(&self, object: &Map<String, Value>, at: &At<'_>, report: &mut Report<'_>) {
        let elsewhere = self.at.map(|path| at.field(path));
        let at = elsewhere.as_ref().unwrap_or(at);
        let whole = || shown::object(Some(self.place.of), object);
        match &self.primitive {
            Primitive::Required => report.add(ErrorKind::Required, at, String::new, ""),
            Primitive::Invalid(Shown::Value) => report.invalid(at, whole, ""),
            Primitive::Invalid(Shown::Text(text)) => report.invalid(at, || go::quote(text), ""),
            Primitive::Invalid(Shown::Nothing) => {
                report.errors.invalid_omitted(at, report.detail.unwrap_or_default());
            }
            Primitive::Unsupported(allowed) => {
                let quoted: Vec<String> = allowed.iter().map(|text| go::quote(text)).collect();
                let detail = format!("supported values: {}", quoted.join(", "));
                report.add(ErrorKind::NotSupported, at, whole, detail);
            }
            _ => {}
        }
    }
}

/// The selector takes the labels at a place of the same object.
fn selects(
    place: &Place,
    selector: Option<&Value>,
    labels: &Place,
    scene: Scene<'_>,
    at: &At<'_>,
    report: &mut Report<'_>,
) {
    let found = labels.get(scene.object).and_then(Value::as_object);
    let has = found.unwrap_or(&EMPTY);
    let plain = matches!(place.of.kind(), TypeKind::Map(_));
    let taken = match selector.filter(|selector| !selector.is_null()) {
        Some(Value::Object(wanted)) if plain => labels::contains(has, wanted),
        None if plain => true,
        Some(selector) => labels::matches(selector, has),
        None => false,
    };
    if !taken {
        let bad = || found.map_or_else(|| "null".to_owned(), |found| shown::object(Some(labels.of), found));
        report.invalid(&at.field(labels.text), bad, "`selector` does not match template `labels`");
    }
}

/// No earlier item of the list has the same.
fn unique_sibling(place: &Place, value: Option<&Value>, scene: Scene<'_>, at: &At<'_>, report: &mut Report<'_>) {
    let (Some((siblings, index)), Some(value)) = (scene.siblings, value) else { return };
    if siblings.first_with(place, value).is_some_and(|first| first < index) {
        report.add(ErrorKind::Duplicate, at, || shown::value(place.of, value), "");
    }
}

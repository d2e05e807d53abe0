//! Turns blocks of rules into plans. Everything that makes no sense is reported.

use std::collections::{HashMap, HashSet};

use pawl_schema::{FieldRef, ObjectRef, Schema, TypeRef};

use super::Rules;
use super::fill::{Child, DefaultLine, Fill, Gates};
use super::kind::{Create, Given, Keep, KindRules, Step, UpdateLine, UpdateRule, Warn};
use super::line::CheckLine;
use super::place::Place;
use super::plan::{Descend, Member, Op, Plan, PlanId, Shape, Union, element};
use super::primitive::Context;
use super::words::{Blocks, Line, Modifiers};
use super::{Hooks, Subject};

const NO_SUCH_HOOK: &str = "no such function";

pub(super) struct Compiler {
    schema: &'static Schema,
    hooks: Hooks,
    blocks: Blocks,
    /// The types at or below which something is checked, filled in, or gated.
    checked: HashSet<&'static str>,
    filled: HashSet<&'static str>,
    gated: HashSet<&'static str>,
    plan_ids: HashMap<&'static str, PlanId>,
    fill_ids: HashMap<&'static str, usize>,
    gate_ids: HashMap<&'static str, usize>,
    rules: Rules,
    errors: Vec<String>,
}

impl Compiler {
    pub fn run(
        texts: &[&'static str],
        schema: &'static Schema,
        subjects: &[Subject],
        hooks: Hooks,
    ) -> Result<Rules, Vec<String>> {
        let mut errors = Vec::new();
        let blocks = Blocks::read(texts, &mut errors);
        let parents = parents(schema);
        let reach = |starts: &[&str]| -> HashSet<&'static str> {
            let of_interest = |lines: &&Vec<&str>| lines.iter().any(|l| starts.iter().any(|s| l.starts_with(s)));
            let mut open: Vec<&'static str> = blocks
                .types
                .iter()
                .filter(|(_, lines)| of_interest(lines))
                .map(|(name, _)| name.split_once('#').map_or(*name, |(name, _)| name))
                .collect();
            let mut reached = HashSet::new();
            while let Some(name) = open.pop() {
                if reached.insert(name) {
                    open.extend(parents.get(name).into_iter().flatten());
                }
            }
            reached
        };
        let (checked, filled, gated) = (reach(&["check ", "descend "]), reach(&["default "]), reach(&["disabled "]));
        let mut compiler = Self {
            schema,
            hooks,
            checked,
            filled,
            gated,
            blocks,
            plan_ids: HashMap::new(),
            fill_ids: HashMap::new(),
            gate_ids: HashMap::new(),
            rules: Rules::default(),
            errors,
        };
        compiler.kinds(subjects);
        compiler.leftovers();
        if compiler.errors.is_empty() { Ok(compiler.rules) } else { Err(compiler.errors) }
    }

    fn kinds(&mut self, subjects: &[Subject]) {
        let mut names: Vec<&'static str> = self.blocks.kinds.keys().filter(|n| !n.contains('#')).copied().collect();
        names.extend(subjects.iter().map(|s| s.type_name).filter(|name| !self.blocks.kinds.contains_key(name)));
        let status: HashMap<&str, &'static [String]> = subjects.iter().map(|s| (s.type_name, s.status)).collect();
        for name in names {
            let type_name = name.split_once('/').map_or(name, |(name, _)| name);
            match self.schema.named(type_name) {
                Some(of) => {
                    let mut kind = self.kind(name, type_name, of);
                    kind.status = status.get(type_name).copied().unwrap_or_default();
                    self.rules.kinds.insert(name, kind);
                }
                None => self.errors.push(format!("kind {name}: no such type")),
            }
        }
    }

    /// Blocks that no kind leads to must make sense too.
    fn leftovers(&mut self) {
        let names: Vec<&'static str> = self.blocks.types.keys().copied().collect();
        for name in names {
            let type_name = name.split_once('#').map_or(name, |(name, _)| name);
            match self.schema.named(type_name) {
                Some(of) => {
                    self.plan(name, of);
                    self.fill(type_name, of);
                }
                None => self.errors.push(format!("type {name}: no such type")),
            }
        }
    }

    fn kind(&mut self, name: &'static str, type_name: &'static str, own: TypeRef<'static>) -> KindRules {
        let lines = self.blocks.kinds.get(name).cloned().unwrap_or_default();
        let is_sub = name.contains('/');
        let form = lines.iter().find_map(|line| line.strip_prefix("form ")).unwrap_or(type_name);
        let of = self.schema.named(form).unwrap_or_else(|| {
            self.errors.push(format!("kind {name}: no such type {form}"));
            own
        });
        let mut kind = KindRules {
            of,
            status: &[],
            defaults: Vec::new(),
            fill: if is_sub { None } else { self.fill(type_name, own) },
            gates: self.gates(type_name, own),
            creates: Vec::new(),
            keeps: Vec::new(),
            owns: None,
            create_checks: Vec::new(),
            updates: Vec::new(),
            plan: None,
            on_create: vec![Step::Meta, Step::Checks],
            on_update: if is_sub {
                vec![Step::MetaUpdate, Step::Updates, Step::Checks]
            } else {
                vec![Step::MetaUpdate, Step::Updates, Step::Meta, Step::Checks]
            },
            warns: Vec::new(),
            plain_metadata: false,
            error_kind: None,
            error_group: None,
        };
        let mut checks = Vec::new();
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let done = match word {
                "default" => self.default_line(own, rest).map(|line| kind.defaults.push(line)),
                "check" | "descend" | "leave" => {
                    checks.push(line);
                    Ok(())
                }
                _ => self.kind_line(&mut kind, word, rest),
            };
            self.note(name, line, done);
        }
        kind.plan = self.kind_plan(form, of, &checks, is_sub);
        kind
    }

    fn kind_line(&mut self, kind: &mut KindRules, word: &str, rest: &'static str) -> Result<(), String> {
        let cx = Context { block: kind.of, of: kind.of };
        let line = Line::read(rest);
        match (word, line.words.as_slice()) {
            ("form", _) => return Ok(()),
            ("meta", ["plain"]) => kind.plain_metadata = true,
            ("meta", ["kube"]) => kind.plain_metadata = false,
            ("errors", ["kind", name]) => kind.error_kind = Some(name.trim_matches('"')),
            ("errors", ["group", name]) => kind.error_group = Some(name.trim_matches('"')),
            ("owns", fields) => kind.owns = Some(fields.to_vec()),
            ("steps", ["create", steps @ ..]) => kind.on_create = steps_of(steps)?,
            ("steps", ["update", steps @ ..]) => kind.on_update = steps_of(steps)?,
            ("create", ["check", "fn", name]) => kind.create_checks.push((self.hooks.check)(name).ok_or(NO_SUCH_HOOK)?),
            ("create", _) => kind.creates.push(create_line(cx, self.hooks, &line)?),
            ("update", ["set", "fn", name]) => {
                kind.keeps.push(Keep::Hook((self.hooks.keep)(name).ok_or(NO_SUCH_HOOK)?))
            }
            ("update", ["keep", "metadata"]) => kind.keeps.push(Keep::Metadata),
            ("update", ["keep", path]) => kind.keeps.push(Keep::Place(Place::parse(cx.block, path)?)),
            ("update", _) => kind.updates.push(update_line(cx, self.hooks, &line)?),
            ("warn", ["fn", name]) => kind.warns.push(Warn::Hook((self.hooks.warn)(name).ok_or(NO_SUCH_HOOK)?)),
            ("warn", [path]) => {
                let place = Place::parse(cx.block, path)?;
                let text = line.detail().ok_or("a warning without a text")?;
                kind.warns.push(Warn::Text(place, line.condition(cx)?, text));
            }
            _ => return Err("no such line".to_owned()),
        }
        line.is_read()
    }

    /// The checks of a whole object: the kind's lines, those of its type, and its children.
    fn kind_plan(
        &mut self,
        type_name: &'static str,
        of: TypeRef<'static>,
        lines: &[&'static str],
        is_sub: bool,
    ) -> Option<PlanId> {
        let mut lines = lines.to_vec();
        if !is_sub {
            lines.extend(self.blocks.types.get(type_name).into_iter().flatten());
        }
        let ops = self.ops(type_name, of, &lines, !is_sub);
        if ops.is_empty() {
            return None;
        }
        self.rules.plans.push(Plan { type_name, ops });
        Some(self.rules.plans.len() - 1)
    }

    /// The plan of a type or of one of its variants; none where nothing is checked at or below it.
    fn plan(&mut self, name: &'static str, of: TypeRef<'static>) -> Option<PlanId> {
        if let Some(id) = self.plan_ids.get(name) {
            return Some(*id);
        }
        let type_name = name.split_once('#').map_or(name, |(name, _)| name);
        if !self.checked.contains(type_name) {
            return None;
        }
        let id = self.rules.plans.len();
        self.rules.plans.push(Plan::default());
        self.plan_ids.insert(name, id);
        let mut lines = self.blocks.types.get(name).cloned().unwrap_or_default();
        for embedded in embedded(of.object()) {
            lines.extend(self.blocks.types.get(embedded).into_iter().flatten());
        }
        let ops = self.ops(name, of, &lines, true);
        if let Some(plan) = self.rules.plans.get_mut(id) {
            *plan = Plan { type_name, ops };
        }
        Some(id)
    }

    fn ops(&mut self, name: &str, of: TypeRef<'static>, lines: &[&'static str], with_children: bool) -> Vec<Op> {
        let mut ops = Vec::new();
        // Fields that were visited, or are not to be.
        let mut done: HashSet<&'static str> = HashSet::new();
        for line in lines {
            let result = self.op(of, line, &mut ops, &mut done);
            self.note(name, line, result);
        }
        let Some(object) = of.object().filter(|_| with_children) else { return ops };
        for field in object.fields().filter(|field| !done.contains(&*field.name)) {
            let Ok(place) = Place::parse(of, &field.get().name) else { continue };
            let Some((shape, inner, object)) = element(field.of()) else { continue };
            if let Some(plan) = self.plan(object.name(), inner) {
                ops.push(Op::Descend(Descend { place, plan, shape, flat: false, condition: None }));
            }
        }
        ops
    }

    fn op(
        &mut self,
        of: TypeRef<'static>,
        text: &'static str,
        ops: &mut Vec<Op>,
        done: &mut HashSet<&'static str>,
    ) -> Result<(), String> {
        let cx = Context { block: of, of };
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let line = Line::read(rest);
        match (word, line.words.as_slice()) {
            ("check", ["fn", name]) => {
                ops.push(Op::Hook((self.hooks.check)(name).ok_or(NO_SUCH_HOOK)?, line.condition(cx)?));
            }
            ("check", [path, "unchanged", "stop"]) => {
                ops.push(Op::Unchanged(Place::parse(of, path)?));
            }
            ("check", [".", "union", noun, members @ ..]) => {
                ops.push(Op::Union(self.union(of, Some(noun.replace('_', " ")), members, done)?));
            }
            ("check", [".", "first", members @ ..]) => {
                ops.push(Op::Union(self.union(of, None, members, done)?));
            }
            ("check", _) => ops.push(Op::Check(CheckLine::parse(cx, &line)?)),
            ("leave", [path]) => done.extend(Place::parse(of, path)?.first_field()),
            ("descend", [path, how @ ..]) => {
                let place = Place::parse(of, path)?;
                done.extend(place.first_field());
                let (shape, inner, object) = element(place.of).ok_or("nothing to descend into")?;
                let (name, flat) = match how {
                    [] => (object.name(), false),
                    ["flat"] => (object.name(), true),
                    ["as", name] => (*name, false),
                    ["as", name, "flat"] => (*name, true),
                    _ => return Err("no such way to descend".to_owned()),
                };
                if name.contains('#') && !self.blocks.types.contains_key(name) {
                    return Err(format!("no such block: {name}"));
                }
                let condition = line.condition(cx)?;
                if let Some(plan) = self.plan(name, inner) {
                    ops.push(Op::Descend(Descend { place, plan, shape, flat, condition }));
                }
            }
            // Read elsewhere.
            ("default" | "disabled", _) => return Ok(()),
            _ => return Err("no such line".to_owned()),
        }
        line.is_read()
    }

    fn union(
        &mut self,
        of: TypeRef<'static>,
        noun: Option<String>,
        words: &[&'static str],
        done: &mut HashSet<&'static str>,
    ) -> Result<Union, String> {
        let mut members = Vec::new();
        for word in words {
            let (word, always) = word.strip_suffix('+').map_or((*word, false), |word| (word, true));
            let (field, refused, inside) = match (word.split_once('!'), word.split_once('>')) {
                (Some((field, refused)), _) => (field, refused, field),
                (_, Some((field, inside))) => (field, field, inside),
                _ => (word, word, word),
            };
            let place = Place::parse(of, field)?;
            done.insert(field);
            let plan = match element(place.of) {
                Some((Shape::One, inner, object)) => self.plan(object.name(), inner),
                _ => None,
            };
            members.push(Member { field, refused, inside, plan, always });
        }
        Ok(Union { noun, members })
    }

    fn default_line(&mut self, of: TypeRef<'static>, rest: &'static str) -> Result<DefaultLine, String> {
        let cx = Context { block: of, of };
        let line = Line::read(rest);
        let place = |path: &'static str| Place::parse(of, path);
        let default = match line.words.as_slice() {
            ["fn", name] => DefaultLine::Hook((self.hooks.fill)(name).ok_or(NO_SUCH_HOOK)?),
            ["drop", path] => DefaultLine::Drop(place(path)?, line.condition(cx)?),
            [path, "=", from] => DefaultLine::Copy(place(path)?, place(from)?, line.condition(cx)?),
            [path, json] => DefaultLine::Set(place(path)?, given(json)?, line.condition(cx)?),
            _ => return Err("no such default".to_owned()),
        };
        line.is_read().map(|()| default)
    }

    fn fill(&mut self, type_name: &'static str, of: TypeRef<'static>) -> Option<usize> {
        if let Some(id) = self.fill_ids.get(type_name) {
            return Some(*id);
        }
        if !self.filled.contains(type_name) {
            return None;
        }
        let id = self.rules.fills.len();
        self.rules.fills.push(Fill::default());
        self.fill_ids.insert(type_name, id);
        let mut lines = Vec::new();
        for name in [type_name].into_iter().chain(embedded(of.object())) {
            for text in self.blocks.types.get(name).cloned().unwrap_or_default() {
                let Some(rest) = text.strip_prefix("default ") else { continue };
                match self.default_line(of, rest) {
                    Ok(line) => lines.push(line),
                    Err(error) => self.note(type_name, text, Err(error)),
                }
            }
        }
        let children = self.children(of, Self::fill);
        if let Some(fill) = self.rules.fills.get_mut(id) {
            *fill = Fill { lines, children };
        }
        Some(id)
    }

    fn gates(&mut self, type_name: &'static str, of: TypeRef<'static>) -> Option<usize> {
        if let Some(id) = self.gate_ids.get(type_name) {
            return Some(*id);
        }
        if !self.gated.contains(type_name) {
            return None;
        }
        let id = self.rules.gates.len();
        self.rules.gates.push(Gates::default());
        self.gate_ids.insert(type_name, id);
        let mut fields = Vec::new();
        for text in self.blocks.types.get(type_name).cloned().unwrap_or_default() {
            let Some(rest) = text.strip_prefix("disabled ") else { continue };
            let result = match rest.split_whitespace().collect::<Vec<_>>().as_slice() {
                [field, _gate] => Place::parse(of, field).map(|_| fields.push(*field)),
                _ => Err("a field and its gate are expected".to_owned()),
            };
            self.note(type_name, text, result);
        }
        let children = self.children(of, Self::gates);
        if let Some(gates) = self.rules.gates.get_mut(id) {
            *gates = Gates { fields, children };
        }
        Some(id)
    }

    fn children(
        &mut self,
        of: TypeRef<'static>,
        mut id_of: impl FnMut(&mut Self, &'static str, TypeRef<'static>) -> Option<usize>,
    ) -> Vec<Child> {
        let mut children = Vec::new();
        for field in of.object().into_iter().flat_map(ObjectRef::fields) {
            let Some((shape, inner, object)) = element(field.of()) else { continue };
            if let Some(id) = id_of(self, object.name(), inner) {
                let plain = shape == Shape::One && !field.pointer;
                children.push(Child { field: &field.get().name, shape, plain, id });
            }
        }
        children
    }

    fn note(&mut self, block: &str, line: &str, result: Result<(), String>) {
        if let Err(error) = result {
            self.errors.push(format!("{block}: {line}: {error}"));
        }
    }
}

/// The structs that are embedded in an object, in the order of their fields.
fn embedded(object: Option<ObjectRef<'static>>) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    let fields = object.into_iter().flat_map(ObjectRef::fields).map(FieldRef::get);
    for owner in fields.filter_map(|field| field.owner.as_deref()) {
        if !names.contains(&owner) {
            names.push(owner);
        }
    }
    names
}

/// Which types have a field of a type, or embed it.
fn parents(schema: &'static Schema) -> HashMap<&'static str, Vec<&'static str>> {
    let mut parents: HashMap<&str, Vec<&str>> = HashMap::new();
    for (name, of) in schema.types() {
        let object = of.object();
        for child in embedded(object) {
            parents.entry(child).or_default().push(name);
        }
        for field in object.into_iter().flat_map(ObjectRef::fields) {
            if let Some((_, _, child)) = element(field.of()) {
                parents.entry(child.name()).or_default().push(name);
            }
        }
    }
    parents
}

fn given(word: &str) -> Result<Given, String> {
    Ok(match word {
        "@now" => Given::Now,
        "@uuid" => Given::Uuid,
        json => Given::Value(serde_json::from_str(json).map_err(|error| error.to_string())?),
    })
}

fn steps_of(words: &[&str]) -> Result<Vec<Step>, String> {
    let step = |word: &&str| match *word {
        "meta" => Ok(Step::Meta),
        "metaupdate" => Ok(Step::MetaUpdate),
        "updates" => Ok(Step::Updates),
        "checks" => Ok(Step::Checks),
        other => Err(format!("no such step: {other}")),
    };
    words.iter().map(step).collect()
}

fn create_line(cx: Context, hooks: Hooks, line: &Line) -> Result<Create, String> {
    Ok(match line.words.as_slice() {
        ["fn", name] => Create::Fill((hooks.fill)(name).ok_or(NO_SUCH_HOOK)?),
        ["drop", path] => Create::Drop(Place::parse(cx.block, path)?),
        ["user", field] => Create::User(field),
        [path, json] => Create::Set(Place::parse(cx.block, path)?, given(json)?, line.condition(cx)?),
        _ => return Err("no such line".to_owned()),
    })
}

fn update_line(cx: Context, hooks: Hooks, line: &Line) -> Result<UpdateLine, String> {
    let mut words = line.words.clone();
    let modifiers = Modifiers::take(&mut words)?;
    let place = |path: &'static str| Place::parse(cx.block, path);
    let rule = match words.as_slice() {
        ["fn", name] => UpdateRule::Hook((hooks.update)(name).ok_or(NO_SUCH_HOOK)?),
        ["immutable", path] => UpdateRule::Immutable(place(path)?),
        ["once", path] => UpdateRule::Once(place(path)?),
        ["forbidden", path] => UpdateRule::Forbidden(place(path)?),
        ["nodecrease", path] => UpdateRule::NoDecrease(place(path)?),
        ["only", path, fields @ ..] => UpdateRule::Only(place(path)?, fields.to_vec()),
        _ => return Err("no such line".to_owned()),
    };
    let condition = line.condition(cx)?;
    Ok(UpdateLine { rule, condition, kind: modifiers.kind, at: modifiers.at, detail: line.detail() })
}

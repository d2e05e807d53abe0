//! Fields that an applier has given up.
//!
//! A field goes when the applier owned it, does not mention it any more, and nobody else owns it.

use pawl_meta::object::Object;

use crate::collect::object_fields;
use crate::error::Error;
use crate::managed::{Manager, Managers, strip};
use crate::remove::{name_parents, remove};
use crate::set::FieldSet;
use crate::typed::{At, Shape, Typed, Writer};

/// Who owns what when an intent has been laid over an object.
pub(crate) struct Claims<'c, 'a> {
    pub(crate) others: &'c Managers<'a>,
    /// What the intent mentions.
    pub(crate) own: &'c FieldSet<'a>,
    /// What the applier owned before.
    pub(crate) last: &'c Manager<'a>,
}

/// Removes what the applier gave up from the merged object.
pub(crate) fn prune(
    typed: &Typed<'_>,
    writer: &Writer<'_>,
    merged: Object,
    claims: &Claims<'_, '_>,
) -> Result<Object, Error> {
    match typed.shape(writer.api_version, &claims.last.version) {
        Shape::Gone => Ok(merged),
        Shape::Same if claims.last.fields.is_subset(claims.own) => Ok(merged),
        Shape::Same => Pruning { typed, writer, claims }.run(typed, writer.api_version, merged),
        Shape::Other(base) => {
            let pruning = Pruning { typed, writer, claims };
            let converted = pruning.convert(&merged, &claims.last.version)?;
            let pruned = pruning.run(&base, &claims.last.version, converted)?;
            pruning.convert(&pruned, writer.api_version)
        }
    }
}

struct Pruning<'c, 'a, 's> {
    typed: &'c Typed<'s>,
    writer: &'c Writer<'c>,
    claims: &'c Claims<'c, 'a>,
}

impl Pruning<'_, '_, '_> {
    /// Prunes in the version in which the applier wrote last.
    fn run(&self, base: &Typed<'_>, base_version: &str, mut merged: Object) -> Result<Object, Error> {
        let at = base.at();
        let mut last = self.claims.last.fields.clone();
        name_parents(Some(at), &mut last);
        let mut pruned = merged.clone();
        remove(at, &mut pruned, &last);
        // First what is owned in this version, so that what conversion needs is there.
        for (version, claimed) in self.by_version(base_version) {
            pruned = if version == base_version {
                add_back(at, &merged, &pruned, claimed)
            } else {
                match self.typed.shape(self.writer.api_version, version) {
                    Shape::Gone => continue,
                    Shape::Same => self.add_back_in(self.typed, version, &merged, &pruned, claimed, base_version)?,
                    Shape::Other(other) => {
                        self.add_back_in(&other, version, &merged, &pruned, claimed, base_version)?
                    }
                }
            };
        }
        // What nobody owns goes only if it was the applier's.
        let mut gone = named_fields(at, &merged);
        gone.subtract(&named_fields(at, &pruned));
        let mut gone = gone.intersection(&last).into_owned();
        // What makes an object one stays, even if an intent does not say it.
        strip(&mut gone);
        remove(at, &mut merged, &gone);
        Ok(merged)
    }

    /// What everybody owns, by version, the given one first. Versions of the same shape are one.
    fn by_version(&self, first: &str) -> Vec<(&str, FieldSet<'_>)> {
        let mut out: Vec<(&str, FieldSet<'_>)> = vec![(self.writer.api_version, self.claims.own.clone())];
        for manager in &self.claims.others.0 {
            let version = self.shape_version(&manager.version);
            match out.iter_mut().find(|(other, _)| *other == version) {
                Some((_, claimed)) => claimed.extend(manager.fields.clone()),
                None => out.push((version, manager.fields.clone())),
            }
        }
        out.sort_by_key(|(version, _)| *version != first);
        out
    }

    /// The version that stands for all of the same shape.
    fn shape_version<'v>(&'v self, version: &'v str) -> &'v str {
        match self.typed.shape(self.writer.api_version, version) {
            Shape::Same => self.writer.api_version,
            _ => version,
        }
    }

    fn add_back_in(
        &self,
        other: &Typed<'_>,
        version: &str,
        merged: &Object,
        pruned: &Object,
        claimed: FieldSet<'_>,
        base_version: &str,
    ) -> Result<Object, Error> {
        let merged = self.convert(merged, version)?;
        let pruned = self.convert(pruned, version)?;
        self.convert(&add_back(other.at(), &merged, &pruned, claimed), base_version)
    }

    fn convert(&self, object: &Object, version: &str) -> Result<Object, Error> {
        let converted = self.typed.versions.and_then(|versions| versions.convert(object, version));
        converted.ok_or_else(|| Error::Convert(version.to_owned()))
    }
}

/// The pruned object with what is claimed in it again.
fn add_back(at: At<'_>, merged: &Object, pruned: &Object, mut claimed: FieldSet<'_>) -> Object {
    name_parents(Some(at), &mut claimed);
    let mut gone = named_fields(at, merged);
    gone.subtract(&named_fields(at, pruned));
    gone.subtract(&claimed);
    let mut out = merged.clone();
    remove(at, &mut out, &gone);
    out
}

fn named_fields<'a>(at: At<'a>, object: &'a Object) -> FieldSet<'a> {
    let mut fields = object_fields(at, object);
    name_parents(Some(at), &mut fields);
    fields
}

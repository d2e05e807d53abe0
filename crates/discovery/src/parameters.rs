//! The parameters of operations.

use pawl_schema::{ObjectRef, Scalar, TypeKind, TypeRef};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Path,
    Query,
}

impl Place {
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
        }
    }
}

/// A parameter in the path or the query; ordered by name, as documents list them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Parameter<'r> {
    pub name: &'r str,
    pub place: Place,
    /// `string`, `integer`, `boolean`
    pub kind: &'static str,
    pub description: Option<&'static str>,
}

/// What a request to an operation may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    Pretty,
    List,
    Watch,
    Write,
    Apply,
    Delete,
    DeleteCollection,
}

const BOOLEAN: &str = "boolean";
const INTEGER: &str = "integer";
const STRING: &str = "string";

/// Every query parameter with the sets it belongs to.
const QUERY: [(&str, &str, &[Set], &str); 21] = {
    use Set::{Apply, Delete, DeleteCollection, List, Pretty, Watch, Write};
    const SELECTING: &[Set] = &[List, Watch, DeleteCollection];
    const WATCHING: &[Set] = &[List, Watch];
    const DELETING: &[Set] = &[Delete, DeleteCollection];
    const WRITING: &[Set] = &[Write, Apply];
    [
        ("allowWatchBookmarks", BOOLEAN, WATCHING, "Asks for BOOKMARK events on a watch."),
        ("continue", STRING, SELECTING, "Where the previous page of a list ended, as that page said."),
        ("dryRun", STRING, &[Write, Apply, Delete, DeleteCollection], "With All nothing is stored."),
        ("fieldManager", STRING, WRITING, "Who makes the change, in the account that managedFields keep."),
        ("fieldSelector", STRING, SELECTING, "Restricts the objects to those whose fields have the given values."),
        ("fieldValidation", STRING, WRITING, "What becomes of unknown and duplicate fields: Ignore, Warn or Strict."),
        ("force", BOOLEAN, &[Apply], "Takes over fields that others own; only for apply."),
        ("gracePeriodSeconds", INTEGER, DELETING, "How long the object may take to end; 0 is at once."),
        ("ignoreLiens", BOOLEAN, DELETING, "Deletes in spite of liens; this needs a permission of its own."),
        (
            "ignoreStoreReadErrorWithClusterBreakingPotential",
            BOOLEAN,
            DELETING,
            "Removes an object that cannot be read, without finalizers or preconditions; this needs a permission of its own.",
        ),
        ("labelSelector", STRING, SELECTING, "Restricts the objects to those whose labels match."),
        ("limit", INTEGER, SELECTING, "The most objects on one page of a list."),
        ("orphanDependents", BOOLEAN, DELETING, "Deprecated in favour of propagationPolicy."),
        ("pretty", STRING, &[Pretty], "With true the answer is indented."),
        ("propagationPolicy", STRING, DELETING, "What becomes of dependents: Orphan, Background or Foreground."),
        ("resourceVersion", STRING, SELECTING, "The version that an answer is based on."),
        ("resourceVersionMatch", STRING, SELECTING, "How resourceVersion is meant: Exact or NotOlderThan."),
        ("sendInitialEvents", BOOLEAN, SELECTING, "Begins a watch with the objects that are there."),
        ("shardSelector", STRING, SELECTING, "Restricts the objects to a shard."),
        ("timeoutSeconds", INTEGER, SELECTING, "How long a list or a watch may take."),
        ("watch", BOOLEAN, WATCHING, "Follows changes instead of listing."),
    ]
};

/// The query parameters of a set.
pub(crate) fn query(set: Set) -> impl Iterator<Item = Parameter<'static>> {
    QUERY.iter().filter(move |(_, _, sets, _)| sets.contains(&set)).map(|&(name, kind, _, text)| Parameter {
        name,
        place: Place::Query,
        kind,
        description: Some(text),
    })
}

/// The parameters in the braces of a path.
pub(crate) fn in_path(path: &str) -> Vec<Parameter<'static>> {
    const PATH: [(&str, &str, &str); 3] = [
        ("{name}", "name", "The name of the object."),
        ("{namespace}", "namespace", "The namespace of the object."),
        ("{path}", "path", "The path below the object that the request goes to."),
    ];
    let named = PATH.iter().filter(|(braces, _, _)| path.contains(braces));
    named
        .map(|&(_, name, text)| Parameter { name, place: Place::Path, kind: STRING, description: Some(text) })
        .collect()
}

/// The options of a connection, which stand in the query: those fields of their type that are plain values.
pub(crate) fn of_options(options: TypeRef<'_>) -> Vec<Parameter<'_>> {
    let fields = options.object().into_iter().flat_map(ObjectRef::fields);
    let own = fields.filter(|f| !["kind", "apiVersion"].contains(&&*f.name));
    own.filter_map(|field| {
        let kind = plain(field.of())?;
        Some(Parameter { name: &field.get().name, place: Place::Query, kind, description: None })
    })
    .collect()
}

fn plain(of: TypeRef<'_>) -> Option<&'static str> {
    match of.kind() {
        TypeKind::Scalar(Scalar::String) => Some(STRING),
        TypeKind::Scalar(Scalar::Bool) => Some(BOOLEAN),
        TypeKind::Scalar(Scalar::Int32 | Scalar::Int64) => Some(INTEGER),
        // A list is given by naming the parameter several times.
        TypeKind::List(item) => plain(item),
        _ => None,
    }
}

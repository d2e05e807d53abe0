//! What is to be done next about the migrations of a resource. Pure: they are looked at, nothing is written.

use pawl_custom::status;
use pawl_meta::object::{Meta, Object};
use pawl_meta::read;

/// A migration as its object tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migration {
    pub name: String,
    pub uid: String,
    pub created: String,
    pub running: bool,
    pub ended: Option<End>,
    /// The resourceVersion up to which objects are to be rewritten; empty while that is not known.
    pub version: String,
}

/// How a migration ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Succeeded,
    /// And why.
    Failed(String),
}

/// What is next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'m> {
    /// It has ended: what says that it runs must go.
    Finish(&'m Migration, &'m End),
    /// It runs: up to which version is to be found out.
    Record(&'m Migration),
    /// It runs: objects are to be rewritten.
    Rewrite(&'m Migration),
    /// None runs: this one is the oldest.
    Begin(&'m Migration),
    /// All have ended.
    Rest,
}

/// Of one resource one migration runs at a time, the oldest first.
pub fn plan(migrations: &[Migration]) -> Step<'_> {
    let mut running = migrations.iter().filter(|migration| migration.running);
    if let Some((migration, end)) = running.clone().find_map(|m| Some((m, m.ended.as_ref()?))) {
        return Step::Finish(migration, end);
    }
    if let Some(migration) = running.next() {
        return if migration.version.is_empty() { Step::Record(migration) } else { Step::Rewrite(migration) };
    }
    let waiting = migrations.iter().filter(|migration| migration.ended.is_none());
    // Times are as long as each other, and in one time zone.
    waiting.min_by_key(|migration| (&migration.created, &migration.name)).map_or(Step::Rest, Step::Begin)
}

impl Migration {
    pub const RUNNING: &'static str = "Running";
    pub const SUCCEEDED: &'static str = "Succeeded";
    pub const FAILED: &'static str = "Failed";

    pub fn read(object: &Object) -> Self {
        let status = read::within(object, "status");
        let is_true = |kind: &str| status::is_true(status, kind);
        let message = |kind: &str| status::find(status, kind).map(|found| read::text(found, "message").to_owned());
        let ended = match (is_true(Self::SUCCEEDED), is_true(Self::FAILED)) {
            (true, _) => Some(End::Succeeded),
            (false, true) => message(Self::FAILED).map(End::Failed),
            (false, false) => None,
        };
        Self {
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            created: read::text(read::within(object, "metadata"), "creationTimestamp").to_owned(),
            running: is_true(Self::RUNNING),
            ended,
            version: read::text(status, "resourceVersion").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migration(name: &str, created: &str) -> Migration {
        Migration { name: name.to_owned(), created: created.to_owned(), ..Migration::default() }
    }

    #[test]
    fn one_runs_at_a_time_and_the_oldest_first() {
        let (a, b) = (migration("a", "2"), migration("b", "1"));
        assert_eq!(plan(&[]), Step::Rest);
        assert_eq!(plan(&[a.clone(), b.clone()]), Step::Begin(&b));
        let later = Migration { created: "1".to_owned(), ..a.clone() };
        assert_eq!(plan(&[b.clone(), later.clone()]), Step::Begin(&later), "by name where they are as old");
        let running = Migration { running: true, ..a.clone() };
        assert_eq!(plan(&[running.clone(), b.clone()]), Step::Record(&running));
        let known = Migration { version: "7".to_owned(), ..running };
        assert_eq!(plan(&[b.clone(), known.clone()]), Step::Rewrite(&known));
        let ended = Migration { ended: Some(End::Succeeded), ..known };
        assert_eq!(plan(&[b.clone(), ended.clone()]), Step::Finish(&ended, &End::Succeeded));
        let over = Migration { running: false, ..ended };
        assert_eq!(plan(&[over.clone(), b.clone()]), Step::Begin(&b));
        assert_eq!(plan(&[over]), Step::Rest);
    }
}

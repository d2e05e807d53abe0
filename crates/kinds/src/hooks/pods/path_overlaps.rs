//! Files of one volume that would lie over or inside each other: allowed, and warned of.

use pawl_meta::object::Object;
use serde_json::Value;

use pawl_meta::read;

/// A file and where it comes from; the source is empty when the volume has only one.
#[derive(Clone, PartialEq, Eq)]
struct File {
    path: String,
    source: String,
}

impl File {
    fn shown(&self) -> String {
        if self.source.is_empty() { format!("{:?}", self.path) } else { format!("{:?} ({})", self.path, self.source) }
    }

    fn overlaps(&self, other: &File) -> bool {
        let inside = |inner: &str, outer: &str| format!("{inner}/").starts_with(&format!("{outer}/"));
        !self.path.is_empty()
            && !other.path.is_empty()
            && (inside(&self.path, &other.path) || inside(&other.path, &self.path))
    }
}

/// Every pair of files of a pod's volumes that overlap.
pub(crate) fn path_overlaps(spec: &Object, warnings: &mut Vec<String>) {
    for (_, volume) in read::objects(spec, "volumes") {
        let name = read::text(volume, "name");
        let single = [
            ("configMap", "name", Some("ConfigMap")),
            ("secret", "secretName", Some("Secret")),
            ("downwardAPI", "", None),
        ];
        for (field, name_field, kind) in single {
            let Some(source) = read::map(volume, field) else { continue };
            let shown =
                kind.map_or("DownwardAPI".to_string(), |kind| format!("{kind} {:?}", read::text(source, name_field)));
            report(name, &shown, files(source, ""), warnings);
        }
        if let Some(projected) = read::map(volume, "projected") {
            let mut all = Vec::new();
            for (_, source) in read::objects(projected, "sources") {
                if source.values().all(Value::is_null) {
                    warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
                }
                all.extend(projected_files(source));
            }
            report(name, "Projected", all, warnings);
        }
    }
}

/// Files beyond so many of a volume are not compared: nobody reads so many warnings.
const MOST_COMPARED: usize = 200;

fn report(volume: &str, kind: &str, files: Vec<File>, warnings: &mut Vec<String>) {
    for (index, file) in files.iter().enumerate().take(MOST_COMPARED) {
        for other in files.iter().take(index).filter(|other| other.overlaps(file)) {
            let pair = format!("{} with {}", file.shown(), other.shown());
            warnings.push(format!("volume {volume:?} ({kind}): overlapping paths: {pair}"));
        }
    }
}

fn files(source: &Object, shown: &str) -> Vec<File> {
    let file = |item: &Object| File {
        path: read::text(item, "path").trim_end_matches('/').to_string(),
        source: shown.to_string(),
    };
    read::objects(source, "items").map(|(_, item)| file(item)).collect()
}

fn projected_files(source: &Object) -> Vec<File> {
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        if let Some(projection) = read::map(source, field).filter(|projection| read::present(projection, "items")) {
            return files(projection, &format!("{kind} {:?}", read::text(projection, "name")));
        }
    }
    if let Some(projection) = read::map(source, "downwardAPI").filter(|projection| read::present(projection, "items")) {
        return files(projection, "DownwardAPI");
    }
    read::map(source, "serviceAccountToken").map_or_else(Vec::new, |token| {
        let path = read::text(token, "path").trim_end_matches('/').to_string();
        vec![File { path, source: "ServiceAccountToken".to_string() }]
    })
}

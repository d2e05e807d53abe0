//! The protobuf form of the Swagger document, read back by number and compared with the JSON form.

#![allow(clippy::restriction, reason = "a test may fail so")]

use pawl_discovery::openapi_v2;
use pawl_kinds::Resource;
use serde_json::{Map, Value, json};

/// The fields of a message: number and bytes; numbers as their one byte.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = number(&mut bytes);
        let length = if key & 7 == 2 { number(&mut bytes) as usize } else { 1 };
        assert!(key & 7 == 2 || key & 7 == 0);
        let (value, rest) = bytes.split_at(length);
        fields.push((key >> 3, value));
        bytes = rest;
    }
    fields
}

fn number(bytes: &mut &[u8]) -> u64 {
    let length = 1 + bytes.iter().position(|byte| byte & 0x80 == 0).unwrap();
    let (digits, rest) = bytes.split_at(length);
    *bytes = rest;
    digits.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
}

fn all(bytes: &[u8], field: u64) -> Vec<&[u8]> {
    fields(bytes).into_iter().filter(|(f, _)| *f == field).map(|(_, value)| value).collect()
}

fn one(bytes: &[u8], field: u64) -> Option<&[u8]> {
    all(bytes, field).first().copied()
}

fn text(bytes: &[u8], field: u64) -> Option<String> {
    one(bytes, field).map(|value| String::from_utf8(value.to_vec()).unwrap())
}

fn named(bytes: &[u8]) -> (String, &[u8]) {
    (text(bytes, 1).unwrap(), one(bytes, 2).unwrap_or_default())
}

fn yaml(any: &[u8]) -> Value {
    serde_json::from_str(&text(any, 2).unwrap()).unwrap()
}

fn schema(bytes: &[u8]) -> Value {
    let mut out = Map::new();
    for (field, value) in fields(bytes) {
        let string = || Value::from(String::from_utf8(value.to_vec()).unwrap());
        let (name, value) = match field {
            1 => ("$ref", string()),
            2 => ("format", string()),
            4 => ("description", string()),
            19 | 20 => {
                let name = if field == 19 { "required" } else { "enum" };
                let item = if field == 19 { string() } else { yaml(value) };
                out.entry(name).or_insert_with(|| json!([])).as_array_mut().unwrap().push(item);
                continue;
            }
            21 => ("additionalProperties", schema(one(value, 1).unwrap())),
            22 => ("type", text(value, 1).unwrap().into()),
            23 => ("items", schema(one(value, 1).unwrap())),
            25 => {
                let properties = all(value, 1).into_iter().map(named).map(|(name, bytes)| (name, schema(bytes)));
                ("properties", Value::Object(properties.collect()))
            }
            31 => {
                let (name, any) = named(value);
                out.insert(name, yaml(any));
                continue;
            }
            _ => panic!("no such field of a schema: {field}"),
        };
        out.insert(name.to_owned(), value);
    }
    out.into()
}

#[test]
fn it_says_what_the_json_says() {
    let table: Vec<&Resource> = pawl_kinds::builtin().iter().collect();
    let json: Value = serde_json::from_slice(&openapi_v2::json(pawl_kinds::kinds(), &table)).unwrap();
    let bytes = openapi_v2::protobuf(pawl_kinds::kinds(), &table);

    assert_eq!(text(&bytes, 1).as_deref(), Some("2.0"));
    assert_eq!(text(one(&bytes, 2).unwrap(), 1).as_deref(), Some("Kubernetes"));
    let definitions: Map<String, Value> =
        all(one(&bytes, 9).unwrap(), 1).into_iter().map(named).map(|(name, bytes)| (name, schema(bytes))).collect();
    assert_eq!(Value::Object(definitions), json["definitions"]);

    let paths: Vec<(String, &[u8])> = all(one(&bytes, 8).unwrap(), 2).into_iter().map(named).collect();
    assert_eq!(paths.len(), json["paths"].as_object().unwrap().len());
    let numbers = [("get", 2), ("put", 3), ("post", 4), ("delete", 5), ("options", 6), ("head", 7), ("patch", 8)];
    for (path, item) in paths {
        let expected = &json["paths"][&path];
        for (method, field) in numbers {
            let Some(operation) = one(item, field) else {
                assert!(expected.get(method).is_none(), "{method} {path}");
                continue;
            };
            let expected = &expected[method];
            assert_eq!(text(operation, 5).unwrap(), expected["operationId"]);
            let extensions: Map<String, Value> =
                all(operation, 13).into_iter().map(named).map(|(name, any)| (name, yaml(any))).collect();
            assert_eq!(extensions.get("x-kubernetes-action"), expected.get("x-kubernetes-action"));
            let kind = "x-kubernetes-group-version-kind";
            assert_eq!(extensions.get(kind), expected.get(kind));
            let parameters = all(operation, 8).into_iter().map(|item| match one(item, 2) {
                Some(reference) => text(reference, 1).unwrap(),
                None => text(one(one(item, 1).unwrap(), 1).unwrap(), 2).unwrap(),
            });
            let expected = expected["parameters"].as_array().into_iter().flatten();
            let expected = expected.map(|p| p.get("$ref").unwrap_or(&p["name"]).as_str().unwrap().to_owned());
            assert_eq!(parameters.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{method} {path}");
        }
    }
}

/// What kubectl does when it has no OpenAPI 3.0.
#[test]
fn field_validation_is_found_behind_a_reference() {
    let table: Vec<&Resource> = pawl_kinds::builtin().iter().collect();
    let bytes = openapi_v2::protobuf(pawl_kinds::kinds(), &table);
    let shared =
        all(one(&bytes, 10).unwrap(), 1).into_iter().map(named).find(|(name, _)| name == "fieldValidation-query");
    let query = one(one(shared.unwrap().1, 2).unwrap(), 3).unwrap();
    assert_eq!(text(query, 4).as_deref(), Some("fieldValidation"));
    assert_eq!(text(query, 2).as_deref(), Some("query"));
    assert_eq!(text(query, 6).as_deref(), Some("string"));
}

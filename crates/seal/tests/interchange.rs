//! Values that a real kube-apiserver sealed open here: a handful of them in this file, and all there are where the
//! recordings lie (`../shared/encryption` beside the repository, or where `PAWL_ENCRYPTION` says).

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod support;

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_seal::testing::Plugin;
use pawl_seal::{Opened, Plain};
use serde_json::{Value, json};
use support::Keyed;

const PLACE: &str = "/registry/vec.example.com/widgets/default/w1";
/// The bytes 0 to 31, and 32 to 63.
const KEY_1: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const KEY_2: &str = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";

/// The provider, the value as it lay in etcd, and the uid of the object inside.
const SEALED: [(&str, &str, &str); 5] = [
    (
        "aesgcm-32",
        "azhzOmVuYzphZXNnY206djE6a2V5MTrF+Ia49xhjunSCqOYS/McZA0oH1AQf+HTej3LVDBxiSlHoXuZMEyPfVjUWyCoZ6rG0nm/TkwEXgJdPpyIVsJE9StzB2d1G/THZljOEMeZg+3Z+325WYTQxO/jy2Byt3VIlb/QdcyR3ONzuYPfLl3fAHIsVpayVWXFbBOO7ytT6SdIBlXQ45v5IPFw1R+zIHDY7QiE6KheO9QLEeuER1LoRxx81UFx1YTPGNSwLGQbl72m0kU9yLVzQlbnnJjxwAQqZscxP6r9mT79T38IIO8k4+GRt94IAv2h7Wyteb2urx3bI0s6uMvDtF5dc6UP/DokBuK4j4ihnlhG1itp/1hUIe3WV9kzNkwLYaeWOX5lfkUghaiYV7N2XNDrH/myqdq4Xa+pL8xTTjnrXcv9Okwb4p/D3Y/xWyHSZaiY7wsFDimtiZ0eFvc2TMAfo98HIAHkOykejFya723GUQ23XXzWE10dKKPz44L1qD1EA50VoOizw0ZoN9tEnSqVHsqu6aGxE3y73jg4Avth6VaAgGh2y7DFdV3CycDiVgreWeh7YqOoa5MPrC6Ixmc4CGl/QLnUWQDS0Lcbv3SZ7AhF2uw==",
        "9a86dd69-0404-42be-85e6-364872c1f07b",
    ),
    (
        "aesgcm-16",
        "azhzOmVuYzphZXNnY206djE6c2hvcnQ6ZRe9MMtTK1FdZ+CieORr3K3ttXYiiHw+oPRqId4VBAWWptGlpLpEGSYl6OiAuRZAd7sEQtZQ0eEokczQiSekypkQQm0WvVh6cPHBhs848OpZpg3wl/itYmnNUsp5xn+sML1x75pJ2ptrDhBAqcPT/QHw/Y9ETl945pfjg4lLws08ScPW9vr8ZvuB/aXBTLwRHJsanrgZbIxRa2IBYLgVmJ2GY994axbGal+BmcD3Pw64qmkCQlkM4tq03HQabnO9dYhMjqMDEMYDNXyjIAzF1iF3Zgan6n/39MGg9v9ku6InRXmpkHg8qMsL0oDMTP/MKW3OQXTEBm4ggUHYPPbrbnWhIrGYldyJ/ZG9NfPvGX2nFahqr3J74MhMhq7/sswKaYaa+eG1cA0wwGpJePB71VrLtw23zM+IL4v6dcedw6h/8eSUnZniCYoChlKh95iIVx3YlTLQ+GFN9ibXsS183mInK537AaAGwFJv5CRNJfLrfQVxtOypVZPJwCLQZhx/CYuViQ/YafNBqjx2TsPztOS+geIc6r2r800mJapkKOwJeMpjSVAMgwbOXGQXQw9dbZLloITQd6KZFaUWgpM=",
        "e28ea8f3-f0d5-48af-8ed7-caf977209b4c",
    ),
    (
        "aescbc-32",
        "azhzOmVuYzphZXNjYmM6djE6a2V5MTqGJ4ZWl5RNneS5n2J2iEhMnx9/Lg+TK6WdPZKg/VElJiaEtNw9YO+nhpp/b4/RMeqz8myRa36eCu6/u6sQYMp5fFIxwVWYRTHQwyTBc9Yh5zX0QDenNZFqUYAPe+4NCbdRX7dyVoE4UZfVb/S5jJbX28irUx1sQPQapY8fNPKSQTy9Mek0qkkMkyw9wCu7KnigVT7fuBKBmIvUHuzSMiFi7cw/UuOVbuihAZs5rMAogA1WQz29rntE7UrPpjxaUzrm3u9uA790EG/qbHXXlewRncdnzAtksetej8dpyy95Dhs3hL/r19hI4fkxuSYhwW48Yj41dMwgV7+9ftFvgpnSiIEnO5gj4+FHYJBgoLuXWdu6nFVfGoUBNtb+OkADp1LL5g9wKFOH1XoAapaBtRgziuwgRJaKsIQJ4nP12OKWdo37OhCP57VuUXCyQI2dIqH+spkipgFk3zrY4A6ZuOfFYHUQnLYquwDnHNcLKxyFfMAs2GKJADRhh+6CBTDeE/FwN0PgC1W3m3GgEsolFH9eSvCqGP4j4HZGUwH8HBPse9jXhK8YosSGj3F5H4XIFDadgqPTjnnVMtwnSoTewxHD",
        "8b6e78a4-e66b-45a8-afa1-f512aa5743b8",
    ),
    (
        "secretbox",
        "azhzOmVuYzpzZWNyZXRib3g6djE6Ym94Olo8vpRCldqrnF9G92hOouNioo0hIPOXXdqUDYBmZqTYMvhl+BXLP++L6BOAWU2JjtUy5ecpYhPDjmlYXwlM7t89jfFGhKPn9Eihm3WfD8OyGz3UJeL9W5bk+X2+CXPXLfq3gxQzcoTIdEo68EX+/2NxQvzJWmI+dGdlCgAlc0XwBT97C31uQyPAuCSgkzhRUqqOyngTatRXK0rjRjVht5BF+2COqc5GdsmDglMqhW7Jtw375u3ePsMgapeb7ZsRy9j/tj/FBHxune4rn+P0mewIZgj6uwQXAYzyI7WjuN7JAzBEkqiLGmA1FRAxJJLphM5ekVC4Rjvz0v0zkQ8eBsy8+51WfZ83wJLAX9qn82xWvN1sG0X436s1VJtAS+0YrpeV/LOIY/MYsuTEp6mUwOevrlCv4T/r8GiBs1bnXFxbw8IOktRGPy5nNZL8Xv/H8cwvXFqDEqUowODVXwAcErV/tTGmQMMoal0JXtQl6E6xvMDHJ+L9yV4sBaYjPNLOQYTx4nKcDu+DelNl5FQHyIF2OKEo8HKgftm6DfqYr4EdTXF8eYNkobOVNi68nHUQMHG+LZW895xqMTi37FH/yXXIf4+jxtepUYvy",
        "353f69e3-97d4-4b20-b8be-e071d1d249d3",
    ),
    (
        "kms-v2",
        "azhzOmVuYzprbXM6djI6dmVjOgreA5AfU8PdVLNuaRdp3+z+iEBOMi4A/eXZU3O6IrIETxp/fynbbU9QrbGWjrS5wVXn7r+CbQ1fG12Zs0+bHJdTdbRitVwyoSiri3HqPGgSn9M6ImzWELJQQWM2+Fz2/jm9Luu5Fxsztp+haKB642R/0l5RfjvO0NLxH9gAVy6w/nsKB9Oy8z0ZXv+IoeXrGuwqXlU7ax23bVeQ+JiFOcsYanHZF+7MdawhIuKKs/5V3vms1t1qa7IqbR1WZYaRR7t8H3FdWZRje+wdi+XlGGsoxTEaj9yTI9cOqg99YZhlVaGw9hyEDStBJcUEgGL8QSoemNxtOTMUuBCYyzZGqaKnxUCK3YVzEal9ozF2mG5kmiqetK+9cpmkjVn0YD1CktA9sN6g1qeMU5DbxB1sgifkChB9G9ZWd6BExl5BolzRuiIy4HtHz0e8LCIdYK2LrV5l0edVKAVyDaNo9gTxel2Z1KSZ0FxzX2deBpqmbEro1QJHgnvIuH6gRKk8KN2nTDdFXV/BkLMe4ys8xV+b1d2EIUSRTh3ebT9YIKW8PzaGhvixq3tsaJCDFriAqoX4bC15hnhAjTGbw/NExxKyc/wjK4lNqDm2hp1l0s7GV1uMnoiAudgD2u4qOaATrNduaVoSBWtlay0xGiA1VVjMTmpi7mkHbkV5x2bA7/GenTtmR/SW1N+RmiXG1yIXCg92ZWMuZXhhbXBsZS5jb20SBG5vdGUoAQ==",
        "1f58eec8-6071-42b1-9bce-26f2197d163c",
    ),
];

fn provider(name: &str, endpoint: &str) -> Value {
    let keys = |name: &str, secret: &str| json!({"keys": [{"name": name, "secret": secret}]});
    match name {
        "aesgcm-32" => json!({"aesgcm": keys("key1", KEY_1)}),
        "aesgcm-16" => json!({"aesgcm": keys("short", "AAECAwQFBgcICQoLDA0ODw==")}),
        "aescbc-32" => {
            json!({"aescbc": {"keys": [{"name": "key1", "secret": KEY_1}, {"name": "key2", "secret": KEY_2}]}})
        }
        "secretbox" => json!({"secretbox": keys("box", KEY_2)}),
        "kms-v2" => json!({"kms": {"apiVersion": "v2", "name": "vec", "endpoint": endpoint}}),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn values_of_a_real_server_open() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = Plugin::running(&directory.path().join("kms.sock"));
    for (name, value, uid) in SEALED {
        let keyed = Keyed::with(json!([provider(name, &plugin.endpoint())])).await;
        let value = BASE64.decode(value).unwrap();
        let (plain, stale) = keyed.plain(PLACE, value.clone()).await;
        let object: Value = serde_json::from_slice(&plain).unwrap();
        assert_eq!(object["metadata"]["uid"], uid, "{name}");
        assert_eq!(object["spec"], json!({"a": "hello"}), "{name}");
        assert!(!stale, "{name}");
        // And what is sealed here has the same form, but for what is random.
        let sealed = keyed.transform.seal(PLACE, &Plain::new(plain)).unwrap().into_bytes();
        assert_eq!(sealed.len(), value.len(), "{name}");
        let same = sealed.iter().zip(&value).take_while(|(ours, theirs)| ours == theirs).count();
        assert!(same >= "k8s:enc:kms:v2:vec:".len(), "{name}");
    }
}

fn recordings() -> Option<PathBuf> {
    let beside = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../../shared/encryption");
    let place = std::env::var_os("PAWL_ENCRYPTION").filter(|place| !place.is_empty()).map_or(beside, PathBuf::from);
    Some(place.join("vectors.json")).filter(|file| file.is_file())
}

#[tokio::test]
async fn all_recorded_values_open() {
    let Some(file) = recordings() else { return };
    let directory = tempfile::tempdir().unwrap();
    let plugin = Plugin::running(&directory.path().join("kms.sock"));
    let recorded: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert!(recorded.len() >= 18);
    for vector in &recorded {
        let (name, place) = (vector["provider"].as_str().unwrap(), vector["key"].as_str().unwrap());
        let mut config = vector["config"].clone();
        if let Some(kms) = config.get_mut("kms") {
            kms["endpoint"] = plugin.endpoint().into();
        }
        let keyed = Keyed::with(json!([config])).await;
        let value = BASE64.decode(vector["value"].as_str().unwrap()).unwrap();
        let (plain, stale) = keyed.plain(place, value.clone()).await;
        assert!(!stale, "{name} {place}");
        let uid = vector["object"]["metadata"]["uid"].as_str().unwrap();
        let shows = |text: &str| plain.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(plain.starts_with(b"k8s\0") || plain.starts_with(b"{"), "{name} {place}");
        assert!(shows(uid), "{name} {place}");
        if vector["resource"] == "secrets" {
            assert!(shows("top-secret-value"), "{name} {place}");
        }
        let again = keyed.transform.seal(place, &Plain::new(plain.clone())).unwrap();
        assert_eq!(again.as_slice().len(), value.len(), "{name} {place}");
        assert_eq!(keyed.plain(place, again.into_bytes().to_vec()).await.0, plain, "{name} {place}");
    }
}

/// Before seeds, the data key itself was encrypted. Such values stay readable, and are stale.
#[tokio::test]
async fn values_of_a_data_key_without_seed_open() {
    use aes_gcm::aead::{AeadInOut, KeyInit};
    let directory = tempfile::tempdir().unwrap();
    let plugin = Plugin::running(&directory.path().join("kms.sock"));
    let keyed = Keyed::with(json!([provider("kms-v2", &plugin.endpoint())])).await;
    let key = [7u8; 32];
    let mut data = b"{\"old\":true}".to_vec();
    let nonce = [9u8; 12];
    let tag = aes_gcm::Aes256Gcm::new(&key.into())
        .encrypt_inout_detached(&nonce.into(), PLACE.as_bytes(), data.as_mut_slice().into())
        .unwrap();
    let source: Vec<u8> = key.iter().map(|byte| byte ^ 0x5a).collect();
    let mut value = b"k8s:enc:kms:v2:vec:".to_vec();
    let mut field = |number: u8, content: &[u8]| {
        value.extend_from_slice(&[number << 3 | 2, content.len() as u8]);
        value.extend_from_slice(content);
    };
    field(1, &[&nonce[..], &data[..], &tag[..]].concat());
    field(2, b"kek-1");
    field(3, &source);
    let (plain, stale) = keyed.plain(PLACE, value.clone()).await;
    assert_eq!(plain, b"{\"old\":true}");
    assert!(stale);
    match keyed.open("/registry/vec.example.com/widgets/default/moved", value).await {
        Opened::Unreadable(unreadable) => assert_eq!(unreadable.message, "cipher: message authentication failed"),
        other => panic!("{other:?}"),
    }
}

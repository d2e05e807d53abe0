//! Tells the crate which platform it is built for, in the words of `/version`.
fn main() {
    let arch = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "amd64".to_owned(),
        Ok("aarch64") => "arm64".to_owned(),
        Ok(other) => other.to_owned(),
        Err(_) => "unknown".to_owned(),
    };
    println!("cargo::rustc-env=PAWL_ARCH={arch}");
    println!("cargo::rerun-if-changed=build.rs");
}

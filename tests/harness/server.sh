# A Pawl server for one test run: sourced by the suites, starts a server of its own on a free
# port with its data in a temporary directory, and stops exactly that process.
#
#   PAWL_BIN     the server (default target/release/pawl)
#   PAWL_STORE   etcd: the store is an etcd of its own (PAWL_ETCD, default etcd) and no directory
#
# start_server [flags…] sets SERVER_DIR, SERVER_PID, SERVER_URL, SERVER_CA, SERVER_TOKEN,
# SERVER_LOG and KUBECONFIG. stop_server ends it and keeps the directory; leave_server also
# removes the directory and belongs in an EXIT trap.

REPOSITORY=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PAWL_BIN=${PAWL_BIN:-$REPOSITORY/target/release/pawl}

fail_early() {
    echo "$*" >&2
    exit 2
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Makes the directory that holds data, tokens and log. Called by start_server when needed.
make_server_dir() {
    SERVER_DIR=$(mktemp -d "${TMPDIR:-/tmp}/pawl-test.XXXXXX")
    SERVER_LOG=$SERVER_DIR/server.log
    SERVER_TOKEN=admin-token
    # Like the recorded upstream server: one user of system:masters and two of no group.
    printf '%s\n' 'admin-token,admin,admin-uid,"system:masters"' 'alice-token,alice,' 'bob-token,bob,' \
        >"$SERVER_DIR/tokens.csv"
}

# An etcd of one member that keeps nothing beyond the run.
start_etcd() {
    local peer
    ETCD_URL=http://127.0.0.1:$(free_port)
    peer=http://127.0.0.1:$(free_port)
    "${PAWL_ETCD:-etcd}" --name test --data-dir "$SERVER_DIR/etcd" --log-level error --unsafe-no-fsync=true \
        --listen-client-urls "$ETCD_URL" --advertise-client-urls "$ETCD_URL" --listen-peer-urls "$peer" \
        --initial-advertise-peer-urls "$peer" --initial-cluster "test=$peer" \
        --heartbeat-interval 20 --election-timeout 100 >>"$SERVER_DIR/etcd.log" 2>&1 &
    ETCD_PID=$!
}

# Starts again on the same directory when one is there, on another port: the server chooses it, and writes its kubeconfig when it is ready.
start_server() {
    [ -x "$PAWL_BIN" ] || fail_early "no server at $PAWL_BIN: build it (cargo build --release) or set PAWL_BIN"
    [ -n "${SERVER_DIR:-}" ] || make_server_dir
    local store=(--data-dir "$SERVER_DIR/data")
    if [ "${PAWL_STORE:-}" = etcd ]; then
        [ -n "${ETCD_PID:-}" ] || start_etcd
        # Its certificates are below where the server is started.
        store=(--etcd-servers "$ETCD_URL")
    fi
    export KUBECONFIG=$SERVER_DIR/kubeconfig
    rm -f "$KUBECONFIG"
    # The address is from the block for documentation: it is only shown, nothing is sent there.
    (cd "$SERVER_DIR" && exec "$PAWL_BIN" serve "${store[@]}" --secure-port 0 --write-kubeconfig "$KUBECONFIG" \
        --advertise-address 192.0.2.1 --token-auth-file "$SERVER_DIR/tokens.csv" "$@" >>"$SERVER_LOG" 2>&1) &
    SERVER_PID=$!
    await_ready
    SERVER_URL=$(sed -n 's/^ *server: //p' "$KUBECONFIG")
    SERVER_CA=$SERVER_DIR/ca.crt
    sed -n 's/^ *certificate-authority-data: //p' "$KUBECONFIG" | base64 -d >"$SERVER_CA"
}

await_ready() {
    local tries
    for tries in $(seq 1 1500); do
        [ ! -e "$KUBECONFIG" ] || return 0
        if ! kill -0 "$SERVER_PID" 2>/dev/null; then
            cat "$SERVER_LOG" >&2
            fail_early "the server ended before it was ready"
        fi
        sleep 0.02
    done
    cat "$SERVER_LOG" >&2
    fail_early "the server was not ready within 30 s"
}

# Sets SERVER_STATUS to the exit code.
stop_server() {
    [ -n "${SERVER_PID:-}" ] || return 0
    local tries
    kill -TERM "$SERVER_PID" 2>/dev/null || true
    for tries in $(seq 1 250); do
        kill -0 "$SERVER_PID" 2>/dev/null || break
        sleep 0.02
    done
    kill -KILL "$SERVER_PID" 2>/dev/null || true
    SERVER_STATUS=0
    wait "$SERVER_PID" 2>/dev/null || SERVER_STATUS=$?
    SERVER_PID=
}

leave_server() {
    stop_server
    if [ -n "${ETCD_PID:-}" ]; then
        kill -KILL "$ETCD_PID" 2>/dev/null || true
        wait "$ETCD_PID" 2>/dev/null || true
    fi
    if [ -n "${SERVER_DIR:-}" ]; then
        rm -rf "$SERVER_DIR"
    fi
}

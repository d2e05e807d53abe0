// The other side of the exchange: kube-apiserver's own libraries read an EncryptionConfiguration, open what lies in etcd and
// seal what is put there. No format and no key handling is ours.
//
//	interchange open ETCD CONFIG RESOURCE PREFIX             what lies below the prefix, one line of JSON for each value
//	interchange seal [-data-key KMS] ETCD CONFIG RESOURCE KEY  seals the object on standard input and stores it
//	interchange kms SOCKET KEYS                              a key service (plugin.go)
package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		cancel()
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	switch {
	case len(arguments) == 5 && arguments[0] == "open":
		store, err := storeFor(ctx, arguments[1], arguments[2], arguments[3])
		if err != nil {
			return err
		}
		defer store.close()
		return store.open(ctx, arguments[4], os.Stdout)
	case len(arguments) == 7 && arguments[0] == "seal" && arguments[1] == "-data-key":
		defer withDataKeys(arguments[2])()
		return seal(ctx, arguments[3:])
	case len(arguments) == 5 && arguments[0] == "seal":
		return seal(ctx, arguments[1:])
	case len(arguments) == 3 && arguments[0] == "kms":
		return servePlugin(arguments[1], arguments[2])
	}
	return fmt.Errorf("open ETCD CONFIG RESOURCE PREFIX, seal [-data-key KMS] ETCD CONFIG RESOURCE KEY, or kms SOCKET KEYS")
}

func seal(ctx context.Context, arguments []string) error {
	store, err := storeFor(ctx, arguments[0], arguments[1], arguments[2])
	if err != nil {
		return err
	}
	defer store.close()
	return store.seal(ctx, arguments[3], os.Stdin)
}

// The etcd of a newer version than the machine's packages have, for tests: etcd's own main function.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}

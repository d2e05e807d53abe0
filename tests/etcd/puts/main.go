// What a bare client of etcd reaches: puts of 2.4 KB, 64 at once. `puts URL COUNT` prints how many a second.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const atOnce = 64

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 2 {
		return fmt.Errorf("usage: puts URL COUNT")
	}
	count, err := strconv.ParseInt(arguments[1], 10, 64)
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{arguments[0]}, DialTimeout: 10 * time.Second})
	if err != nil {
		return err
	}
	defer client.Close()
	value := strings.Repeat("x", 2450)
	var next atomic.Int64
	var failure atomic.Value
	var workers sync.WaitGroup
	began := time.Now()
	for range atOnce {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := next.Add(1); i <= count; i = next.Add(1) {
				if _, err := client.Put(context.Background(), fmt.Sprintf("/bare/%07d", i), value); err != nil {
					failure.Store(err)
					return
				}
			}
		}()
	}
	workers.Wait()
	if err, failed := failure.Load().(error); failed {
		return err
	}
	fmt.Printf("%.0f\n", float64(count)/time.Since(began).Seconds())
	return nil
}

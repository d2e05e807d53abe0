// Package patience waits for what must come in the end. How long it takes is not looked at.
package patience

import (
	"testing"
	"time"
)

const limit = 60 * time.Second

// Until tries until there is no error.
func Until(t testing.TB, what string, try func() error) {
	t.Helper()
	began := time.Now()
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Since(began) > limit {
			t.Fatalf("not within %v: %s: %v", limit, what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Package access tries what client-go's clients do, typed, dynamic, metadata and apply, in JSON and in protobuf, on the server that
// KUBECONFIG names. It serves lamps (../lamps/crds).
package access

import (
	"mime"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	plain  = runtime.ContentTypeJSON
	binary = runtime.ContentTypeProtobuf
)

// encodings of a client, and what its answers are encoded in.
var encodings = map[string]string{"JSON": plain, "protobuf": binary}

// What the answers to one client were encoded in.
type seen struct {
	lock  sync.Mutex
	types []string
	next  http.RoundTripper
}

func (s *seen) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(request)
	if err == nil {
		kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
		s.lock.Lock()
		s.types = append(s.types, kind)
		s.lock.Unlock()
	}
	return response, err
}

// only: every answer was encoded so, and there were some.
func (s *seen) only(t *testing.T, wanted string) {
	t.Helper()
	s.lock.Lock()
	defer s.lock.Unlock()
	if found := slices.Compact(slices.Sorted(slices.Values(s.types))); !slices.Equal(found, []string{wanted}) {
		t.Errorf("answers are %q and not %s", found, wanted)
	}
}

// connect is a configuration whose answers are looked at.
func connect(t *testing.T, encoding string) (*rest.Config, *seen) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.ContentType = encoding
	config.QPS = -1
	look := &seen{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		look.next = next
		return look
	})
	return config, look
}

// ofItsOwn is a namespace for one test.
func ofItsOwn(t *testing.T) string {
	t.Helper()
	config, _ := connect(t, plain)
	client := taken(kubernetes.NewForConfig(config))(t)
	namespace := &core.Namespace{ObjectMeta: v1.ObjectMeta{GenerateName: "access-"}}
	return taken(client.CoreV1().Namespaces().Create(t.Context(), namespace, v1.CreateOptions{}))(t).Name
}

// taken gives the value of what must not fail.
func taken[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// heard reads events until one of this type comes, and returns its object and the types of all.
func heard(t *testing.T, events watch.Interface, last watch.EventType) (runtime.Object, []watch.EventType) {
	t.Helper()
	limit := time.After(60 * time.Second)
	var types []watch.EventType
	for {
		select {
		case event, more := <-events.ResultChan():
			if !more {
				t.Fatalf("the watch ended after %v", types)
			}
			types = append(types, event.Type)
			if event.Type == last {
				return event.Object, types
			}
		case <-limit:
			t.Fatalf("no %s came after %v", last, types)
		}
	}
}

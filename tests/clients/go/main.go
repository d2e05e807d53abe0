// Informers of client-go and a cache of controller-runtime, while the server's keys for Secrets change under them: in the end
// their stores are what the server lists, and nobody has to do anything for that.
//
//	informers KEYS   the encryption configuration of the server that KUBECONFIG names, which it loads again when it changes
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	core "k8s.io/api/core/v1"
	api "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	namespace = "informers"
	// Reflectors wait longer and longer between their attempts, up to a minute.
	deadline = 150 * time.Second
)

type suite struct {
	config  *rest.Config
	client  *kubernetes.Clientset
	secrets typed.SecretInterface
	keys    string
}

func main() {
	// What reflectors say of their attempts is expected here.
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())
	if len(os.Args) != 2 {
		fail("usage: %s KEYS", os.Args[0])
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(err)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	must(err)
	s := &suite{config, client, client.CoreV1().Secrets(namespace), os.Args[1]}
	ctx := context.Background()
	_, err = client.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: namespace}}, meta.CreateOptions{})
	must(err)

	gates := features.FeatureGates().(interface {
		Set(features.Feature, bool) error
	})
	for _, streaming := range []bool{true, false} {
		must(gates.Set(features.WatchListClient, streaming))
		for _, story := range []struct {
			name string
			run  func(context.Context, []*view)
		}{
			{"200 objects are written, changed and deleted", s.plain},
			{"a key is lost, and what it sealed is removed unread", s.removed},
			{"a key is lost, and found again", s.returned},
		} {
			began := time.Now()
			s.use(ctx, "first")
			following, stop := context.WithCancel(ctx)
			views := []*view{s.informer(following), s.cache(following)}
			for _, v := range views {
				v.synced(streaming)
			}
			story.run(ctx, views)
			must(s.secrets.DeleteCollection(ctx, meta.DeleteOptions{}, meta.ListOptions{}))
			s.agree(ctx, views)
			stop()
			fmt.Printf("ok   WatchList %-5v %s (%.1f s)\n", streaming, story.name, time.Since(began).Seconds())
		}
	}
}

func (s *suite) plain(ctx context.Context, views []*view) {
	name := func(i int) string { return fmt.Sprintf("many-%03d", i) }
	for i := range 200 {
		s.create(ctx, name(i))
	}
	for i := range 200 {
		s.change(ctx, name(i))
		if i%2 == 0 {
			must(s.secrets.Delete(ctx, name(i), meta.DeleteOptions{}))
		}
	}
	s.agree(ctx, views)
	if n := len(views[1].kept()); n != 100 {
		fail("of 200 objects every other is deleted, and %d are there", n)
	}
}

func (s *suite) removed(ctx context.Context, views []*view) {
	s.lose(ctx, views)
	unread := true
	for _, name := range []string{"lost-0", "lost-1"} {
		must(s.secrets.Delete(ctx, name, meta.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &unread}))
	}
	s.healthy(ctx, views, "good-0", "good-2", "meanwhile")
}

func (s *suite) returned(ctx context.Context, views []*view) {
	s.lose(ctx, views)
	s.use(ctx, "second", "first")
	s.healthy(ctx, views, "good-0", "good-2", "lost-0", "lost-1", "meanwhile")
}

// The first key is lost while everybody watches. Others write what they can.
func (s *suite) lose(ctx context.Context, views []*view) {
	s.create(ctx, "lost-0", "lost-1")
	s.use(ctx, "second", "first")
	s.create(ctx, "good-0", "good-1", "good-2")
	s.agree(ctx, views)
	list, err := s.secrets.List(ctx, meta.ListOptions{})
	must(err)
	open, err := s.secrets.Watch(ctx, meta.ListOptions{ResourceVersion: list.ResourceVersion})
	must(err)
	defer open.Stop()

	s.use(ctx, "second")
	for _, place := range []string{namespace, ""} {
		until(fmt.Sprintf("lists of namespace %q fail", place), func() error {
			_, err := s.client.CoreV1().Secrets(place).List(ctx, meta.ListOptions{})
			if status := api.APIStatus(nil); !api.IsStoreReadError(err) || !errors.As(err, &status) || status.Status().Code != 500 {
				return fmt.Errorf("the answer is %v", err)
			}
			return nil
		})
	}
	ended(open)
	for _, v := range views {
		until(v.name+" is told that it cannot list", func() error {
			if v.refusals.Load() == 0 {
				return errors.New("no list of it was refused")
			}
			return nil
		})
	}
	s.create(ctx, "meanwhile")
	s.change(ctx, "good-0")
	must(s.secrets.Delete(ctx, "good-1", meta.DeleteOptions{}))
}

// ended: an open watch says why, and ends.
func ended(open watch.Interface) {
	limit := time.After(deadline)
	for told := false; ; {
		select {
		case event, more := <-open.ResultChan():
			if !more && told {
				return
			}
			if !more {
				fail("the watch ended without an ERROR event")
			}
			if event.Type == watch.Error {
				if err := api.FromObject(event.Object); !api.IsStoreReadError(err) {
					fail("the ERROR event is %v", err)
				}
				told = true
			}
		case <-limit:
			fail("the watch has not ended (told: %v)", told)
		}
	}
}

// healthy: these are there for everybody, and so is what comes after.
func (s *suite) healthy(ctx context.Context, views []*view, names ...string) {
	s.agree(ctx, views)
	list, err := s.secrets.List(ctx, meta.ListOptions{})
	must(err)
	var found []string
	for _, secret := range list.Items {
		found = append(found, secret.Name)
	}
	if !slices.Equal(found, names) {
		fail("the server has %v and not %v", found, names)
	}
	s.create(ctx, "after")
	s.agree(ctx, views)
}

// agree: soon each store is what the server lists, by name and version, and so is what its handlers were told.
func (s *suite) agree(ctx context.Context, views []*view) {
	for _, v := range views {
		until(v.name+" agrees with the server", func() error {
			list, err := s.client.CoreV1().Secrets(v.namespace).List(ctx, meta.ListOptions{})
			if err != nil {
				return err
			}
			served := versions{}
			for i := range list.Items {
				served.add(&list.Items[i])
			}
			return errors.Join(served.equal("its store has", v.kept()), served.equal("its handlers were told", v.told()))
		})
	}
}

func (s *suite) create(ctx context.Context, names ...string) {
	for _, name := range names {
		secret := &core.Secret{ObjectMeta: meta.ObjectMeta{Name: name}, Data: map[string][]byte{"a": []byte(name)}}
		_, err := s.secrets.Create(ctx, secret, meta.CreateOptions{})
		must(err)
	}
}

func (s *suite) change(ctx context.Context, name string) {
	secret, err := s.secrets.Get(ctx, name, meta.GetOptions{})
	must(err)
	secret.Data["b"] = []byte("2")
	_, err = s.secrets.Update(ctx, secret, meta.UpdateOptions{})
	must(err)
}

// until waits for what must come; how long it takes is not looked at.
func until(what string, try func() error) {
	began := time.Now()
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Since(began) > deadline {
			fail("not within %v: %s: %v", deadline, what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "FAIL "+format+"\n", values...)
	os.Exit(1)
}

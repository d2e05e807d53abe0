package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	core "k8s.io/api/core/v1"
	api "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	client "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// What somebody believes to be there: the resourceVersion by namespace/name.
type versions map[string]string

func (v versions) add(secret *core.Secret) {
	v[secret.Namespace+"/"+secret.Name] = secret.ResourceVersion
}

// equal names what differs when others are not the same.
func (v versions) equal(what string, others versions) error {
	mine, theirs := maps.Clone(v), maps.Clone(others)
	for key, version := range v {
		if theirs[key] == version {
			delete(mine, key)
			delete(theirs, key)
		}
	}
	if len(mine)+len(theirs) == 0 {
		return nil
	}
	return fmt.Errorf("the server has %v where %s %v", mine, what, theirs)
}

// One store that follows the server.
type view struct {
	name      string
	namespace string
	// What is in the store.
	kept func() versions
	// How often it could not list because of what cannot be read.
	refusals atomic.Int64
	// Its lists, and its watches that bring the list with them.
	lists, streams atomic.Int64

	lock    sync.Mutex
	current versions
}

// informer follows all namespaces with a shared informer of client-go.
func (s *suite) informer(ctx context.Context) *view {
	v := &view{name: "the shared informer", current: versions{}}
	own, err := kubernetes.NewForConfig(v.counted(s.config))
	must(err)
	factory := informers.NewSharedInformerFactory(own, 0)
	secrets := factory.Core().V1().Secrets()
	must(secrets.Informer().SetWatchErrorHandlerWithContext(v.refused))
	_, err = secrets.Informer().AddEventHandler(v)
	must(err)
	v.kept = func() versions {
		found, err := secrets.Lister().List(labels.Everything())
		must(err)
		kept := versions{}
		for _, secret := range found {
			kept.add(secret)
		}
		return kept
	}
	factory.StartWithContext(ctx)
	client.WaitForCacheSync(ctx.Done(), secrets.Informer().HasSynced)
	return v
}

// cache follows one namespace with a cache of controller-runtime.
func (s *suite) cache(ctx context.Context) *view {
	v := &view{name: "the cache", namespace: namespace, current: versions{}}
	following, err := cache.New(v.counted(s.config), cache.Options{
		DefaultNamespaces:        map[string]cache.Config{namespace: {}},
		DefaultWatchErrorHandler: v.refused,
	})
	must(err)
	go func() { must(following.Start(ctx)) }()
	secrets, err := following.GetInformer(ctx, &core.Secret{})
	must(err)
	_, err = secrets.AddEventHandler(v)
	must(err)
	v.kept = func() versions {
		var list core.SecretList
		must(following.List(context.Background(), &list))
		kept := versions{}
		for i := range list.Items {
			kept.add(&list.Items[i])
		}
		return kept
	}
	following.WaitForCacheSync(ctx)
	return v
}

// synced: it got its first list in the way that is meant.
func (v *view) synced(streaming bool) {
	lists, streams := v.lists.Load(), v.streams.Load()
	if (lists == 0) != streaming || (streams > 0) != streaming {
		fail("%s began with %d lists and %d streams (WatchList: %v)", v.name, lists, streams, streaming)
	}
}

func (v *view) refused(_ context.Context, _ *client.Reflector, err error) {
	if api.IsStoreReadError(err) {
		v.refusals.Add(1)
	}
}

// counted is the same configuration, whose requests are counted.
func (v *view) counted(config *rest.Config) *rest.Config {
	own := rest.CopyConfig(config)
	own.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{v, next} })
	return own
}

type counter struct {
	view *view
	next http.RoundTripper
}

func (c counter) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	switch {
	case !strings.HasSuffix(request.URL.Path, "/secrets"):
	case query.Get("watch") != "true":
		c.view.lists.Add(1)
	case query.Get("sendInitialEvents") == "true":
		c.view.streams.Add(1)
	}
	return c.next.RoundTrip(request)
}

// What a controller knows: it is told of changes only.
func (v *view) told() versions {
	v.lock.Lock()
	defer v.lock.Unlock()
	return maps.Clone(v.current)
}

func (v *view) OnAdd(object any, _ bool) {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.current.add(object.(*core.Secret))
}

func (v *view) OnUpdate(_, object any) {
	v.OnAdd(object, false)
}

func (v *view) OnDelete(object any) {
	key, err := client.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		panic(fmt.Errorf("%T: %w", object, err))
	}
	v.lock.Lock()
	defer v.lock.Unlock()
	delete(v.current, key)
}

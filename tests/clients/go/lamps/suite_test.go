package lamps

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	core "k8s.io/api/core/v1"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	control "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// One server for all tests, from KUBEBUILDER_ASSETS or, with USE_EXISTING_CLUSTER, the one that KUBECONFIG names. Each test has a
// namespace of its own.
var (
	environment *envtest.Environment
	connection  *rest.Config
	known       = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	control.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(within(m))
}

func within(m *testing.M) int {
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, AddToScheme} {
		if err := add(known); err != nil {
			panic(err)
		}
	}
	environment = &envtest.Environment{CRDDirectoryPaths: []string{"crds"}, ErrorIfCRDPathMissing: true}
	found, err := environment.Start()
	if err != nil {
		panic(err)
	}
	connection = found
	code := m.Run()
	if err := environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL the environment does not stop:", err)
		return 1
	}
	return code
}

// ofItsOwn is a namespace for one test, and a client that reads from the server and no cache.
func ofItsOwn(t *testing.T) (string, client.Client) {
	t.Helper()
	direct, err := client.New(connection, client.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &core.Namespace{ObjectMeta: v1.ObjectMeta{GenerateName: "lamps-"}}
	if err := direct.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name, direct
}

// managed starts a manager with the reconciler, and returns it with what stops it and waits for its end.
func managed(t *testing.T, board *Switchboard, options control.Options) (control.Manager, func()) {
	t.Helper()
	options.Scheme = known
	options.Metrics = server.Options{BindAddress: "0"}
	// Many managers of one process have controllers of one name.
	options.Controller = config.Controller{SkipNameValidation: ptr.To(true)}
	manager, err := control.NewManager(connection, options)
	if err != nil {
		t.Fatal(err)
	}
	reconciler := &Reconciler{manager.GetClient(), board, manager.GetEventRecorder("lamps")}
	if err := reconciler.SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with: %v", err)
		}
	}
	t.Cleanup(stop)
	return manager, stop
}

package lamps

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	admission "k8s.io/api/admissionregistration/v1"
	core "k8s.io/api/core/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	api "k8s.io/apimachinery/pkg/api/errors"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"pawl.dev/tests/clients/go/patience"
)

// A second environment on the server of the first, which tells its warnings.
func existing(told *warnings) *envtest.Environment {
	config := rest.CopyConfig(connection)
	config.WarningHandlerWithContext = told
	return &envtest.Environment{UseExistingCluster: ptr.To(true), Config: config}
}

type warnings []string

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _ string, text string) {
	*w = append(*w, text)
}

func TestDefinitionsOfAnEnvironmentGoWithIt(t *testing.T) {
	_, direct := ofItsOwn(t)
	second := existing(&warnings{})
	second.CRDInstallOptions = envtest.CRDInstallOptions{CleanUpAfterUse: true, CRDs: []*extensions.CustomResourceDefinition{{
		ObjectMeta: v1.ObjectMeta{Name: "shades.lamps.example.com"},
		Spec: extensions.CustomResourceDefinitionSpec{
			Group: "lamps.example.com", Scope: extensions.ClusterScoped,
			Names: extensions.CustomResourceDefinitionNames{Kind: "Shade", ListKind: "ShadeList", Plural: "shades", Singular: "shade"},
			Versions: []extensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &extensions.CustomResourceValidation{OpenAPIV3Schema: &extensions.JSONSchemaProps{Type: "object"}}}},
		},
	}}}
	if _, err := second.Start(); err != nil {
		t.Fatal(err)
	}
	shade := &v1.PartialObjectMetadata{TypeMeta: v1.TypeMeta{APIVersion: "lamps.example.com/v1", Kind: "Shade"}}
	shade.Name = "one"
	if err := direct.Get(t.Context(), client.ObjectKeyFromObject(shade), shade); !api.IsNotFound(err) {
		t.Errorf("an absent shade is answered with %v", err)
	}
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "shades are no longer served", func() error {
		again, err := client.New(connection, client.Options{Scheme: known})
		if err != nil {
			return err
		}
		if err := again.List(t.Context(), &v1.PartialObjectMetadataList{TypeMeta: shade.TypeMeta}); err == nil {
			return fmt.Errorf("a list is answered")
		}
		return nil
	})
}

// Webhooks are stored and not called yet. Who installs them is told so, and can go on.
func TestWebhooksAreInstalledAndSaidNotToBeCalled(t *testing.T) {
	namespace, direct := ofItsOwn(t)
	var told warnings
	second := existing(&told)
	second.WebhookInstallOptions.Paths = []string{"webhooks"}
	if _, err := second.Start(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		if !slices.ContainsFunc(told, func(text string) bool {
			return strings.Contains(text, kind) && strings.Contains(text, "stored but not enforced yet")
		}) {
			t.Errorf("nothing is said of a %s: %q", kind, told)
		}
	}
	// As envtest rewrites it, for the port where the tests would listen.
	judged := &admission.ValidatingWebhookConfiguration{}
	if err := direct.Get(t.Context(), types.NamespacedName{Name: "lamps-judged"}, judged); err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprintf(":%d/", second.WebhookInstallOptions.LocalServingPort)
	where := judged.Webhooks[0].ClientConfig
	if url := ptr.Deref(where.URL, ""); !strings.Contains(url, port) || !strings.HasSuffix(url, "/judge") || len(where.CABundle) == 0 {
		t.Errorf("the webhook is at %q and not at /judge of %s", url, port)
	}
	lamp := &Lamp{ObjectMeta: v1.ObjectMeta{Namespace: namespace, Name: "one"}, Spec: LampSpec{Watts: 5}}
	if err := direct.Create(t.Context(), lamp); err != nil {
		t.Errorf("nobody listens, and nobody should be asked: %v", err)
	}
	for _, object := range []client.Object{judged, &admission.MutatingWebhookConfiguration{ObjectMeta: v1.ObjectMeta{Name: "lamps-filled"}}} {
		if err := direct.Delete(t.Context(), object); err != nil {
			t.Error(err)
		}
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
}

// Users of an environment have certificates of its own authority, and kubectl takes them.
func TestUsersAreWhoTheyAre(t *testing.T) {
	if environment.ControlPlane.APIServer == nil {
		t.Skip("the existing server's authority is its own")
	}
	namespace, _ := ofItsOwn(t)
	nobody, err := environment.AddUser(envtest.User{Name: "nobody", Groups: []string{"electricians"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := client.New(nobody.Config(), client.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	err = theirs.List(t.Context(), &core.SecretList{}, client.InNamespace(namespace))
	if !api.IsForbidden(err) || !strings.Contains(err.Error(), `User "nobody"`) {
		t.Errorf("who may not list secrets is answered with %v", err)
	}
	admin, err := environment.AddUser(envtest.User{Name: "boss", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubectl, err := admin.Kubectl()
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := kubectl.Run("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	if err != nil {
		t.Fatal(err)
	}
	if name, err := io.ReadAll(out); err != nil || string(name) != "boss" {
		t.Errorf("kubectl is %q (%v)", name, err)
	}
}

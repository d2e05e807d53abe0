package access

import (
	"slices"
	"testing"

	core "k8s.io/api/core/v1"
	api "k8s.io/apimachinery/pkg/api/errors"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"
)

// A built-in resource and one of a definition, each with a field that may change.
var resources = map[string]struct {
	at     schema.GroupVersionResource
	kind   string
	field  []string
	values [3]any
}{
	"built in": {core.SchemeGroupVersion.WithResource("configmaps"), "ConfigMap", []string{"data", "a"}, [3]any{"1", "2", "3"}},
	"custom": {schema.GroupVersionResource{Group: "lamps.example.com", Version: "v1", Resource: "lamps"}, "Lamp",
		[]string{"spec", "watts"}, [3]any{int64(1), int64(2), int64(3)}},
}

func TestDynamicClientsReadAndWrite(t *testing.T) {
	for name, resource := range resources {
		t.Run(name, func(t *testing.T) {
			ctx, namespace := t.Context(), ofItsOwn(t)
			config, look := connect(t, plain)
			objects := taken(dynamic.NewForConfig(config))(t).Resource(resource.at).Namespace(namespace)
			with := func(name string, value any) *unstructured.Unstructured {
				object := &unstructured.Unstructured{}
				object.SetGroupVersionKind(resource.at.GroupVersion().WithKind(resource.kind))
				object.SetName(name)
				object.SetLabels(map[string]string{"of": "access"})
				if err := unstructured.SetNestedField(object.Object, value, resource.field...); err != nil {
					t.Fatal(err)
				}
				return object
			}
			is := func(object *unstructured.Unstructured, wanted any) {
				t.Helper()
				if value, _, err := unstructured.NestedFieldNoCopy(object.Object, resource.field...); err != nil || value != wanted {
					t.Errorf("the field is %v and not %v (%v)", value, wanted, err)
				}
			}
			events := taken(objects.Watch(ctx, v1.ListOptions{LabelSelector: "of=access", AllowWatchBookmarks: true,
				SendInitialEvents: ptr.To(true), ResourceVersionMatch: v1.ResourceVersionMatchNotOlderThan}))(t)
			defer events.Stop()
			made := taken(objects.Create(ctx, with("one", resource.values[0]), v1.CreateOptions{}))(t)
			is(made, resource.values[0])
			if err := unstructured.SetNestedField(made.Object, resource.values[1], resource.field...); err != nil {
				t.Fatal(err)
			}
			is(taken(objects.Update(ctx, made, v1.UpdateOptions{}))(t), resource.values[1])
			patch := []byte(`[{"op": "add", "path": "/metadata/annotations", "value": {"patched": "yes"}}]`)
			taken(objects.Patch(ctx, "one", types.JSONPatchType, patch, v1.PatchOptions{}))(t)
			_, err := objects.Apply(ctx, "one", with("one", resource.values[2]), v1.ApplyOptions{FieldManager: "access"})
			if !api.IsConflict(err) {
				t.Errorf("an apply of what is owned is answered with %v", err)
			}
			is(taken(objects.Apply(ctx, "one", with("one", resource.values[2]), v1.ApplyOptions{FieldManager: "access", Force: true}))(t), resource.values[2])
			taken(objects.Create(ctx, with("two", resource.values[0]), v1.CreateOptions{}))(t)
			if list := taken(objects.List(ctx, v1.ListOptions{LabelSelector: "of=access"}))(t); len(list.Items) != 2 || list.GetKind() != resource.kind+"List" {
				t.Errorf("a list of %s has %d", list.GetKind(), len(list.Items))
			}
			if err := objects.Delete(ctx, "two", v1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			_, seen := heard(t, events, watch.Deleted)
			wanted := []watch.EventType{watch.Bookmark, watch.Added, watch.Modified, watch.Modified, watch.Modified, watch.Added, watch.Deleted}
			if !slices.Equal(seen, wanted) {
				t.Errorf("its watch told %v", seen)
			}
			if err := objects.DeleteCollection(ctx, v1.DeleteOptions{}, v1.ListOptions{LabelSelector: "of=access"}); err != nil {
				t.Fatal(err)
			}
			if _, err := objects.Get(ctx, "one", v1.GetOptions{}); !api.IsNotFound(err) {
				t.Errorf("what was deleted is answered with %v", err)
			}
			look.only(t, plain)
		})
	}
}

func TestMetadataClientsReadAndWrite(t *testing.T) {
	for name, resource := range resources {
		t.Run(name, func(t *testing.T) {
			ctx, namespace := t.Context(), ofItsOwn(t)
			direct, _ := connect(t, plain)
			objects := taken(dynamic.NewForConfig(direct))(t).Resource(resource.at).Namespace(namespace)
			// The client chooses protobuf by itself, also for objects that have none of their own.
			config, look := connect(t, binary)
			heads := taken(metadata.NewForConfig(config))(t)
			own := heads.Resource(resource.at).Namespace(namespace)
			for _, name := range []string{"one", "two"} {
				object := &unstructured.Unstructured{}
				object.SetGroupVersionKind(resource.at.GroupVersion().WithKind(resource.kind))
				object.SetName(name)
				object.SetLabels(map[string]string{"of": "access"})
				if err := unstructured.SetNestedField(object.Object, resource.values[0], resource.field...); err != nil {
					t.Fatal(err)
				}
				taken(objects.Create(ctx, object, v1.CreateOptions{}))(t)
			}
			chosen := v1.ListOptions{LabelSelector: "of=access"}
			one := taken(own.Get(ctx, "one", v1.GetOptions{}))(t)
			if one.UID == "" || one.Labels["of"] != "access" || len(one.ManagedFields) != 1 {
				t.Errorf("a get answers with %+v", one)
			}
			list := taken(own.List(ctx, chosen))(t)
			if len(list.Items) != 2 || list.Items[0].UID != one.UID || list.ResourceVersion == "" {
				t.Errorf("a list answers with %+v", list)
			}
			chosen.AllowWatchBookmarks, chosen.SendInitialEvents, chosen.ResourceVersionMatch = true, ptr.To(true), v1.ResourceVersionMatchNotOlderThan
			events := taken(own.Watch(ctx, chosen))(t)
			defer events.Stop()
			mark, _ := heard(t, events, watch.Bookmark)
			if head, is := mark.(*v1.PartialObjectMetadata); !is || head.Annotations[v1.InitialEventsAnnotationKey] != "true" {
				t.Errorf("the bookmark is %+v", mark)
			}
			patch := []byte(`{"metadata": {"annotations": {"patched": "yes"}}}`)
			if head := taken(own.Patch(ctx, "one", types.MergePatchType, patch, v1.PatchOptions{}))(t); head.Annotations["patched"] != "yes" {
				t.Errorf("a patch answers with %+v", head)
			}
			changed, _ := heard(t, events, watch.Modified)
			if changed.(*v1.PartialObjectMetadata).Annotations["patched"] != "yes" {
				t.Errorf("the change is told as %+v", changed)
			}
			look.only(t, binary)
			if err := own.Delete(ctx, "one", v1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := own.DeleteCollection(ctx, v1.DeleteOptions{}, v1.ListOptions{LabelSelector: "of=access"}); err != nil {
				t.Fatal(err)
			}
			if left := taken(own.List(ctx, v1.ListOptions{LabelSelector: "of=access"}))(t); len(left.Items) != 0 {
				t.Errorf("%d are left", len(left.Items))
			}
		})
	}
}

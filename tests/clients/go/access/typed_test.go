package access

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	core "k8s.io/api/core/v1"
	api "k8s.io/apimachinery/pkg/api/errors"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	configure "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
)

// each runs a test with a typed client in either encoding.
func each(t *testing.T, run func(*testing.T, typed.ConfigMapInterface)) {
	for name, encoding := range encodings {
		t.Run(name, func(t *testing.T) {
			namespace := ofItsOwn(t)
			config, look := connect(t, encoding)
			run(t, taken(kubernetes.NewForConfig(config))(t).CoreV1().ConfigMaps(namespace))
			look.only(t, encoding)
		})
	}
}

func named(name string) *core.ConfigMap {
	return &core.ConfigMap{
		ObjectMeta: v1.ObjectMeta{Name: name, Labels: map[string]string{"of": "access"}},
		Data:       map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": {0, 255}},
	}
}

func TestTypedClientsReadAndWrite(t *testing.T) {
	each(t, func(t *testing.T, maps typed.ConfigMapInterface) {
		ctx := t.Context()
		events := taken(maps.Watch(ctx, v1.ListOptions{}))(t)
		defer events.Stop()
		made := taken(maps.Create(ctx, named("one"), v1.CreateOptions{}))(t)
		if made.UID == "" || made.ResourceVersion == "" || made.BinaryData["b"][1] != 255 || len(made.ManagedFields) != 1 {
			t.Errorf("a create answers with %+v", made)
		}
		if _, err := maps.Create(ctx, named("one"), v1.CreateOptions{}); !api.IsAlreadyExists(err) {
			t.Errorf("a second create is answered with %v", err)
		}
		if _, err := maps.Create(ctx, named("Wrong"), v1.CreateOptions{}); !api.IsInvalid(err) {
			t.Errorf("a wrong name is answered with %v", err)
		}
		if _, err := maps.Get(ctx, "none", v1.GetOptions{}); !api.IsNotFound(err) {
			t.Errorf("what is absent is answered with %v", err)
		}
		old := made.DeepCopy()
		made.Data["a"] = "2"
		made = taken(maps.Update(ctx, made, v1.UpdateOptions{}))(t)
		if _, err := maps.Update(ctx, old, v1.UpdateOptions{}); !api.IsConflict(err) {
			t.Errorf("an update of an old version is answered with %v", err)
		}
		dry := made.DeepCopy()
		dry.Data["a"] = "dry"
		if shown := taken(maps.Update(ctx, dry, v1.UpdateOptions{DryRun: []string{v1.DryRunAll}}))(t); shown.Data["a"] != "dry" {
			t.Errorf("a dry run answers with %v", shown.Data)
		}
		for kind, patch := range map[types.PatchType]string{
			types.JSONPatchType:           `[{"op": "add", "path": "/data/json", "value": "1"}]`,
			types.MergePatchType:          `{"data": {"merge": "1"}}`,
			types.StrategicMergePatchType: `{"data": {"strategic": "1"}}`,
			types.ApplyPatchType:          `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"apply": "1"}}`,
		} {
			taken(maps.Patch(ctx, "one", kind, []byte(patch), v1.PatchOptions{FieldManager: "access"}))(t)
		}
		found := taken(maps.Get(ctx, "one", v1.GetOptions{}))(t)
		if keys := sorted(found.Data); !slices.Equal(keys, []string{"a", "apply", "json", "merge", "strategic"}) || found.Data["a"] != "2" {
			t.Errorf("after all it is %v", found.Data)
		}
		if err := maps.Delete(ctx, "one", v1.DeleteOptions{Preconditions: &v1.Preconditions{UID: ptr.To(types.UID("other"))}}); !api.IsConflict(err) {
			t.Errorf("the deletion of another is answered with %v", err)
		}
		if err := maps.Delete(ctx, "one", v1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		last, seen := heard(t, events, watch.Deleted)
		wanted := append([]watch.EventType{watch.Added}, slices.Repeat([]watch.EventType{watch.Modified}, 5)...)
		if gone := last.(*core.ConfigMap); gone.UID != made.UID || !slices.Equal(own(seen), append(wanted, watch.Deleted)) {
			t.Errorf("its watch told %v, and in the end %s", seen, gone.Name)
		}
	})
}

// own leaves out what a namespace may get by itself at its beginning.
func own(types []watch.EventType) []watch.EventType {
	for len(types) > 1 && types[0] == watch.Added && types[1] == watch.Added {
		types = types[1:]
	}
	return types
}

func sorted(data map[string]string) []string { return slices.Sorted(maps.Keys(data)) }

func TestTypedClientsListInPagesAndDeleteCollections(t *testing.T) {
	each(t, func(t *testing.T, maps typed.ConfigMapInterface) {
		ctx := t.Context()
		for i := range 25 {
			taken(maps.Create(ctx, named(fmt.Sprintf("many-%02d", i)), v1.CreateOptions{}))(t)
		}
		options := v1.ListOptions{Limit: 10, LabelSelector: "of=access"}
		var names, versions []string
		for pages := 0; ; pages++ {
			page := taken(maps.List(ctx, options))(t)
			versions = append(versions, page.ResourceVersion)
			for _, item := range page.Items {
				names = append(names, item.Name)
			}
			if options.Continue = page.Continue; options.Continue == "" {
				break
			}
			// What comes meanwhile is not part of it.
			taken(maps.Create(ctx, named(fmt.Sprintf("new-%d", pages)), v1.CreateOptions{}))(t)
		}
		if len(names) != 25 || !slices.IsSorted(names) || len(versions) != 3 || len(slices.Compact(versions)) != 1 {
			t.Errorf("%d pages, of versions %v, have %v", len(versions), versions, names)
		}
		if found := taken(maps.List(ctx, v1.ListOptions{FieldSelector: "metadata.name=many-07"}))(t); len(found.Items) != 1 {
			t.Errorf("one name is found %d times", len(found.Items))
		}
		if err := maps.DeleteCollection(ctx, v1.DeleteOptions{}, v1.ListOptions{LabelSelector: "of=access"}); err != nil {
			t.Fatal(err)
		}
		if left := taken(maps.List(ctx, v1.ListOptions{LabelSelector: "of=access"}))(t); len(left.Items) != 0 {
			t.Errorf("%d are left", len(left.Items))
		}
	})
}

func TestAWatchBringsTheListAlong(t *testing.T) {
	each(t, func(t *testing.T, maps typed.ConfigMapInterface) {
		ctx := t.Context()
		for _, name := range []string{"one", "two"} {
			taken(maps.Create(ctx, named(name), v1.CreateOptions{}))(t)
		}
		events := taken(maps.Watch(ctx, v1.ListOptions{
			LabelSelector: "of=access", AllowWatchBookmarks: true,
			SendInitialEvents: ptr.To(true), ResourceVersionMatch: v1.ResourceVersionMatchNotOlderThan,
		}))(t)
		defer events.Stop()
		mark, types := heard(t, events, watch.Bookmark)
		if !slices.Equal(types, []watch.EventType{watch.Added, watch.Added, watch.Bookmark}) {
			t.Errorf("it begins with %v", types)
		}
		if mark.(*core.ConfigMap).Annotations[v1.InitialEventsAnnotationKey] != "true" {
			t.Errorf("the bookmark is %v", mark)
		}
		list := taken(maps.List(ctx, v1.ListOptions{LabelSelector: "of=access"}))(t)
		if list.ResourceVersion != mark.(*core.ConfigMap).ResourceVersion {
			t.Errorf("the bookmark is of version %s and the list of %s", mark.(*core.ConfigMap).ResourceVersion, list.ResourceVersion)
		}
		if err := maps.Delete(ctx, "two", v1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if gone, types := heard(t, events, watch.Deleted); len(types) != 1 || gone.(*core.ConfigMap).Name != "two" {
			t.Errorf("it goes on with %v, of %v", types, gone)
		}
	})
}

func TestApplyHasOwners(t *testing.T) {
	each(t, func(t *testing.T, maps typed.ConfigMapInterface) {
		ctx := t.Context()
		apply := func(manager string, force bool, data map[string]string) (*core.ConfigMap, error) {
			wanted := configure.ConfigMap("one", "").WithData(data)
			wanted.Namespace = nil
			return maps.Apply(ctx, wanted, v1.ApplyOptions{FieldManager: manager, Force: force})
		}
		taken(apply("first", false, map[string]string{"a": "1", "b": "1"}))(t)
		if _, err := apply("second", false, map[string]string{"a": "2"}); !api.IsConflict(err) {
			t.Errorf("a field of somebody else is answered with %v", err)
		}
		taken(apply("second", true, map[string]string{"a": "2"}))(t)
		found := taken(apply("first", false, map[string]string{}))(t)
		if len(found.Data) != 1 || found.Data["a"] != "2" {
			t.Errorf("what nobody wants any longer is there: %v", found.Data)
		}
		mine := taken(configure.ExtractConfigMap(found, "second"))(t)
		if len(mine.Data) != 1 || mine.Data["a"] != "2" {
			t.Errorf("the second owns %v", mine.Data)
		}
	})
}

package lamps

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	api "k8s.io/apimachinery/pkg/api/errors"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	control "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"pawl.dev/tests/clients/go/patience"
)

func TestALampIsReconciledAndGoesWithAllThatItOwns(t *testing.T) {
	namespace, direct := ofItsOwn(t)
	board := &Switchboard{}
	manager, _ := managed(t, board, control.Options{})
	ctx, name := t.Context(), types.NamespacedName{Namespace: namespace, Name: "one"}
	lamp := &Lamp{ObjectMeta: v1.ObjectMeta{Namespace: namespace, Name: "one"}, Spec: LampSpec{Watts: 5}}
	if err := direct.Create(ctx, lamp); err != nil {
		t.Fatal(err)
	}
	if lamp.Spec.Color != "white" {
		t.Errorf("its default is %q", lamp.Spec.Color)
	}
	lit(t, direct, name, 1)
	if !board.Has(name.String()) {
		t.Error("it is lit and has no power")
	}
	bulb := &core.ConfigMap{}
	bulbName := types.NamespacedName{Namespace: namespace, Name: "one-bulb"}
	if err := direct.Get(ctx, bulbName, bulb); err != nil {
		t.Fatal(err)
	}
	if owner := v1.GetControllerOf(bulb); owner == nil || owner.UID != lamp.UID || owner.Kind != "Lamp" {
		t.Errorf("the owner of its bulb is %v", owner)
	}
	patience.Until(t, "the event is there", func() error {
		list := &events.EventList{}
		if err := direct.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Reason == "Mounted" && event.Regarding.UID == lamp.UID && event.Related.Name == "one-bulb" {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(list.Items))
	})

	// What is owned is made again.
	gone := bulb.UID
	if err := direct.Delete(ctx, bulb); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the bulb is replaced", func() error {
		if err := direct.Get(ctx, bulbName, bulb); err != nil {
			return err
		}
		if bulb.UID == gone {
			return errors.New("it is the old one")
		}
		return nil
	})

	// A change of the spec is seen; the cache's objects are the server's.
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"watts": 7}}`))
	if err := direct.Patch(ctx, lamp, patch); err != nil {
		t.Fatal(err)
	}
	lit(t, direct, name, 2)
	patience.Until(t, "the cache has what the server has", func() error {
		served, cached := &Lamp{}, &Lamp{}
		if err := errors.Join(direct.Get(ctx, name, served), manager.GetClient().Get(ctx, name, cached)); err != nil {
			return err
		}
		if served.ResourceVersion != cached.ResourceVersion {
			return fmt.Errorf("version %s and not %s", cached.ResourceVersion, served.ResourceVersion)
		}
		return nil
	})

	// The finalizer's owner lets it go, and the garbage collector takes the bulb.
	if err := direct.Delete(ctx, lamp); err != nil {
		t.Fatal(err)
	}
	for what, object := range map[string]client.Object{"the lamp": lamp, "its bulb": bulb} {
		patience.Until(t, what+" is gone", func() error {
			err := direct.Get(ctx, client.ObjectKeyFromObject(object), object)
			if api.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is there (%v), with finalizers %v", err, object.GetFinalizers())
		})
	}
	if board.Has(name.String()) {
		t.Error("it is gone and has power")
	}
}

// lit waits for a status that was made for this generation.
func lit(t *testing.T, direct client.Client, name types.NamespacedName, generation int64) {
	t.Helper()
	patience.Until(t, fmt.Sprintf("generation %d is lit", generation), func() error {
		lamp := &Lamp{}
		if err := direct.Get(t.Context(), name, lamp); err != nil {
			return err
		}
		if lamp.Generation != generation || lamp.Status.Seen != generation || !lamp.Status.Lit || !lamp.ready() {
			return fmt.Errorf("generation %d has status %+v", lamp.Generation, lamp.Status)
		}
		return nil
	})
}

func TestTheSchemaIsEnforced(t *testing.T) {
	namespace, direct := ofItsOwn(t)
	for name, spec := range map[string]LampSpec{
		"spec.watts: Invalid value: 0":             {Watts: 0},
		"spec.color: Unsupported value: \"green\"": {Watts: 1, Color: "green"},
		"red lamps have 40 watts at most":          {Watts: 60, Color: "red"},
	} {
		lamp := &Lamp{ObjectMeta: v1.ObjectMeta{Namespace: namespace, Name: "wrong"}, Spec: spec}
		if err := direct.Create(t.Context(), lamp); !api.IsInvalid(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q is answered with %v", name, err)
		}
	}
}

func TestSpecAndStatusAreWrittenApart(t *testing.T) {
	namespace, direct := ofItsOwn(t)
	ctx := t.Context()
	lamp := &Lamp{ObjectMeta: v1.ObjectMeta{Namespace: namespace, Name: "two"}, Spec: LampSpec{Watts: 5}, Status: LampStatus{Lit: true}}
	if err := direct.Create(ctx, lamp); err != nil {
		t.Fatal(err)
	}
	if lamp.Status.Lit {
		t.Error("a create writes the status")
	}
	stale := lamp.copied()
	lamp.Spec.Watts, lamp.Status.Lit = 9, true
	if err := direct.Status().Update(ctx, lamp); err != nil {
		t.Fatal(err)
	}
	if lamp.Spec.Watts != 5 || !lamp.Status.Lit || lamp.Generation != 1 {
		t.Errorf("an update of the status left %+v, generation %d", lamp, lamp.Generation)
	}
	stale.Spec.Watts = 6
	if err := direct.Update(ctx, stale); !api.IsConflict(err) {
		t.Errorf("an update of an old version is answered with %v", err)
	}
	lamp.Spec.Watts, lamp.Status.Lit = 6, false
	if err := direct.Update(ctx, lamp); err != nil {
		t.Fatal(err)
	}
	if lamp.Spec.Watts != 6 || !lamp.Status.Lit || lamp.Generation != 2 {
		t.Errorf("an update left %+v, generation %d", lamp, lamp.Generation)
	}
}

func TestANamespaceTakesItsLampsAlong(t *testing.T) {
	namespace, direct := ofItsOwn(t)
	managed(t, &Switchboard{}, control.Options{})
	lamp := &Lamp{ObjectMeta: v1.ObjectMeta{Namespace: namespace, Name: "three"}, Spec: LampSpec{Watts: 5}}
	if err := direct.Create(t.Context(), lamp); err != nil {
		t.Fatal(err)
	}
	lit(t, direct, client.ObjectKeyFromObject(lamp), 1)
	whole := &core.Namespace{ObjectMeta: v1.ObjectMeta{Name: namespace}}
	if err := direct.Delete(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the namespace is gone", func() error {
		if err := direct.Get(t.Context(), client.ObjectKeyFromObject(whole), whole); !api.IsNotFound(err) {
			return fmt.Errorf("it is there (%v): %v", err, whole.Status)
		}
		return nil
	})
}

package lamps

import (
	"context"
	"fmt"
	"sync"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	control "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const finalizer = "lamps.example.com/switchboard"

// Switchboard is what is outside of the cluster: who has power.
type Switchboard struct {
	lock  sync.Mutex
	power map[string]bool
}

func (s *Switchboard) Set(name string, on bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.power == nil {
		s.power = map[string]bool{}
	}
	if on {
		s.power[name] = true
	} else {
		delete(s.power, name)
	}
}

func (s *Switchboard) Has(name string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.power[name]
}

// Reconciler gives every lamp power and a ConfigMap that it owns, and takes the power away before the lamp goes.
type Reconciler struct {
	client.Client
	Board  *Switchboard
	Events events.EventRecorder
}

func (r *Reconciler) SetupWithManager(manager control.Manager) error {
	return control.NewControllerManagedBy(manager).For(&Lamp{}).Owns(&core.ConfigMap{}).Complete(r)
}

func (r *Reconciler) Reconcile(ctx context.Context, request control.Request) (control.Result, error) {
	lamp := &Lamp{}
	if err := r.Get(ctx, request.NamespacedName, lamp); err != nil {
		return control.Result{}, client.IgnoreNotFound(err)
	}
	if !lamp.DeletionTimestamp.IsZero() {
		r.Board.Set(request.String(), false)
		if controllerutil.RemoveFinalizer(lamp, finalizer) {
			return control.Result{}, r.Update(ctx, lamp)
		}
		return control.Result{}, nil
	}
	if controllerutil.AddFinalizer(lamp, finalizer) {
		if err := r.Update(ctx, lamp); err != nil {
			return control.Result{}, err
		}
	}
	r.Board.Set(request.String(), true)
	bulb := &core.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: lamp.Name + "-bulb", Namespace: lamp.Namespace}}
	made, err := controllerutil.CreateOrUpdate(ctx, r.Client, bulb, func() error {
		bulb.Data = map[string]string{"watts": fmt.Sprint(lamp.Spec.Watts), "color": lamp.Spec.Color}
		return controllerutil.SetControllerReference(lamp, bulb, r.Scheme())
	})
	if err != nil {
		return control.Result{}, err
	}
	if made == controllerutil.OperationResultCreated {
		r.Events.Eventf(lamp, bulb, core.EventTypeNormal, "Mounted", "Mount", "a bulb of %d watts", lamp.Spec.Watts)
	}
	before := lamp.copied()
	lamp.Status.Lit = true
	lamp.Status.Seen = lamp.Generation
	meta.SetStatusCondition(&lamp.Status.Conditions, v1.Condition{
		Type: "Ready", Status: v1.ConditionTrue, Reason: "Powered", ObservedGeneration: lamp.Generation,
	})
	return control.Result{}, r.Status().Patch(ctx, lamp, client.MergeFrom(before))
}

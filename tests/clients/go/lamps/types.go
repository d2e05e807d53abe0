// Package lamps is an operator as they are written with controller-runtime, small and whole: a custom resource with a status and a
// finalizer, and an object that it owns. Its tests run under envtest.
package lamps

import (
	"k8s.io/apimachinery/pkg/api/meta"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var Version = schema.GroupVersion{Group: "lamps.example.com", Version: "v1"}

// AddToScheme makes the types of this package known.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(Version, &Lamp{}, &LampList{})
	v1.AddToGroupVersion(scheme, Version)
	return nil
}

type Lamp struct {
	v1.TypeMeta   `json:",inline"`
	v1.ObjectMeta `json:"metadata,omitempty"`
	Spec          LampSpec   `json:"spec,omitempty"`
	Status        LampStatus `json:"status,omitempty"`
}

type LampSpec struct {
	Watts int32  `json:"watts"`
	Color string `json:"color,omitempty"`
}

type LampStatus struct {
	Lit        bool           `json:"lit,omitempty"`
	Seen       int64          `json:"seen,omitempty"`
	Conditions []v1.Condition `json:"conditions,omitempty"`
}

type LampList struct {
	v1.TypeMeta `json:",inline"`
	v1.ListMeta `json:"metadata,omitempty"`
	Items       []Lamp `json:"items"`
}

func (l *Lamp) DeepCopyObject() runtime.Object { return l.copied() }

func (l *Lamp) copied() *Lamp {
	copied := *l
	l.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Status.Conditions = append([]v1.Condition(nil), l.Status.Conditions...)
	return &copied
}

func (l *LampList) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = nil
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].copied())
	}
	return &copied
}

func (l *Lamp) ready() bool { return meta.IsStatusConditionTrue(l.Status.Conditions, "Ready") }

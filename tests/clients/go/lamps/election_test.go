package lamps

import (
	"errors"
	"fmt"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	control "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"pawl.dev/tests/clients/go/patience"
)

func TestTheSecondManagerTakesOver(t *testing.T) {
	for name, releases := range map[string]bool{"a lease that is given back": true, "a lease that runs out": false} {
		t.Run(name, func(t *testing.T) {
			namespace, direct := ofItsOwn(t)
			options := control.Options{
				LeaderElection: true, LeaderElectionID: "lamps", LeaderElectionNamespace: namespace,
				LeaderElectionReleaseOnCancel: releases,
				LeaseDuration:                 ptr.To(3 * time.Second), RenewDeadline: ptr.To(2 * time.Second), RetryPeriod: ptr.To(200 * time.Millisecond),
			}
			boards := []*Switchboard{{}, {}}
			first, stop := managed(t, boards[0], options)
			<-first.Elected()
			before := holder(t, direct, namespace)
			second, _ := managed(t, boards[1], options)
			powered(t, direct, namespace, "early", boards[0])
			select {
			case <-second.Elected():
				t.Fatal("two lead")
			default:
			}
			if boards[1].Has(namespace + "/early") {
				t.Error("one that does not lead reconciles")
			}

			stop()
			patience.Until(t, "the second leads", func() error {
				select {
				case <-second.Elected():
					return nil
				default:
					return errors.New("it waits")
				}
			})
			if after := holder(t, direct, namespace); after == before {
				t.Errorf("the lease is still held by %s", after)
			}
			powered(t, direct, namespace, "late", boards[1])
			if boards[0].Has(namespace + "/late") {
				t.Error("one that has stopped reconciles")
			}
		})
	}
}

func holder(t *testing.T, direct client.Client, namespace string) string {
	t.Helper()
	lease := &coordination.Lease{}
	if err := direct.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "lamps"}, lease); err != nil {
		t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// powered makes a lamp and waits until the owner of this board has seen it.
func powered(t *testing.T, direct client.Client, namespace, name string, board *Switchboard) {
	t.Helper()
	lamp := &Lamp{ObjectMeta: v1.ObjectMeta{Namespace: namespace, Name: name}, Spec: LampSpec{Watts: 5}}
	if err := direct.Create(t.Context(), lamp); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, name+" has power", func() error {
		if !board.Has(namespace + "/" + name) {
			return fmt.Errorf("no power for %s/%s", namespace, name)
		}
		return nil
	})
}

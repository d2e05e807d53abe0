package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	kmstypes "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2"
)

// What protobuf in a store begins with.
var protobufMark = []byte("k8s\x00")

// store is one resource in etcd, with the transformer that kube-apiserver would use for it.
type store struct {
	etcd        *clientv3.Client
	transformer value.Transformer
	resource    schema.GroupResource
	scheme      *runtime.Scheme
}

func storeFor(ctx context.Context, endpoint, config, resource string) (*store, error) {
	loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, config, false, "interchange")
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Context: ctx})
	if err != nil {
		return nil, err
	}
	of := schema.ParseGroupResource(resource)
	transformer := encryptionconfig.StaticTransformers(loaded.Transformers).TransformerForResource(of)
	return &store{etcd, transformer, of, scheme}, nil
}

func (s *store) close() { _ = s.etcd.Close() }

// withDataKeys makes the service of this name write data keys, as it did before 1.29, until the function is called. The gate is
// gone, but upstream keeps this way for its own tests.
func withDataKeys(service string) func() { return encryptionconfig.SetKDFForTests(service, false) }

// opened is what upstream says of a value.
type opened struct {
	Key string `json:"key"`
	// What the value begins with: the provider and the name of the key.
	Seal   string `json:"seal"`
	KeyID  string `json:"keyID,omitempty"`
	Source string `json:"source,omitempty"`
	Stale  bool   `json:"stale"`
	Object any    `json:"object"`
}

func (s *store) open(ctx context.Context, prefix string, out io.Writer) error {
	found, err := s.etcd.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return err
	}
	if len(found.Kvs) == 0 {
		return fmt.Errorf("nothing lies below %s", prefix)
	}
	lines := json.NewEncoder(out)
	for _, pair := range found.Kvs {
		one, err := s.openOne(ctx, string(pair.Key), pair.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", pair.Key, err)
		}
		if err := lines.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) openOne(ctx context.Context, key string, stored []byte) (*opened, error) {
	plain, stale, err := s.transformer.TransformFromStorage(ctx, stored, value.DefaultContext(key))
	if err != nil {
		return nil, err
	}
	one := opened{Key: key, Seal: sealOf(stored), Stale: stale}
	if strings.HasPrefix(one.Seal, "k8s:enc:kms:v2:") {
		var envelope kmstypes.EncryptedObject
		if err := proto.Unmarshal(stored[len(one.Seal):], &envelope); err != nil {
			return nil, err
		}
		one.KeyID, one.Source = envelope.KeyID, envelope.EncryptedDEKSourceType.String()
	}
	if bytes.HasPrefix(plain, protobufMark) {
		one.Object, _, err = serializer.NewCodecFactory(s.scheme).UniversalDeserializer().Decode(plain, nil, nil)
	} else {
		err = json.Unmarshal(plain, &one.Object)
	}
	return &one, err
}

// sealOf is what a sealed value begins with, up to the colon after the name of the key.
func sealOf(stored []byte) string {
	if !bytes.HasPrefix(stored, []byte("k8s:enc:")) {
		return ""
	}
	parts := bytes.SplitAfterN(stored, []byte(":"), 6)
	return string(bytes.Join(parts[:len(parts)-1], nil))
}

func (s *store) seal(ctx context.Context, key string, in io.Reader) error {
	object, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	plain, err := s.encoded(object)
	if err != nil {
		return err
	}
	sealed, err := s.transformer.TransformToStorage(ctx, plain, value.DefaultContext(key))
	if err != nil {
		return err
	}
	_, err = s.etcd.Put(ctx, key, string(sealed))
	return err
}

// encoded is an object as kube-apiserver stores it: protobuf where it is of a built-in kind, JSON where it is a custom one.
func (s *store) encoded(object []byte) ([]byte, error) {
	if s.resource.Group != "" {
		return bytes.TrimSpace(object), nil
	}
	decoded, _, err := serializer.NewCodecFactory(s.scheme).UniversalDeserializer().Decode(object, nil, nil)
	if err != nil {
		return nil, err
	}
	return runtime.Encode(protobuf.NewSerializer(s.scheme, s.scheme), decoded)
}

package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/kms/pkg/service"
)

// plugin is a key service for tests. Its file names its keys: the first one encrypts, all decrypt. A key's bytes are the hash of
// its name.
type plugin struct {
	keys string
}

// What comes with every encrypted key has to come back with it.
const (
	annotation = "note.interchange.example.com"
	note       = "kept"
)

func servePlugin(socket, keys string) error {
	return service.NewGRPCService(socket, 5*time.Second, plugin{keys}).ListenAndServe()
}

func (p plugin) Status(context.Context) (*service.StatusResponse, error) {
	names, err := p.names()
	if err != nil {
		return nil, err
	}
	return &service.StatusResponse{Version: "v2", Healthz: "ok", KeyID: names[0]}, nil
}

func (p plugin) Encrypt(_ context.Context, _ string, data []byte) (*service.EncryptResponse, error) {
	names, err := p.names()
	if err != nil {
		return nil, err
	}
	box, err := boxOf(names[0])
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, box.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return &service.EncryptResponse{
		Ciphertext:  box.Seal(nonce, nonce, data, nil),
		KeyID:       names[0],
		Annotations: map[string][]byte{annotation: []byte(note)},
	}, nil
}

func (p plugin) Decrypt(_ context.Context, _ string, request *service.DecryptRequest) ([]byte, error) {
	names, err := p.names()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, request.KeyID) {
		return nil, fmt.Errorf("no key %q", request.KeyID)
	}
	if string(request.Annotations[annotation]) != note {
		return nil, fmt.Errorf("the annotation is missing: %v", request.Annotations)
	}
	box, err := boxOf(request.KeyID)
	if err != nil {
		return nil, err
	}
	if len(request.Ciphertext) < box.NonceSize() {
		return nil, fmt.Errorf("%d bytes are too few", len(request.Ciphertext))
	}
	nonce, sealed := request.Ciphertext[:box.NonceSize()], request.Ciphertext[box.NonceSize():]
	return box.Open(nil, nonce, sealed, nil)
}

func (p plugin) names() ([]string, error) {
	text, err := os.ReadFile(p.keys)
	if err != nil {
		return nil, err
	}
	names := strings.Fields(string(text))
	if len(names) == 0 {
		return nil, fmt.Errorf("%s names no key", p.keys)
	}
	return names, nil
}

func boxOf(name string) (cipher.AEAD, error) {
	key := sha256.Sum256([]byte(name))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

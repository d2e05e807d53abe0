package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
)

// use gives the server these keys for Secrets, the first of which seals, and returns when it has taken them. Half a file is
// never there.
func (s *suite) use(ctx context.Context, names ...string) {
	var keys []string
	for _, name := range names {
		secret := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%-32s", name))
		keys = append(keys, fmt.Sprintf("{name: %s, secret: %s}", name, secret))
	}
	text := fmt.Appendf(nil, `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers: [{aesgcm: {keys: [%s]}}, {identity: {}}]
`, strings.Join(keys, ", "))
	must(os.WriteFile(s.keys+".new", text, 0o600))
	must(os.Rename(s.keys+".new", s.keys))
	hash := fmt.Sprintf("%x", sha256.Sum256(text))
	until(fmt.Sprintf("the keys %v are in use", names), func() error {
		metrics, err := s.client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(metrics)) {
			if strings.Contains(line, "last_config_info{") && strings.Contains(line, hash) {
				return nil
			}
		}
		return fmt.Errorf("no last_config_info of %s", hash)
	})
}

//go:build unix

package cli_test

import (
	"os"
	"strings"
	"testing"
)

// A settings file that this user may not read, or that belongs to another user, is refused. Root, who may read all, tries the second.
func TestForeignSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("tegenaria.yaml", []byte("grace: 1s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want, refused := "permission denied", os.Chmod("tegenaria.yaml", 0)
	if os.Geteuid() == 0 {
		want, refused = " is not read: give --config ", os.Chown("tegenaria.yaml", 65534, 65534)
	}
	if refused != nil {
		t.Fatal(refused)
	}
	var out, stderr strings.Builder
	code := offline(titles("shop", 1)).Run(t.Context(), []string{"crawl", "shop"}, nil, &out, &stderr)
	if code != 2 || out.Len() > 0 || !strings.Contains(stderr.String(), want) || !strings.Contains(stderr.String(), "tegenaria.yaml") {
		t.Errorf("code %d: %s", code, stderr.String())
	}
}

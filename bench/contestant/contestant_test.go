//go:build unix

package contestant

import (
	"os/exec"
	"strings"
	"testing"
)

// What asks for a version is a program that runs where the contestant is installed.
func TestVersions(t *testing.T) {
	t.Chdir("..")
	for i := range All {
		c := &All[i]
		if c.Version == nil {
			continue
		}
		version, err := c.Version()
		switch installed := exec.Command(c.With[0], "-c", "import "+c.Name).Run() == nil; {
		case err == nil && !strings.HasPrefix(version, c.Name+" "):
			t.Errorf("the version of %s is %q", c.Name, version)
		case err != nil && c.Name == Scrapy && installed:
			t.Errorf("scrapy can be imported, and has no version: %v", err)
		}
	}
}

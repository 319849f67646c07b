package main

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

var program = flag.String("browser", "", "the program of Chromium; without it the test with a browser is skipped")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// It fails if the program says nothing, or ends with an error, where there is no Chromium.
func TestWithoutChromium(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-path", filepath.Join(t.TempDir(), "chromium")}, &out); err != nil || !strings.Contains(out.String(), "chromium cannot be run") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// It fails if a product of the shop is missing, comes twice, or is got in another way than it should be.
func TestBrowser(t *testing.T) {
	if *program == "" {
		t.Skip("needs Chromium: name its program with -args -browser FILE, or run make servers")
	}
	args := []string{"-path", *program, "-picture", filepath.Join(t.TempDir(), "catalogue.png")}
	if os.Geteuid() == 0 {
		args = append(args, "-without-sandbox")
	}
	var out bytes.Buffer
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	lines := make(map[string]int)
	for line := range strings.Lines(out.String()) {
		way, _, _ := strings.Cut(line, " ")
		lines[way]++
		lines[line]++
	}
	if len(lines) != products+2+3 || lines["captured"] != products || lines["rendered"] != 1 || lines["downloaded"] != 1 {
		t.Errorf("it prints\n%s", out.String())
	}
	file, err := os.Open(args[3])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if picture, err := png.DecodeConfig(file); err != nil || picture.Height < products*100 {
		t.Errorf("the picture: %v, %v", picture, err)
	}
}

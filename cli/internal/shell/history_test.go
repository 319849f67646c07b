package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// It fails if a session does not find the lines of the one before it, or a password is kept.
func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tegenaria", "shell_history")
	h := openHistory(path)
	for _, line := range []string{"css a", "css a", "", "fetch https://u:secret@shop.example/", "fetch http:/u:secret@shop.example/",
		"fetch https://shop.example/?page=2&token=secret", "fetch /list?api_key=secret", "fetch ?KEY=secret", "fetch /cb#access_token=secret&x=1",
		"fetch https://shop.example/?X-Amz-Signature=secret", "fetch /?PHPSESSID=1;jsession=secret", "fetch /?keyword=books", "xpath //a/@href"} {
		if _, err := h.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"css a", "fetch /?keyword=books", "xpath //a/@href"}
	if got := openHistory(path).lines; !slices.Equal(got, want) {
		t.Errorf("%q, wanted %q", got, want)
	}
	if line, err := h.GetLine(1); line != want[1] || err != nil || h.Len() != 3 {
		t.Errorf("%q of %d, %v", line, h.Len(), err)
	}
	if _, err := h.GetLine(3); err == nil {
		t.Error("there is a line too many")
	}
}

// It fails if a history grows without end, or one that cannot be written is an error.
func TestHistoryBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var text strings.Builder
	for i := range mostHistory + 10 {
		text.WriteString("css a" + strconv.Itoa(i) + "\n")
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if h := openHistory(path); h.Len() != mostHistory || h.lines[0] != "css a10" {
		t.Errorf("%d lines, first %q", h.Len(), h.lines[0])
	}
	if h := openHistory(path); h.Len() != mostHistory {
		t.Errorf("the file has %d lines", h.Len())
	}
	lost := openHistory(filepath.Join(path, "below", "a file"))
	if _, err := lost.Write("css a"); err != nil || lost.Len() != 1 {
		t.Errorf("%d lines, %v", lost.Len(), err)
	}
}

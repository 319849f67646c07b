package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		args, want string
	}{
		"no database": {"-job j -url http://a.test/ -out pages.jsonl", "docker run"},
		"no job":      {"-db x -url http://a.test/ -out pages.jsonl", "-job"},
		"no URL":      {"-db x -job j -out pages.jsonl", "-url"},
		"no file":     {"-db x -job j -url http://a.test/", "-out"},
		"argument":    {"-db x -job j -url http://a.test/ -out pages.jsonl more", `"more"`},
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.args), &stderr); code != exitFailed || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit code %d, %s, want one that says %s", name, code, &stderr, c.want)
		}
	}
}

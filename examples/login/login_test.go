package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The account has three orders, which nobody sees without the whole form and its cookie.
func TestLogin(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, demosite.Password); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("it prints %d lines, want 3:\n%s", n, out.String())
	}
}

func TestRefusedLogin(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), &out, "wrong")
	var stopped *tegenaria.StoppedError
	if !errors.As(err, &stopped) || !strings.Contains(err.Error(), "the login was refused") || out.Len() > 0 {
		t.Errorf("a wrong password gives %v and prints %q", err, out.String())
	}
}

package cluster_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/cluster"
)

// An address that cannot be read is refused, and no error has the password that is in it. Nobody listens where the
// others lead.
func TestAddresses(t *testing.T) {
	const nobody = "127.0.0.1:1/jobs?connect_timeout=1"
	for _, tt := range []struct {
		name, dsn string
		server    int // whose address is refused, -1: none
	}{
		{"a port that is none", "postgres://u:SECRET@127.0.0.1:port/jobs", 0},
		{"a slash in the password", "postgres://u:SEC/RET@" + nobody, 0},
		{"the second of two", "postgres://u:SECRET@" + nobody + ",postgres://u:SECRET@127.0.0.1:port/jobs", 1},
		{"the second of two, and a space", "postgres://u:SECRET@" + nobody + ", postgresql://u:SECRET@127.0.0.1:port/jobs", 1},
		{"a quote that is not closed", "host=127.0.0.1 password='SECRET", 0},
		{"two, and a space", "postgres://u:SECRET@" + nobody + ", postgres://u:SECRET@" + nobody, -1},
		{"a password with ,postgres", "postgres://u:SECRET,postgres@" + nobody, -1},
		{"settings with a password that has a URL", "host=127.0.0.1 port=1 password='SECRET,postgres://RET'", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, open := range map[string]func() error{
				"Open": func() error {
					_, err := cluster.Open(t.Context(), tt.dsn, "job", cluster.Options{Worker: "one", Patience: 1})
					return err
				},
				"Dial": func() error {
					if tt.server < 0 {
						return errors.New("it would wait")
					}
					_, err := cluster.Dial(t.Context(), tt.dsn, "job")
					return err
				},
			} {
				err := open()
				var refused *cluster.AddressError
				if isRefused := errors.As(err, &refused); err == nil || isRefused != (tt.server >= 0) || isRefused && refused.Server != tt.server {
					t.Errorf("%s: %v", name, err)
				}
				if err != nil && (strings.Contains(err.Error(), "SEC") || strings.Contains(err.Error(), "RET")) {
					t.Errorf("%s shows the password: %v", name, err)
				}
			}
		})
	}
}

// The names of schemas that every database has are none of jobs.
func TestNamesOfJobs(t *testing.T) {
	for _, name := range []string{"", "public", "information_schema", "pg_catalog", strings.Repeat("x", 64)} {
		if _, err := cluster.Open(t.Context(), "host=127.0.0.1 port=1", name, cluster.Options{Worker: "one", Patience: 1}); err == nil || !strings.Contains(err.Error(), "is no name of a job") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

package report_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria/internal/report"
)

// fieldsHook writes the names of the spiders that lines have.
type fieldsHook struct{ out *bytes.Buffer }

func (fieldsHook) Levels() []logrus.Level { return logrus.AllLevels }

func (h fieldsHook) Fire(entry *logrus.Entry) error {
	spider, _ := entry.Data["spider"].(string)
	h.out.WriteString(entry.Message + " of <" + spider + ">")
	return nil
}

// On a terminal the only spider of an engine is not named in each line.
func TestLogNamesItsSpider(t *testing.T) {
	for _, tt := range []struct {
		name            string
		alone, terminal bool
		want            string
	}{
		{"alone on a terminal", true, true, "look of <>"},
		{"one of several on a terminal", false, true, "look of <quotes>"},
		{"alone in a file", true, false, "look of <quotes>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := os.DevNull // a device, as a terminal is
			if !tt.terminal {
				path = t.TempDir() + "/log"
			}
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			l := logrus.New()
			l.SetOutput(file)
			var got bytes.Buffer
			l.AddHook(fieldsHook{&got})
			report.NewLog(report.Options{Logrus: l, Spider: "quotes", Alone: tt.alone}).Info("look", nil)
			if got.String() != tt.want {
				t.Errorf("got %q, want %q", got.String(), tt.want)
			}
		})
	}
}

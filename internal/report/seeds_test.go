package report_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tegenaria/tegenaria/internal/report"
)

type outcome string

func (o outcome) String() string { return string(o) }

// Each URL is named once, with the failure that came first, its remedy, and where it was redirected and reached again by its last end.
func TestSeeds(t *testing.T) {
	var s report.Seeds[outcome]
	wired := func() report.Wired { return report.Wired{} }
	missing, handler := errors.New("missing"), errors.New("the handler failed")
	s.Failed("/a", missing, "status 404", false)
	s.Failed("/a", handler, "panic", true)
	s.Ended("/a", "failed", "status", wired)
	s.Ended("/a", "failed", "status", wired)
	s.Ended("/b", "redirected", "", wired)
	s.Ended("/b", "filtered", "offsite", wired)
	s.Ended("/b", "redirected", "", wired) // whose end was reported late
	s.Failed("/c", missing, "status 404", false)
	s.Ended("/c", "robots", "forbidden", wired)
	s.Failed("/d", handler, "panic", true)
	s.Failed("/d", missing, "unknown", false)
	s.Ended("/d", "failed", "parse", wired)
	seeds, more := s.List()
	want := []report.Seed[outcome]{
		{"/a", "failed", "status", missing, report.Advice(report.Failure{Cause: "status 404"}, report.Wired{})},
		{"/b", "filtered", "offsite", nil, report.Remedy("filtered", "offsite")},
		{"/c", "robots", "forbidden", nil, report.Remedy("robots", "forbidden")},
		{"/d", "failed", "parse", missing, ""},
	}
	if fmt.Sprint(seeds) != fmt.Sprint(want) || more != 1 || seeds[0].Remedy == "" || seeds[1].Remedy == "" {
		t.Errorf("%+v and %d more, want %+v", seeds, more, want)
	}
}

// Ten are named, whatever comes.
func TestSeedsAreBounded(t *testing.T) {
	var s report.Seeds[outcome]
	wired := func() report.Wired { return report.Wired{} }
	for i := range 12 {
		url := fmt.Sprint("/", i)
		s.Failed(url, errors.New(url), "", false)
		s.Ended(url, "failed", "", wired)
	}
	seeds, more := s.List()
	if len(seeds) != 10 || more != 2 || seeds[9].Err.Error() != "/9" {
		t.Errorf("%+v and %d more", seeds, more)
	}
}

package tegenaria_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// paced crawls pages one after another and returns when each download began.
func paced(t *testing.T, w *enginetest.World, p tegenaria.Politeness, seeds []*tegenaria.Context) map[string][]time.Duration {
	t.Helper()
	began := time.Now()
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		for _, ctx := range seeds {
			req <- ctx
		}
	}
	enginetest.MustRun(t, obeying(w, s, p))
	at := make(map[string][]time.Duration)
	for _, v := range w.Visits() {
		at[v.Url] = append(at[v.Url], v.At.Sub(began))
	}
	return at
}

// The delay in force is the longest of the user's, Crawl-delay and Request-rate, of which 30 s count.
func TestRobotsPace(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name, robots string
		user         time.Duration
		want         time.Duration
	}{
		{"none", "User-agent: *\n", 0, 0},
		{"Crawl-delay", "User-agent: *\nCrawl-delay: 2\n", 0, 2 * s},
		{"a fraction", "User-agent: *\nCrawl-delay: 0.5\n", 0, s / 2},
		{"Request-rate", "User-agent: *\nRequest-rate: 1/3\n", 0, 3 * s},
		{"Request-rate per minute", "User-agent: *\nRequest-rate: 30/1m\n", 0, 2 * s},
		{"the longer one, delay", "User-agent: *\nCrawl-delay: 4\nRequest-rate: 1/3\n", 0, 4 * s},
		{"the longer one, rate", "User-agent: *\nCrawl-delay: 2\nRequest-rate: 1/3\n", 0, 3 * s},
		{"the user's is longer", "User-agent: *\nCrawl-delay: 2\n", 5 * s, 5 * s},
		{"the user's is shorter", "User-agent: *\nCrawl-delay: 2\n", s, 2 * s},
		{"more than counts", "User-agent: *\nCrawl-delay: 3600\n", 0, 30 * s},
		{"a rate of more than counts", "User-agent: *\nRequest-rate: 1/1h\n", 0, 30 * s},
		{"somebody else's", "User-agent: other\nCrawl-delay: 9\n\nUser-agent: *\nDisallow: /x\n", 0, 0},
		{"nonsense", "User-agent: *\nCrawl-delay: soon\nRequest-rate: 1/0\n", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page(robotsURL, enginetest.Text(tt.robots))
				var seeds []*tegenaria.Context
				var want, got []time.Duration
				for i := range 4 {
					url := fmt.Sprintf("http://a.test/%d", i)
					w.Page(url, enginetest.Page())
					seeds = append(seeds, enginetest.Send(url))
					want = append(want, time.Duration(i+1)*tt.want)
				}
				for url, at := range paced(t, w, tegenaria.Politeness{Delay: tt.user}, seeds) {
					if url != robotsURL {
						got = append(got, at...)
					}
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("pages began at %v, want %v", got, want)
				}
			})
		})
	}
}

// A slot keeps the pace of the slowest of its origins; and all slots of an origin keep its pace, whichever of them
// asked for robots.txt.
func TestRobotsPaceOfSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.Text("User-agent: *\nCrawl-delay: 2\n")).Page("https://a.test/robots.txt", enginetest.Text("User-agent: *\nCrawl-delay: 5\n")).
			Page("http://a.test:8080/robots.txt", enginetest.Status(404))
		var seeds []*tegenaria.Context
		for i := range 3 {
			for _, origin := range []string{"http://a.test", "https://a.test", "http://a.test:8080"} {
				url := fmt.Sprintf("%s/%d", origin, i)
				w.Page(url, enginetest.Page())
				seeds = append(seeds, enginetest.Send(url))
			}
			url := fmt.Sprintf("http://a.test/own/%d", i)
			w.Page(url, enginetest.Page())
			seeds = append(seeds, enginetest.Send(url, tegenaria.RequestWithSlot("own")))
		}
		var slow, own []time.Duration
		for url, at := range paced(t, w, tegenaria.Politeness{}, seeds) {
			switch {
			case url == "http://a.test/own/0" || url == "http://a.test/own/1" || url == "http://a.test/own/2":
				own = append(own, at...)
			case url != robotsURL:
				slow = append(slow, at...)
			}
		}
		slices.Sort(own)
		for i := 1; i < len(own); i++ {
			if own[i]-own[i-1] < 2*time.Second {
				t.Errorf("the slot of its own began at %v", own)
			}
		}
		slices.Sort(slow)
		for i := len(slow) - 5; i < len(slow); i++ { // when all files were known
			if slow[i]-slow[i-1] < 5*time.Second {
				t.Errorf("the host's slot began at %v", slow)
			}
		}
	})
}

// With the file its pace and its rules are new after a day.
func TestRobotsRefreshed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		second  []enginetest.Answer
		gap     time.Duration // between the pages of the second day
		fetched int           // of the second day's three
	}{
		{"faster", []enginetest.Answer{enginetest.Text("User-agent: *\nCrawl-delay: 1\n")}, time.Second, 3},
		{"slower", []enginetest.Answer{enginetest.Text("User-agent: *\nCrawl-delay: 20\n")}, 20 * time.Second, 3},
		{"without delay", []enginetest.Answer{enginetest.Text("User-agent: *\n")}, 0, 3},
		{"gone", []enginetest.Answer{enginetest.Status(404)}, 0, 3},
		{"forbids", []enginetest.Answer{enginetest.Text("User-agent: *\nDisallow: /\n")}, 0, 0},
		{"unreachable", []enginetest.Answer{enginetest.Status(500)}, 4 * time.Second, 3}, // the old rules stay
		{"too many requests", []enginetest.Answer{enginetest.Status(429)}, 4 * time.Second, 3},
		{"network error", []enginetest.Answer{enginetest.Broken(errors.New("no route"))}, 4 * time.Second, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := enginetest.Text("User-agent: *\nCrawl-delay: 4\n")
				w := enginetest.NewWorld().Page(robotsURL, enginetest.InTurn(append([]enginetest.Answer{first}, tt.second...)...))
				began := time.Now()
				var seeds []*tegenaria.Context
				for day := range 2 {
					for i := range 3 {
						url := fmt.Sprintf("http://a.test/%d/%d", day, i)
						w.Page(url, enginetest.Page())
						seeds = append(seeds, enginetest.Send(url, tegenaria.RequestWithNotBefore(began.Add(time.Duration(day)*25*time.Hour))))
					}
				}
				var days [2][]time.Duration
				for url, at := range paced(t, w, tegenaria.Politeness{}, seeds) {
					if url != robotsURL {
						day := int(url[len("http://a.test/")] - '0')
						days[day] = append(days[day], at...)
					}
				}
				for day, want := range []int{3, tt.fetched} {
					if len(days[day]) != want {
						t.Fatalf("%d pages on day %d, want %d", len(days[day]), day, want)
					}
					slices.Sort(days[day])
				}
				for day, gap := range []time.Duration{4 * time.Second, tt.gap} {
					for i := 1; i < len(days[day]); i++ {
						if got := days[day][i] - days[day][i-1]; got != gap {
							t.Errorf("day %d: pages %s apart, want %s", day, got, gap)
						}
					}
				}
			})
		})
	}
}

// Rules that cannot be refreshed stay in force, and the file is asked for again after an hour.
func TestRobotsOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.InTurn(enginetest.Text("User-agent: *\nDisallow: /no\n"), enginetest.Status(503), enginetest.Broken(errors.New("no route")), enginetest.Text("User-agent: *\nDisallow: /\n")))
		began := time.Now()
		var seeds []*tegenaria.Context
		for _, minutes := range []int{0, 25 * 60, 25*60 + 59, 25*60 + 61, 25*60 + 120, 25*60 + 122} {
			for _, path := range []string{"yes", "no"} {
				url := fmt.Sprintf("http://a.test/%s/%d", path, minutes)
				w.Page(url, enginetest.Page())
				seeds = append(seeds, enginetest.Send(url, tegenaria.RequestWithNotBefore(began.Add(time.Duration(minutes)*time.Minute))))
			}
		}
		at := paced(t, w, tegenaria.Politeness{}, seeds)
		var files []time.Duration
		for _, d := range at[robotsURL] {
			files = append(files, d.Round(time.Minute))
		}
		if want := []time.Duration{0, 25 * time.Hour, 25*time.Hour + 61*time.Minute, 25*time.Hour + 122*time.Minute}; !slices.Equal(files, want) {
			t.Errorf("robots.txt was asked for at %v, want %v", files, want)
		}
		delete(at, robotsURL)
		for _, minutes := range []int{0, 25 * 60, 25*60 + 59, 25*60 + 61, 25*60 + 120} { // then all is forbidden
			url := fmt.Sprintf("http://a.test/yes/%d", minutes)
			if len(at[url]) != 1 {
				t.Errorf("%s was asked for %d times", url, len(at[url]))
			}
			delete(at, url)
		}
		if len(at) > 0 {
			t.Errorf("asked for what is forbidden: %v", at)
		}
	})
}

// A pace that the new file repeats holds as long as the new file, for a slot too that has no work in between.
func TestRobotsPaceOutlivesTheFirstFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.Text("User-agent: *\nCrawl-delay: 20\n"))
		began := time.Now()
		var seeds []*tegenaria.Context
		last := 30 * time.Hour
		w.Page("http://b.test/", enginetest.Page()) // which makes the table of slots forget what it may
		seeds = append(seeds, enginetest.Send("http://b.test/", tegenaria.RequestWithNotBefore(began.Add(26*time.Hour))))
		for i, at := range []time.Duration{0, 25 * time.Hour, last, last, last} {
			url := fmt.Sprintf("http://a.test/%d", i)
			w.Page(url, enginetest.Page())
			seeds = append(seeds, enginetest.Send(url, tegenaria.RequestWithNotBefore(began.Add(at))))
		}
		var got []time.Duration
		for url, at := range paced(t, w, tegenaria.Politeness{}, seeds) {
			if url == robotsURL && len(at) != 2 {
				t.Errorf("robots.txt was asked for at %v", at)
			}
			if url != robotsURL && at[0] >= last { // none of b.test is
				got = append(got, at...)
			}
		}
		slices.Sort(got)
		if want := []time.Duration{last, last + 20*time.Second, last + 40*time.Second}; !slices.Equal(got, want) {
			t.Errorf("the last pages began at %v, want %v", got, want)
		}
	})
}

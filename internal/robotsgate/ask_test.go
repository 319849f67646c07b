package robotsgate_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/robotsgate"
)

const origin = "https://a.example"

// hop answers by a redirect.
func hop(status int, location string) robotsgate.Response {
	return robotsgate.Response{Status: status, Header: map[string][]string{"Location": {location}}}
}

// Five redirects are followed, and those that lead nowhere count as no file (RFC 9309 §2.3.1.2). It fails if a sixth one is
// followed, or the same URL is asked for twice.
func TestFetchFollowsRedirects(t *testing.T) {
	chain := func(hops int) map[string]robotsgate.Response {
		web, url := make(map[string]robotsgate.Response), origin+"/robots.txt"
		for i := range hops {
			next := fmt.Sprintf("http://r%d.example/x", i)
			web[url] = hop([]int{301, 302, 303, 307, 308}[i%5], next)
			url = next
		}
		web[url] = robotsgate.Response{Status: 200, Body: []byte("rules")}
		return web
	}
	first := func(resp robotsgate.Response) map[string]robotsgate.Response {
		return map[string]robotsgate.Response{
			origin + "/robots.txt": resp,
			origin + "/r.txt":      {Status: 200, Body: []byte("rules")},
			origin + "/circle":     hop(302, origin+"/robots.txt"),
		}
	}
	for _, tt := range []struct {
		name   string
		web    map[string]robotsgate.Response
		status int
		asked  int
	}{
		{"none", chain(0), 200, 1},
		{"one", chain(1), 200, 2},
		{"five", chain(5), 200, 6},
		{"six", chain(6), 404, 6},
		{"relative", first(hop(301, "r.txt")), 200, 2},
		{"with a fragment", first(hop(301, "/r.txt#part")), 200, 2},
		{"to itself", first(hop(301, "/robots.txt")), 404, 2},
		{"to itself, with a fragment", first(hop(301, "/robots.txt#a")), 404, 2},
		{"in a circle", first(hop(301, "/circle")), 404, 4},
		{"to a page that is missing", first(hop(301, "/nowhere")), 410, 2},
		{"to another scheme", first(hop(301, "ftp://a.example/robots.txt")), 404, 1},
		{"to no URL", first(hop(301, "http://[/")), 404, 1},
		{"without a target", first(robotsgate.Response{Status: 301}), 301, 1},
		{"300", first(robotsgate.Response{Status: 300}), 300, 1},
		{"304 with a Location is no redirect", first(hop(304, "/r.txt")), 304, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []string
			resp, err := robotsgate.Fetch(origin, func(url string, left time.Duration, first bool) (robotsgate.Response, error) {
				if first != (len(asked) == 0) {
					t.Errorf("request %d: first is %v", len(asked)+1, first)
				}
				asked = append(asked, url)
				if resp, ok := tt.web[url]; ok {
					return resp, nil
				}
				return robotsgate.Response{Status: 410}, nil
			})
			if err != nil || resp.Status != tt.status || len(asked) != tt.asked || asked[0] != origin+"/robots.txt" {
				t.Errorf("status %d, %v, asked for %q; want %d after %d requests", resp.Status, err, asked, tt.status, tt.asked)
			}
			if got := string(resp.Body) == "rules"; got != (tt.status == 200) {
				t.Errorf("body %q", resp.Body)
			}
		})
	}
}

// A file has fifteen seconds with its redirects. It fails if each request has them.
func TestFetchHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left []time.Duration
		_, err := robotsgate.Fetch(origin, func(url string, d time.Duration, _ bool) (robotsgate.Response, error) {
			left = append(left, d)
			sleep(7 * time.Second)
			return hop(302, url+"x"), nil
		})
		want := []time.Duration{15 * time.Second, 8 * time.Second, time.Second, time.Millisecond, time.Millisecond, time.Millisecond}
		if err != nil || !slices.Equal(left, want) {
			t.Errorf("%v: requests had %v, want %v", err, left, want)
		}
	})
}

// What a status means, and what a failure of the network does, where nothing was known and where rules were. It fails if a
// server error allows everything, or rules are forgotten because there are no new ones.
func TestAskByStatus(t *testing.T) {
	errNet := errors.New("connection refused")
	const fresh, old, unsure, lost = "new rules", "old rules", "not known", "everything is allowed"
	for _, tt := range []struct {
		status           int
		err              error
		unknown, refresh string // what is in force then: where nothing was known, and where there were rules
	}{
		{200, nil, fresh, fresh},
		{203, nil, fresh, fresh},
		{0, nil, fresh, fresh}, // a middleware's, without a status
		{300, nil, lost, lost},
		{304, nil, lost, lost},
		{400, nil, lost, lost},
		{401, nil, lost, lost},
		{403, nil, lost, lost},
		{404, nil, lost, lost},
		{410, nil, lost, lost},
		{428, nil, lost, lost},
		{429, nil, unsure, old},
		{499, nil, lost, lost},
		{500, nil, unsure, old},
		{503, nil, unsure, old},
		{599, nil, unsure, old},
		{0, errNet, unsure, old},
		{200, errNet, unsure, old}, // the body could not be read
		{404, errNet, unsure, old},
		{503, errNet, unsure, old},
	} {
		for _, refresh := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, %v, refreshed: %v", tt.status, tt.err, refresh), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					gate, j, want := newGate(make(map[string]time.Duration)), &job{}, tt.unknown
					if refresh {
						gate.Look(j, place("/", "a"), true)
						ask(t, gate, j, 200, "/old")
						sleep(robotsgate.Refresh)
						want = tt.refresh
					}
					gate.Look(j, place("/", "a"), true)
					end, err := gate.Ask(j, origin, func(string, time.Duration, bool) (robotsgate.Response, error) {
						return robotsgate.Response{Status: tt.status, Body: []byte("/new")}, tt.err
					})
					if look := gate.Look(&job{}, place("/new", "b"), true); look.Answer == robotsgate.Wait {
						t.Error("the job still asks")
					} else if look.Answer == robotsgate.Ask && tt.err == nil {
						t.Error("the file may be asked for at once")
					}
					may := func(path string) bool { return gate.Look(&job{}, place(path, "a"), true).Answer == robotsgate.Allow }
					var got string
					switch isOld, isNew, other := may("/old"), may("/new"), may("/other"); {
					case isOld && isNew && other:
						got = lost
					case isNew && !isOld && !other:
						got = fresh
					case isOld && !isNew && !other:
						got = old
					case !isOld && !isNew && !other:
						got = unsure
					}
					if got != want || end.New != (want == fresh || want == lost) || end.Lost {
						t.Errorf("in force: %q, want %q; the end is %+v", got, want, end)
					}
					var unreachable *robotsgate.UnreachableError
					fails := tt.err != nil && !refresh
					if errors.As(err, &unreachable) != fails || fails && (unreachable.Origin != origin || !errors.Is(err, errNet)) {
						t.Errorf("the error is %v", err)
					}
					if refresh && want == old {
						sleep(robotsgate.Again)
						want := robotsgate.Ask
						if look := gate.Look(j, place("/old", "a"), true); look.Answer != want {
							t.Errorf("an hour later: answer %d, want %d", look.Answer, want)
						}
					}
				})
			})
		}
	}
}

// The longer one of Crawl-delay and Request-rate counts.
func TestAskTakesTheLongerDelay(t *testing.T) {
	for body, want := range map[string]time.Duration{
		"/ 3s 2s": 3 * time.Second, "/ 2s 3s": 3 * time.Second, "/ 2s": 2 * time.Second, "/ 0s 2s": 2 * time.Second, "/": 0,
	} {
		delays, j := make(map[string]time.Duration), &job{}
		gate := newGate(delays)
		gate.Look(j, place("/", "a"), true)
		if ask(t, gate, j, 200, body); delays["a"] != want {
			t.Errorf("%q: delay %s, want %s", body, delays["a"], want)
		}
	}
}

// Where nothing may be sent now, and where the asking was aborted meanwhile, nothing is known and nothing fails.
func TestAskThatDoesNotCount(t *testing.T) {
	gate, first, second := newGate(make(map[string]time.Duration)), &job{}, &job{}
	want(t, "first", gate.Look(first, place("/", "a"), true), robotsgate.Ask)
	want(t, "second", gate.Look(second, place("/", "b"), true), robotsgate.Wait)
	end, err := gate.Ask(first, origin, func(string, time.Duration, bool) (robotsgate.Response, error) {
		return robotsgate.Response{}, fmt.Errorf("wrapped: %w", robotsgate.ErrNotNow)
	})
	if err != nil || end.New || len(end.Waiting) != 1 || end.Waiting[0].Job != second {
		t.Errorf("not now: %+v, %v", end, err)
	}
	for _, failed := range []error{nil, errors.New("too late")} {
		want(t, "first", gate.Look(first, place("/", "a"), true), robotsgate.Ask)
		end, err := gate.Ask(first, origin, func(string, time.Duration, bool) (robotsgate.Response, error) {
			gate.Abort(first)
			return robotsgate.Response{Status: 200, Body: []byte("/")}, failed
		})
		if err != nil || end.New || end.Waiting != nil {
			t.Errorf("aborted: %+v, %v", end, err)
		}
	}
	want(t, "after that", gate.Look(second, place("/", "b"), true), robotsgate.Ask)
}

// The errors name what they are about, without secrets in URLs.
func TestErrors(t *testing.T) {
	for want, err := range map[string]error{
		"https://a.example cannot be reached: refused (robots.txt is asked for first, and nothing is fetched without it)": &robotsgate.UnreachableError{Origin: origin, Err: errors.New("refused")},
		"robots.txt forbids http://u:xxxxx@a.example/":                                                                    robotsgate.Look{Answer: robotsgate.Forbid}.Refused("http://u:s3cret@a.example/"),
		"robots.txt for http://a.example/ is unreachable":                                                                 robotsgate.Look{Answer: robotsgate.Unreachable}.Refused("http://a.example/"),
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
	for _, answer := range []robotsgate.Answer{robotsgate.Allow, robotsgate.Wait, robotsgate.Later, robotsgate.Ask} {
		if err := (robotsgate.Look{Answer: answer}).Refused("http://a.example/"); err != nil {
			t.Errorf("answer %d: %v", answer, err)
		}
	}
}

func TestSameHeader(t *testing.T) {
	own := map[string]string{"User-Agent": "mybot"}
	for _, tt := range []struct {
		name   string
		header map[string]string
		want   bool
	}{
		{"none", nil, true},
		{"the same", own, true},
		{"what files do not depend on", map[string]string{"accept": "text/plain", "Accept-Language": "en", "Referer": "https://a.test/"}, true},
		{"another value", map[string]string{"User-Agent": "other"}, false},
		{"another field", map[string]string{"Authorization": "Basic eDp5"}, false},
	} {
		if got := robotsgate.SameHeader(tt.header, own); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

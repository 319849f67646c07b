package cookiejar_test

import (
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/cookiejar"
)

func Example() {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	store := cookiejar.NewStore(cookiejar.Limits{PerDomain: 180, DomainBytes: 32 << 10, Total: 50_000, Bytes: 16 << 20})
	jar := store.NewJar("")
	from, _ := cookiejar.OriginOf("https://a.example/login")
	if c, ok := cookiejar.ParseSetCookie("session=1; Path=/; Max-Age=60", from, now); ok {
		jar.Set(c, from.Secure, now)
	}
	other, _ := cookiejar.OriginOf("https://b.example/")
	fmt.Printf("%q %q %q\n", jar.Header(from, nil, now), jar.Header(other, nil, now), jar.Header(from, nil, now.Add(time.Hour)))
	// Output: "session=1" "" ""
}

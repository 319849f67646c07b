// Package fetch makes one HTTP exchange and keeps it within its bounds: of time, of memory, of the addresses that may be
// dialled. It knows nothing of crawling: it follows no redirects, keeps no cookies, and sends a request again only
// if no server has looked at it.
//
// The flow through it, each step in the file of its name:
//
//	Client.Do → exchange.begin   the clock starts
//	          → exchange.request the request for net/http, or a *RequestError
//	          → routes.enter     the way out: directly or through a proxy, on kept connections
//	          → connector, conn  new connections: dialGuard.dial, TLS, and a look at the bytes that come over them
//	          → body.take        decode, within the share of the Budget, to its sink: memory, a file, a Writer, nowhere
//	          → exchange.end     everything is given back but the Hold
//
// Failures have the types of errors.go; explain makes them of the errors of net/http.
//
// A Budget shares a number of bytes among the bodies in memory. A body counts in the Hold of its request until the Hold is
// released, which is up to the caller: pages live longer than exchanges.
//
//	Budget.Grow → the bytes of a body may be in memory → Budget.Release
//
// A short example:
//
//	budget := fetch.NewBudget(256<<20, nil)
//	client := fetch.New(fetch.Config{Agent: "example/1.0", Concurrency: 8, Bodies: budget, Limits: fetch.Limits{Body: 32 << 20}})
//	defer client.Close()
//	var hold fetch.Hold
//	defer budget.Release(&hold)
//	answer, err := client.Do(ctx, fetch.Request{URL: "https://example.com/", Timeout: time.Minute, Hold: &hold})
//	if err != nil {
//		return err
//	}
//	fmt.Println(answer.Status, len(answer.Body), answer.Transfer.RemoteAddr)
package fetch

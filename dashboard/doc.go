// Package dashboard shows a crawl while it runs, and lets its user change it: pause and resume, fewer downloads at once, a longer delay
// for one host.
//
//	board := dashboard.New(engine, dashboard.Options{}) // before engine.Run
//	go http.Serve(listener, board)
//	fmt.Printf("http://%s/?token=%s\n", listener.Addr(), board.ControlToken())
//
// Its pages show the numbers of the crawl, its hosts and its failures; the API behind them, below /api/v1/, has the same as JSON. The pages
// can be read without a script, and follow the crawl with one.
//
// A Board is an http.Handler: nothing listens unless the program does. The command does all of this with crawl --listen ADDRESS, and
// gives Options.Metrics the metrics of package telemetry.
//
// # Safety
//
// Each request needs one of two tokens of 256 bits, as "Authorization: Bearer TOKEN", as the parameter token or as a cookie. One is for
// viewing, the other one controls the crawl too. What another site makes a browser send is refused, and so is, on a loopback address,
// what asks for another name than this machine's.
package dashboard

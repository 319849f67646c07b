// Command serve serves the demo site at an address, so that it can be looked at in a browser, and crawled by several programs and
// runs: http://127.0.0.1:8080/ unless another address is given.
//
//	go run ./examples/demosite/serve 127.0.0.1:9000
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

func main() {
	address := "127.0.0.1:8080"
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: serve [ADDRESS]\nServes the demo site at ADDRESS, by default "+address+".\n")
	}
	flag.Parse()
	if flag.NArg() > 0 {
		address = flag.Arg(0)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the demo site is at http://%s/; press Ctrl-C to stop it\n", listener.Addr())
	server := &http.Server{Handler: demosite.Handler(), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}

package dashboard_test

import (
	"fmt"
	"net/http"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
)

func ExampleNew() {
	engine := tegenaria.NewSpiderEngine()
	board := dashboard.New(engine, dashboard.Options{})
	go http.ListenAndServe("127.0.0.1:8080", board)
	fmt.Println("http://127.0.0.1:8080/?token=" + board.ControlToken())
}

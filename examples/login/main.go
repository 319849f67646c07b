// Command login logs in to a shop by its form, whose hidden token belongs to a cookie, and prints the orders of the
// account. The site is the demo site of this repository, served on loopback by the program itself.
//
//	go run ./examples/login
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/middleware"
)

// shop is the login of one user.
type shop struct{ user, password string }

// login fills in the form, sends it, and follows the page that is for members only.
func (s shop) login(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	form, err := page.Form("form[method=post]")
	if err != nil {
		return err
	}
	form.Set("user", s.user)
	form.Set("password", s.password)
	r, err := form.Request() // the token is a hidden field, and travels by itself
	if err != nil {
		return err
	}
	answer, err := out.Fetch(r)
	if err != nil {
		return err
	}
	if answer.CSS("input[type=password]").Len() > 0 {
		return tegenaria.CloseSpider("the login was refused")
	}
	return out.Follow("/account/", tegenaria.RequestWithParser(tegenaria.Handle(s.account)))
}

// account reads the orders.
func (s shop) account(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	for _, order := range page.CSS("main li, table tr").Texts() {
		if err := out.Item(order); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout, demosite.Password); err != nil {
		fmt.Fprintln(os.Stderr, "login:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, password string) error {
	site := demosite.MustStart()
	defer site.Close()
	s := shop{demosite.User, password}
	spider := tegenaria.NewSpider("login", tegenaria.Handle(s.login), site.URL()+"/login/")
	for order, err := range tegenaria.Crawl[string](ctx, spider, tegenaria.EngineWithQuiet(), tegenaria.EngineWithMiddlewares(middleware.Standard()...)) {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, order); err != nil {
			return err
		}
	}
	return nil
}

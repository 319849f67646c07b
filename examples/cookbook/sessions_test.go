package cookbook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/session"
)

// The programs of docs/guides/sessions.md.

// accounts logs each account of a shop in before its first page, and again when the shop has ended the login.
func accounts(shop string, passwords map[string]string) *session.Pool {
	return session.NewPool(session.Options{
		Login: func(l *session.Login) error {
			page, err := l.Fetch(tegenaria.NewRequest(shop+"/login", tegenaria.GET, nil))
			if err != nil {
				return err
			}
			form, err := page.Form("form#login")
			if err != nil {
				return err
			}
			form.Set("user", l.Session().Name())
			form.Set("password", passwords[l.Session().Name()])
			request, err := form.Request()
			if err != nil {
				return err
			}
			answer, err := l.Fetch(request)
			if err != nil {
				return err
			}
			if answer.CSS(".logout").Len() == 0 {
				return errors.New("the shop has not let us in")
			}
			return nil
		},
		Expired: func(page *tegenaria.Response) bool { return page.CSS("form#login").Len() > 0 },
	})
}

// order is what an account has bought.
type order struct{ User, What string }

// ordersOf asks for a page of each account: one URL, in several sessions.
func ordersOf(shop string, users ...string) tegenaria.SpiderInterface {
	var requests []*tegenaria.Request
	for _, user := range users {
		requests = append(requests, tegenaria.NewRequest(shop+"/orders", tegenaria.GET, nil, session.As(user)))
	}
	return tegenaria.NewSpiderOf("orders", tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[order]) error {
		return out.Item(order{session.Of(page).Name(), page.CSS(".order").Text()})
	}), requests...)
}

func TestAccounts(t *testing.T) {
	var mu sync.Mutex
	logins := make(map[string]int)
	uses := make(map[string]int)
	const form = `<form id=login method=post action=/login><input name=user><input name=password></form>`
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		switch cookie, _ := r.Cookie("user"); {
		case r.URL.Path == "/login" && r.Method == http.MethodPost:
			user := r.FormValue("user")
			if r.FormValue("password") != "secret of "+user {
				fmt.Fprint(w, form)
				return
			}
			logins[user]++
			uses[user] = 0
			http.SetCookie(w, &http.Cookie{Name: "user", Value: user})
			fmt.Fprint(w, `<a class=logout>log out</a>`)
		case cookie == nil || r.URL.Path == "/login" || uses[cookie.Value] == 1:
			fmt.Fprint(w, form)
		default:
			uses[cookie.Value]++
			fmt.Fprintf(w, `<p class=order>hat of %s</p>`, cookie.Value)
		}
	}))
	defer shop.Close()
	pool := accounts(shop.URL, map[string]string{"ann": "secret of ann", "bob": "secret of bob"})
	items := crawl[order](t, ordersOf(shop.URL, "ann", "bob"), tegenaria.EngineWithMiddlewares(append(middleware.Standard(), pool)...))
	slices.SortFunc(items, func(a, b order) int { return len(a.User) - len(b.User) + int(a.User[0]) - int(b.User[0]) })
	if want := []order{{"ann", "hat of ann"}, {"bob", "hat of bob"}}; !slices.Equal(items, want) {
		t.Errorf("%v, want %v", items, want)
	}
	if logins["ann"] != 1 || logins["bob"] != 1 {
		t.Errorf("logins: %v", logins)
	}
}

// visitors is a crawl as 20 visitors: one that the site bans is thrown away with its cookies.
func visitors() tegenaria.EngineOption {
	pool := session.NewPool(session.Options{Size: 20, MaxUses: 500})
	blocks := middleware.NewBlocks(middleware.BlockRules{Status: []int{http.StatusForbidden}})
	return tegenaria.EngineWithMiddlewares(append(middleware.Standard(), pool, blocks)...)
}

func TestVisitors(t *testing.T) {
	site := start(t)
	if items := crawl[quote](t, quotes(site), visitors()); len(items) != 100 {
		t.Errorf("%d quotes, want 100", len(items))
	}
}

package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// The code of docs/guides/spiders.md.

type Product struct{ Name, Price string }

type Card struct{ Price string }

func list(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Product]) error {
	for _, card := range page.CSS("div.card").All() {
		err := out.Follow(card.CSS("a").Attr("href"), tegenaria.RequestWithParser(tegenaria.Handle(detail)),
			tegenaria.RequestWithData(Card{card.CSS("b").Text()}))
		if err != nil {
			return err
		}
	}
	return nil
}

func detail(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Product]) error {
	card, err := tegenaria.Data[Card](page)
	if err != nil {
		return err
	}
	return out.Item(Product{page.CSS("h1").Text(), card.Price})
}

// The spider searches by a form and follows the results; what the list knows reaches the parser of the page.
func TestSpiderOfTheGuide(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/search" && r.Method == http.MethodPost && r.PostFormValue("q") == "tea":
			fmt.Fprint(w, `<div class="card"><a href="/gone">Cup</a><b>3 €</b></div><div class="card"><a href="/pot">Pot</a><b>12 €</b></div>`)
		case r.URL.Path == "/pot":
			fmt.Fprint(w, `<h1>Tea pot</h1>`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	site := server.URL

	search := tegenaria.NewRequest(site+"/search", "POST", nil, tegenaria.RequestWithForm(url.Values{"q": {"tea"}}))
	spider := tegenaria.NewSpiderOf("shop", tegenaria.Handle(list), search).
		On("detail", tegenaria.Handle(detail)).
		OnError(func(err *tegenaria.HandleError, emit func(*tegenaria.Request) error) error {
			log.Print("no ", err.Request.Url)
			return nil
		})

	var found []Product
	for product, err := range tegenaria.Crawl[Product](t.Context(), spider, tegenaria.EngineWithQuiet()) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, product)
	}
	if want := []Product{{"Tea pot", "12 €"}}; !slices.Equal(found, want) {
		t.Errorf("the crawl found %v, want %v", found, want)
	}
}

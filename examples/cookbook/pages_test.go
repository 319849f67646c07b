package cookbook_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/spiders"
)

// Which pages: pagination, lists and details, whole sites, forms, APIs.

func TestPagination(t *testing.T) {
	site := start(t)
	if items := crawl[quote](t, quotes(site)); len(items) != 100 {
		t.Errorf("%d quotes, want 100", len(items))
	}
}

type book struct{ Title, Price, Category string }

func list(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
	err := out.FollowLinks(links.CSS("article.product_pod h2 a"), tegenaria.RequestWithParser(tegenaria.Handle(detail)))
	if err != nil {
		return err
	}
	return out.Follow(page.CSS("li.next a").Attr("href"))
}

func detail(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
	return out.Item(book{Title: page.CSS("h1").Text(), Price: page.CSS("p.price_color").Text()})
}

func TestListAndDetail(t *testing.T) {
	site := start(t)
	books := crawl[book](t, tegenaria.NewSpider("books", tegenaria.Handle(list), site.URL()+"/books/"))
	if len(books) != 48 || !strings.HasPrefix(books[0].Price, "£") || books[0].Title == "" {
		t.Errorf("%d books, want 48: %+v", len(books), books[0])
	}
}

func titles(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	if err := out.Item(page.CSS("title").Text()); err != nil {
		return err
	}
	return out.FollowLinks(links.Deny("/corners/"))
}

func TestOneSite(t *testing.T) {
	site := start(t)
	spider := tegenaria.NewSpider("titles", tegenaria.Handle(titles), site.URL()+"/")
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithAllowedDomains("127.0.0.1"),        // the demo site's host
		tegenaria.EngineWithLimits(tegenaria.Limits{Depth: 2}), // two links from the first page
	)
	if err := engine.Run(t.Context(), "titles"); err != nil {
		t.Fatal(err)
	}
	stats := engine.Stats()
	if paths := asked(site); slices.Contains(paths, "/corners/") || !slices.Contains(paths, "/quotes/page/2/") || slices.Contains(paths, "/quotes/page/3/") {
		t.Errorf("asked for %q", paths)
	}
	if stats.Reasons["filtered: depth"] == 0 {
		t.Errorf("%v: nothing was too deep", stats.Reasons)
	}
}

func TestURLsOfAFile(t *testing.T) {
	site := start(t)
	name := filepath.Join(t.TempDir(), "urls.txt")
	if err := os.WriteFile(name, []byte(site.URL()+"/author/jane-austen/\n"+site.URL()+"/books/emma/\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	engine, err := onlyListed(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Run(t.Context(), "list"); err != nil {
		t.Fatal(err)
	}
	if paths := asked(site); !slices.Equal(paths, []string{"/author/jane-austen/", "/books/emma/"}) {
		t.Errorf("asked for %q", paths)
	}
}

func onlyListed(name string) (*tegenaria.SpiderEngine, error) {
	text, err := os.ReadFile(name) // one URL a line
	if err != nil {
		return nil, err
	}
	spider := tegenaria.NewSpider("list", tegenaria.Handle(titles), strings.Fields(string(text))...)
	return tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithLimits(tegenaria.Limits{Depth: tegenaria.OnlySeeds}), // no links
	), nil
}

// lines sends a request for each line of a file, which may be larger than the memory.
func lines(name string) *tegenaria.Spider {
	return tegenaria.NewSpiderOf("lines", tegenaria.Handle(titles)).OnStart(func(ctx context.Context, emit func(*tegenaria.Request) error) error {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		scanner := bufio.NewScanner(file)
		for scanner.Scan() {
			if err := emit(tegenaria.NewRequest(scanner.Text(), tegenaria.GET, nil)); err != nil {
				return err
			}
		}
		return scanner.Err()
	})
}

func TestLines(t *testing.T) {
	site := start(t)
	name := filepath.Join(t.TempDir(), "urls.txt")
	if err := os.WriteFile(name, []byte(site.URL()+"/author/jane-austen/\n"+site.URL()+"/books/emma/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	crawl[string](t, lines(name), tegenaria.EngineWithLimits(tegenaria.Limits{Depth: tegenaria.OnlySeeds}))
	if paths := asked(site); !slices.Equal(paths, []string{"/author/jane-austen/", "/books/emma/"}) {
		t.Errorf("asked for %q", paths)
	}
}

func TestSitemap(t *testing.T) {
	site := start(t)
	spider := spiders.NewSitemap("books", tegenaria.Handle(detail), site.URL())
	if books := crawl[book](t, spider); len(books) != 48 {
		t.Errorf("%d books, want 48", len(books))
	}
}

type answer struct {
	Page    int
	HasNext bool `json:"has_next"`
	Quotes  []struct {
		Text   string
		Author struct{ Name string }
	}
}

func readAPI(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[quote]) error {
	var found answer
	if err := page.Decode(&found); err != nil {
		return err
	}
	for _, q := range found.Quotes {
		if err := out.Item(quote{q.Text, q.Author.Name}); err != nil {
			return err
		}
	}
	if !found.HasNext {
		return nil
	}
	return out.Request(search(page.URL, found.Page+1))
}

// search makes the request for a page of results; the API takes JSON by POST.
func search(url string, page int) *tegenaria.Request {
	return tegenaria.NewRequest(url, tegenaria.POST, nil, tegenaria.RequestWithJSON(map[string]any{"text": "the", "page": page}))
}

func TestPOST(t *testing.T) {
	site := start(t)
	spider := tegenaria.NewSpiderOf("search", tegenaria.Handle(readAPI), search(site.URL()+"/api/search", 1))
	items := crawl[quote](t, spider)
	if len(items) < 20 || len(asked(site)) != (len(items)+9)/10 {
		t.Errorf("%d quotes, asked for %q", len(items), asked(site))
	}
	for _, q := range items {
		if !strings.Contains(strings.ToLower(q.Text), "the") || q.Author == "" {
			t.Errorf("found %+v", q)
		}
	}
}

type life struct{ Text, Author, Lived string }

// lives adds to each quote what another page says about its author.
func lives(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[life]) error {
	for _, q := range page.CSS("div.quote").All() {
		request, err := page.Follow(q.CSS("a[href^='/author/']").Attr("href"))
		if err != nil {
			return err
		}
		author, err := out.Fetch(request) // waits for the page
		if err != nil {
			return err
		}
		item := life{q.CSS("span.text").Text(), q.CSS("small.author").Text(), author.CSS(".author-life").Text()}
		if err := out.Item(item); err != nil {
			return err
		}
	}
	return nil
}

func TestFetch(t *testing.T) {
	items := crawl[life](t, tegenaria.NewSpider("lives", tegenaria.Handle(lives), start(t).URL()+"/quotes/tag/love/"))
	if len(items) == 0 {
		t.Error("no items")
	}
	for _, item := range items {
		if item.Text == "" || item.Author == "" || !strings.Contains(item.Lived, "1") {
			t.Errorf("%+v", item)
		}
	}
}

// rendered makes a downloader that lets a browser make the page. render drives the browser, for example with chromedp.
func rendered(render func(ctx context.Context, url string) (html []byte, err error)) tegenaria.DownloaderFunc {
	return func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
		html, err := render(ctx, r.Url)
		if err != nil {
			return nil, err
		}
		header := map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}
		return tegenaria.NewResponse(r, 200, header, html), nil
	}
}

func TestBrowser(t *testing.T) {
	site := start(t)
	drive := func(ctx context.Context, url string) ([]byte, error) {
		return []byte(`<title>made by a script</title>`), ctx.Err()
	}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("plain", tegenaria.Handle(script), site.URL()+"/")),
	)
	engine.RegisterDownloader("browser", rendered(drive))
	if err := engine.Run(t.Context(), "plain"); err != nil {
		t.Fatal(err)
	}
	if s := engine.Stats(); s.ItemScraped != 1 || s.Outcomes[tegenaria.Failed] > 0 {
		t.Errorf("%d items, %v", s.ItemScraped, s.Reasons)
	}
	if paths := asked(site); !slices.Equal(paths, []string{"/"}) {
		t.Errorf("the site itself was asked for %q", paths)
	}
}

func script(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	if page.Request().Depth > 0 {
		return out.Item(page.CSS("title").Text())
	}
	return out.Follow("/quotes/", tegenaria.RequestWithDownloader("browser"))
}

type shelf struct{ Category string }

func books(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
	known := shelf{Category: page.CSS("h1").Text()}
	return out.FollowLinks(links.CSS("article.product_pod h2 a"),
		tegenaria.RequestWithData(known), tegenaria.RequestWithParser(tegenaria.Handle(onShelf)))
}

func onShelf(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
	known, err := tegenaria.Data[shelf](page)
	if err != nil {
		return err
	}
	return out.Item(book{Title: page.CSS("h1").Text(), Category: known.Category})
}

func TestData(t *testing.T) {
	found := crawl[book](t, tegenaria.NewSpider("shelf", tegenaria.Handle(books), start(t).URL()+"/books/category/poetry/"))
	if len(found) == 0 || found[0].Category != "Poetry" {
		t.Errorf("books: %+v", found)
	}
}

// login sends the form of the first page, and goes on when the answer is there.
func login(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	form, err := page.Form("form[method=post]")
	if err != nil {
		return err
	}
	form.Set("user", demosite.User)
	form.Set("password", demosite.Password)
	request, err := form.Request() // with the hidden fields of the form
	if err != nil {
		return err
	}
	answer, err := out.Fetch(request) // waits for the answer and follows its redirects
	if err != nil {
		return err
	}
	if answer.CSS("input[name=password]").Len() > 0 {
		return tegenaria.CloseSpider("the login was refused")
	}
	return out.Follow("/account/", tegenaria.RequestWithParser(tegenaria.Handle(orders)))
}

func orders(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	for _, title := range page.CSS("ul.orders a").Texts() {
		if err := out.Item(title); err != nil {
			return err
		}
	}
	return nil
}

func TestLogin(t *testing.T) {
	site := start(t)
	spider := tegenaria.NewSpider("orders", tegenaria.Handle(login), site.URL()+"/login/")
	if titles := crawl[string](t, spider, tegenaria.EngineWithMiddlewares(middleware.Standard()...)); len(titles) != 3 {
		t.Errorf("orders %q, want 3", titles)
	}
}

func TestCookies(t *testing.T) {
	site := start(t)
	browser := t.TempDir()
	name := filepath.Join(browser, "cookies.txt")
	host := strings.TrimPrefix(site.URL(), "http://")
	host, _, _ = strings.Cut(host, ":")
	if err := os.WriteFile(name, []byte("# Netscape HTTP Cookie File\n"+host+"\tFALSE\t/\tFALSE\t0\tsession\t"+demosite.User+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keep, err := exported(name)
	if err != nil {
		t.Fatal(err)
	}
	spider := tegenaria.NewSpider("orders", tegenaria.Handle(orders), site.URL()+"/account/")
	if titles := crawl[string](t, spider, tegenaria.EngineWithMiddlewares(keep)); len(titles) != 3 {
		t.Errorf("orders %q, want 3", titles)
	}
}

// exported returns cookies that were exported from a browser as cookies.txt.
func exported(name string) (*middleware.Cookies, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list, err := middleware.ReadCookies(file)
	if err != nil {
		return nil, err
	}
	keep := middleware.NewCookies(middleware.CookieOptions{})
	return keep, keep.Add("", list...) // "" is the jar of requests that name none
}

func TestSeveralSpiders(t *testing.T) {
	site, ctx := start(t), t.Context()
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(
			tegenaria.NewSpider("quotes", tegenaria.Handle(parse), site.URL()+"/quotes/"),
			tegenaria.NewSpider("books", tegenaria.Handle(list), site.URL()+"/books/"),
		),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
	)
	err := errors.Join(engine.Run(ctx, "quotes"), engine.Run(ctx, "books")) // one after the other
	if n := len(asked(site)); err != nil || n != 10+4+48 {
		t.Errorf("%d pages asked for, want 62; %v", n, err)
	}
}

package browser_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// words is the text of an ordinary page.
var words = strings.Repeat("Spiders of this family build large webs in houses. ", 60)

// It fails if a page that scripts have yet to make is taken as finished, or a page that a server has made as unfinished.
func TestUnfinished(t *testing.T) {
	const tracker = `<script>(function(w,d,s,l,i){w[l]=w[l]||[];w[l].push({'gtm.start':new Date().getTime(),event:'gtm.js'});var f=d.getElementsByTagName(s)[0],j=d.createElement(s);j.async=true;j.src='https://www.example.com/gtm.js?id='+i;f.parentNode.insertBefore(j,f);})(window,document,'script','dataLayer','GTM-X');</script>`
	const pixel = `<noscript><img height=1 width=1 style="display:none" src="https://www.example.com/tr?id=1&noscript=1"></noscript>`
	const frame = `<noscript><iframe src="https://www.example.com/ns.html" height=0 width=0 style="display:none;visibility:hidden"></iframe></noscript>`
	const demand = `<noscript>You need to enable JavaScript to run this app.</noscript>`
	const bundle = `<script type=module crossorigin src="/assets/index-4f3a.js"></script>`
	long := "<script>" + strings.Repeat(`data.push({"text": "a quote", "tags": ["one", "two"]});`, 60) + "</script>"
	nav := `<header><a href="/">Home</a> <a href="/about">About us</a> <a href="/contact">Contact</a></header>`
	tests := []struct {
		name, body string
		unfinished bool
	}{
		{"create-react-app", demand + `<div id="root"></div>` + bundle, true},
		{"vite", `<div id="app"></div>` + bundle, true},
		{"vite, a comment and white space", "<div id=app>\n<!-- made by the script -->\n</div>" + bundle, true},
		{"upper case", `<DIV ID="app"></DIV><SCRIPT SRC="/app.js"></SCRIPT>`, true},
		{"angular", `<app-root></app-root><script src="main.js" type="module"></script>`, true},
		{"angular, loading", `<app-root>Loading...</app-root><script src="main.js"></script>`, true},
		{"angularjs", `<div ng-app="shop"><ul><li ng-repeat="p in products"><b>{{ p.name }}</b></li></ul></div><script src="angular.js"></script>`, true},
		{"angularjs, in the body", `<ul><li ng-repeat="p in products">{{p.name}}</li></ul><script src="angular.js"></script>`, true},
		{"vue in the document", `<div id="app"><h1>{{ title }}</h1><p v-for="x in list">{{ x }}</p></div><script src="vue.js"></script>`, true},
		{"next, pages without server", `<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{}}}</script><script src="/_next/main.js" defer></script>`, true},
		{"next, app router without server", `<div hidden><!--$--><!--/$--></div><template data-dgst="BAILOUT_TO_CLIENT_SIDE_RENDERING"></template><script src="/_next/main.js"></script><script>self.__next_f.push([1,"0:[]"])</script>`, true},
		{"nuxt without server", `<div id="__nuxt"></div><script>window.__NUXT__={}</script><script type=module src="/_nuxt/entry.js"></script>`, true},
		{"gatsby in development", `<div id="___gatsby"></div><script src="/commons.js"></script>`, true},
		{"splash screen", `<div id="root"><div class="splash"><img src="/logo.svg"><p>Loading, please wait…</p></div></div>` + bundle, true},
		{"skeleton", `<div id="app"><div class="skeleton"></div><div class="skeleton"></div><svg><title>Spinner</title></svg></div>` + bundle, true},
		{"frame around an empty mount", nav + `<div id="app"></div><footer>Imprint, privacy and all that</footer>` + bundle, true},
		{"polymer", `<shop-app></shop-app><script type=module src="src/shop-app.js"></script>`, true},
		{"script alone", `<script>document.write("<h1>" + location + "</h1>")</script>`, true},
		{"script in the head alone", ``, true}, // see below
		{"script and pixels", tracker + pixel + frame + bundle, true},
		{"list that a script fills", `<h1>Products</h1><ul id="list"></ul><script>fetch("/api").then(r => r.json()).then(show)</script>`, true},
		{"table that a script fills", nav + `<table><thead><tr><th>Name<th>Price</thead><tbody></tbody></table><script src=table.js></script>`, true},
		{"main that a script fills", nav + `<main></main><script src=page.js></script>`, true},
		{"data in a script", nav + `<h1>Quotes</h1><div></div>` + long, true},
		{"noscript that demands", nav + `<div class=shell></div>` + demand + bundle, true},
		{"noscript that demands, in German", `<p>Shop</p><noscript>Bitte aktivieren Sie JavaScript.</noscript>` + bundle, true},

		{"no script", `<p>x</p>`, false},
		{"nothing", ``, false},
		{"empty mount without a script", `<div id="root"></div>`, false},
		{"data that is no script", `<div id="app"></div><script type="application/ld+json">{"@type": "Thing"}</script>`, false},
		{"article with trackers", tracker + frame + `<article><p>` + words + `</article>` + pixel, false},
		{"short page with trackers", tracker + pixel + `<h1>Gone fishing</h1><p>We are back on Monday.</p>`, false},
		{"next, pages", `<div id="__next"><h1>Hello</h1><p>A short page.</p></div><script id="__NEXT_DATA__" type="application/json">{"props":{}}</script><script src="/_next/main.js" defer></script>`, false},
		{"next, app router", `<h1>Hello</h1><p>A short page.</p><script src="/_next/main.js"></script><script>` + strings.Repeat(`self.__next_f.push([1,"2:[]"]);`, 200) + `</script>`, false},
		{"nuxt", `<div id="__nuxt"><div id="__layout"><p>Short.</p></div></div><script>window.__NUXT__={data:"` + words + `"}</script><script src="/_nuxt/entry.js"></script>`, false},
		{"react that was rendered, with its noscript", demand + `<div id="root"><main><h1>Not found</h1></main></div>` + bundle, false},
		{"remix", `<h1>Hello</h1><p>Short.</p><script>window.__remixContext = {"state": "` + words + `"};</script><script type=module src="/build/entry.js"></script>`, false},
		{"sveltekit", `<div style="display: contents"><h1>Welcome</h1></div><script>{__sveltekit_1x = {base: ""};const data = "` + words + `"}</script>`, false},
		{"gatsby", `<div id="___gatsby"><div id="gatsby-focus-wrapper"><h1>Blog</h1><a href="/one">One</a></div></div>` + long, false},
		{"angular universal", `<app-root ng-version="17"><h1>Shop</h1><router-outlet></router-outlet><ul><li>Tea</ul></app-root><script id="ng-state" type="application/json">{}</script><script src="main.js"></script>`, false},
		{"astro islands", `<main><h1>Docs</h1><astro-island></astro-island></main>` + bundle, false},
		{"links alone in a mount", `<div id="app"><a href="/1"></a><a href="/2"></a></div>` + bundle, false},
		{"pictures alone", `<a href="/2.jpg"><img src="/2s.jpg"></a><script src=/lightbox.js></script>`, false},
		{"login form", `<form action="/login"><input name=user><input name=password type=password><button>Go</button></form><script src=/check.js></script>`, false},
		{"long page with a widget's mount", `<p>` + words + `</p><div id="app"></div>` + bundle, false},
		{"long page with noscript and an empty list", `<p>` + words + `</p><ul class=messages></ul><noscript>JavaScript makes this page nicer.</noscript>` + long, false},
		{"about templates", `<p>` + words + `</p><code>{{ name }}</code><script src=/x.js></script>`, false},
		{"mount that is called otherwise", nav + `<p>Some text of the page.</p><div id="modal-root-3"></div>` + bundle, false},
		{"loading is a word of the page", `<div id="root"><h1>Loading docks of the harbour, and how ships are unloaded there by night</h1></div>` + bundle, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			source := `<!doctype html><html><head><title>A page with a title</title><style>p { color: red }</style></head><body>` + test.body + `</body></html>`
			if strings.HasPrefix(test.name, "script in the head") {
				source = `<!doctype html><title>x</title><script defer src="/app.js"></script>`
			}
			page := tegenaria.NewResponse(tegenaria.NewRequest("https://example.com/", "", nil), 200, map[string][]string{"Content-Type": {"text/html"}}, []byte(source))
			if got := browser.Unfinished(page); got != test.unfinished {
				t.Errorf("unfinished: %v\n%s", got, source)
			}
		})
	}
	frames := tegenaria.NewResponse(tegenaria.NewRequest("https://example.com/", "", nil), 200, nil, []byte(`<script></script><frameset><frame src="/a"></frameset>`))
	if browser.Unfinished(frames) {
		t.Error("a frameset is taken as unfinished")
	}
}

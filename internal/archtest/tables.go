package archtest

// module is our own module path; everything below it is ours.
const module = "github.com/tegenaria/tegenaria"

// ownModules are the folders of the house that have a go.mod of their own, so that no user's program names what they need. The
// rules hold for them too; other folders with a go.mod, the benchmarks, are not of the house.
var ownModules = map[string]bool{"e2e": true, "examples/linksrus": true}

// A floor is a level of the house. Imports point from a door to a room, from a room to the hall,
// from the hall to cellar and annex, never the other way.
type floor string

// The floors from top to bottom. Cellar and annex stand side by side.
const (
	door   floor = "door"   // wires things together
	room   floor = "room"   // implements an interface of the root
	hall   floor = "hall"   // the root: vocabulary and engine
	cellar floor = "cellar" // machines that know nothing of crawling
	annex  floor = "annex"  // takes bytes and a base URL
	helper floor = "helper" // for tests and benchmarks alone
	rig    floor = "rig"    // for tests alone, and runs what they test
)

// plan says which floor a package is on. A package that is not listed belongs to the nearest listed
// one above it: cache/disk/codec is part of the room cache/disk. "*" stands for one path element.
var plan = map[string]floor{
	".": hall,

	"cmd/tegenaria": door,
	"cli":           door,
	"examples/*":    door,
	"e2e":           door,

	"middleware": room,
	"feed":       room,
	"pipeline":   room,
	"media":      room,
	"warc":       room,
	"httpcache":  room,
	"revisit":    room,
	"proxy":      room,
	"session":    room,
	"spiders":    room,
	"cache/disk": room,
	"cluster":    room,
	"browser":    room,
	"dashboard":  room,
	"telemetry":  room,
	"spidertest": room,

	"stage":                cellar,
	"buffer":               cellar,
	"module":               cellar,
	"cache":                cellar,
	"internal/robotsgate":  cellar,
	"internal/slots":       cellar,
	"internal/lifecycle":   cellar,
	"internal/multiread":   cellar,
	"internal/urlx":        cellar,
	"internal/errtext":     cellar,
	"internal/report":      cellar,
	"internal/wire":        cellar,
	"internal/filelock":    cellar,
	"internal/guard":       cellar,
	"internal/loan":        cellar,
	"internal/httpx":       cellar,
	"internal/cookiejar":   cellar,
	"internal/fetch":       cellar,
	"internal/frontier":    cellar,
	"internal/funcname":    cellar,
	"internal/typecheck":   cellar,
	"internal/identity":    cellar,
	"internal/commit":      cellar,
	"internal/columns":     cellar,
	"internal/fieldcount":  cellar,
	"internal/staging":     cellar,
	"internal/setting":     cellar,
	"internal/remedy":      cellar,
	"internal/flightnotes": cellar,
	"internal/outfile":     cellar,
	"internal/pgretry":     cellar,
	"internal/privatefs":   cellar,
	"internal/project":     cellar,
	"internal/webguard":    cellar,
	"internal/project/*":   door, // programs, the templates of projects

	"httpcache/internal/rfc9111": cellar, // for the room httpcache
	"httpcache/internal/store":   cellar, // for the room httpcache

	"html":     annex,
	"selector": annex,
	"links":    annex,
	"metadata": annex,
	"content":  annex,
	"records":  annex,
	"forms":    annex,
	"sitemap":  annex,
	"robots":   annex,

	"internal/page":     annex, // and not cellar: it stands on html, selector and links
	"internal/jsontext": annex, // because selector does
	"internal/convert":  annex, // because selector does
	"internal/curl":     annex, // because it stands on forms

	"internal/xmlstream": annex, // because sitemap and records stand on it

	"internal/archtest":      helper,
	"internal/israce":        helper,
	"internal/enginetest":    rig,
	"internal/hostile":       helper,
	"internal/conformance":   helper,
	"internal/deep":          helper,
	"internal/pgtest":        helper,
	"internal/killtest":      helper,
	"internal/yardstick":     rig,
	"feed/internal/feedtest": rig,
}

// sharedDoors are the doors that other doors may go through.
var sharedDoors = map[string]bool{"cli": true, "cli/live": true, "examples/demosite": true}

// annexMayUse are the parts of the cellar that the annex stands on: URLs, and what settings are called in messages.
var annexMayUse = map[string]bool{"internal/urlx": true, "internal/remedy": true}

// rootModules are the modules whose code a program compiles that imports the root alone. The list
// stays short on purpose: everything heavier lives in a room of its own.
var rootModules = map[string]string{
	"github.com/spaolacci/murmur3":        "fingerprints",
	"github.com/bits-and-blooms/bloom/v3": "RFPDupeFilter",
	"github.com/bits-and-blooms/bitset":   "of bloom",
	"github.com/sirupsen/logrus":          "the injected logger",
	"github.com/google/uuid":              "CtxId",
	"github.com/nlnwa/whatwg-url":         "resolving as browsers do",
	"github.com/andybalholm/brotli":       "content coding br",
	"github.com/klauspost/compress":       "content coding zstd",
	"github.com/tidwall/gjson":            "JSON paths of selector",
	"github.com/tidwall/match":            "of gjson",
	"github.com/tidwall/pretty":           "of gjson",
	"golang.org/x/net":                    "HTML, public suffixes, IDNA",
	"golang.org/x/text":                   "charsets",
	"golang.org/x/sys":                    "of logrus",
}

// heavyModules may be imported by these packages and their parts alone, so that no other program compiles them. A module that
// only one of ownModules names needs no row: no other package can import it.
var heavyModules = map[string][]string{
	"github.com/abadojack/whatlanggo":          {"content/language"},
	"github.com/santhosh-tekuri/jsonschema/v6": {"pipeline/schema"},
	"github.com/cockroachdb/pebble/v2":         {"cache/disk", "internal/privatefs", "httpcache/internal/store", "revisit"},
	"github.com/spf13/cobra":                   {"cli", "cmd/tegenaria"},
	"github.com/expr-lang/expr":                {"cli"},
	"github.com/reeflective/readline":          {"cli"},
	"github.com/goccy/go-yaml":                 {"cli"},
	"github.com/jackc/pgx/v5":                  {"feed/postgres", "cluster", "internal/pgretry"},
	"github.com/parquet-go/parquet-go":         {"feed/parquet"},
	"github.com/chromedp/chromedp":             {"browser"},
	"github.com/chromedp/cdproto":              {"browser"},
	"github.com/prometheus/client_golang":      {"telemetry", "cli/live", "examples/observe"},
	"golang.org/x/image":                       {"media"},
	"golang.org/x/term":                        {"cli"},
	"modernc.org/sqlite":                       {"feed/sqlite", "examples/linksrus"},
}

// goroutines lists the files that may hold go statements, with the owner that waits for what they
// start. Tests are free.
var goroutines = map[string]string{
	"examples/demosite/site.go":    "Site.Close",
	"internal/httpx/dialer.go":     "Dial, which receives all attempts",
	"spidertest/testdownloader.go": "testEnds, which receives the result or fails",
	"stage/pipeline.go":            "Pipeline.ProcessUntil waits for the source's goroutine, unless it was given up",
	"stage/pool.go":                "crew.serve waits for the workers that were not given up",
	"internal/guard/apart.go":      "whoever waits for Done, or for a InFlight; code that was given up is left behind",
	"engine.go":                    "the loop of Crawl, which receives the result",
	"channels.go":                  "requestChannel.close",
}

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
	helper floor = "helper" // for tests alone
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
	"httpcache":  room,
	"proxy":      room,
	"session":    room,
	"feed":       room,
	"pipeline":   room,
	"media":      room,
	"warc":       room,
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
	"internal/report":      cellar,
	"internal/wire":        cellar,
	"internal/guard":       cellar,
	"internal/inbox":       cellar,
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
	"internal/flightnotes": cellar,
	"internal/project":     cellar,
	"internal/project/*":   door, // programs, the templates of projects

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
	"internal/yardstick":     rig,
	"feed/internal/feedtest": rig,
}

// sharedDoors are the doors that other doors may go through.
var sharedDoors = map[string]bool{"cli": true, "examples/demosite": true}

// annexMayUse is the one part of the cellar that the annex stands on.
const annexMayUse = "internal/urlx"

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
	"github.com/cockroachdb/pebble/v2":         {"cache/disk"},
	"github.com/spf13/cobra":                   {"cli"},
	"github.com/expr-lang/expr":                {"cli"},
	"github.com/reeflective/readline":          {"cli"},
	"github.com/goccy/go-yaml":                 {"cli"},
	"github.com/jackc/pgx/v5":                  {"feed/postgres", "cluster"},
	"github.com/parquet-go/parquet-go":         {"feed/parquet"},
	"github.com/chromedp/chromedp":             {"browser"},
	"github.com/chromedp/cdproto":              {"browser"},
	"golang.org/x/image":                       {"media"},
	"golang.org/x/term":                        {"cli"},
	"modernc.org/sqlite":                       {"feed/sqlite", "examples/linksrus"},
}

// The longest a hand-written file may be, in lines.
const (
	maxLines     = 500
	maxRootLines = 350
	maxTestLines = 800
)

// goroutines lists the files that may hold go statements, with the owner that waits for what they
// start. Tests are free.
var goroutines = map[string]string{
	"examples/demosite/site.go":    "Site.Close",
	"internal/httpx/dialer.go":     "Dial, which receives all attempts",
	"spidertest/testdownloader.go": "testEnds, which receives the result or fails",
	"stage/pipeline.go":            "Pipeline.ProcessUntil waits for the source's goroutine, unless it was given up",
	"stage/pool.go":                "crew.serve waits for the workers that were not given up",
	"internal/guard/apart.go":      "whoever waits for Done, or for a Door; code that was given up is left behind",
	"engine.go":                    "the loop of Crawl, which receives the result",
	"internal/inbox/inbox.go":      "Inbox.Close",
	"page.go":                      "the func that itemsOf returns",
}

// The bars of the root. Words that users see make it larger, machines go to rooms: whoever raises a bar says here which words they are.
// The log, NothingError, SpiderOf and typed data took 35 files and 9,500 lines to 40 and 10,600; layers, Answerer, Context.Respond,
// Context.CopyWire and ContextPipeline took these to 10,950; Response.Metadata, with what else reads a page, to 11,100; FieldStats
// (typed items, field health and what else reads a page) and form.go take these to 42 files and 11,700; settings.go, the options that
// a file or a command line can say, to 43 and 11,840. The tests of forms and of curl are one test file more, 53 in all. Stations that
// know only those above them, and what needs no type of the root below it, took these to 43 and 11,400; network.go, of parts
// that connect by themselves and obey robots.txt and pauses for what their pages load, and shared.go, of jobs that several programs work
// on and end (SharedCache, SharedRun), to 45 and 11,570; RequestWithVariant, which is part of a request's key, Response.SetValue and Value, by
// which a downloader hands over more than a body, and Network.InScope, to 11,615; Context.MaxBody, Context.IsInline and Request.Downloader, for parts that render
// pages, SharedRun.Pages and Budget, SharedCache.Turn and SharedRun.Hold, by which several programs share a limit and take turns, and Context.AwaitTurn to 11,662; SharedRun.Open, by which Limits.Pending is of the whole job, and Share, by which PerIP and PerProxy are, to 11,664; SlotState.Delayed, so that a host with nothing but delayed requests keeps its delay after a crash, to 11,665.
const (
	maxRootFiles   = 45
	maxRootTests   = 53
	maxRootSum     = 11_665
	maxSlivers     = 0
	minRootLines   = 60 // of a file that is not a sliver
	maxMethodFiles = 3  // that the methods of a type may lie in
	maxFields      = 20 // of a struct
	maxKnot        = 10 // files of the root that lead to each other by what they use
)

// large are the structs with more fields: options and messages.
var large = map[string]int{
	"Request": 25, "config": 22, "Limits": 24, "Stats": 24,
}

package archtest

// module is our own module path; everything below it is ours.
const module = "github.com/tegenaria/tegenaria"

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
	"media":      room,
	"warc":       room,
	"spiders":    room,
	"cache/disk": room,
	"cluster":    room,
	"browser":    room,
	"dashboard":  room,
	"telemetry":  room,
	"spidertest": room,

	"stage":               cellar,
	"buffer":              cellar,
	"module":              cellar,
	"cache":               cellar,
	"internal/robotsgate": cellar,
	"internal/slots":      cellar,
	"internal/lifecycle":  cellar,
	"internal/multiread":  cellar,
	"internal/urlx":       cellar,
	"internal/report":     cellar,
	"internal/wire":       cellar,
	"internal/guard":      cellar,
	"internal/httpx":      cellar,
	"internal/garbage":    cellar,
	"internal/cookiejar":  cellar,
	"internal/fetch":      cellar,
	"internal/frontier":   cellar,
	"internal/funcname":   cellar,
	"internal/typecheck":  cellar,
	"internal/identity":   cellar,

	"html":     annex,
	"selector": annex,
	"links":    annex,
	"sitemap":  annex,
	"robots":   annex,

	"internal/page":     annex, // and not cellar: it stands on html, selector and links
	"internal/jsonsize": annex, // because page stands on it

	"internal/archtest":    helper,
	"internal/israce":      helper,
	"internal/enginetest":  rig,
	"internal/conformance": helper,
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

// heavyModules may be imported by one package and its parts alone, so that no other program compiles them.
var heavyModules = map[string]string{
	"github.com/cockroachdb/pebble/v2": "cache/disk",
	"github.com/blevesearch/bleve/v2":  "examples/linksrus",
	"modernc.org/sqlite":               "examples/linksrus",
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
	"examples/demosite/site.go": "Site.Close",
	"internal/httpx/dialer.go":  "Dial, which receives all attempts",
	"stage/pipeline.go":         "Pipeline.ProcessUntil waits for the source's goroutine, unless it was given up",
	"stage/pool.go":             "crew.serve waits for the workers that were not given up",
	"internal/guard/apart.go":   "whoever waits for Done, or for a Door; code that was given up is left behind",
	"spider.go":                 "the loop of Crawl, which receives the result",
	"inbox.go":                  "inbox.close",
	"page.go":                   "the func that itemsOf returns",
}

// The bars of the root. Words that users see make it larger, machines go to rooms: whoever raises a bar says here which words they are.
const (
	maxRootFiles   = 35
	maxRootTests   = 45
	maxRootSum     = 9500
	maxSlivers     = 0
	minRootLines   = 60 // of a file that is no sliver
	maxMethodFiles = 3  // that the methods of a type may lie in
	maxFields      = 24 // of a struct
)

// large are the structs with more fields: options and messages.
var large = map[string]int{
	"Request": 31, "config": 29,
}

package report

import "github.com/tegenaria/tegenaria/internal/remedy"

// Remedy says what to do about requests that ended in an outcome for a reason, both by the names of statistics: "filtered", "offsite".
// It is "" if nothing is known; failures have [Advice].
func Remedy(outcome, reason string) string { return remedies[outcome+": "+reason].String() }

var remedies = map[string]sentence{
	"filtered: offsite":     said("name its host in %s", remedy.Domains),
	"filtered: denied":      said("take its host out of ScopeOptions.DenyDomains"),
	"filtered: port":        said("name its port in ScopeOptions.Ports"),
	"filtered: path":        said("change ScopeOptions.Paths or DenyPaths"),
	"filtered: glob":        said("change ScopeOptions.Globs or DenyGlobs"),
	"filtered: regexp":      said("change ScopeOptions.Regexps or DenyRegexps"),
	"filtered: depth":       said("raise %s", remedy.Depth),
	"filtered: url-length":  said("raise %s", remedy.URLLength),
	"filtered: page-budget": said("raise %s", remedy.MaxPages),
	"filtered: queue-share": said("its host has too much of a queue that is nearly full: raise %s", remedy.QueueBytes),
	"filtered: ignored":     said("a middleware returned ErrIgnoreRequest for it"),
	"robots: forbidden": said("robots.txt of the site forbids it for this user agent (%s); choose other URLs, or set "+
		"%s if the site's owner permits it", remedy.UserAgent, remedy.IgnoreRobots),
	"robots: unreachable": said("robots.txt could not be fetched, so no page of the site may be requested; try again later"),
}

package report

// Remedy says what to do about requests that ended in an outcome for a reason, both by the names of statistics: "filtered", "offsite".
// It is "" if nothing is known; failures have [Advice].
func Remedy(outcome, reason string) string { return remedies[outcome+": "+reason] }

var remedies = map[string]string{
	"filtered: offsite":     "name its host in EngineWithAllowedDomains (or ScopeOptions.Domains)",
	"filtered: denied":      "take its host out of ScopeOptions.DenyDomains",
	"filtered: port":        "name its port in ScopeOptions.Ports",
	"filtered: path":        "change ScopeOptions.Paths or DenyPaths",
	"filtered: glob":        "change ScopeOptions.Globs or DenyGlobs",
	"filtered: regexp":      "change ScopeOptions.Regexps or DenyRegexps",
	"filtered: depth":       "raise Limits.Depth",
	"filtered: url-length":  "raise Limits.URLLength",
	"filtered: page-budget": "raise Politeness.MaxPages",
	"filtered: queue-share": "its host has too much of a queue that is nearly full: raise Limits.QueueBytes",
	"filtered: ignored":     "a middleware returned ErrIgnoreRequest for it",
	"robots: forbidden":     "robots.txt of the site forbids it for this user agent (Politeness.UserAgent); choose other URLs, or set Politeness.IgnoreRobots if the site's owner permits it",
	"robots: unreachable":   "robots.txt could not be fetched, so no page of the site may be requested; try again later",
}

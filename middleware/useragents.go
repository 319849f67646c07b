package middleware

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// UserAgentOptions say how [UserAgents] chooses.
type UserAgentOptions struct {
	Priority   int  // 0: the place in the package comment's table
	PerRequest bool // another one with each request, at random; otherwise each host always sees the same one
}

// UserAgents sends one of several User-Agent headers with requests that have none. A host always sees the same one,
// in each run, unless PerRequest is set.
//
// robots.txt is requested and obeyed under Politeness.UserAgent, whatever is sent here: set that to the name by which
// site owners know you.
type UserAgents struct {
	part
	agents     []string
	perRequest bool
}

var _ tegenaria.MiddlewaresInterface = (*UserAgents)(nil)

// NewUserAgents makes a UserAgents that chooses among agents. With an empty list it changes no request.
func NewUserAgents(agents []string, o UserAgentOptions) *UserAgents {
	return &UserAgents{newPart("user agents", o.Priority, priorityUserAgents), slices.Clone(agents), o.PerRequest}
}

// ProcessRequest sets the header.
func (m *UserAgents) ProcessRequest(ctx *tegenaria.Context) error {
	n := len(m.agents)
	switch {
	case n == 0:
		return nil
	case m.perRequest:
		setDefault(ctx.Request, "User-Agent", m.agents[rand.IntN(n)])
	default:
		hash := fnv.New64a()
		hash.Write([]byte(urlx.Hostname(ctx.Request.Url)))
		setDefault(ctx.Request, "User-Agent", m.agents[hash.Sum64()%uint64(n)])
	}
	return nil
}

package dashboard

import (
	"maps"
	"slices"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/setting"
)

// Settings are the settings of the run in the answer of GET /api/v1/settings.
type Settings struct {
	Settings    []Setting `json:"settings"`    // as the run has begun with them
	Concurrency int       `json:"concurrency"` // downloads that may run at once now
	Changed     Changed   `json:"changed"`     // what is in force in place of the settings
	Changes     []Change  `json:"changes"`     // that were made here, the newest first
}

// Changed is what is in force in place of the settings, because it was changed in this run or in an earlier one of its job.
type Changed struct {
	Concurrency int           `json:"concurrency,omitempty"` // downloads at once; 0: as in the settings
	Hosts       []ChangedHost `json:"hosts,omitempty"`       // by name, 100 at most
	MoreHosts   int           `json:"more_hosts,omitempty"`  // that are not among Hosts
}

// ChangedHost is a host whose values were changed.
type ChangedHost struct {
	Name     string  `json:"name"`
	Delay    string  `json:"delay"`
	Jitter   float64 `json:"jitter"`
	PerSlot  int     `json:"per_slot"`
	MaxPages int     `json:"max_pages"` // 0: any number
}

// maxChangedHosts is how many of them are listed.
const maxChangedHosts = 100

// changedIn lists what is in force in place of the settings of an engine.
func changedIn(e *tegenaria.SpiderEngine) Changed {
	changes := e.Changes()
	c := Changed{Concurrency: changes.Concurrency}
	names := slices.Sorted(maps.Keys(changes.Slots))
	c.MoreHosts = max(len(names)-maxChangedHosts, 0)
	for _, name := range names[:len(names)-c.MoreHosts] {
		p, _ := e.SlotPolicy(name) // with the defaults
		c.Hosts = append(c.Hosts, ChangedHost{name, p.Delay.String(), p.Jitter, p.PerSlot, p.MaxPages})
	}
	return c
}

// Setting is one of them.
type Setting struct {
	Name    string `json:"name"` // "politeness.delay", see [tegenaria.Settings]
	Value   string `json:"value"`
	Default string `json:"default"`
	Set     bool   `json:"set"` // its value is not the default
}

// hiddenValue stands for the value of a setting that is secret.
const hiddenValue = "••••••"

// settingsOf lists the settings of an engine; secret, unless nil, says which values are not to be shown.
func settingsOf(e *tegenaria.SpiderEngine, secret func(name string) bool) []Setting {
	now, defaults := e.Settings(), tegenaria.NewSpiderEngine().Settings()
	byDefault := make(map[string]string)
	for _, leaf := range setting.List(&defaults) {
		byDefault[leaf.Key] = leaf.Text
	}
	list := []Setting{}
	for _, leaf := range setting.List(&now) {
		s := Setting{Name: leaf.Key, Value: leaf.Text, Default: byDefault[leaf.Key]}
		if s.Set = s.Value != s.Default; s.Set && secret != nil && secret(s.Name) {
			s.Value = hiddenValue
		}
		list = append(list, s)
	}
	return list
}

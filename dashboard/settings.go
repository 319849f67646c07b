package dashboard

import (
	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/setting"
)

// Settings are the settings of the run in the answer of GET /api/v1/settings.
type Settings struct {
	Settings    []Setting `json:"settings"`    // as the run has begun with them
	Concurrency int       `json:"concurrency"` // downloads that may run at once now
	Changes     []Change  `json:"changes"`     // that were made here, the newest first
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

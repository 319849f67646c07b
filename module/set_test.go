package module_test

import (
	"testing"

	"github.com/tegenaria/tegenaria/module"
)

// A name with one module gives that one, a name with several the idle one, an unknown name none. It fails if the second module
// of a name is never picked.
func TestSet(t *testing.T) {
	_, modules := downloaders(t, 3)
	set := module.NewSet[*module.Base]()
	for i, name := range []string{"", "two", "two"} {
		if err := set.Add(name, modules[i]); err != nil {
			t.Fatal(err)
		}
	}
	if m, known, err := set.Pick(module.TypeDownloader, ""); m != modules[0] || !known || err != nil {
		t.Errorf("the only one: %v, %t, %v", m, known, err)
	}
	if _, known, err := set.Pick(module.TypeDownloader, "three"); known || err != nil {
		t.Errorf("no such name: %t, %v", known, err)
	}
	first, known, err := set.Pick(module.TypeDownloader, "two")
	if !known || err != nil {
		t.Fatal(known, err)
	}
	first.Call(nil, func() error {
		if second, _, _ := set.Pick(module.TypeDownloader, "two"); second == first || second == modules[0] {
			t.Error("a busy module is picked beside an idle one")
		}
		return nil
	})
	if err := set.Add("two", modules[1]); err == nil && len(set.All()) != 3 {
		t.Errorf("a module that is registered already counts again: %d", len(set.All()))
	}
}

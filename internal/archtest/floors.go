package archtest

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Package is what Imports needs to know of a package: its import path and those of what its
// non-test files import.
type Package struct {
	ImportPath string
	Imports    []string
}

// Imports checks that imports point down: each package against the floor it stands on. It also checks that heavy
// modules are imported only where they belong.
func Imports(packages []Package) []Problem {
	var problems []Problem
	for _, p := range packages {
		from, ok := inside(p.ImportPath)
		if !ok {
			problems = append(problems, problemf(p.ImportPath, "is not of module %s", module))
			continue
		}
		fromHome, fromFloor := locate(from)
		if fromFloor == "" {
			problems = append(problems, problemf(from, "stands on no floor: add it to plan in internal/archtest/tables.go"))
			continue
		}
		for _, imported := range p.Imports {
			to, ours := inside(imported)
			if owners := heavyOwners(imported); owners != nil && !slices.ContainsFunc(owners, func(o string) bool { return from == o || strings.HasPrefix(from, o+"/") }) {
				problems = append(problems, problemf(from, "imports %s: a heavy module, which belongs to %s alone", imported, strings.Join(owners, " and ")))
			}
			if !ours || to == from {
				continue
			}
			toHome, toFloor := locate(to)
			if why := forbidden(from, fromHome, fromFloor, to, toHome, toFloor); why != "" {
				problems = append(problems, problemf(from, "imports %s: %s", to, why))
			}
		}
	}
	return problems
}

// Plan checks that the plan names no package that does not exist.
func Plan(packages []Package) []Problem {
	var problems []Problem
	for _, planned := range slices.Sorted(maps.Keys(plan)) {
		exists := slices.ContainsFunc(packages, func(p Package) bool {
			rel, _ := inside(p.ImportPath)
			matched, _ := path.Match(planned, rel) // the patterns of the table are well formed
			return matched
		})
		if !exists {
			problems = append(problems, problemf(planned, "does not exist: take it out of plan in internal/archtest/tables.go"))
		}
	}
	return problems
}

// heavyOwners returns the packages that a heavy module belongs to, none for other import paths.
func heavyOwners(imported string) []string {
	for p := imported; p != "."; p = path.Dir(p) {
		if owners, ok := heavyModules[p]; ok {
			return owners
		}
	}
	return nil
}

// forbidden says why one package may not import another, "" if it may. The home of a package is the
// entry of the plan it belongs to.
func forbidden(from, fromHome string, fromFloor floor, to, toHome string, toFloor floor) string {
	if fromHome == toHome {
		return ""
	}
	switch {
	case toFloor == "":
		return "" // reported where that package itself is looked at
	case fromFloor == rig && (toFloor == rig || toFloor == helper):
		return ""
	case toFloor == helper || toFloor == rig:
		return "a helper of tests, which only tests may import"
	case fromFloor == helper:
		return "a helper of tests must not depend on what it tests"
	case fromFloor == rig:
		if toFloor == door {
			return "a rig runs what it tests, and a door leads there"
		}
	case fromFloor == door:
		if toFloor == door && !sharedDoors[toHome] {
			return "a door leads to rooms, not to another door; share the code in a room"
		}
		if from == "examples/demosite" {
			return "the demo site is a witness and must not use what it witnesses"
		}
	case fromFloor == room:
		if toFloor == door {
			return "a room must not know the doors"
		}
		if toFloor == room {
			return "a room must not import a sibling room; move what they share down to the hall or the cellar"
		}
	case fromFloor == hall:
		if toFloor != cellar && toFloor != annex {
			return "the root imports only cellar and annex"
		}
	case fromFloor == cellar:
		if toFloor != cellar {
			return "the cellar knows nothing of crawling: it imports only cellar"
		}
	case fromFloor == annex:
		if toFloor != annex && !annexMayUse[to] {
			return "the annex imports only annex, internal/urlx and internal/remedy"
		}
	}
	return ""
}

// RootModules checks the paths of the modules that the root package draws in, directly or not.
func RootModules(paths []string) []Problem {
	var problems []Problem
	for _, p := range slices.Sorted(slices.Values(paths)) {
		if _, ok := rootModules[p]; p != module && !ok {
			problems = append(problems, problemf(".", "the root now compiles module %s: import it only from a room, or, if "+
				"every crawl needs it, add it to rootModules in internal/archtest/tables.go", p))
		}
	}
	return slices.Compact(problems)
}

// inside returns an import path relative to our module, "." for the root.
func inside(importPath string) (rel string, ours bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// locate finds the home of a package, which is the nearest entry of the plan at or above it, with
// the "*" of the entry filled in, and the floor of that. Both are empty for a package without one.
func locate(rel string) (home string, f floor) {
	for p := rel; p != "."; p = path.Dir(p) {
		if f, ok := plan[p]; ok {
			return p, f
		}
		if f, ok := plan[path.Join(path.Dir(p), "*")]; ok {
			return p, f
		}
	}
	if rel == "." {
		return rel, plan[rel]
	}
	return "", ""
}

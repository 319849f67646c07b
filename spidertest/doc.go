// Package spidertest tests what others build for Tegenaria against the contracts of its interfaces.
//
// [TestCache] is the suite for implementations of tegenaria.CacheInterface:
//
//	func TestMyCache(t *testing.T) {
//		spidertest.TestCache(t, spidertest.CacheHarness{
//			Open: func(t *testing.T) tegenaria.CacheInterface { return mycache.New(t.TempDir()) },
//		})
//	}
//
// The suites print the seed of what they draw at random.
package spidertest

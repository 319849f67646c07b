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
// [HostileServer] misbehaves in more than a hundred ways that a downloader has to survive, and [HostileResolver] gives
// a name other addresses at each look-up.
//
// The suites print the seed of what they draw at random.
package spidertest

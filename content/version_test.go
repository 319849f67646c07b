package content_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/tegenaria/tegenaria/content"
)

// TestVersion fails if the text of a page changes, and [content.Version] does not: programs that keep digests of texts
// would take the change for one of the site. If it fails, raise Version, and enter the new digest.
func TestVersion(t *testing.T) {
	const page = `<html lang=en><head><title>A loom — Weavers</title></head><body><nav><a href=/>Home</a> <a href=/all>All</a></nav><main><article>
<h1>A loom</h1><p class=byline>By Ada Weaver</p><p>The loom reads a <a href=/p>pattern</a>, line by line, and <em>weaves</em> it. A pattern may name
other patterns, which are read too.<sup><a href=#n1 id=r1>1</a></sup></p><h2 id=steps>Steps<a href=#steps>¶</a></h2><ol><li>Wind the warp.<li>Tie the first
knot.<ul><li>Twice.</ul></ol><pre><code class=language-sh>weave --width 40 scarf.pattern
  weave --check</code></pre><table><tr><th>Option<th>What it does<tr><td>width<td>how wide the cloth is, in threads</table><blockquote>If the thread
breaks, the loom stops.</blockquote><figure><img src=loom.png alt="A loom"><figcaption>The loom of 1801</figcaption></figure><p>Every option has a
default: see <code>--help</code>, or <math><mi>a</mi><mo>=</mo><mn>1</mn></math>.</p><p id=n1>1. Up to <b>16</b> deep. <a href=#r1>↩</a></p>
<div class=share>Share this</div></article><aside class=related>More looms</aside></main><footer>© Weavers</footer></body></html>`
	const version, digest = 1, "219c9b0cfe28775d"
	a, err := content.Extract(whole(t, page), "http://a.test/loom")
	if err != nil {
		t.Fatal(err)
	}
	text := a.Title + "\n" + a.Text + "\n" + a.Markdown()
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]; content.Version != version || got != digest {
		t.Errorf("version %d has the digest %s, and not %s of version %d:\n%s", content.Version, got, digest, version, text)
	}
}

package browser

import (
	"slices"

	"github.com/chromedp/chromedp"
)

// SetMaxPages sets after how many pages another Chromium takes the place of one.
func (b *Browser) SetMaxPages(n int) { b.maxPages = n }

// Flags returns those with which Chromium is started, except for the proxy.
func Flags() []chromedp.ExecAllocatorOption { return slices.Clone(flags) }

// IsKilled reports whether somebody else has killed the process that made a page.
func IsKilled(err error) bool { return isKilled(err) }

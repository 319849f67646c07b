package browser

// SetMaxPages sets after how many pages another Chromium takes the place of one.
func (b *Browser) SetMaxPages(n int) { b.maxPages = n }

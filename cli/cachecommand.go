package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// cacheCommand makes the commands that look into an HTTP cache and change it.
func (c *call) cacheCommand() *cobra.Command {
	cmd := c.group("cache", "look into caches of pages, and change them")
	cmd.Long = "Looks into the folder of pages that crawl --cache keeps, and changes it. No crawl must have it open: one " +
		"process has a cache at a time."
	cmd.AddCommand(c.cacheList(), c.cacheGet(), c.cacheDelete(), c.cacheStats())
	return cmd
}

// onCache opens the cache of a directory for a command, which makes none, and lets no page go for want of room.
func onCache(dir string, do func(cache *httpcache.Cache) error) error {
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s holds no cache; crawl --cache makes one", dir)
	}
	cache, err := httpcache.Open(dir, httpcache.Options{MaxBytes: math.MaxInt64})
	if err != nil {
		return err
	}
	return errors.Join(do(cache), cache.Close())
}

// cachedPage is how a stored page is printed.
type cachedPage struct {
	URL      string    `json:"url"`
	Method   string    `json:"method"`
	Status   int       `json:"status"`
	Bytes    int64     `json:"bytes"`
	Received time.Time `json:"received"`
}

func (c *call) cacheList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list DIR [PREFIX]", Short: "list the stored pages",
		Long: "Lists the stored pages, sorted by URL: all, or those whose URL begins with a prefix. The age is the time " +
			"since the site has sent a page, or has said that it is still right. " +
			"A URL with several pages was asked for by several users, or has pages that vary.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return usagef("%s needs the directory of a cache, takes the beginning of URLs, and was given %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgsFunction: completeDir,
		RunE: func(_ *cobra.Command, args []string) error {
			prefix := strings.Join(args[1:], "")
			return onCache(args[0], func(cache *httpcache.Cache) error { return c.listPages(cache, prefix, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write lines of JSON")
	return cmd
}

func (c *call) listPages(cache *httpcache.Cache, prefix string, asJSON bool) error {
	rows := rowWriter{to: c.out, rows: []string{"STATUS\tBYTES\tAGE\tMETHOD\tURL"}}
	for page := range cache.Pages(prefix) {
		line := cachedPage{urlx.Redact(page.URL), page.Method, page.Status, page.Length, page.Received}
		if asJSON {
			if err := writeLine(c.out, line); err != nil {
				return err
			}
			continue
		}
		age := max(time.Since(page.Received), 0).Round(time.Second)
		if err := rows.add(fmt.Sprintf("%d\t%d\t%s\t%s\t%s", line.Status, line.Bytes, age, cell(line.Method), cell(line.URL))); err != nil {
			return err
		}
	}
	if asJSON {
		return nil
	}
	return rows.flush()
}

// storedURL is a URL as pages are stored by: without the fragment.
func storedURL(url string) string {
	url, _ = urlx.CutFragment(url)
	return url
}

// pageOf returns the page of a URL: that of GET, and of several the newest. n is how many there are.
func pageOf(cache *httpcache.Cache, url string) (page httpcache.Page, n int) {
	better := func(a, b httpcache.Page) bool {
		isGet := func(p httpcache.Page) int {
			if p.Method == http.MethodGet {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(isGet(a), isGet(b)), a.Received.Compare(b.Received)) > 0
	}
	for p := range cache.Pages(url) {
		if p.URL != url {
			continue
		}
		if n++; n == 1 || better(p, page) {
			page = p
		}
	}
	return page, n
}

func (c *call) cacheGet() *cobra.Command {
	var header bool
	cmd := &cobra.Command{
		Use: "get DIR URL", Short: "write a stored page",
		Long: "Writes the body of a stored page. If a URL has several pages, the newest one that was asked for " +
			"by GET is written, and the command says so.",
		Args:              arguments(2, "the directory of a cache and a URL"),
		ValidArgsFunction: completeDir,
		RunE: func(_ *cobra.Command, args []string) error {
			return onCache(args[0], func(cache *httpcache.Cache) error { return c.getPage(cache, args[0], args[1], header) })
		},
	}
	cmd.Flags().BoolVarP(&header, "include", "i", false, "write status and header before the body")
	return cmd
}

func (c *call) getPage(cache *httpcache.Cache, dir, url string, header bool) error {
	page, n := pageOf(cache, storedURL(url))
	missing := fmt.Errorf("%s is not stored in %s; %s cache list %[2]s lists the pages", urlx.Redact(url), dir, c.name)
	if n == 0 {
		return missing
	}
	body, ok := cache.Body(page)
	if !ok {
		return missing
	}
	defer body.Close()
	if n > 1 {
		fmt.Fprintf(c.err, "%s: this URL has %d pages; this one was asked for by %s\n", c.name, n, printable(page.Method))
	}
	if header {
		lines := append([]string{fmt.Sprintf("HTTP/1.1 %d %s", page.Status, http.StatusText(page.Status))}, headerLines(page.Header)...)
		for _, line := range append(lines, "") {
			if _, err := fmt.Fprintln(c.out, printableText(line)); err != nil {
				return err
			}
		}
	}
	if isTerminal(c.out) {
		text, err := io.ReadAll(body)
		if err == nil {
			_, err = io.WriteString(c.out, printableText(string(text)))
		}
		return err
	}
	_, err := io.Copy(c.out, body)
	return err
}

func (c *call) cacheDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete DIR URL...", Short: "remove the pages of URLs",
		Long: "Removes all stored pages of URLs, whoever has asked for them: the next crawl fetches them again.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("%s needs the directory of a cache and URLs, and was given %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgsFunction: completeDir,
		RunE: func(_ *cobra.Command, args []string) error {
			return onCache(args[0], func(cache *httpcache.Cache) error {
				deleted := 0
				for _, url := range args[1:] {
					url = storedURL(url)
					_, n := pageOf(cache, url)
					if err := cache.Delete(url); err != nil {
						return err
					}
					deleted += n
				}
				_, err := fmt.Fprintf(c.out, "deleted pages: %d\n", deleted)
				return err
			})
		},
	}
}

// cacheFigures are the figures of a cache as JSON.
type cacheFigures struct {
	Pages     int64  `json:"pages"`
	Bodies    int64  `json:"bodies"`
	Bytes     int64  `json:"bytes"`
	Damaged   int64  `json:"damaged"`
	BeganAnew string `json:"began_anew,omitempty"`
}

func (c *call) cacheStats() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "stats DIR", Short: "summarize a cache",
		Long: "Says how many pages are stored, how many different bodies they have, and how many bytes they " +
			"take on disk. Damaged is what was found damaged just now: such a page is fetched again.",
		Args:              arguments(1, "the directory of a cache"),
		ValidArgsFunction: completeDir,
		RunE: func(_ *cobra.Command, args []string) error {
			return onCache(args[0], func(cache *httpcache.Cache) error {
				s := cache.Stats()
				f := cacheFigures{Pages: s.Entries, Bodies: s.Bodies, Bytes: s.Bytes, Damaged: s.Damaged}
				if s.BeganAnew != nil {
					f.BeganAnew = s.BeganAnew.Error()
				}
				if asJSON {
					return writeJSON(c.out, f)
				}
				return table(c.out, func(w io.Writer) {
					fmt.Fprintf(w, "pages\t%d\nbodies\t%d\nbytes\t%d\ndamaged\t%d\n", f.Pages, f.Bodies, f.Bytes, f.Damaged)
					if f.BeganAnew != "" {
						fmt.Fprintf(w, "began anew\t%s\n", cell(f.BeganAnew))
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

package content

// hint is what the words of an element's class, id and role say about it.
type hint uint16

const (
	hintBody    hint = 1 << iota // article, content, entry, post …
	hintComment                  // what readers have written
	hintNav                      // navigation, breadcrumbs, pages
	hintShare                    // buttons of social networks
	hintRelated                  // other articles
	hintAd                       // advertisements and promotion
	hintMeta                     // byline, date, tags
	hintSide                     // sidebar, header and footer of the page
	hintPopup                    // dialogs, subscriptions, notes about cookies
	hintUnseen                   // for screen readers or printers alone
	hintCaption                  // below a picture
	hintStrong                   // articleBody and the like: the text itself
	hintTitle                    // title, headline
	hintWeak                     // what templates use for parts of the page, and for parts of the text as well
	hintConsent                  // notes about cookies
)

// hintBad are the hints of which one alone makes an element unlikely to hold the text.
const hintBad = hintComment | hintNav | hintShare | hintRelated | hintAd | hintSide | hintPopup | hintConsent | hintWeak

// stem is a part of the words of classes.
type stem struct {
	text  string
	hint  hint
	where uint8
}

const (
	anywhere uint8 = iota // in a word
	prefix                // at its begin
	whole                 // is the word
	suffix                // at its end
)

// stems are the words, by what they say. None is of a site: all are English or abbreviations that templates have in common.
var stems = [...]stem{
	{"article", hintBody, anywhere}, {"content", hintBody, anywhere}, {"entry", hintBody, anywhere},
	{"post", hintBody, whole}, {"posts", hintBody, whole},
	{"story", hintBody, anywhere}, {"text", hintBody, whole}, {"body", hintBody, anywhere}, {"main", hintBody, whole},
	{"blog", hintBody, whole},
	{"hentry", hintBody, whole}, {"page", hintBody, whole}, {"column", hintBody, whole}, {"beitrag", hintBody, prefix},
	{"artikel", hintBody, anywhere},
	{"inhalt", hintBody, anywhere}, {"richtext", hintBody, anywhere}, {"document", hintBody, whole},
	{"articlebody", hintStrong, anywhere}, {"articletext", hintStrong, anywhere},
	{"postcontent", hintStrong, anywhere}, {"storybody", hintStrong, anywhere},
	{"entrycontent", hintStrong, anywhere}, {"articlecontent", hintStrong, anywhere}, {"postbody", hintStrong, anywhere},
	{"comment", hintComment, whole}, {"commentl", hintComment, prefix}, {"commentb", hintComment, prefix},
	{"commentf", hintComment, prefix}, {"commentt", hintComment, prefix}, {"commentw", hintComment, prefix},
	{"commenting", hintComment, prefix}, {"commentsec", hintComment, prefix}, {"comments", hintComment, prefix},
	{"comments", hintComment, suffix}, {"kommentar", hintComment, prefix}, {"disqus", hintComment, anywhere},
	{"respond", hintComment, whole}, {"replies", hintComment, whole},
	{"discuss", hintComment, prefix}, {"leserbrief", hintComment, prefix},
	{"nav", hintNav, whole}, {"navi", hintNav, prefix}, {"navbar", hintNav, anywhere},
	{"navigation", hintNav, anywhere}, {"menu", hintNav, anywhere}, {"breadcrumb", hintNav, anywhere},
	{"pagination", hintNav, anywhere}, {"pager", hintNav, whole}, {"paging", hintNav, whole},
	{"pagenav", hintNav, anywhere}, {"sitemap", hintNav, whole}, {"skip", hintNav, whole}, {"jump", hintNav, whole},
	{"navheader", hintNav, whole}, {"navfooter", hintNav, whole}, {"toolbar", hintNav, whole},
	{"crumbs", hintNav, anywhere}, {"prevnext", hintNav, anywhere}, {"catlinks", hintNav, whole},
	{"dropdown", hintNav, whole}, {"printfooter", hintSide, whole},
	{"share", hintShare, prefix}, {"sharing", hintShare, prefix}, {"social", hintShare, anywhere},
	{"addthis", hintShare, anywhere}, {"addtoany", hintShare, anywhere},
	{"sharedaddy", hintShare, anywhere}, {"jetpack", hintShare, whole}, {"likes", hintShare, whole},
	{"bookmark", hintWeak, prefix}, {"follow", hintWeak, whole},
	{"related", hintRelated, anywhere}, {"recommend", hintRelated, anywhere}, {"popular", hintRelated, anywhere},
	{"trending", hintRelated, anywhere}, {"outbrain", hintRelated, anywhere},
	{"taboola", hintRelated, anywhere}, {"readmore", hintWeak, anywhere}, {"mostread", hintRelated, anywhere},
	{"recirc", hintRelated, prefix}, {"similar", hintRelated, prefix}, {"teaser", hintWeak, prefix},
	{"yarpp", hintRelated, prefix}, {"crossell", hintRelated, prefix}, {"upsell", hintRelated, prefix},
	{"latest", hintWeak, whole},
	{"ad", hintAd, whole}, {"ads", hintAd, whole}, {"advert", hintAd, prefix}, {"adsense", hintAd, whole},
	{"advertisement", hintAd, anywhere}, {"banner", hintAd, anywhere}, {"sponsor", hintAd, prefix},
	{"promo", hintAd, prefix}, {"promotion", hintAd, prefix},
	{"dfp", hintAd, whole}, {"anzeige", hintAd, whole}, {"werbung", hintAd, anywhere}, {"adbox", hintAd, whole},
	{"shopping", hintAd, whole}, {"partner", hintWeak, prefix},
	{"byline", hintMeta, anywhere}, {"author", hintMeta, prefix}, {"dateline", hintMeta, anywhere},
	{"timestamp", hintMeta, anywhere}, {"published", hintMeta, whole}, {"meta", hintMeta, anywhere}, {"pubdate", hintMeta, anywhere},
	{"tags", hintMeta, whole}, {"tag", hintMeta, whole}, {"taglist", hintMeta, whole}, {"categories", hintMeta, whole},
	{"date", hintMeta, whole}, {"postmetadata", hintMeta, anywhere}, {"credit", hintMeta, prefix},
	{"bio", hintMeta, whole}, {"keywords", hintMeta, whole}, {"posted", hintMeta, whole},
	{"sidebar", hintSide, anywhere}, {"aside", hintSide, whole}, {"rail", hintWeak, whole},
	{"widget", hintWeak, prefix}, {"footer", hintSide, anywhere}, {"footnote", 0, prefix}, {"header", hintWeak, whole},
	{"masthead", hintSide, anywhere},
	{"foot", hintWeak, whole}, {"marginal", hintSide, prefix}, {"rightcol", hintSide, prefix},
	{"leftcol", hintSide, prefix}, {"secondary", hintWeak, whole}, {"tertiary", hintWeak, whole},
	{"extra", hintWeak, whole}, {"supplemental", hintSide, whole}, {"legal", hintSide, whole},
	{"copyright", hintSide, whole}, {"disclaimer", hintSide, whole},
	{"modal", hintWeak, prefix}, {"popup", hintPopup, anywhere}, {"cookie", hintConsent, prefix},
	{"consent", hintConsent, prefix}, {"gdpr", hintConsent, prefix}, {"newsletter", hintPopup, anywhere},
	{"subscri", hintPopup, prefix}, {"signup", hintPopup, anywhere}, {"login", hintPopup, prefix},
	{"paywall", hintWeak, anywhere}, {"overlay", hintWeak, whole}, {"lightbox", hintPopup, whole},
	{"tooltip", hintPopup, prefix}, {"dialog", hintPopup, whole}, {"registration", hintPopup, prefix},
	{"search", hintWeak, prefix}, {"rating", hintWeak, prefix}, {"poll", hintPopup, whole}, {"print", hintPopup, whole},
	{"hidden", hintUnseen, whole}, {"sronly", hintUnseen, whole}, {"noprint", hintPopup, whole}, {"noindex", hintPopup, whole},
	{"caption", hintCaption, anywhere}, {"headline", hintTitle, anywhere}, {"title", hintTitle, suffix},
}

// byFirst are the stems by their first letter.
var byFirst = func() (table [26][]stem) {
	for _, s := range stems {
		table[s.text[0]-'a'] = append(table[s.text[0]-'a'], s)
	}
	return table
}()

// hintsOf returns the hints of an attribute's value. A word ends at a character that is no ASCII letter and before a capital.
func hintsOf(value []byte) (h hint) {
	var buf [64]byte
	for i := 0; i < len(value); {
		n := 0
		lower := false
		for ; i < len(value) && n < len(buf); i++ {
			c := value[i]
			if c >= 'A' && c <= 'Z' {
				if lower {
					break
				}
				c |= 0x20
			} else if c < 'a' || c > 'z' {
				break
			} else {
				lower = true
			}
			buf[n] = c
			n++
		}
		if n > 0 {
			h |= hintsOfWord(buf[:n])
		}
		if i < len(value) && !isLetter(value[i]) {
			i++
		}
	}
	return h
}

func isLetter(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' }

func hintsOfWord(word []byte) (h hint) {
	for i, c := range word {
		for _, s := range byFirst[c-'a'] {
			n := len(s.text)
			if i+n > len(word) || string(word[i:i+n]) != s.text {
				continue
			}
			switch {
			case s.where == anywhere, s.where == prefix && i == 0, s.where == whole && i == 0 && n == len(word), s.where == suffix && i+n == len(word):
				h |= s.hint
			}
		}
	}
	return h
}

package convert

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// agoWords are the words of relative times in a language, in lower case.
type agoWords struct {
	marks                 string // one of them says that the time is past
	skip                  string // they say nothing
	one                   string // they stand for 1
	now, today, yesterday string
	units                 [7]string // seconds, minutes, hours, days, weeks, months, years
}

var ago = map[string]*agoWords{
	"en": {"ago", "about at over almost", "a an one", "now just", "today", "yesterday",
		[7]string{"second seconds sec secs s", "minute minutes min mins m", "hour hours hr hrs h", "day days d", "week weeks w", "month months mo", "year years yr yrs y"}},
	"de": {"vor", "etwa ca rund um uhr", "ein einem einer", "jetzt gerade eben soeben", "heute", "gestern",
		[7]string{"sekunde sekunden sek", "minute minuten min", "stunde stunden std", "tag tage tagen", "woche wochen", "monat monate monaten", "jahr jahre jahren"}},
	"fr": {"il", "y a environ à", "un une", "maintenant l'instant", "aujourd'hui", "hier",
		[7]string{"seconde secondes", "minute minutes min", "heure heures h", "jour jours", "semaine semaines", "mois", "an ans année années"}},
	"es": {"hace", "unos unas aproximadamente a las", "un una uno", "ahora", "hoy", "ayer",
		[7]string{"segundo segundos", "minuto minutos min", "hora horas h", "día días", "semana semanas", "mes meses", "año años"}},
	"it": {"fa", "circa alle", "un una uno un'", "ora adesso", "oggi", "ieri",
		[7]string{"secondo secondi", "minuto minuti min", "ora ore", "giorno giorni", "settimana settimane", "mese mesi", "anno anni"}},
	"pt": {"há atrás", "cerca de às", "um uma", "agora", "hoje", "ontem",
		[7]string{"segundo segundos", "minuto minutos min", "hora horas h", "dia dias", "semana semanas", "mês meses", "ano anos"}},
	"nl": {"geleden", "ongeveer om", "een één", "nu zojuist", "vandaag", "gisteren",
		[7]string{"seconde seconden", "minuut minuten min", "uur uren", "dag dagen", "week weken", "maand maanden", "jaar jaren"}},
}

func isOneOf(words, word string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == word {
			return true
		}
	}
	return false
}

// mostAgo is how many units ago a time may be.
const mostAgo = 100_000

var errNotRelative = errors.New("not a relative time such as \"3 hours ago\" or \"yesterday\"")

// relative reads a time that is relative to now.
func (l *Locale) relative(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if now.IsZero() {
		return now, errors.New("a relative time needs the time of the page: its response has no Date")
	}
	w := l.ago
	if w == nil {
		return now, errNotRelative
	}
	now = now.In(zone)
	count, unit, past, day := -1, -1, false, -1
	clock := time.Duration(-1)
	text = plainApostrophes(strings.ToLower(text))
	text = strings.ReplaceAll(text, "un'", "un' ") // un'ora fa
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, ".,")
		switch {
		case word == "":
		case isOneOf(w.marks, word):
			past = true
		case isOneOf(w.today, word) && day < 0:
			day = 0
		case isOneOf(w.yesterday, word) && day < 0:
			day = 1
		case count < 0 && isOneOf(w.one, word):
			count = 1
		case isNumber(word) && count < 0:
			n, err := strconv.Atoi(word)
			if err != nil || n > mostAgo {
				return now, errNotRelative
			}
			count = n
		case count >= 0 && unit < 0 && unitOf(w, word) >= 0:
			unit = unitOf(w, word)
		case day >= 0 && clock < 0 && strings.Contains(word, ":"):
			at, err := time.Parse("15:04", word)
			if err != nil {
				return now, errNotRelative
			}
			clock = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
		case isOneOf(w.skip, word):
		case isOneOf(w.now, word) && count <= 0 && unit <= 0 && day < 0: // "just now" has two such words
			count, unit, past = 0, 0, true
		default:
			if n, u := joined(w, word); u >= 0 && count < 0 && unit < 0 {
				count, unit = n, u
				continue
			}
			return now, errNotRelative
		}
	}
	switch {
	case day >= 0 && count < 0 && !past:
		return time.Date(now.Year(), now.Month(), now.Day()-day, int(max(clock, 0)/time.Hour), int(max(clock, 0)%time.Hour/time.Minute), 0, 0, zone), nil
	case day < 0 && past && count >= 0 && unit >= 0:
		return before(now, count, unit), nil
	}
	return now, errNotRelative
}

func isNumber(word string) bool { return word != "" && strings.Trim(word, "0123456789") == "" }

func unitOf(w *agoWords, word string) int {
	for i, unit := range w.units {
		if isOneOf(unit, word) {
			return i
		}
	}
	return -1
}

// joined reads a number with its unit, "3h"; the unit is -1 if it is none.
func joined(w *agoWords, word string) (count, unit int) {
	end := len(word) - len(strings.TrimLeft(word, "0123456789"))
	n, err := strconv.Atoi(word[:end])
	if err != nil || n > mostAgo {
		return 0, -1
	}
	return n, unitOf(w, word[end:])
}

// before returns the time that many units before another one.
func before(now time.Time, count, unit int) time.Time {
	switch unit {
	case 0:
		return now.Add(-time.Duration(count) * time.Second)
	case 1:
		return now.Add(-time.Duration(count) * time.Minute)
	case 2:
		return now.Add(-time.Duration(count) * time.Hour)
	case 3:
		return now.AddDate(0, 0, -count)
	case 4:
		return now.AddDate(0, 0, -7*count)
	case 5:
		return monthsBefore(now, count)
	}
	return monthsBefore(now, 12*count)
}

// monthsBefore returns the same day of an earlier month, or the last one of that month if it has fewer days.
func monthsBefore(now time.Time, months int) time.Time {
	year, month, day := now.Date()
	last := time.Date(year, month-time.Month(months)+1, 0, 0, 0, 0, 0, time.UTC)
	return time.Date(last.Year(), last.Month(), min(day, last.Day()), now.Hour(), now.Minute(), now.Second(), now.Nanosecond(), now.Location())
}

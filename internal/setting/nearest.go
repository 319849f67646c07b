package setting

// Nearest returns the name that is most similar to a word, "" if none is similar enough to be meant: one of three letters of the
// word may be wrong, missing or too many, and two neighbours may have changed places. Words of more than 100 bytes have none.
func Nearest(word string, names []string) string {
	if len(word) > mostLetters {
		return ""
	}
	best, least := "", len(word)/3+1
	for _, name := range names {
		if len(name) > mostLetters {
			continue
		}
		if d := distance(word, name); d < least {
			best, least = name, d
		}
	}
	return best
}

const mostLetters = 100

// distance counts the letters to insert, delete, replace or swap with a neighbour.
func distance(a, b string) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		now[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			now[j+1] = min(last[j+1]+1, now[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

// Package language guesses the language of a text.
//
// Most pages say what their language is, and [content.Article] has it. This is for those that do not:
//
//	if article.Language == "" {
//		article.Language, _ = language.Guess(article.Text)
//	}
package language

import "github.com/abadojack/whatlanggo"

// maxGuessed is how much of a text is looked at, in bytes.
const maxGuessed = 64 << 10

// Guess guesses the language of a text by its script and by sequences of three letters (package whatlanggo). It returns the tag of BCP 47
// (en, de, zh) and how sure that is, from 0 to 1: at 0.8 and more it is nearly always right. Texts of less than a sentence are guessed
// badly; so are languages that are close to each other, such as Norwegian and Danish. The tag is "" for a text without letters.
// Guess looks at the first 64 KiB. It is safe for concurrent use.
func Guess(text string) (tag string, confidence float64) {
	if len(text) > maxGuessed {
		text = text[:maxGuessed]
	}
	info := whatlanggo.Detect(text)
	if info.Script == nil || info.Lang < 0 {
		return "", 0
	}
	if tag = info.Lang.Iso6391(); tag == "" {
		tag = info.Lang.Iso6393() // languages without a code of two letters
	}
	if tag == "" {
		return "", 0
	}
	return tag, info.Confidence
}

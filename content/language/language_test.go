package language_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content/language"
)

func ExampleGuess() {
	tag, confidence := language.Guess("Der schnelle braune Fuchs springt über den faulen Hund, und niemand weiß, warum er das eigentlich tut.")
	fmt.Println(tag, confidence > 0.8)
	// Output: de true
}

func TestGuess(t *testing.T) {
	for _, test := range []struct{ want, text string }{
		{"en", "The main text of a page is what its readers came for, and everything else only gets in their way while they read it."},
		{"fr", "Le texte principal d'une page est ce que ses lecteurs sont venus chercher, et tout le reste ne fait que les gêner."},
		{"es", "El texto principal de una página es lo que sus lectores han venido a buscar, y todo lo demás solamente les estorba."},
		{"pl", "Główny tekst strony to jest to, po co przyszli jej czytelnicy, a wszystko inne tylko im przeszkadza w czytaniu."},
		{"ja", "ページの本文は、読者が求めているものです。"},
		{"ru", "Основной текст страницы — это то, ради чего пришли её читатели, а всё остальное только мешает им."},
		{"", ""}, {"", "12345 67.89 --- !!!"}, {"", "\xff\xfe\x00"},
	} {
		if tag, confidence := language.Guess(test.text); tag != test.want || confidence < 0 || confidence > 1 {
			t.Errorf("%q: %q with %v, want %q", test.text, tag, confidence, test.want)
		}
	}
	if tag, _ := language.Guess(strings.Repeat("This is a long text in English, of which the beginning is enough to know. ", 100_000)); tag != "en" {
		t.Error("a long text is", tag)
	}
}

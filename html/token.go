package html

// TokenKind says what a token is.
type TokenKind uint8

// The kinds of tokens.
const (
	EndToken      TokenKind = iota // the end of the source
	TextToken                      // text
	StartTagToken                  // <name …>
	EndTagToken                    // </name>
	CommentToken                   // <!-- … --> and what counts as a comment
	DoctypeToken                   // <!DOCTYPE …>
)

package content

// Version is the number of the rules by which the main text is found and written. It changes with what [Extract],
// [Article.Markdown] or Text give for some page, so programs that keep a digest of these keep the version too, and
// compare only digests of one version.
const Version = 1

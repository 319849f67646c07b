package demosite

import (
	"slices"
	"strings"
)

// author is a writer with the quotes the site has of them. All died more than a hundred years ago.
type author struct {
	Name  string
	Slug  string
	Life  string // years of birth and death
	Place string // of birth
	About string
	said  []saying
}

// saying is one line of the table below: the text and its tags, separated by spaces.
type saying struct{ text, tags string }

// quote is one saying as the pages and the API show it.
type quote struct {
	Text   string
	Author *author
	Tags   []string
}

// quotesPerPage is the number of quotes on each page of the list and in each answer of the API.
const quotesPerPage = 10

// allQuotes mixes the authors: first the first saying of each, then the second of each, and so on.
func allQuotes(authors []*author) []quote {
	var all []quote
	for round := 0; ; round++ {
		before := len(all)
		for _, a := range authors {
			if round < len(a.said) {
				s := a.said[round]
				all = append(all, quote{Text: s.text, Author: a, Tags: strings.Fields(s.tags)})
			}
		}
		if len(all) == before {
			return all
		}
	}
}

// tagsOf returns the tags of the quotes, sorted, each once.
func tagsOf(quotes []quote) []string {
	var tags []string
	for _, q := range quotes {
		tags = append(tags, q.Tags...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// slug turns a title or a name into the last part of a path: lower case, words joined by hyphens.
// It knows the accents that occur in the tables of this package.
func slug(s string) string {
	s = strings.NewReplacer("ë", "e", "é", "e", "'", "", "’", "").Replace(strings.ToLower(s))
	words := strings.FieldsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

// newAuthors returns the table of authors with their slugs filled in.
func newAuthors() []*author {
	authors := []*author{
		{Name: "Jane Austen", Life: "1775–1817", Place: "Steventon, England", About: "Novelist of manners, known for her irony.", said: []saying{
			{"It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a wife.", "humor love"},
			{"There is no charm equal to tenderness of heart.", "kindness love"},
			{"The person, be it gentleman or lady, who has not pleasure in a good novel, must be intolerably stupid.", "books humor"},
			{"One half of the world cannot understand the pleasures of the other.", "happiness people"},
			{"Silly things do cease to be silly if they are done by sensible people in an impudent way.", "humor people"},
			{"For what do we live, but to make sport for our neighbours, and laugh at them in our turn?", "humor life"},
		}},
		{Name: "Mark Twain", Life: "1835–1910", Place: "Florida, Missouri", About: "Humorist, novelist and lecturer.", said: []saying{
			{"Always do right. This will gratify some people and astonish the rest.", "humor virtue"},
			{"Nothing so needs reforming as other people's habits.", "humor people"},
			{"Man is the only animal that blushes. Or needs to.", "humor people"},
			{"When angry, count four; when very angry, swear.", "humor wisdom"},
			{"Few things are harder to put up with than the annoyance of a good example.", "humor virtue"},
			{"Let us endeavor so to live that when we come to die even the undertaker will be sorry.", "death life"},
		}},
		{Name: "Oscar Wilde", Life: "1854–1900", Place: "Dublin, Ireland", About: "Playwright, poet and wit.", said: []saying{
			{"The truth is rarely pure and never simple.", "truth"},
			{"I can resist everything except temptation.", "humor virtue"},
			{"We are all in the gutter, but some of us are looking at the stars.", "hope life"},
			{"Experience is the name every one gives to their mistakes.", "humor wisdom"},
			{"The only way to get rid of a temptation is to yield to it.", "humor virtue"},
			{"I never travel without my diary. One should always have something sensational to read in the train.", "books humor"},
		}},
		{Name: "Ralph Waldo Emerson", Life: "1803–1882", Place: "Boston, Massachusetts", About: "Essayist and leader of the " +
			"transcendentalists.", said: []saying{
			{"A foolish consistency is the hobgoblin of little minds.", "wisdom"},
			{"To be great is to be misunderstood.", "people wisdom"},
			{"Nothing great was ever achieved without enthusiasm.", "work"},
			{"Hitch your wagon to a star.", "hope work"},
			{"Nothing can bring you peace but yourself.", "happiness wisdom"},
		}},
		{Name: "Henry David Thoreau", Life: "1817–1862", Place: "Concord, Massachusetts", About: "Naturalist, author of Walden.", said: []saying{
			{"The mass of men lead lives of quiet desperation.", "life people"},
			{"I went to the woods because I wished to live deliberately.", "life nature"},
			{"Things do not change; we change.", "time wisdom"},
			{"Time is but the stream I go a-fishing in.", "nature time"},
			{"Only that day dawns to which we are awake.", "life time"},
		}},
		{Name: "Charles Dickens", Life: "1812–1870", Place: "Portsmouth, England", About: "Novelist of Victorian London.", said: []saying{
			{"It was the best of times, it was the worst of times.", "time"},
			{"There is nothing in the world so irresistibly contagious as laughter and good humour.", "happiness humor"},
			{"No one is useless in this world who lightens the burden of it for any one else.", "kindness people"},
			{"Take nothing on its looks; take everything on evidence. There's no better rule.", "truth wisdom"},
			{"I will honour Christmas in my heart, and try to keep it all the year.", "kindness time"},
		}},
		{Name: "George Eliot", Life: "1819–1880", Place: "Nuneaton, England", About: "Pen name of Mary Ann Evans, novelist.", said: []saying{
			{"What do we live for, if it is not to make life less difficult to each other?", "kindness life"},
			{"Blessed is the man who, having nothing to say, abstains from giving us wordy evidence of the fact.", "humor wisdom"},
			{"Our deeds determine us, as much as we determine our deeds.", "virtue work"},
			{"It is a narrow mind which cannot look at a subject from various points of view.", "wisdom"},
			{"Our dead are never dead to us, until we have forgotten them.", "death love"},
		}},
		{Name: "William Shakespeare", Life: "1564–1616", Place: "Stratford-upon-Avon, England", About: "Playwright and poet.", said: []saying{
			{"All the world's a stage, and all the men and women merely players.", "life people"},
			{"Brevity is the soul of wit.", "humor wisdom"},
			{"The course of true love never did run smooth.", "love"},
			{"We are such stuff as dreams are made on, and our little life is rounded with a sleep.", "dreams life"},
			{"What's in a name? That which we call a rose by any other name would smell as sweet.", "love truth"},
			{"Cowards die many times before their deaths; the valiant never taste of death but once.", "courage death"},
		}},
		{Name: "Charlotte Brontë", Life: "1816–1855", Place: "Thornton, England", About: "Novelist, author of Jane Eyre.", said: []saying{
			{"I am no bird; and no net ensnares me: I am a free human being with an independent will.", "courage life"},
			{"Life appears to me too short to be spent in nursing animosity, or registering wrongs.", "kindness life"},
			{"I would always rather be happy than dignified.", "happiness"},
			{"Reader, I married him.", "love"},
		}},
		{Name: "Emily Brontë", Life: "1818–1848", Place: "Thornton, England", About: "Poet and author of Wuthering Heights.", said: []saying{
			{"Whatever our souls are made of, his and mine are the same.", "love"},
			{"Proud people breed sad sorrows for themselves.", "people wisdom"},
			{"No coward soul is mine, no trembler in the world's storm-troubled sphere.", "courage"},
		}},
		{Name: "Mary Shelley", Life: "1797–1851", Place: "London, England", About: "Novelist, author of Frankenstein.", said: []saying{
			{"Nothing is so painful to the human mind as a great and sudden change.", "life time"},
			{"Beware; for I am fearless, and therefore powerful.", "courage"},
			{"Invention, it must be humbly admitted, does not consist in creating out of void, but out of chaos.", "work"},
		}},
		{Name: "John Keats", Life: "1795–1821", Place: "London, England", About: "Romantic poet.", said: []saying{
			{"A thing of beauty is a joy for ever.", "beauty happiness"},
			{"Heard melodies are sweet, but those unheard are sweeter.", "beauty dreams"},
			{"Beauty is truth, truth beauty.", "beauty truth"},
		}},
		{Name: "Lord Byron", Life: "1788–1824", Place: "London, England", About: "Romantic poet.", said: []saying{
			{"There is a pleasure in the pathless woods.", "happiness nature"},
			{"She walks in beauty, like the night.", "beauty love"},
			{"Truth is always strange; stranger than fiction.", "truth"},
		}},
		{Name: "Alexander Pope", Life: "1688–1744", Place: "London, England", About: "Poet and translator of Homer.", said: []saying{
			{"To err is human, to forgive divine.", "kindness wisdom"},
			{"Hope springs eternal in the human breast.", "hope"},
			{"A little learning is a dangerous thing.", "books wisdom"},
			{"For fools rush in where angels fear to tread.", "courage wisdom"},
		}},
		{Name: "Samuel Johnson", Life: "1709–1784", Place: "Lichfield, England", About: "Critic and maker of a dictionary.", said: []saying{
			{"When a man is tired of London, he is tired of life.", "life"},
			{"No man but a blockhead ever wrote, except for money.", "books humor"},
			{"Great works are performed not by strength, but perseverance.", "work"},
			{"Knowledge is of two kinds. We know a subject ourselves, or we know where we can find information upon it.", "books wisdom"},
		}},
		{Name: "Benjamin Franklin", Life: "1706–1790", Place: "Boston, Massachusetts", About: "Printer, scientist and statesman.", said: []saying{
			{"Well done is better than well said.", "work"},
			{"Three may keep a secret, if two of them are dead.", "death humor"},
			{"Little strokes fell great oaks.", "work"},
			{"Lost time is never found again.", "time"},
		}},
		{Name: "Emily Dickinson", Life: "1830–1886", Place: "Amherst, Massachusetts", About: "Poet.", said: []saying{
			{"Hope is the thing with feathers that perches in the soul.", "hope"},
			{"There is no frigate like a book to take us lands away.", "books"},
			{"I'm nobody! Who are you?", "people"},
			{"Success is counted sweetest by those who ne'er succeed.", "work"},
		}},
		{Name: "Walt Whitman", Life: "1819–1892", Place: "West Hills, New York", About: "Poet, author of Leaves of Grass.", said: []saying{
			{"I am large, I contain multitudes.", "people"},
			{"I celebrate myself, and sing myself.", "happiness"},
			{"Resist much, obey little.", "courage"},
		}},
		{Name: "Lewis Carroll", Life: "1832–1898", Place: "Daresbury, England", About: "Mathematician, author of the Alice books.", said: []saying{
			{"Curiouser and curiouser!", "humor"},
			{"It's a poor sort of memory that only works backwards.", "humor time"},
			{"Why, sometimes I've believed as many as six impossible things before breakfast.", "dreams humor"},
			{"Begin at the beginning, and go on till you come to the end: then stop.", "wisdom work"},
			{"Everything's got a moral, if only you can find it.", "humor wisdom"},
		}},
		{Name: "Robert Louis Stevenson", Life: "1850–1894", Place: "Edinburgh, Scotland", About: "Novelist, poet and traveller.", said: []saying{
			{"To travel hopefully is a better thing than to arrive, and the true success is to labour.", "hope work"},
			{"The world is so full of a number of things, I'm sure we should all be as happy as kings.", "happiness nature"},
			{"There is no duty we so much underrate as the duty of being happy.", "happiness"},
			{"Books are good enough in their own way, but they are a mighty bloodless substitute for life.", "books life"},
		}},
		{Name: "Edgar Allan Poe", Life: "1809–1849", Place: "Boston, Massachusetts", About: "Poet and inventor of the " +
			"detective story.", said: []saying{
			{"All that we see or seem is but a dream within a dream.", "dreams"},
			{"Quoth the Raven, “Nevermore.”", "death"},
			{"Those who dream by day are cognizant of many things which escape those who dream only by night.", "dreams"},
		}},
		{Name: "Herman Melville", Life: "1819–1891", Place: "New York City", About: "Sailor and novelist, author of Moby-Dick.", said: []saying{
			{"Call me Ishmael.", "people"},
			{"It is not down in any map; true places never are.", "nature truth"},
			{"Better sleep with a sober cannibal than a drunken Christian.", "humor"},
		}},
		{Name: "Jonathan Swift", Life: "1667–1745", Place: "Dublin, Ireland", About: "Satirist, author of Gulliver's Travels.", said: []saying{
			{"Vision is the art of seeing things invisible.", "dreams wisdom"},
			{"May you live all the days of your life.", "life"},
			{"He was a bold man that first eat an oyster.", "courage humor"},
		}},
		{Name: "Francis Bacon", Life: "1561–1626", Place: "London, England", About: "Philosopher and essayist.", said: []saying{
			{"Reading maketh a full man; conference a ready man; and writing an exact man.", "books wisdom"},
			{"Hope is a good breakfast, but it is a bad supper.", "hope humor"},
			{"Some books are to be tasted, others to be swallowed, and some few to be chewed and digested.", "books"},
		}},
	}
	for _, a := range authors {
		a.Slug = slug(a.Name)
	}
	return authors
}

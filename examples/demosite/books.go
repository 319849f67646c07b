package demosite

import (
	"fmt"
	"hash/fnv"
	"slices"
)

// book is one product of the shop. Title and author are real, the price and the stock are not.
type book struct {
	Title    string
	Author   string
	Year     int // of the first edition
	Category string
	Slug     string
	UPC      string
	Pence    int
	Stock    int    // 0 = sold out
	Rating   string // One to Five, a class name as in "star-rating Three"
}

// booksPerPage is the number of product cards on each page of the shop.
const booksPerPage = 12

// vatPercent is the tax that Price includes.
const vatPercent = 20

// Price is the price with tax: "£12.99".
func (b *book) Price() string { return pounds(b.Pence) }

// NetPrice is the price without tax.
func (b *book) NetPrice() string { return pounds(b.Pence * 100 / (100 + vatPercent)) }

// Tax is the difference of the two.
func (b *book) Tax() string { return pounds(b.Pence - b.Pence*100/(100+vatPercent)) }

// Availability is the stock in words, as the product page shows it.
func (b *book) Availability() string {
	if b.Stock == 0 {
		return "Out of stock"
	}
	return fmt.Sprintf("In stock (%d available)", b.Stock)
}

func pounds(pence int) string { return fmt.Sprintf("£%d.%02d", pence/100, pence%100) }

// category is one shelf of the shop.
type category struct {
	Name  string
	Slug  string
	Books []*book
}

// categoriesOf sorts the books onto shelves, by name of the shelf.
func categoriesOf(books []*book) []*category {
	shelves := map[string]*category{}
	for _, b := range books {
		c := shelves[b.Category]
		if c == nil {
			c = &category{Name: b.Category, Slug: slug(b.Category)}
			shelves[b.Category] = c
		}
		c.Books = append(c.Books, b)
	}
	var names []string
	for name := range shelves {
		names = append(names, name)
	}
	slices.Sort(names)
	var sorted []*category
	for _, name := range names {
		sorted = append(sorted, shelves[name])
	}
	return sorted
}

// newBooks returns the table of books with everything that follows from a title filled in: a hash
// of it decides price, stock, rating and UPC, so that they are varied and always the same.
func newBooks() []*book {
	ratings := []string{"One", "Two", "Three", "Four", "Five"}
	books := []*book{
		{Title: "Pride and Prejudice", Author: "Jane Austen", Year: 1813, Category: "Novels"},
		{Title: "The Adventures of Tom Sawyer", Author: "Mark Twain", Year: 1876, Category: "Adventure"},
		{Title: "The Importance of Being Earnest", Author: "Oscar Wilde", Year: 1895, Category: "Drama"},
		{Title: "Walden", Author: "Henry David Thoreau", Year: 1854, Category: "Essays"},
		{Title: "Frankenstein", Author: "Mary Shelley", Year: 1818, Category: "Gothic"},
		{Title: "Leaves of Grass", Author: "Walt Whitman", Year: 1855, Category: "Poetry"},
		{Title: "A Tale of Two Cities", Author: "Charles Dickens", Year: 1859, Category: "Novels"},
		{Title: "Treasure Island", Author: "Robert Louis Stevenson", Year: 1883, Category: "Adventure"},
		{Title: "Hamlet", Author: "William Shakespeare", Year: 1603, Category: "Drama"},
		{Title: "On the Origin of Species", Author: "Charles Darwin", Year: 1859, Category: "Science"},
		{Title: "Middlemarch", Author: "George Eliot", Year: 1871, Category: "Novels"},
		{Title: "Alice's Adventures in Wonderland", Author: "Lewis Carroll", Year: 1865, Category: "Fantasy"},
		{Title: "Wuthering Heights", Author: "Emily Brontë", Year: 1847, Category: "Gothic"},
		{Title: "Paradise Lost", Author: "John Milton", Year: 1667, Category: "Poetry"},
		{Title: "Essays: First Series", Author: "Ralph Waldo Emerson", Year: 1841, Category: "Essays"},
		{Title: "Moby-Dick; or, The Whale", Author: "Herman Melville", Year: 1851, Category: "Adventure"},
		{Title: "Jane Eyre", Author: "Charlotte Brontë", Year: 1847, Category: "Novels"},
		{Title: "The Wealth of Nations", Author: "Adam Smith", Year: 1776, Category: "Science"},
		{Title: "Gulliver's Travels", Author: "Jonathan Swift", Year: 1726, Category: "Fantasy"},
		{Title: "A Midsummer Night's Dream", Author: "William Shakespeare", Year: 1600, Category: "Drama"},
		{Title: "The Picture of Dorian Gray", Author: "Oscar Wilde", Year: 1890, Category: "Gothic"},
		{Title: "Emma", Author: "Jane Austen", Year: 1815, Category: "Novels"},
		{Title: "Don Juan", Author: "Lord Byron", Year: 1819, Category: "Poetry"},
		{Title: "Adventures of Huckleberry Finn", Author: "Mark Twain", Year: 1884, Category: "Adventure"},
		{Title: "The Scarlet Letter", Author: "Nathaniel Hawthorne", Year: 1850, Category: "Novels"},
		{Title: "Through the Looking-Glass", Author: "Lewis Carroll", Year: 1871, Category: "Fantasy"},
		{Title: "The Raven and Other Poems", Author: "Edgar Allan Poe", Year: 1845, Category: "Poetry"},
		{Title: "A Vindication of the Rights of Woman", Author: "Mary Wollstonecraft", Year: 1792, Category: "Essays"},
		{Title: "Dracula", Author: "Bram Stoker", Year: 1897, Category: "Gothic"},
		{Title: "Great Expectations", Author: "Charles Dickens", Year: 1861, Category: "Novels"},
		{Title: "Macbeth", Author: "William Shakespeare", Year: 1623, Category: "Drama"},
		{Title: "Robinson Crusoe", Author: "Daniel Defoe", Year: 1719, Category: "Adventure"},
		{Title: "The Rape of the Lock", Author: "Alexander Pope", Year: 1712, Category: "Poetry"},
		{Title: "Sense and Sensibility", Author: "Jane Austen", Year: 1811, Category: "Novels"},
		{Title: "The Voyage of the Beagle", Author: "Charles Darwin", Year: 1839, Category: "Science"},
		{Title: "Strange Case of Dr Jekyll and Mr Hyde", Author: "Robert Louis Stevenson", Year: 1886, Category: "Gothic"},
		{Title: "Silas Marner", Author: "George Eliot", Year: 1861, Category: "Novels"},
		{Title: "The School for Scandal", Author: "Richard Brinsley Sheridan", Year: 1777, Category: "Drama"},
		{Title: "A Connecticut Yankee in King Arthur's Court", Author: "Mark Twain", Year: 1889, Category: "Fantasy"},
		{Title: "Songs of Innocence and of Experience", Author: "William Blake", Year: 1794, Category: "Poetry"},
		{Title: "Rasselas", Author: "Samuel Johnson", Year: 1759, Category: "Essays"},
		{Title: "Kidnapped", Author: "Robert Louis Stevenson", Year: 1886, Category: "Adventure"},
		{Title: "David Copperfield", Author: "Charles Dickens", Year: 1850, Category: "Novels"},
		{Title: "The Federalist", Author: "Alexander Hamilton, James Madison, John Jay", Year: 1788, Category: "Essays"},
		{Title: "A Christmas Carol", Author: "Charles Dickens", Year: 1843, Category: "Fantasy"},
		{Title: "The Chemical History of a Candle", Author: "Michael Faraday", Year: 1861, Category: "Science"},
		{Title: "Lyrical Ballads", Author: "William Wordsworth, Samuel Taylor Coleridge", Year: 1798, Category: "Poetry"},
		{Title: "She Stoops to Conquer", Author: "Oliver Goldsmith", Year: 1773, Category: "Drama"},
	}
	for _, b := range books {
		h := fnv.New64a()
		_, _ = h.Write([]byte(b.Title)) // a hash never fails to write
		n := h.Sum64()
		b.Slug = slug(b.Title)
		b.UPC = fmt.Sprintf("%016x", n)
		b.Pence = 499 + int(n%5000)
		b.Stock = int(n >> 16 % 23)
		b.Rating = ratings[n>>32%5]
	}
	return books
}

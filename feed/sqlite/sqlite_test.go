package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/spidertest"
)

func open(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// read returns the values of one column as texts.
func read(t testing.TB, path, query string) (list []string) {
	t.Helper()
	db := open(t, path)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s sql.NullString
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func run(t testing.TB, path string, statements ...string) {
	t.Helper()
	db := open(t, path)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// What a job finds after a crash is what the files were at that moment: copies of them, with the log that was not merged yet.
func TestCrashes(t *testing.T) {
	for _, key := range []bool{false, true} {
		t.Run(fmt.Sprint("key ", key), func(t *testing.T) {
			t.Parallel()
			opts := []sqlite.Option{sqlite.Table("books"), sqlite.StageBytes(500), sqlite.JobKey("books")}
			if key {
				opts = append(opts, sqlite.Upsert("sku"))
			}
			path := filepath.Join(t.TempDir(), "books.db")
			h := feedtest.Harness(func() feedtest.Feed { return sqlite.New[feedtest.Book](path, opts...) }, func(testing.TB) []string {
				return read(t, path, "SELECT sku || ' ' || title FROM books ORDER BY rowid")
			}, key)
			h.Kill = func(_ testing.TB, c tegenaria.Committer) {
				folder := t.TempDir()
				for _, file := range []string{path, path + "-wal", path + ".books.rejects.jsonl"} {
					data, err := os.ReadFile(file)
					if err != nil && !errors.Is(err, os.ErrNotExist) {
						t.Fatal(err)
					}
					if err == nil {
						write(t, filepath.Join(folder, filepath.Base(file)), string(data))
					}
				}
				feedtest.End(t, c.(feedtest.Feed))
				path = filepath.Join(folder, "books.db")
			}
			h.Rounds = deep.Rounds(40, 150)
			spidertest.TestCommitter(t, h)
		})
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

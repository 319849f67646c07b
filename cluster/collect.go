package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// Collected says what [Collect] has written.
type Collected struct {
	Items    int64
	Finished bool // the job had finished before: these are all items that it has
}

// collectPage is how many items are asked for at a time.
const collectPage = 10_000

// Collect writes the items that the workers of a job have stored by [Items] to a file, as JSON Lines: those of a worker
// in the order in which it settled their pages, and none before those of a page that was settled before its own was
// asked for, unless they lie on different servers. It may be called at any time, also while workers run, and again. The
// file takes the place of an earlier one in one step, when it has all items that were settled before the call.
func Collect(ctx context.Context, job *Job, path string) (c Collected, err error) {
	err = job.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT finished IS NOT NULL FROM job`).Scan(&c.Finished)
	})
	if err != nil {
		return Collected{}, err
	}
	file, err := createBeside(path)
	if err != nil {
		return Collected{}, fmt.Errorf("cluster: collecting the items of the job %s: %w", job.server.job, err)
	}
	out := bufio.NewWriter(file)
	c.Items, err = items(ctx, job.patiently, out)
	for _, p := range job.others {
		if err == nil {
			var there int64
			there, err = items(ctx, p.with, out)
			c.Items += there
		}
	}
	if err == nil {
		err = out.Flush()
	}
	if err = replace(file, path, err); err != nil {
		return Collected{}, fmt.Errorf("cluster: collecting the items of the job %s in %s: %w", job.server.job, path, err)
	}
	return c, nil
}

// createBeside creates a file that is to take the place of another one, with the rights that a new file has. The names
// of two calls differ.
func createBeside(path string) (*os.File, error) {
	for n := 0; ; n++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.%d%s", filepath.Base(path), os.Getpid(), n, newFileName))
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, os.ErrExist) {
			return file, err
		}
	}
}

// items writes the items of a server, and returns how many there were. What is committed meanwhile may be among them or
// not; none is written twice, because each page begins behind the last item that was written.
func items(ctx context.Context, with talk, out *bufio.Writer) (n int64, err error) {
	after, last, more := "0", int64(0), true // the transaction and the number of the newest item that was written
	for more && err == nil {
		err = with(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
			page := 0
			rows, _ := conn.Query(ctx, `SELECT tx::text, id, data FROM item WHERE (tx, id) > ($1::text::xid8, $2)
				ORDER BY item.tx, id LIMIT $3`, after, last, collectPage)
			var tx, data string
			var id int64
			_, err := pgx.ForEachRow(rows, []any{&tx, &id, &data}, func() error {
				after, last = tx, id
				n++
				page++
				_, err := out.WriteString(data)
				return errors.Join(err, out.WriteByte('\n'))
			})
			more = page == collectPage
			return err
		})
	}
	return n, err
}

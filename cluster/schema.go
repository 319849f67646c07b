package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria/internal/pgretry"
)

// schemaVersion is that of the tables. A job of another version is refused.
const schemaVersion = 6

// tables are those of a job, in a schema of its name. Keys, names of slots and data are bytes; there are no foreign
// keys. queue, due and inbox live by deletes: they are vacuumed when a small part of them is dead.
const tables = `
CREATE TABLE job (
	version int NOT NULL, partitions int NOT NULL, servers int NOT NULL, server int NOT NULL, sessions bigint NOT NULL,
	spider text, key_version int, started boolean NOT NULL DEFAULT false, finished text, stopped text, suffixes text,
		paused boolean NOT NULL DEFAULT false, over bigint, reached boolean NOT NULL DEFAULT false,
		made timestamptz NOT NULL DEFAULT now());
CREATE TABLE worker (
	name text PRIMARY KEY, session bigint NOT NULL, batch bigint NOT NULL, expired boolean NOT NULL,
		began timestamptz NOT NULL, reserved_pages bigint NOT NULL DEFAULT 0,
		holds_pages boolean NOT NULL DEFAULT false, drained boolean NOT NULL DEFAULT false,
	queued bigint NOT NULL DEFAULT 0, delayed bigint NOT NULL DEFAULT 0, messages bigint NOT NULL DEFAULT 0) WITH (fillfactor = 20);
CREATE TABLE heartbeat (session bigint PRIMARY KEY, number bigint NOT NULL, ttl bigint NOT NULL, lock int NOT NULL,
	at timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 20);
CREATE TABLE partition (number int PRIMARY KEY, owner bigint, wanted bigint);
CREATE TABLE slot (
	id bigint PRIMARY KEY, partition int NOT NULL, name bytea NOT NULL,
	next_allowed timestamptz, delay bigint NOT NULL, penalty bigint NOT NULL, throttle bigint NOT NULL,
		pages bigint NOT NULL) WITH (fillfactor = 70);
CREATE INDEX ON slot (partition);
CREATE TABLE request (key bytea PRIMARY KEY, seq bigint NOT NULL, depth int NOT NULL);
CREATE TABLE queue (
	slot bigint, rank bigint, place bigint, seq bigint NOT NULL, key bytea NOT NULL, attempt int NOT NULL,
		parent bigint NOT NULL, data bytea NOT NULL,
	PRIMARY KEY (slot, rank, place)) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
		autovacuum_vacuum_cost_delay = 0);
CREATE TABLE due (
	at timestamptz, place bigint, partition int NOT NULL, slot bigint NOT NULL, priority bigint NOT NULL,
		seq bigint NOT NULL, key bytea NOT NULL, attempt int NOT NULL,
	parent bigint NOT NULL, data bytea NOT NULL,
	PRIMARY KEY (at, place)) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
		autovacuum_vacuum_cost_delay = 0);
CREATE TABLE inbox (
	partition int, id bigint GENERATED ALWAYS AS IDENTITY, slot bytea NOT NULL, key bytea NOT NULL,
		priority bigint NOT NULL, depth int NOT NULL,
	attempt int NOT NULL, not_before timestamptz, parent bigint NOT NULL, data bytea NOT NULL,
	PRIMARY KEY (partition, id)) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
		autovacuum_vacuum_cost_delay = 0);
CREATE TABLE outbox (LIKE inbox INCLUDING DEFAULTS, server int NOT NULL,
	PRIMARY KEY (server, id)) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
	autovacuum_vacuum_cost_delay = 0);
ALTER TABLE outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY;
CREATE TABLE peer (server int PRIMARY KEY, sent bigint NOT NULL DEFAULT 0, ids bigint[] NOT NULL DEFAULT '{}',
	received bigint NOT NULL DEFAULT 0, messages bigint NOT NULL DEFAULT 0, open bigint NOT NULL DEFAULT 0, workers int NOT NULL DEFAULT 0);
CREATE TABLE worker_server (worker text PRIMARY KEY, server int NOT NULL, previous int, moved timestamptz);
CREATE TABLE host_lease (id bigint PRIMARY KEY, partition int NOT NULL, slot bytea NOT NULL, session bigint NOT NULL,
	at_most bigint NOT NULL, owner bigint NOT NULL DEFAULT 0, until timestamptz);
CREATE TABLE outcome (
	seq bigint PRIMARY KEY, key bytea NOT NULL, parent bigint NOT NULL, depth int NOT NULL, attempt int NOT NULL,
	outcome text NOT NULL, reason text NOT NULL, status int NOT NULL, at timestamptz NOT NULL, url text NOT NULL);
CREATE TABLE crash (key bytea, death bigint, PRIMARY KEY (key, death));
CREATE TABLE dead_letter (seq bigint PRIMARY KEY, slot bytea NOT NULL, priority bigint NOT NULL, data bytea NOT NULL);
CREATE TABLE item (tx xid8 DEFAULT pg_current_xact_id(), id bigint GENERATED ALWAYS AS IDENTITY, worker text NOT NULL,
	data text NOT NULL, PRIMARY KEY (tx, id));
CREATE TABLE checkpoint (worker text, name bytea, value bytea NOT NULL, PRIMARY KEY (worker, name)) WITH (fillfactor = 50);
CREATE TABLE counter (worker text, name text, value bigint NOT NULL, PRIMARY KEY (worker, name)) WITH (fillfactor = 50);
`

// check refuses servers that are too old, or that lose what they say they keep.
func (s *server) check(ctx context.Context) error {
	var version, fsync string
	if err := s.conn.QueryRow(ctx, `SELECT current_setting('server_version_num'),
		current_setting('fsync')`).Scan(&version, &fsync); err != nil {
		return err
	}
	return checkServer(version, fsync)
}

func checkServer(version, fsync string) error {
	if number, err := strconv.Atoi(version); err != nil || number < oldestServer {
		return &ServerError{What: "version", Value: version}
	}
	if fsync != "on" {
		return &ServerError{What: "fsync", Value: fsync}
	}
	return nil
}

// errTaken says that the schema is somebody else's.
var errTaken = errors.New("its schema exists, and holds something else: choose another name for the job")

// errFewPartitions says that a server would have no partition.
var errFewPartitions = errors.New("it has fewer partitions than servers: set a larger Options.Partitions")

// madeBefore as a number of partitions says that the job is not made if there is none.
const madeBefore = -1

// find finds the tables of the job, or makes them; partitions is how many there are to be, 0: as many as there are. It
// returns how many there are.
func (s *server) find(ctx context.Context, partitions int) (found int, err error) {
	err = pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		// One worker makes them, however many begin at once.
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('tegenaria tables ' || $1, 0))`, unprepared, s.job)
		if err == nil {
			found, err = s.findAlone(ctx, partitions)
		}
		return err
	})
	return found, err
}

func (s *server) findAlone(ctx context.Context, partitions int) (int, error) {
	var exists, made, others bool
	err := s.conn.QueryRow(ctx, `
		SELECT to_regnamespace(quote_ident($1)) IS NOT NULL, to_regclass(quote_ident($1) || '.job') IS NOT NULL,
			EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1)))`, s.job).Scan(&exists, &made, &others)
	switch {
	case err != nil:
		return 0, err
	case !made && others:
		return 0, errTaken
	case !made && partitions == madeBefore:
		return 0, &MissingError{Job: s.job}
	case !made:
		return s.make(ctx, exists, partitions)
	}
	var version, stored int
	if err := s.conn.QueryRow(ctx, `SELECT version FROM job`).Scan(&version); pgretry.IsCode(err, "42703", "42P01") || errors.Is(err, pgx.ErrNoRows) {
		return 0, errTaken
	} else if err != nil {
		return 0, err
	}
	if version != schemaVersion {
		return 0, &MismatchError{Job: s.job, What: "schema version", Stored: fmt.Sprint(version), Asked: fmt.Sprint(schemaVersion)}
	}
	at := s.location
	if err := s.conn.QueryRow(ctx, `SELECT partitions, servers, server FROM job`).Scan(&stored, &at.servers, &at.ownServer); err != nil {
		return 0, err
	}
	switch {
	case at.servers != s.servers:
		return 0, &MismatchError{Job: s.job, What: "number of servers", Stored: fmt.Sprint(at.servers), Asked: fmt.Sprint(s.servers)}
	case at.ownServer != s.ownServer:
		return 0, &MismatchError{Job: s.job, What: "place of the server among them", Stored: fmt.Sprint(at.ownServer + 1), Asked: fmt.Sprint(s.ownServer + 1)}
	case partitions > 0 && partitions != stored:
		return 0, &MismatchError{Job: s.job, What: "number of partitions", Stored: fmt.Sprint(stored), Asked: fmt.Sprint(partitions)}
	}
	return stored, nil
}

// make makes the tables.
func (s *server) make(ctx context.Context, exists bool, partitions int) (int, error) {
	if partitions == 0 {
		partitions = defaultPartitions
	}
	schema := ""
	if !exists {
		schema = "CREATE SCHEMA " + pgx.Identifier{s.job}.Sanitize() + ";"
	}
	if partitions < s.servers {
		return 0, errFewPartitions
	}
	at := location{ownServer: s.ownServer, servers: s.servers, partitions: partitions}
	// Statements that are sent together are one transaction.
	_, err := s.conn.PgConn().Exec(ctx, fmt.Sprintf("%s%s INSERT INTO job (version, partitions, servers, server, "+
		"sessions) VALUES (%d, %d, %d, %d, %[6]d); "+
		"INSERT INTO partition SELECT generate_series(0, %[7]d); INSERT INTO peer (server) SELECT n FROM generate_series(0, "+
		"%[8]d) AS n WHERE n <> %[6]d",
		schema, tables, schemaVersion, partitions, s.servers, s.ownServer, at.partitionsHere()-1, s.servers-1)).ReadAll()
	return partitions, err
}

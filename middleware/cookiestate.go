package middleware

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"strconv"
	"time"
)

// Where a job is durable, the engine keeps the jars with it: it calls the methods of this file; no program needs to.

// StateKey names the state of the jars in a durable job.
func (m *Cookies) StateKey() string { return "middleware.cookies" }

// RestoreState fills the jars with what a durable job has stored. Jars that were filled before keep what is not in it.
func (m *Cookies) RestoreState(state map[string][]byte) error {
	now := time.Now()
	for _, stored := range state {
		if len(stored) == 0 {
			continue
		}
		var jars map[string][]Cookie
		if err := gob.NewDecoder(bytes.NewReader(stored)).Decode(&jars); err != nil {
			return fmt.Errorf("middleware: the stored cookies cannot be read: %w", err)
		}
		for name, cookies := range jars {
			j, err := m.jar(name, true)
			if err != nil {
				return err
			}
			for _, c := range cookies {
				j.Set(c, true, now)
			}
			m.changes.Add(1)
		}
	}
	return nil
}

// ChangedState returns what of the jars has changed since a version of them, and their version now. Version 0 is that of new ones.
func (m *Cookies) ChangedState(since uint64) (state map[string][]byte, version uint64, err error) {
	parts, version := m.store.Changed(since)
	state = make(map[string][]byte, len(parts))
	for n, jars := range parts {
		var b bytes.Buffer
		if len(jars) > 0 {
			if err := gob.NewEncoder(&b).Encode(jars); err != nil { // gob keeps each byte of a value, as JSON does not
				return nil, since, fmt.Errorf("middleware: the cookies cannot be stored: %w", err)
			}
		}
		state[strconv.Itoa(n)] = b.Bytes()
	}
	return state, version, nil
}

// DurableCookies is another name of [Cookies], which are durable wherever the job is.
type DurableCookies = Cookies

// NewDurableCookies is another name of [NewCookies].
func NewDurableCookies(o CookieOptions) *DurableCookies { return NewCookies(o) }

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// ctlTime is how long the command ctl waits for an answer.
const ctlTime = 30 * time.Second

// actions are what the command ctl does, by name.
var actions = []struct {
	name, args, help string
	do               func(ctx context.Context, r *remote, args []string) (done string, err error)
}{
	{"pause", "", "no download starts any more; those that have begun come to their end", post("pause")},
	{"resume", "", "ends a pause", post("resume")},
	{"stop", "", "stops the crawl as Ctrl-C does: a job keeps what is left", post("stop")},
	{"set", "concurrency N|reset", "changes how many downloads run at once", setRemote},
	{"host", "NAME delay|jitter|per_slot|max_pages VALUE", "changes one value of a host, and leaves the others", changeHost},
	{"add", "URL...", "adds requests, for the parser that --parser names", addRemote},
	{"explain", "URL", "says what became of a URL, why it waits, and how it was found", explainRemote},
	{"slow", "", "says where the time of the downloads goes", slowRemote},
	{"changes", "", "lists what is in force in place of the settings: a job keeps it for its next runs", changesRemote},
	{"view", "", "prints an address with which the crawl can be watched, and not changed", viewAddress},
	{"host", "NAME forgive", "ends the penalty of a host for its answers with status 429 and 503", nil},
	{"host", "NAME reset", "gives a host the values of the settings again", nil},
}

func (c *call) ctlCommand() *cobra.Command {
	var list strings.Builder
	for _, a := range actions {
		fmt.Fprintf(&list, "  %-52s %s\n", strings.TrimSpace(a.name+" "+a.args), a.help)
	}
	var parser string
	cmd := &cobra.Command{
		Use: "ctl ADDRESS ACTION...", Short: "change a crawl while it runs",
		Long: "Changes a crawl that runs with --listen. ADDRESS is what that crawl has printed. The command ends with 0 " +
			"when the crawl has confirmed, and otherwise says why it did not. The actions are\n\n" +
			strings.TrimSuffix(list.String(), "\n"),
		Example: "  " + c.name + " ctl 'http://127.0.0.1:8080/?token=…' pause\n" +
			"  " + c.name + " ctl 'http://127.0.0.1:8080/?token=…' host shop.example delay 2s",
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("ctl needs the address that the crawl has printed, and an action; %s ctl -h lists them", c.name)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := newRemote(args[0])
			if err != nil {
				return err
			}
			r.parser = parser
			for _, a := range actions {
				if a.name == args[1] {
					if parser != "" && a.name != "add" {
						return usagef("--parser is for the action add")
					}
					done, err := a.do(cmd.Context(), r, args[2:])
					if done != "" {
						fmt.Fprintln(c.out, printable(done))
					}
					return err
				}
			}
			var names []string
			for _, a := range actions {
				names = append(names, a.name)
			}
			return usagef("ctl has no action %q%s; %s ctl -h lists them", args[1], meant(args[1], names), c.name)
		},
	}
	cmd.Flags().StringVar(&parser, "parser", "", "`NAME` of the parser of requests that are added (default: the spider's own)")
	return cmd
}

// post makes an action without arguments.
func post(name string) func(ctx context.Context, r *remote, args []string) (string, error) {
	return func(ctx context.Context, r *remote, args []string) (string, error) {
		if len(args) > 0 {
			return "", usagef("%s takes no arguments, and was given %q", name, args)
		}
		return r.change(ctx, http.MethodPost, "/api/v1/"+name, nil)
	}
}

// viewAddress returns the address with the token to view.
func viewAddress(ctx context.Context, r *remote, args []string) (string, error) {
	if len(args) > 0 {
		return "", usagef("view takes no arguments, and was given %q", args)
	}
	token, err := r.change(ctx, http.MethodGet, "/api/v1/view-token", nil)
	if err != nil {
		return "", err
	}
	return r.printed + "?token=" + token, nil
}

// slowRemote returns where the time of the downloads goes.
func slowRemote(ctx context.Context, r *remote, args []string) (string, error) {
	if len(args) > 0 {
		return "", usagef("slow takes no arguments, and was given %q", args)
	}
	var run dashboard.Run
	if err := r.ask(ctx, http.MethodGet, "/api/v1/run", nil, &run); err != nil {
		return "", err
	}
	p := &run.Places
	if len(p.Causes) == 0 {
		return "no time has passed yet", nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", p.Sentence)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, t := range p.Causes {
		cause := string(t.Cause)
		if t.Delay != "" {
			cause += " (" + t.Delay + ")"
		}
		fmt.Fprintf(table, "%5.1f %%\t%s\t%s\n", 100*t.Share, cause, t.Of)
	}
	table.Flush()
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// changesRemote returns what is in force in place of the settings.
func changesRemote(ctx context.Context, r *remote, args []string) (string, error) {
	if len(args) > 0 {
		return "", usagef("changes takes no arguments, and was given %q", args)
	}
	var settings dashboard.Settings
	if err := r.ask(ctx, http.MethodGet, "/api/v1/settings", nil, &settings); err != nil {
		return "", err
	}
	var lines []string
	changed := &settings.Changed
	if n := changed.Concurrency; n > 0 {
		lines = append(lines, fmt.Sprintf("concurrency %d", n))
	}
	for _, h := range changed.Hosts {
		lines = append(lines, fmt.Sprintf("host %s: delay %s, jitter %g, per_slot %d, max_pages %d",
			h.Name, h.Delay, h.Jitter, h.PerSlot, h.MaxPages))
	}
	if n := changed.MoreHosts; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more hosts", n))
	}
	if len(lines) == 0 {
		return "nothing was changed", nil
	}
	return strings.Join(lines, "\n"), nil
}

// explainRemote returns what became of a URL.
func explainRemote(ctx context.Context, r *remote, args []string) (string, error) {
	if len(args) != 1 {
		return "", usagef("explain is written as: explain URL")
	}
	var explained dashboard.Explained
	err := r.ask(ctx, http.MethodGet, "/api/v1/url?u="+url.QueryEscape(args[0]), nil, &explained)
	return strings.Join(explained.Text, "\n"), err
}

// addRemote adds requests. What has become of each is said, and it is an error if one was refused.
func addRemote(ctx context.Context, r *remote, args []string) (string, error) {
	if len(args) == 0 {
		return "", usagef("add is written as: add URL...")
	}
	var list []dashboard.Added
	if err := r.ask(ctx, http.MethodPost, "/api/v1/requests", dashboard.Addition{URLs: args, Parser: r.parser}, &list); err != nil {
		return "", err
	}
	var lines []string
	refused := 0
	for _, a := range list {
		switch {
		case a.Error != "":
			lines = append(lines, a.URL+": "+a.Error)
			refused++
		case a.New:
			lines = append(lines, a.URL+": new")
		default:
			lines = append(lines, a.URL+": known")
		}
	}
	if refused > 0 {
		return strings.Join(lines, "\n"), fmt.Errorf("%d of %d requests were not added", refused, len(list))
	}
	return strings.Join(lines, "\n"), nil
}

func setRemote(ctx context.Context, r *remote, args []string) (string, error) {
	if len(args) != 2 || args[0] != "concurrency" {
		return "", usagef("set is written as: set concurrency N, or set concurrency reset")
	}
	if args[1] == "reset" {
		return r.change(ctx, http.MethodDelete, "/api/v1/settings/concurrency", nil)
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return "", usagef("set concurrency: %q is no number", args[1])
	}
	return r.change(ctx, http.MethodPatch, "/api/v1/settings", dashboard.SettingsChange{Concurrency: &n})
}

func changeHost(ctx context.Context, r *remote, args []string) (string, error) {
	if len(args) == 2 && args[1] == "reset" {
		return r.change(ctx, http.MethodDelete, "/api/v1/hosts/"+url.PathEscape(args[0]), nil)
	}
	if len(args) == 2 && args[1] == "forgive" {
		return r.change(ctx, http.MethodPost, "/api/v1/hosts/"+url.PathEscape(args[0])+"/forgive", nil)
	}
	if len(args) != 3 {
		return "", usagef("host is written as: host NAME delay 2s, host NAME forgive, or host NAME reset")
	}
	var change dashboard.HostChange
	number := func(to **int) error {
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return usagef("host: %s %q is no number", args[1], args[2])
		}
		*to = &n
		return nil
	}
	var err error
	switch args[1] {
	case "delay":
		change.Delay = &args[2]
	case "per_slot":
		err = number(&change.PerSlot)
	case "max_pages":
		err = number(&change.MaxPages)
	case "jitter":
		jitter, parseErr := strconv.ParseFloat(args[2], 64)
		if parseErr != nil {
			err = usagef("host: jitter %q is no number", args[2])
		}
		change.Jitter = &jitter
	default:
		err = usagef("host has no value %q; it is one of delay, jitter, per_slot and max_pages", args[1])
	}
	if err != nil {
		return "", err
	}
	return r.change(ctx, http.MethodPatch, "/api/v1/hosts/"+url.PathEscape(args[0]), change)
}

// remote is a crawl with --listen.
type remote struct {
	base, token string
	client      *http.Client
	printed     string // the address without its token
	parser      string // of the flag --parser
}

// newRemote reads the address that a crawl has printed.
func newRemote(address string) (*remote, error) {
	printed, _, _ := strings.Cut(address, "?")
	r := &remote{client: &http.Client{Timeout: ctlTime}, printed: printed}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		path, query, _ := strings.Cut(path, "?")
		values, _ := url.ParseQuery(query)
		r.base, r.token = "http://localhost", values.Get("token")
		r.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}
	} else {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, usagef("%q is no address of a crawl: copy the line that crawl --listen has printed, such as "+
				"http://127.0.0.1:8080/?token=…", urlx.Redact(address))
		}
		r.base, r.token = u.Scheme+"://"+u.Host, u.Query().Get("token")
		r.client.Transport = &http.Transport{} // no proxy knows the crawl
	}
	if r.token == "" {
		return nil, usagef("the address has no token: copy the whole line that crawl --listen has printed, in quotes")
	}
	return r, nil
}

// goneError is the failure to reach a crawl.
type goneError struct{ err error }

func (e *goneError) Error() string {
	return "the crawl does not answer: " + e.err.Error() + "; it may be over"
}

func (e *goneError) Unwrap() error { return e.err }

// change asks for a change, and returns what was done.
func (r *remote) change(ctx context.Context, method, path string, body any) (string, error) {
	var done dashboard.Done
	err := r.ask(ctx, method, path, body, &done)
	return done.Done, err
}

// ask sends a request to the API, and reads the answer.
func (r *remote) ask(ctx context.Context, method, path string, body, to any) error {
	var text []byte
	var err error
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp, err := r.client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address, which was given
		}
		return &goneError{err}
	}
	defer resp.Body.Close()
	answer := json.NewDecoder(io.LimitReader(resp.Body, 64<<20))
	if resp.StatusCode != http.StatusOK {
		var refusal dashboard.Refusal
		if err := answer.Decode(&refusal); err != nil || refusal.Error == "" {
			return fmt.Errorf("this is no crawl with --listen: %s", resp.Status)
		}
		return errors.New(strings.TrimPrefix(refusal.Error, "tegenaria: "))
	}
	if err := answer.Decode(to); err != nil {
		return fmt.Errorf("this is no crawl with --listen: %w", err)
	}
	return nil
}

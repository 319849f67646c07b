// Package live is the part of the command that shows a crawl while it runs, and lets its user change it: crawl --listen ADDRESS.
//
//	app := cli.New(spider)
//	app.With(live.Part())
//	app.Main()
//
// The commands ctl and top of package cli work with what it serves; see package dashboard. At /metrics are the metrics of package
// telemetry, for Prometheus.
package live

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/net/netutil"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/telemetry"
)

const (
	maxConnections = 256              // at once
	headerTime     = 10 * time.Second // for the header of a request
	idleTime       = 2 * time.Minute  // of a connection
	endTime        = 5 * time.Second  // for requests in hand when the crawl is over
	shownHosts     = 50               // that have metrics of their own
)

// Part returns the part.
func Part() cli.Part { return &part{} }

type part struct {
	address, tokenFile, tls string
	insecure                bool
}

// Flags is part of cli.Part.
func (p *part) Flags(flags *pflag.FlagSet) {
	*p = part{}
	flags.StringVar(&p.address, "listen", "",
		"`ADDRESS` at which the crawl can be watched and changed while it runs: 127.0.0.1:0 takes a free port, unix:PATH a "+
			"socket; see the command ctl")
	flags.StringVar(&p.tokenFile, "listen-token", "", "`FILE` with the token of --listen, made if it is not there")
	flags.StringVar(&p.tls, "listen-tls", "", "`CERT,KEY`, two files in PEM, for an ADDRESS that other machines reach")
	flags.BoolVar(&p.insecure, "listen-insecure", false, "other machines may reach the ADDRESS without TLS, in a container for example")
}

// Commands is part of cli.Part.
func (*part) Commands() []*cobra.Command { return nil }

// Start is part of cli.Part: it listens, and prints the address.
func (p *part) Start(ctx context.Context, run *cli.Run) (stop func(context.Context) error, err error) {
	if p.address == "" {
		if p.tokenFile != "" || p.tls != "" {
			return nil, cli.Usage(errors.New("--listen-token and --listen-tls need --listen ADDRESS"))
		}
		return nil, nil
	}
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	listener, address, err := p.listen(ctx)
	if err != nil {
		return nil, err
	}
	logger := run.Logger()
	options := dashboard.Options{
		Token: token, Metrics: metricsOf(run.Engine()), Logger: logger, Secret: run.IsSecret, Runs: run.PastRuns, Changed: func(what string) { logger.WithField("by", "--listen").Info(what) },
	}
	if run.Job() != "" {
		options.Explain = run.Explain
	}
	board := dashboard.New(run.Engine(), options)
	server := &http.Server{
		Handler: board, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // of what readers do wrong
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(netutil.LimitListener(listener, maxConnections)) })       // ends by stop
	run.Add(tegenaria.EngineWithEvents(tegenaria.Events{Started: func(tegenaria.SpiderInterface) { // when it obeys, and before its first request
		logger.Info("--listen: open the next line in a browser, or give it to ctl and top; it works until the crawl ends")
		fmt.Fprintf(run.Stderr(), "%s?token=%s\n", address, board.ControlToken())
	}}))
	return func(ctx context.Context) error {
		board.Close()
		ctx, cancel := context.WithTimeout(ctx, endTime)
		defer cancel()
		if server.Shutdown(ctx) != nil { // a reader holds it up
			_ = server.Close()
		}
		serving.Wait()
		return nil
	}, nil
}

// metricsOf returns the handler of /metrics: the numbers of the engine, of Go's runtime, and of this process.
func metricsOf(engine *tegenaria.SpiderEngine) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(telemetry.NewMetrics(engine, telemetry.Options{Hosts: shownHosts}),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// listen listens, and returns the address as it is printed, without the token.
func (p *part) listen(ctx context.Context) (listener net.Listener, address string, err error) {
	if path, ok := strings.CutPrefix(p.address, "unix:"); ok {
		return listenUnix(ctx, path)
	}
	host, _, err := net.SplitHostPort(p.address)
	if err != nil {
		return nil, "", cli.Usage(fmt.Errorf("--listen %q: %w; write HOST:PORT, such as 127.0.0.1:0, or unix:PATH", p.address, err))
	}
	scheme, config := "http", (*tls.Config)(nil)
	switch {
	case p.tls != "":
		cert, key, _ := strings.Cut(p.tls, ",")
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, "", cli.Usage(fmt.Errorf("--listen-tls: %w; name two files in PEM: CERT,KEY", err))
		}
		scheme, config = "https", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	case !isLoopback(host) && !p.insecure:
		return nil, "", cli.Usage(fmt.Errorf("--listen %s: other machines may reach this address: give --listen-tls "+
			"CERT,KEY, or --listen-insecure where a container or a proxy guards it", p.address))
	}
	var plain net.ListenConfig
	if listener, err = plain.Listen(ctx, "tcp", p.address); err != nil {
		return nil, "", fmt.Errorf("--listen: %w", err)
	}
	at := listener.Addr().(*net.TCPAddr)
	shown := at.String()
	if at.IP.IsUnspecified() { // it listens at all addresses of this machine
		shown = net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port))
	}
	address = scheme + "://" + shown + "/"
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	return listener, address, nil
}

// listenUnix listens at a socket that this user alone can use. One that a killed program has left behind is replaced.
func listenUnix(ctx context.Context, path string) (net.Listener, string, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			return nil, "", fmt.Errorf("--listen: another program listens at %s", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, "", fmt.Errorf("--listen: %w", err)
		}
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", path)
	if err == nil {
		if err = os.Chmod(path, 0o600); err != nil {
			err = errors.Join(err, listener.Close())
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("--listen: %w", err)
	}
	return listener, "unix:" + path, nil
}

// isLoopback reports whether a host of an address is this machine's alone.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// token reads the token from its file, or makes one and keeps it there; "" if there is no file.
func (p *part) token() (string, error) {
	if p.tokenFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(p.tokenFile)
	if errors.Is(err, fs.ErrNotExist) {
		token := dashboard.NewToken()
		file, err := os.OpenFile(p.tokenFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = io.WriteString(file, token+"\n")
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return "", fmt.Errorf("--listen-token: %w", err)
		}
		return token, nil
	}
	if err != nil {
		return "", fmt.Errorf("--listen-token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken || strings.Trim(token, tokenLetters) != "" {
		return "", cli.Usage(fmt.Errorf("--listen-token: %s holds no token: it has at least %d letters, digits, - and _; "+
			"remove the file, and one is made", p.tokenFile, minToken))
	}
	return token, nil
}

const (
	minToken     = 32
	tokenLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"time"
)

// tlsKind names an address of the server by what is wrong with its TLS.
type tlsKind int

const (
	plainTCP tlsKind = iota
	goodTLS
	expiredTLS
	earlyTLS
	otherHostTLS
	selfSignedTLS
	oldTLS10
	oldTLS11
	endlessTLS
	notTLS
)

// tlsConfigs returns the configuration of each address, and the authority that signs the certificates.
func tlsConfigs() (configs []*tls.Config, roots *x509.CertPool, err error) {
	now := time.Now()
	from, to := now.Add(-time.Hour), now.Add(time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of package hostile"}, NotBefore: now.Add(-48 * time.Hour),
		NotAfter: now.Add(48 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	if authority, err = x509.ParseCertificate(der); err != nil {
		return nil, nil, err
	}
	roots = x509.NewCertPool()
	roots.AddCert(authority)

	here := []net.IP{net.IPv4(127, 0, 0, 1)}
	issue := func(from, to time.Time, at []net.IP, names []string, signer *x509.Certificate) tls.Certificate {
		leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "hostile"}, NotBefore: from, NotAfter: to,
			IPAddresses: at, DNSNames: names, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		if signer == nil {
			signer = leaf
		}
		der, failed := x509.CreateCertificate(rand.Reader, leaf, signer, key.Public(), key)
		if failed != nil {
			err = failed
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	}
	good := issue(from, to, here, nil, authority)
	configs = []*tls.Config{
		goodTLS:       {Certificates: []tls.Certificate{good}},
		expiredTLS:    {Certificates: []tls.Certificate{issue(now.Add(-24*time.Hour), from, here, nil, authority)}},
		earlyTLS:      {Certificates: []tls.Certificate{issue(to, now.Add(24*time.Hour), here, nil, authority)}},
		otherHostTLS:  {Certificates: []tls.Certificate{issue(from, to, nil, []string{"other.example"}, authority)}},
		selfSignedTLS: {Certificates: []tls.Certificate{issue(from, to, here, nil, nil)}},
		oldTLS10:      {Certificates: []tls.Certificate{good}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10},
		oldTLS11:      {Certificates: []tls.Certificate{good}, MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11},
		endlessTLS:    nil,
		notTLS:        nil,
	}
	return configs, roots, err
}

// handshakeForEver begins a ServerHello and sends it a byte at a time, each in a record of its own.
func handshakeForEver(c *connection) {
	const record = "\x16\x03\x03\x00\x01"
	if !c.hear() || !c.send(record, "\x02", record, "\x00", record, "\xff", record, "\xff") {
		return
	}
	c.drip(100*time.Millisecond, record+"\x00")
}

// refuseTLS answers a ClientHello in plain HTTP, as web servers do.
func refuseTLS(c *connection) {
	if c.hear() {
		c.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	}
}

// hear takes the client's first words.
func (c *connection) hear() bool {
	if _, err := c.in.Peek(1); err != nil {
		return false
	}
	_, err := c.in.Discard(c.in.Buffered())
	return err == nil
}

func handshakeCases() []Case {
	bad := func(name, sends string, at tlsKind) Case {
		return Case{Name: name, Sends: sends, May: Error, at: at, script: func(c *connection) bool { c.good("GET"); return true }}
	}
	endless := bad("tls-endless-handshake", "a ServerHello of 64 KiB, a byte in 100 ms", endlessTLS)
	endless.Stalls = true
	return []Case{
		bad("tls-expired", "a certificate that expired an hour ago", expiredTLS),
		bad("tls-not-yet-valid", "a certificate that is valid from an hour hence", earlyTLS),
		bad("tls-wrong-host", "a certificate for other.example", otherHostTLS),
		bad("tls-self-signed", "a certificate that nobody has signed", selfSignedTLS),
		bad("tls-1.0", "TLS 1.0 and nothing newer", oldTLS10),
		bad("tls-1.1", "TLS 1.1 and nothing newer", oldTLS11),
		bad("tls-plain", "plain HTTP where TLS is spoken", notTLS),
		endless,
	}
}

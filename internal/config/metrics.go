package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Metrics is the listener for /metrics, and for the probes of the kubelet.
type Metrics struct {
	Address     string // host:port, or "" when switched off
	Certificate string // file; "": plain HTTP
	PrivateKey  string // file; "": it is in Certificate
	TokenFile   string // a bearer token; "": whoever reaches the listener may ask
	Page        bool   // other hosts are shown the page and the status, too
	// KeepalivedNames adds the metrics that keepalived's exporters have, under their names.
	KeepalivedNames bool
}

// metricsExample is the default of metrics.address.
const metricsExample = "127.0.0.1:9645"

func metricsOptions() []Option {
	return []Option{
		option("metrics.address", "metrics", metricsExample, restart, one(listener(metricsExample), func(t target) *string { return &t.config.Metrics.Address }),
			"The listener for /metrics, /livez and /readyz, and for a page to look at, with /status. With an address of the node, or 0.0.0.0:9645 for all of them, other hosts can read /metrics and nothing else, "+
				"and nobody at a virtual address; the loopback interface still serves all of them").short(),
		option("metrics.certificate", "metrics-certificate", "", restart, one(path(maxPath), func(t target) *string { return &t.config.Metrics.Certificate }),
			"File with the certificate, in PEM, that other hosts are shown; without it they are answered in plain HTTP. Read again when it changes"),
		option("metrics.privateKey", "metrics-private-key", "", restart, one(path(maxPath), func(t target) *string { return &t.config.Metrics.PrivateKey }),
			"File with the private key of that certificate, in PEM; without it the key is in the certificate's file"),
		option("metrics.tokenFile", "metrics-token-file", "", restart, one(path(maxPath), func(t target) *string { return &t.config.Metrics.TokenFile }),
			"File with the bearer token that other hosts have to show, readable by its owner alone. Read again when it changes"),
		option("metrics.page", "metrics-page", "false", restart, one(boolean(), func(t target) *bool { return &t.config.Metrics.Page }),
			"Show other hosts the page at /, /status and /history as well, as they are shown /metrics. This host is shown them in any case"),
		option("metrics.keepalivedNames", "metrics-keepalived-names", "false", restart, one(boolean(), func(t target) *bool { return &t.config.Metrics.KeepalivedNames }),
			"Serve the metrics of keepalived's exporters as well, such as keepalived_vrrp_state, for dashboards that have them"),
	}
}

// exposed tells that other hosts may reach the listener.
func (m Metrics) exposed() bool {
	if m.Address == "" {
		return false
	}
	host, _, _ := net.SplitHostPort(m.Address)
	a, err := netip.ParseAddr(host)
	return host != "localhost" && (err != nil || !a.IsLoopback())
}

// Local is where this host reaches the listener, "" without one.
func (m Metrics) Local() string {
	if !m.exposed() {
		return m.Address
	}
	_, port, _ := net.SplitHostPort(m.Address)
	return net.JoinHostPort("127.0.0.1", port)
}

// ExposedPort is the port at which other hosts reach the listener, 0 if they do not.
func (m Metrics) ExposedPort() int {
	if !m.exposed() {
		return 0
	}
	_, port, _ := net.SplitHostPort(m.Address)
	n, _ := strconv.Atoi(port) // the table has seen to that it is a number
	return n
}

// checkMetrics refuses what does not fit together.
func (k *validator) checkMetrics() {
	m := k.Metrics
	if v := k.virtualHost(m.Address); v != "" {
		k.bad("metrics.address", "%s is a virtual address, which comes and goes, want one of the node's own, or 0.0.0.0 for all of these", v)
	}
	page := ""
	if m.Page {
		page = "true"
	}
	for _, set := range [][2]string{{"metrics.page", page}, {"metrics.certificate", m.Certificate}, {"metrics.privateKey", m.PrivateKey}, {"metrics.tokenFile", m.TokenFile}} {
		if set[1] != "" && !m.exposed() {
			k.bad(set[0], "set while metrics.address is %s, which no other host reaches, want an address of the node there, or 0.0.0.0:9645", listener(metricsExample).format(m.Address))
			return
		}
	}
	switch {
	case m.Certificate != "":
	case m.PrivateKey != "":
		k.bad("metrics.privateKey", "set without metrics.certificate, want both or neither")
	case m.TokenFile != "":
		k.bad("metrics.tokenFile", "set without metrics.certificate: everybody on the way could read the token, want a certificate beside it")
	}
}

// checkMetricsFiles reads what the listener needs to start.
func (k *validator) checkMetricsFiles() {
	m := k.Metrics
	if err := lookAtOwnPair(m.Certificate, m.PrivateKey); err != nil {
		k.bad("metrics.certificate", "%v", err)
	}
	if m.TokenFile == "" {
		return
	}
	if _, err := LoadToken(m.TokenFile); err != nil {
		k.bad("metrics.tokenFile", "%v", err)
	}
}

// leastToken bounds what can be guessed: only the budget of the listener is in the way of whoever tries.
const leastToken = 16

// LoadToken reads a bearer token that others have to show: at least 16 visible characters of ASCII, in a file that only its owner can read.
// White space around it is ignored. Errors name the path and the remedy, never the contents.
func LoadToken(path string) (string, error) {
	data, err := ReadSecret(path)
	if err != nil {
		return "", fmt.Errorf("token file %s: %w", path, err)
	}
	token := strings.TrimSpace(string(data))
	switch {
	case len(data) > maxKeyFile:
		err = fmt.Errorf("more than %d bytes, want at most that", maxKeyFile)
	case len(token) < leastToken:
		err = fmt.Errorf("%d characters, want at least %d such as from: keepvip key generate", len(token), leastToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		err = errors.New("a blank or a character that no header can have, want one line such as from: keepvip key generate")
	}
	if err != nil {
		return "", fmt.Errorf("token file %s: %w", path, err)
	}
	return token, nil
}

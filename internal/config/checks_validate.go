package config

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// listedChecks validates the checks of a list.
func (k vipValidator) listedChecks() {
	k.eitherForm()
	if len(k.v.Checks) > maxChecks {
		k.fail(checksKey, "%d checks, want at most %d", len(k.v.Checks), maxChecks)
	}
	first := map[string]int{}
	for i := range k.v.Checks {
		l := listedCheck{vipValidator: k, index: i, h: &k.v.Checks[i]}
		l.validate()
		if j, taken := first[l.h.Name]; taken {
			l.fail("name", "%s is also the name of %s[%d], want another", l.h.Name, checksKey, j)
		}
		first[l.h.Name] = i
	}
}

// eitherForm refuses the simple check beside the list. What an unhealthy node does is no part of a check.
func (k vipValidator) eitherForm() {
	if len(k.v.Checks) == 0 {
		return
	}
	for _, o := range checkOptions() {
		key := o.at(k.i)
		if origin := k.Origin(key); origin.Source != Default && !strings.HasSuffix(key, ".whenAllUnhealthy") {
			k.add(origin, key, "set beside %s, want one of the two forms", checksKey)
		}
	}
}

// listedCheck validates one check of a list.
type listedCheck struct {
	vipValidator
	index int
	h     *ListedCheck
}

func (l listedCheck) key(key string) string {
	return fmt.Sprintf("%s[%d].%s[%d].%s", vipsKey, l.i, checksKey, l.index, key)
}

func (l listedCheck) fail(key, format string, args ...any) {
	at := l.key(key)
	l.bad(at, format, args...)
}

func (l listedCheck) given(key string) bool { return l.Origin(l.key(key)).Source != Default }

func (l listedCheck) validate() {
	kind, known := kindKeys[l.h.Kind]
	if !known {
		l.fail("kind", "missing, want one of %s", joined(CheckKinds(), ", "))
		return
	}
	for _, o := range listed {
		if key := o.name(); l.given(key) && !l.h.Kind.has(key) {
			l.fail(key, "not of kind %s, which has %s", l.h.Kind, strings.Join(kind.keys, ", "))
		}
	}
	for _, key := range kind.keys[:kind.needed] {
		if !l.given(key) {
			l.fail(key, "missing, kind %s wants one", l.h.Kind)
		}
	}
	if l.h.Weight != 0 && l.v.VRRP.Owner {
		l.fail("weight", "%d with vrrp.owner, whose priority is 255, want a condition (0)", l.h.Weight)
	}
	l.specific()
	if worst := time.Duration(l.h.Fall) * max(l.h.Interval, l.h.Timeout); worst > time.Hour {
		l.fail("fall", "%d probes of up to %v each, want a failure seen within an hour", l.h.Fall, max(l.h.Interval, l.h.Timeout))
	}
}

// specific is what only one kind has to be careful about.
func (l listedCheck) specific() {
	h := l.h
	if scheme, _, found := strings.Cut(h.URL, ":"); found && (h.Kind == CheckHTTPS || h.Kind == CheckHTTP) && scheme != string(h.Kind) {
		l.fail("url", "%s with kind %s, want %s://...", h.URL, h.Kind, h.Kind)
	}
	if h.Kind == CheckHTTPS {
		l.trust()
	}
	if at := l.virtualHost(h.URL); at != "" {
		l.fail("url", notThisNode, show(h.URL), at)
	}
	if at := l.virtualHost(h.Address); at != "" {
		l.fail("address", notThisNode, show(h.Address), at)
	}
	l.numbered()
	l.counted()
	if l.given("codes") && len(h.Codes) == 0 {
		l.fail("codes", "an empty list, want at least one status")
	}
	if h.Kind == CheckGateway && slices.ContainsFunc(l.v.Addresses, func(p netip.Prefix) bool { return p.Addr() == h.Router }) {
		l.fail("router", "%s is a virtual address of this entry, want that of a router", h.Router)
	}
	if l.given("command") && (len(h.Command) == 0 || !filepath.IsAbs(h.Command[0])) {
		l.fail("command", "%s, want a list that begins with an absolute path", showWords(h.Command))
	}
}

// numbered refuses what a file with a number cannot be, too.
func (l listedCheck) numbered() {
	switch h := l.h; {
	case !h.Number && h.Initial != 0:
		l.fail("initial", "%d without number: true, want both", h.Initial)
	case h.Number && h.Absent:
		l.fail("absent", "true beside number, want one of them")
	case h.Number && h.MaxAge != 0:
		l.fail("maxAge", "%v beside number, want one of them", h.MaxAge)
	}
}

// counted refuses what no number of processes is.
func (l listedCheck) counted() {
	switch h := l.h; {
	case h.Quorum > h.QuorumMax:
		l.fail("quorum", "%d with quorumMax %d, want at most that", h.Quorum, h.QuorumMax)
	case l.given("match") && !l.given("arguments"):
		l.fail("match", "%s without arguments, want both", h.Match)
	}
}

// trust refuses what would show a secret to a server that nobody has verified.
func (l listedCheck) trust() {
	h := l.h
	switch {
	case h.CA == "" && !h.Insecure:
		l.fail("ca", "missing, want the file of the server's CA, or insecure: true")
	case h.CA != "" && h.Insecure:
		l.fail("insecure", "true beside ca, want one of them")
	case h.ServerName != "" && h.Insecure:
		l.fail("serverName", "set with insecure, so that nothing is verified; want one of them")
	}
	if h.TokenFile != "" && h.CA == "" {
		l.fail("tokenFile", "a bearer token for a server that is not verified, want ca")
	}
	if h.ClientKey != "" && h.ClientCert == "" {
		l.fail("clientKey", "set without clientCert, want both")
	}
}

func showWords(words []string) string {
	if len(words) == 0 {
		return "an empty list"
	}
	return show(words[0])
}

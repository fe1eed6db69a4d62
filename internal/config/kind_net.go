package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// virtualAddress reads an address with or without its prefix length; without, it is a host prefix.
func virtualAddress() kind[netip.Prefix] {
	return kind[netip.Prefix]{
		name: "address", tags: []string{tagString}, schema: map[string]any{"type": "string"},
		parse: parseVirtualAddress,
		format: func(p netip.Prefix) string {
			if p.IsSingleIP() {
				return p.Addr().String()
			}
			return p.String()
		},
	}
}

func parseVirtualAddress(s string) (netip.Prefix, error) {
	host, bits, long := strings.Cut(s, "/")
	addr, err := parseAddr(host)
	if err != nil {
		return netip.Prefix{}, err
	}
	if !long {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	n, err := strconv.Atoi(bits)
	if err != nil || n < 1 || n > addr.BitLen() || strconv.Itoa(n) != bits {
		return netip.Prefix{}, fmt.Errorf("%s, want a prefix length from 1 to %d", show(s), addr.BitLen())
	}
	p := netip.PrefixFrom(addr, n)
	if addr.Is4() && n < 31 && (addr == p.Masked().Addr() || isBroadcast(p)) {
		return netip.Prefix{}, fmt.Errorf("%s is the network or broadcast address of its subnet, want a host address", show(s))
	}
	return p, nil
}

func isBroadcast(p netip.Prefix) bool {
	b := p.Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		if b[i/8]&(0x80>>(i%8)) == 0 {
			return false
		}
	}
	return true
}

func address() kind[netip.Addr] {
	return kind[netip.Addr]{
		name: "address", tags: []string{tagString}, schema: map[string]any{"type": "string"},
		parse: parseAddr, format: netip.Addr.String,
	}
}

// multicastGroup is an address of one, that may be left out.
func multicastGroup() kind[netip.Addr] {
	k := source()
	k.parse = func(s string) (netip.Addr, error) {
		a, err := netip.ParseAddr(s)
		if err != nil || !a.IsMulticast() || a.Zone() != "" || a.Is4In6() {
			return a, fmt.Errorf("%s, want a multicast address such as 224.0.0.18", show(s))
		}
		return a, nil
	}
	return k
}

// source is an address that may be left out.
func source() kind[netip.Addr] {
	k := address()
	k.format = func(a netip.Addr) string {
		if !a.IsValid() {
			return ""
		}
		return a.String()
	}
	return k
}

// witness is a host by its address, or the word for that of the default route. It may be left out.
func witness() kind[Witness] {
	host := source()
	return kind[Witness]{
		name: gatewayWord + "|" + host.name, tags: host.tags, schema: host.schema,
		parse: func(s string) (Witness, error) {
			if s == gatewayWord {
				return Witness{Gateway: true}, nil
			}
			a, err := host.parse(s)
			if err != nil {
				return Witness{}, fmt.Errorf("%w, or the word %s", err, gatewayWord)
			}
			return Witness{Host: a}, nil
		},
		format: func(w Witness) string {
			if w.Gateway {
				return gatewayWord
			}
			return host.format(w.Host)
		},
	}
}

// gatewayWord stands for whatever the next hop of the default route is at the time.
const gatewayWord = "gateway"

// parseAddr reads a unicast address that a node can have.
func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return a, fmt.Errorf("%s, want an IPv4 or IPv6 address", show(s))
	case a.Zone() != "":
		return a, fmt.Errorf("%s has a zone, want the address alone and its link under interface", show(s))
	case a.Is4In6():
		return a, fmt.Errorf("%s is IPv4 written as IPv6, want %s", show(s), a.Unmap())
	case a.IsUnspecified(), a.Is4() && a.As4()[0] == 0:
		return a, fmt.Errorf("%s is unspecified, want a unicast address", show(s))
	case a.IsLoopback():
		return a, fmt.Errorf("%s is a loopback address, want one that other machines can reach", show(s))
	case a.IsMulticast():
		return a, fmt.Errorf("%s is multicast, want a unicast address", show(s))
	case a.Is4() && a.As4()[0] >= 240:
		return a, fmt.Errorf("%s is reserved or broadcast, want a unicast address", show(s))
	}
	return a, nil
}

// listener reads host:port, or off, which is kept as "". The example is one that the option may have.
func listener(example string) kind[string] {
	return kind[string]{
		name: "host:port|off", tags: []string{tagString}, schema: map[string]any{"type": "string"},
		parse: func(s string) (string, error) {
			if s == off {
				return "", nil
			}
			host, port, err := net.SplitHostPort(s)
			if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
				return "", fmt.Errorf("%s, want host:port such as %s, or %s", show(s), example, off)
			}
			switch a, err := netip.ParseAddr(host); {
			case err != nil && host != "localhost":
				return "", fmt.Errorf("%s, want an address in place of the name, such as %s", show(s), example)
			case a.IsMulticast():
				return "", fmt.Errorf("%s is multicast, at which nothing can listen; want an address such as %s", show(s), example)
			}
			return s, nil
		},
		format: func(s string) string {
			if s == "" {
				return off
			}
			return s
		},
	}
}

// checkURL reads what is asked by GET. A port alone, as in https://:6443, is no host.
func checkURL() kind[string] { return urlWith((*url.URL).Hostname) }

// urlOfAny is checkURL where an address takes the place of the host, so that a port alone will do.
func urlOfAny() kind[string] { return urlWith(func(u *url.URL) string { return u.Host }) }

func urlWith(host func(*url.URL) string) kind[string] {
	return text("url", func(s string) error {
		u, err := url.Parse(s)
		switch {
		case err != nil || host(u) == "" || u.Scheme != "http" && u.Scheme != "https":
			return fmt.Errorf("%s, want an http or https URL such as https://127.0.0.1:6443/readyz", show(s))
		case u.Port() != "" && !isPort(u.Port()):
			return fmt.Errorf("%s, want a port from 1 to 65535", show(s))
		case u.User != nil:
			return errors.New("a URL with a user name or password, want one without: it shows in status and logs")
		case u.Fragment != "":
			return fmt.Errorf("%s, want a URL without a #fragment", show(s))
		}
		return nil
	})
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// pattern compiles the expression when it is first asked for: those of all options together would take a megabyte of each process.
func pattern(name, expr, want string) kind[string] {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	k := text(name, func(s string) error {
		if !re().MatchString(s) {
			return fmt.Errorf("%s, want %s", show(s), want)
		}
		return nil
	})
	k.schema = map[string]any{"type": "string", "pattern": expr}
	return k
}

// path reads a file name of at most that many bytes; NUL cannot be in one.
func path(most int) kind[string] {
	return text("path", func(s string) error {
		switch {
		case s == "":
			return errors.New(`"", want a path`)
		case len(s) > most:
			return fmt.Errorf("a path of %d bytes, want at most %d", len(s), most)
		case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return fmt.Errorf("%s, want a path without control characters", show(s))
		}
		return nil
	})
}

// absolute is a path that does not depend on where the process was started.
func absolute(most int, example string) kind[string] {
	p := path(most)
	return text("path", func(s string) error {
		if _, err := p.parse(s); err != nil {
			return err
		}
		if !filepath.IsAbs(s) {
			return fmt.Errorf("%s, want an absolute path such as %s", show(s), example)
		}
		return nil
	})
}

// keyRef reads ID=PATH.
func keyRef() kind[KeyRef] {
	file := path(maxPath)
	return kind[KeyRef]{
		name: "ID=PATH", tags: []string{tagString}, schema: map[string]any{"type": "string", "pattern": "^[0-9]{1,3}=."},
		parse: func(s string) (KeyRef, error) {
			id, name, ok := strings.Cut(s, "=")
			n, err := strconv.ParseUint(id, 10, 8)
			if !ok || err != nil {
				return KeyRef{}, fmt.Errorf("%s, want ID=PATH with an ID from 0 to 255, such as 2=/etc/keepvip/key.2", show(s))
			}
			name, err = file.parse(name)
			return KeyRef{ID: uint8(n), File: name}, err
		},
		format: func(k KeyRef) string { return fmt.Sprintf("%d=%s", k.ID, k.File) },
	}
}

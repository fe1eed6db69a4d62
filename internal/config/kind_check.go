package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// endpoint reads host:port.
func endpoint() kind[string] {
	return text("host:port", func(s string) error {
		host, port, err := net.SplitHostPort(s)
		n, bad := strconv.ParseUint(port, 10, 16)
		if err != nil || bad != nil || n == 0 || host == "" || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("%s, want host:port such as 127.0.0.1:5432", show(s))
		}
		return nil
	})
}

// words binds a list in which the same may stand twice, as in a command line.
func words(at func(target) *[]string) binding {
	return binding{
		kind: "text", tags: []string{tagString}, list: true,
		schema: map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
		assign: func(t target, raw []string) error {
			for _, s := range raw {
				if strings.ContainsRune(s, 0) {
					return errors.New("a NUL within, want text")
				}
			}
			*at(t) = append([]string{}, raw...) // not nil: an empty list is one that was given
			return nil
		},
		format: func(t target) []string { return *at(t) },
		copy:   func(to, from target) { *at(to) = slices.Clone(*at(from)) },
	}
}

// userName reads a user, with a group or without, each a name or a number; numbers need no quotes.
func userName() kind[string] {
	const one = `([a-z_][-a-z0-9_.]{0,31}|[0-9]{1,10})`
	k := pattern("user", `^`+one+`(:`+one+`)?$`, "a user's name or id, and a group behind a colon if need be, as nobody or 65534:65534")
	k.tags = append(k.tags, tagInt)
	k.schema = map[string]any{"type": []string{"string", "integer"}}
	return k
}

package config

import (
	"fmt"
	"strings"
)

// maxPassword is the length of the authentication data of VRRP version 2 (RFC 2338 section 5.3.10).
const maxPassword = 8

// password reads a password: one line of printable characters.
func (h held) password(path string) (string, error) {
	data, err := h.read(path)
	if err != nil {
		return "", fmt.Errorf("password file %s: %w", path, err)
	}
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case text == "":
		return "", fmt.Errorf("password file %s: empty, want 1 to %d characters", path, maxPassword)
	case len(text) > maxPassword:
		return "", fmt.Errorf("password file %s: %d characters, want at most %d (keepalived uses the first %d of a longer one)", path, len(text), maxPassword, maxPassword)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("password file %s: characters that are not printable ASCII, want none", path)
	}
	return text, nil
}

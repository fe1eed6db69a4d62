package convert

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
)

// hold keeps a secret in memory, and returns what stands for its file in the text.
func (c *converter) hold(name string, secret []byte) string {
	name = unique(name, c.used)
	c.secrets[name] = bytes.Clone(secret)
	return name
}

// holdKey keeps a key of auth_hmac in memory. It is written as digits, as text, or in a file with either.
func (c *converter) holdKey(k hmacKey) string {
	value := k.value
	if path, is := strings.CutPrefix(value, "file:"); is {
		if c.opt.ReadSecret == nil {
			c.refuse(k.at, "the key of auth_hmac is in a file, and none is read here", "")
			return c.hold("auth_hmac key "+k.id, nil)
		}
		text, err := c.opt.ReadSecret(path)
		if err != nil {
			c.refuse(k.at, fmt.Sprintf("key file %s: %v", path, err), "")
		}
		value = strings.TrimRight(string(text), "\r\n")
	}
	digits, isHex := strings.CutPrefix(value, "hex:")
	if !isHex {
		digits = hex.EncodeToString([]byte(value))
	}
	return c.hold("auth_hmac key "+k.id, []byte(digits))
}

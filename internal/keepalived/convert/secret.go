package convert

import "bytes"

// hold keeps a secret in memory, and returns what stands for its file in the text.
func (c *converter) hold(name string, secret []byte) string {
	name = unique(name, c.used)
	c.secrets[name] = bytes.Clone(secret)
	return name
}

// holdKey keeps a key of auth_hmac in memory.
func (c *converter) holdKey(k hmacKey) string {
	if k.hex == "" {
		c.refuse(k.at, "keepvip cannot run with a key of auth_hmac that is not written as hex:", "write its bytes behind hex:, or convert the file and put the key into one of its own")
	}
	return c.hold("auth_hmac key "+k.id, []byte(k.hex))
}

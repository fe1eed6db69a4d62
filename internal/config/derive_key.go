package config

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
)

// ForFollowers is the purpose of the key that hosts have that are no members.
const ForFollowers = "followers"

// DeriveKey is the key for one purpose of keepvip's own, so that what is learned of one use says nothing about another
// (HKDF-SHA-256, RFC 5869). Advertisements use the shared key itself, as other routers do.
func DeriveKey(secret []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, "keepvip/v1 "+purpose, sha256.Size)
	if err != nil {
		panic("config: " + err.Error()) // only for a length beyond 255 hashes
	}
	return key
}

// Fingerprint tells keys apart without giving them away: nodes with the same key show the same.
func Fingerprint(secret []byte) string {
	return hex.EncodeToString(DeriveKey(secret, "fingerprint")[:4])
}

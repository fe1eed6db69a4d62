package main

import (
	"encoding/hex"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// The documents show what a signed message looks like, for who writes another implementation.
func TestDocumentsShowASignedMessage(t *testing.T) {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(i)
	}
	key, err := members.NewKey(config.DeriveKey(secret, "members"))
	require.NoError(t, err)
	m := members.Message{Type: members.Hello, Session: 1, Peer: members.PeerState{
		Self:  members.Self{State: vrrp.Backup, Base: 100, Priority: 100, Fit: true},
		Group: netip.MustParseAddr("192.0.2.100"), Revision: 1, Lifetime: 3500 * time.Millisecond, Epoch: 2,
	}}
	b, err := m.AppendSigned(nil, 0x6000000000000000, &key, netip.MustParseAddr("198.51.100.10"))
	require.NoError(t, err)
	text, err := os.ReadFile("../../docs/protocol.md")
	require.NoError(t, err)
	assert.Contains(t, strings.Join(strings.Fields(string(text)), ""), hex.EncodeToString(b))
}

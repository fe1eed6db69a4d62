package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/follower"
	"github.com/keepvip/keepvip/internal/node/reloads"
)

func TestKeyOfFollowersIsDerived(t *testing.T) {
	dir := t.TempDir()
	shared, derived := filepath.Join(dir, "key"), filepath.Join(dir, "follower.key")
	require.NoError(t, os.WriteFile(shared, []byte(strings.Repeat("6b", 32)+"\n"), 0o600))
	code, out, errs := keepvip(t, "key", "derive", "--for", "followers", "--out", derived, shared)
	require.Zero(t, code, errs)
	assert.Empty(t, out)
	info, err := os.Stat(derived)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	secret, err := config.LoadKey(shared)
	require.NoError(t, err)
	key, err := config.LoadKey(derived)
	require.NoError(t, err)
	assert.NotEqual(t, secret, key)
	assert.Equal(t, config.DeriveKey(secret, "followers"), key)

	_, out, _ = keepvip(t, "key", "derive", "--for", "followers", shared)
	text, err := os.ReadFile(derived)
	require.NoError(t, err)
	assert.Equal(t, string(text), out, "the same each time")
	for _, args := range [][]string{{"--for", "members", shared}, {shared}, {"--for", "followers"}} {
		code, out, _ := keepvip(t, append([]string{"key", "derive"}, args...)...)
		assert.Equal(t, exitUsage, code, args)
		assert.Empty(t, out, args)
	}
	code, _, errs = keepvip(t, "key", "derive", "--for", "followers", "--out", derived, shared)
	assert.NotZero(t, code)
	assert.Contains(t, errs, "there already")
}

func followed() *follower.Status {
	return &follower.Status{Version: "v1", Node: "w-1", Signed: true, Follows: []follower.EntryStatus{{
		Name: "apiserver", Addresses: []netip.Addr{netip.MustParseAddr("10.77.0.100")}, By: []netip.Addr{netip.MustParseAddr("10.77.0.11")},
		Ports: []follower.PortStatus{{SpreadPort: config.SpreadPort{Protocol: "tcp", Port: 9443, Target: 6443}, Members: []follower.Share{
			{Address: netip.MustParseAddr("10.77.0.11"), Node: "n1", Weight: 1, Used: true, SentTo: []netip.Addr{netip.MustParseAddr("10.77.0.11")}},
			{Address: netip.MustParseAddr("10.77.0.12"), Node: "n2", Weight: 1, Why: "its keepvip is silent"},
		}}},
	}}}
}

func TestFollowerText(t *testing.T) {
	s, now := followed(), time.Now()
	assert.Equal(t, `w-1, keepvip v1, follows with the followers' key

apiserver: 10.77.0.100
  told by   10.77.0.11
  port 9443 to 6443
    MEMBER  ADDRESS     WEIGHT  CONNECTIONS
    n1      10.77.0.11  1       its share
    n2      10.77.0.12  1       none: its keepvip is silent
`, followerText(s, now))
	s.Follows[0].By, s.Follows[0].Refused, s.Follows[0].Problem = nil, map[string]uint64{"key": 3}, "no nftables"
	s.Follows[0].Ports[0].Wire, s.Follows[0].Ports[0].Members = true, nil
	s.Config = &reloads.Status{Loaded: now.Add(-time.Hour), Refused: &reloads.Refused{At: now.Add(-time.Minute), Reasons: []string{"k.yaml:4: no such thing"}}}
	text := followerText(s, now)
	assert.Contains(t, text, "\nCONFIG refused 1m0s ago, that of 1h0m0s ago is in force: k.yaml:4: no such thing\n")
	assert.Contains(t, text, "told by   NOBODY: no member answers")
	assert.Contains(t, text, "some answers are signed with another key")
	assert.Contains(t, text, "PROBLEM   no nftables [KV488]")
	assert.Contains(t, text, "WIRE: no member is used")
}

func TestStatusTellsAFollowerFromAMember(t *testing.T) {
	raw, err := json.Marshal(followed())
	require.NoError(t, err)
	assert.Equal(t, followed(), followerOf(raw))
	assert.Nil(t, followerOf([]byte(`{"version":"v1","node":"n1","vips":[]}`)))
	text, err := object(kindFollower, json.RawMessage(raw))
	require.NoError(t, err)
	printsObject(t, kindFollower, string(text))
}

func TestFollowNeedsAnEntryThatIsSpread(t *testing.T) {
	code, out, errs := keepvip(t, "follow", "--vip", "10.77.0.100")
	assert.Equal(t, exitFailure, min(code, exitFailure))
	assert.Empty(t, out)
	assert.Contains(t, errs, "no entry under vips is spread over its members")
	code, _, errs = keepvip(t, "follow", "--vip", "10.77.0.100", "--spread", "direct", "--key-file", "/not/there")
	assert.NotZero(t, code)
	assert.Contains(t, errs, "follow.keyFile")
	code, _, errs = keepvip(t, "follow", "--vip", "10.77.0.100", "--spread", "direct", "--follow-listen", "0.0.0.0:9443")
	assert.NotZero(t, code)
	assert.Contains(t, errs, "0.0.0.0:9443 is not on the loopback interface")
}

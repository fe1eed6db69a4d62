//go:build netns

package nfttables

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables/expr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// wants is a table with a timed port, and addresses that end in these bytes.
func wants(last ...byte) Wanted {
	return Wanted{Render: func(form int) []Table {
		ports := Set{Name: "ports", Key: TypePort, Timed: true, Elements: []Element{{Key: "\x24\xe3"}}}
		addresses := Set{Name: "addresses", Key: TypeIPv4}
		for _, b := range last {
			addresses.Elements = append(addresses.Elements, Element{Key: string([]byte{10, 1, 0, b})})
		}
		accept := Run(&expr.Verdict{Kind: expr.VerdictAccept})
		in := Chain{Name: "in", Kind: "filter", Hook: unix.NF_INET_LOCAL_IN, Rules: []Match{accept, And(accept)}}
		if form == 0 {
			in.Kind = "unheard-of"
		}
		return []Table{{Family: unix.NFPROTO_IPV4, Sets: []Set{ports, addresses}, Chains: []Chain{in}}}
	}}
}

func keeper(t *testing.T, watch *Watch) *Keeper {
	t.Helper()
	k, err := Keep(ours.Name, []byte{unix.NFPROTO_IPV4, unix.NFPROTO_IPV6}, 2, watch)
	require.NoError(t, err)
	return k
}

func tell(t *testing.T, command string) {
	t.Helper()
	out, err := exec.Command("nft", command).CombinedOutput()
	require.NoError(t, err, "%s: %s", command, out)
}

// listing is without the times, which are what was left of them.
func listing(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("nft", "-s", "list", "ruleset").CombinedOutput()
	require.NoError(t, err)
	return regexp.MustCompile(` timeout [0-9a-z]+`).ReplaceAllString(string(out), "")
}

// TestKeeperMakesAnewWhatOthersChange, on a kernel where they can. What it changes itself is not looked at again.
func TestKeeperMakesAnewWhatOthersChange(t *testing.T) {
	Older(true)
	defer Older(false)
	s := netnstest.New(t)
	k := keeper(t, nil)
	_, err := k.Mend()
	require.ErrorIs(t, err, errNothing)
	require.ErrorIs(t, k.Renew(time.Minute), errNothing)
	tell(t, "add table ip6 "+ours.Name+"; add table ip "+ours.Name)
	require.NoError(t, k.Apply(wants(5, 6), time.Minute))
	assert.Equal(t, 1, k.Form(), "the kernel cannot do the first")
	want := listing(t)
	assert.NotContains(t, want, "ip6", "of an earlier run")
	mend := func() bool {
		t.Helper()
		mended, err := k.Mend()
		require.NoError(t, err)
		return mended
	}
	for _, command := range []string{
		"flush ruleset",
		"delete table ip keepvip-test",
		"flush ruleset; add table ip keepvip-test",
		"flush chain ip keepvip-test in",
		"insert rule ip keepvip-test in drop",
		"flush chain ip keepvip-test in; delete chain ip keepvip-test in",
		"delete element ip keepvip-test addresses { 10.1.0.5 }",
		"flush set ip keepvip-test ports",
		"add element ip keepvip-test ports { 9444 }",
	} {
		k.looked = time.Time{} // as if the last look were long ago
		tell(t, command)
		assert.True(t, mend(), command)
		assert.False(t, mend(), "%s: it is as it should be", command)
		assert.Equal(t, want, listing(t), command)
	}
	tell(t, "flush ruleset")
	require.NoError(t, k.Renew(time.Minute))
	assert.Equal(t, want, listing(t), "renewed")
	tell(t, "flush ruleset")
	require.NoError(t, k.Apply(wants(7), time.Minute))
	assert.Contains(t, listing(t), "10.1.0.7")

	require.NoError(t, k.remember(wants(7).Render(1)))
	tell(t, "flush chain ip keepvip-test in")
	require.NoError(t, k.remember(wants(7).Render(1)))
	assert.True(t, mend(), "flushed while it was made")

	k.looked = time.Time{}
	assert.False(t, mend())
	require.NoError(t, k.Apply(wants(5), time.Minute))
	require.NoError(t, k.Renew(time.Minute))
	k.looked = time.Time{}
	assert.False(t, mend())
	assert.Zero(t, k.looked, "all changes were its own")
	tell(t, "add table ip other")
	looked := time.Now()
	k.looked = looked
	assert.False(t, mend(), "what others do does not matter")
	assert.Equal(t, looked, k.looked, "not so soon after the last look")
	tell(t, "flush chain ip keepvip-test in")
	assert.False(t, mend(), "not yet")
	k.looked = looked.Add(-contentsEvery)
	assert.True(t, mend())

	require.NoError(t, k.Renew(time.Second))
	s.Eventually(func() bool { return !strings.Contains(listing(t), "9443") }, "the port ends")
	tell(t, "add table ip another")
	k.looked = time.Time{}
	assert.False(t, mend(), "what has ended by itself is not missing")
	require.NoError(t, k.Close())
	require.NoError(t, k.Close())
	assert.NotContains(t, listing(t), ours.Name)
}

func TestKeeperChangesElementsOnly(t *testing.T) {
	netnstest.New(t)
	k := keeper(t, nil)
	require.NoError(t, k.Apply(wants(5, 6), time.Minute))
	made := maps.Clone(k.made)
	generation := func() uint32 {
		n, err := k.conn.Generation()
		require.NoError(t, err)
		return n
	}
	before := generation()
	require.NoError(t, k.Apply(wants(5, 6), time.Minute))
	assert.Equal(t, before, generation(), "the same again")
	require.NoError(t, k.Apply(wants(6, 7), time.Minute))
	assert.Equal(t, before+1, generation())
	assert.Equal(t, made, k.made, "it is the same table")
	assert.Contains(t, listing(t), "elements = { 10.1.0.6, 10.1.0.7 }")

	other := wants(6, 7)
	other.Ready = func(*Conn) error { return errors.New("not yet") }
	render := other.Render
	other.Render = func(form int) []Table {
		tables := render(form)
		tables[0].Chains[0].Rules = tables[0].Chains[0].Rules[1:]
		return tables
	}
	require.EqualError(t, k.Apply(other, time.Minute), "not yet")
	other.Ready = nil
	require.NoError(t, k.Apply(other, time.Minute))
	assert.NotEqual(t, made, k.made, "it was made anew")
	k.Leave()
	assert.Contains(t, listing(t), ours.Name, "it goes on")
	require.NoError(t, k.Close())
	_, err := Keep("", nil, 1, nil)
	require.Error(t, err)
}

// TestKeeperOwnsItsTables where the kernel can: nobody else changes them.
func TestKeeperOwnsItsTables(t *testing.T) {
	netnstest.New(t)
	k := keeper(t, nil)
	require.NoError(t, k.Apply(wants(5), time.Minute))
	want := listing(t)
	tell(t, "flush ruleset")
	require.Error(t, nft(t, "delete table ip keepvip-test"))
	assert.Equal(t, want, listing(t))
	k.looked = time.Time{}
	mended, err := k.Mend()
	require.NoError(t, err)
	assert.False(t, mended)
	assert.Zero(t, k.looked, "nothing of it was looked at")
	require.NoError(t, k.Renew(time.Minute))
	require.NoError(t, k.Close())
}

// TestRenewalMendsWhatTheWatchHasToldTooEarly, which is just after a look into the tables.
func TestRenewalMendsWhatTheWatchHasToldTooEarly(t *testing.T) {
	Older(true)
	defer Older(false)
	s := netnstest.New(t)
	watch, err := OpenWatch()
	require.NoError(t, err)
	defer watch.Close()
	k := keeper(t, watch)
	require.NoError(t, k.Apply(wants(5), time.Minute))
	want := listing(t)
	looked := func() time.Time {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.looked
	}
	tell(t, "add table ip other")
	s.Eventually(func() bool { return !looked().IsZero() }, "the watch has told")
	tell(t, "delete table ip other; flush chain ip keepvip-test in")
	for began := time.Now(); listing(t) != want; time.Sleep(time.Second) {
		require.Less(t, time.Since(began), 2*contentsEvery, "the rule is back")
		require.NoError(t, k.Renew(time.Minute))
	}
	mended, err := k.Mend()
	require.NoError(t, err)
	assert.True(t, mended, "who asks is told")
	require.NoError(t, k.Close())
}

// TestKeeperIsTold on a kernel where nobody can own tables: nobody asks Mend.
func TestKeeperIsTold(t *testing.T) {
	Older(true)
	defer Older(false)
	s := netnstest.New(t)
	watch, err := OpenWatch()
	require.NoError(t, err)
	defer watch.Close()
	k := keeper(t, watch)
	require.NoError(t, k.Apply(wants(5), time.Minute))
	want := listing(t)
	for i, command := range []string{"flush ruleset", "delete table ip keepvip-test", "flush ruleset; add table ip other; delete table ip other"} {
		tell(t, command)
		s.Eventually(func() bool { return strings.Contains(listing(t), ours.Name) }, fmt.Sprint(i, command))
		s.Eventually(func() bool {
			mended, err := k.Mend()
			require.NoError(t, err)
			return mended
		}, "who asks is told")
		mended, err := k.Mend()
		require.NoError(t, err)
		assert.False(t, mended, "once")
		assert.Equal(t, want, listing(t))
	}
	require.NoError(t, k.Close())
}

package daemon

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

const (
	internalEntry = "vips:\n- {name: a, addresses: [10.77.0.100], check: 'tcp://127.0.0.1:6443', externalAddress: lb.example.org}\n"
	externalEntry = "vips:\n- {name: a, addresses: [10.77.0.100], check: 'tcp://127.0.0.1:6443', externalAddress: lb.example.org, mode: external, externalGrace: 1h}\n"
)

// A certificate has the name of the URL's host, also where the balancer is asked. An address is no name, with a zone or without.
func TestBalancerIsAskedByTheNameOfTheNodesCertificate(t *testing.T) {
	v := config.VIP{Mode: config.ModeExternal, ExternalAddress: "lb.example.org:6443"}
	for url, want := range map[string]string{
		"https://node.example.org:6443/readyz": "node.example.org", "https://127.0.0.1:6443/readyz": "",
		"https://[::1]:6443/readyz": "", "https://[fe80::1%25eth0]:6443/readyz": "",
	} {
		h, can := byBalancer(v, config.ListedCheck{Kind: config.CheckHTTPS, URL: url, CA: "/ca", Watch: true})
		assert.True(t, can, url)
		assert.Equal(t, want, h.ServerName, url)
		assert.Equal(t, "https://lb.example.org:6443/readyz", h.URL)
		assert.False(t, h.Watch)
	}
	_, can := byBalancer(v, config.ListedCheck{Kind: config.CheckTCP, Address: "127.0.0.1:6443"})
	assert.False(t, can)
}

func TestMovesOfAnEntryThatBecomesExternal(t *testing.T) {
	r := newReloading(t, internalEntry)
	now := time.Now()
	read := func(text string) (moves, instance.Delta, Reloaded) {
		t.Helper()
		r.write(t, text)
		next, err := r.opts.Load()
		require.NoError(t, err)
		_, m := r.departures.moves(r.cfg, next, now)
		var delta instance.Delta
		done := Reloaded{}
		require.NoError(t, r.adjustFor(m, next, &delta, &done))
		return m, delta, done
	}
	m, delta, done := read(externalEntry)
	require.Len(t, m.begin, 1)
	assert.Equal(t, now.Add(time.Hour), m.begin[0].until)
	require.Len(t, delta.Adjust, 1)
	in := delta.Adjust[0]
	assert.Equal(t, "lb.example.org:6443", in.Leaving.Endpoint)
	assert.Equal(t, now.Add(time.Hour), in.Leaving.Until)
	assert.NotZero(t, in.VRID(), "it goes on with its election")
	assert.Equal(t, []string{"a"}, done.Changed)
	assert.False(t, m.serving.VIPs[0].External(), "what is served is what was")
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("10.77.0.100")}, virtualAddresses(m.serving))

	m, _, _ = read(strings.Replace(externalEntry, "1h", "0s", 1))
	assert.Empty(t, m.begin, "at once")
	assert.True(t, m.serving.VIPs[0].External())

	// While it is left.
	next, _, _ := read(externalEntry)
	cfg, err := r.opts.Load()
	require.NoError(t, err)
	r.cfg = cfg
	r.departures.follow(next, r.depart)
	defer r.stopDepartures()
	m, delta, done = read(externalEntry)
	assert.Empty(t, m.begin)
	assert.Empty(t, m.end)
	assert.Empty(t, delta.Adjust, "nothing is new")
	m, delta, done = read(strings.Replace(externalEntry, "lb.example.org", "other.example.org", 1))
	assert.Empty(t, m.begin)
	assert.Empty(t, m.end)
	require.Len(t, delta.Adjust, 1)
	in = delta.Adjust[0]
	assert.Equal(t, "other.example.org:6443", in.Leaving.Endpoint, "where clients connect from now on")
	assert.Equal(t, now.Add(time.Hour), in.Leaving.Until, "its time goes on")
	assert.Equal(t, []string{"a"}, done.Changed)
	m, delta, done = read(internalEntry)
	assert.Equal(t, []string{"a"}, m.end)
	require.Len(t, delta.Adjust, 1)
	assert.Nil(t, delta.Adjust[0].Leaving)
	assert.Equal(t, "10.77.0.100:6443", delta.Adjust[0].VIP.HostPort())
	assert.Equal(t, "lb.example.org:6443", delta.Adjust[0].Interim)
	assert.Equal(t, []string{"a"}, done.Changed)
	m, delta, _ = read("vips:\n- {name: b, addresses: [10.77.0.101], check: none}\n")
	assert.Equal(t, []string{"a"}, m.end)
	assert.Empty(t, delta.Adjust)
}

func TestReloadToExternalAndBack(t *testing.T) {
	r := newReloading(t, strings.Replace(externalEntry, "1h", "0s", 1))
	add, err := r.build.instances(r.cfg.VIPs, r.cfg)
	require.NoError(t, err)
	r.set.Apply(instance.Delta{Add: add})
	s := r.set.Status()[0]
	assert.Equal(t, []any{config.ModeExternal, "lb.example.org:6443"}, []any{s.Mode, s.Endpoint})
	assert.Empty(t, r.host.seen.now().virtual, "nothing of it is on this host")

	r.write(t, internalEntry)
	done, err := r.reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, done.Recreated)
	s = r.set.Status()[0]
	assert.Equal(t, []any{config.ModeInternal, "lb.example.org:6443"}, []any{s.Mode, s.Endpoint}, "until a node holds it")
	assert.Len(t, r.host.seen.now().virtual, 1)

	r.write(t, strings.Replace(externalEntry, "1h", "0s", 1))
	done, err = r.reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, done.Recreated)
	assert.Equal(t, config.ModeExternal, r.set.Status()[0].Mode)
}

// Who has told a node an hour too many does not have to wait for it.
func TestReloadWhileAnEntryBecomesExternalChangesItsTime(t *testing.T) {
	begin := func(t *testing.T) (reload func(grace string), leaves func() bool) {
		r := newReloading(t, internalEntry)
		reload = func(grace string) {
			t.Helper()
			r.write(t, strings.Replace(externalEntry, "1h", grace, 1))
			_, err := r.reload(t.Context())
			require.NoError(t, err)
			synctest.Wait()
		}
		leaves = func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			assert.Equal(t, len(r.departures), len(r.host.seen.now().virtual), "what is served is on this host, and nothing else")
			return len(r.departures) > 0
		}
		reload("1h")
		time.Sleep(time.Minute)
		return reload, leaves
	}
	bubble.Test(t, func(t *testing.T) {
		reload, leaves := begin(t)
		reload("2m")
		assert.True(t, leaves())
		time.Sleep(time.Minute - time.Second)
		assert.True(t, leaves())
		reload("3m")
		time.Sleep(time.Minute)
		assert.True(t, leaves(), "longer, too")
		time.Sleep(2 * time.Second)
		assert.False(t, leaves())
	})
	bubble.Test(t, func(t *testing.T) {
		reload, leaves := begin(t)
		reload("0s")
		assert.False(t, leaves(), "at once")
	})
}

func TestExternalEntryNeedsNoNetworkHere(t *testing.T) {
	r := newReloading(t, internalEntry)
	r.write(t, "vips:\n- {name: a, mode: external, externalAddress: '192.0.2.7:6443', externalGrace: 0s, check: none}\n")
	_, err := r.reload(t.Context())
	require.NoError(t, err)
	r.write(t, "vips:\n- {name: a, addresses: [192.0.2.7], check: none}\n")
	_, err = r.reload(t.Context())
	require.ErrorContains(t, err, "192.0.2.7")
}

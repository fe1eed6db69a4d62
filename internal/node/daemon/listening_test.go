package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/localproxy"
)

// ports are those of a host: who listens where, and which are somebody else's.
type ports struct {
	localproxy.Listener        // nil: nothing else of it is used
	open                string // "": none
	to                  []netip.AddrPort
	opened              int
	tries               int
	taken               atomic.Uint32 // a port
}

func (p *ports) Move(at string) error {
	p.tries++
	if strings.HasSuffix(at, fmt.Sprintf(":%d", p.taken.Load())) {
		return fmt.Errorf("listen tcp %s: %w", at, syscall.EADDRINUSE)
	}
	p.open = at
	return nil
}

func (p *ports) listen(c *localproxy.Proxy, at string) (localproxy.Listener, error) {
	if err := p.Move(at); err != nil {
		return nil, err
	}
	p.opened++
	p.to = c.Fallback
	return p, nil
}

func (p *ports) SetFallback(to []netip.AddrPort) { p.to = to }
func (p *ports) SetConnections(int)              {}
func (p *ports) Stats() localproxy.Stats         { return localproxy.Stats{Open: 7} }

func (p *ports) Close(ctx context.Context) error {
	if ctx.Err() == nil {
		return errors.New("connections are waited for")
	}
	p.open = ""
	return nil
}

// listens runs test with a listener of members in virtual time, and looks afterwards whether it has ended.
func listens(t *testing.T, test func(t *testing.T, l *listening, p *ports, log *strings.Builder)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		log := &strings.Builder{}
		p := &ports{}
		l := newListening(slog.New(slog.NewTextHandler(log, nil)), nil)
		l.open = p.listen
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.run(ctx)
		}()
		test(t, l, p, log)
		cancel()
		<-ended
		assert.Empty(t, p.open, "it ends with its process")
	})
}

// member is a configuration whose first entry that is spread has this address and port.
func member(t *testing.T, at string, port int) *config.Config {
	t.Helper()
	text := fmt.Sprintf("%svips:\n- {name: a, addresses: [10.77.0.100, fd77::100], check: none, spread: {via: direct, ports: [{port: %d, target: 6443}]}}\n", fileHead, port)
	if at != "" {
		text += fmt.Sprintf("follow: {listen: '%s', onMembers: true}\n", at)
	}
	cfg, err := config.Load(config.Input{Env: []string{"KEEPVIP_CONFIG_YAML=" + text}})
	require.NoError(t, err)
	return cfg
}

func (l *listening) reload(cfg *config.Config) {
	l.use(cfg)
	synctest.Wait()
}

func TestMembersListenOnlyWhereTheyAreToldTo(t *testing.T) {
	listens(t, func(t *testing.T, l *listening, p *ports, log *strings.Builder) {
		off := member(t, "127.0.0.1:9443", 443)
		off.Follow.OnMembers = false
		l.reload(off)
		assert.Zero(t, p.tries, "follow.listen alone is for followers")
		assert.Nil(t, l.status())
		l.reload(member(t, "127.0.0.1:9443", 443))
		assert.Equal(t, "127.0.0.1:9443", p.open)
		assert.Equal(t, "[10.77.0.100:443 [fd77::100]:443]", fmt.Sprint(p.to))
		assert.Equal(t, &ListenerStatus{Address: "127.0.0.1:9443", To: p.to, Connections: 7}, l.status())
		external := member(t, "127.0.0.1:9443", 443)
		external.VIPs[0].Mode = config.ModeExternal
		l.reload(external)
		assert.Empty(t, p.open, "as followers do not follow it")
	})
}

// Connections go on over a reload: the listener stays the same one.
func TestListenerOfAMemberOutlastsAReload(t *testing.T) {
	listens(t, func(t *testing.T, l *listening, p *ports, log *strings.Builder) {
		l.reload(member(t, "127.0.0.1:9443", 443))
		tries := p.tries
		l.reload(member(t, "127.0.0.1:9443", 443))
		assert.Equal(t, tries, p.tries)
		l.reload(member(t, "127.0.0.1:9443", 444))
		assert.Equal(t, tries, p.tries)
		assert.Equal(t, "[10.77.0.100:444 [fd77::100]:444]", fmt.Sprint(p.to))
		l.reload(member(t, "localhost:9443", 444))
		assert.Equal(t, "localhost:9443", p.open)
		assert.Equal(t, 1, p.opened)
		l.reload(member(t, "", 444))
		assert.Empty(t, p.open)
		assert.Nil(t, l.status())
		time.Sleep(10 * listenAgain)
		synctest.Wait()
		assert.Equal(t, 1, p.opened)
	})
}

// The same configuration is on all nodes. One whose port is taken says so once, and listens as soon as it can.
func TestMemberWhosePortIsTakenTriesAgain(t *testing.T) {
	listens(t, func(t *testing.T, l *listening, p *ports, log *strings.Builder) {
		p.taken.Store(9443)
		l.reload(member(t, "127.0.0.1:9443", 443))
		time.Sleep(10*listenAgain + time.Second)
		synctest.Wait()
		assert.Equal(t, 11, p.tries)
		assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
		for _, want := range []string{"KV489", "127.0.0.1:9443: address already in use", "End or move that program"} {
			assert.Contains(t, log.String(), want)
		}
		s := l.status()
		require.NotNil(t, s)
		assert.Equal(t, code.NotListening, s.Code)
		assert.Contains(t, s.Problem, "address already in use")
		p.taken.Store(0)
		time.Sleep(listenAgain)
		synctest.Wait()
		assert.Equal(t, "127.0.0.1:9443", p.open)
		assert.Empty(t, l.status().Problem)
		tries := p.tries
		time.Sleep(10 * listenAgain)
		synctest.Wait()
		assert.Equal(t, tries, p.tries, "there is nothing to do")
	})
}

// A reload is not refused for the sake of the listener. It stays where it was, with its connections.
func TestReloadToAPortThatIsTakenLeavesTheListener(t *testing.T) {
	listens(t, func(t *testing.T, l *listening, p *ports, log *strings.Builder) {
		l.reload(member(t, "127.0.0.1:9443", 443))
		p.taken.Store(9444)
		l.reload(member(t, "127.0.0.1:9444", 444))
		assert.Equal(t, "127.0.0.1:9443", p.open)
		assert.Equal(t, "[10.77.0.100:444 [fd77::100]:444]", fmt.Sprint(p.to))
		assert.Contains(t, l.status().Problem, "127.0.0.1:9444")
		p.taken.Store(0)
		time.Sleep(listenAgain)
		synctest.Wait()
		assert.Equal(t, "127.0.0.1:9444", p.open)
		assert.Equal(t, 1, p.opened)
	})
}

// A listener that has not opened is none, also where an interface could hide that.
func TestListenerThatFailsIsNone(t *testing.T) {
	l := newListening(slog.New(slog.DiscardHandler), nil)
	l.use(member(t, "127.0.0.1:9443", 443))
	l.open = func(*localproxy.Proxy, string) (localproxy.Listener, error) {
		return (*localproxy.Proxy)(nil), errors.New("no")
	}
	assert.False(t, l.step())
	assert.Equal(t, "no", l.status().Problem)
}

func TestReloadTellsTheListenerOfMembers(t *testing.T) {
	const vips = "vips:\n- {name: a, addresses: [10.77.0.100], check: none, spread: {via: direct, ports: [{port: 443}]}}\n"
	r := newReloading(t, vips)
	assert.Nil(t, r.listening.status())
	r.write(t, vips+"follow: {listen: '127.0.0.1:9443', onMembers: true}\n")
	done, err := r.reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"follow.listen", "follow.onMembers"}, done.Live)
	require.NotNil(t, r.listening.status())
	assert.Equal(t, "127.0.0.1:9443", r.listening.status().Address)
}

// At the holder the kernel would choose the virtual address as the source, and the connections would end when that moves.
func TestListenerConnectsFromAnOwnAddress(t *testing.T) {
	r := newReloading(t, "vips:\n- {name: a, addresses: [10.77.0.100, fd77::100], check: none, spread: {via: direct, ports: [{port: 443}]}}\n")
	toward := func(to string) netip.Addr { return r.host.seen.now().ownToward(netip.MustParseAddr(to), r.cfg.VIPs) }
	assert.Equal(t, "10.77.0.11", toward("10.77.0.100").String())
	assert.False(t, toward("fd77::100").IsValid(), "this host has none of that family")
	assert.False(t, toward("192.0.2.1").IsValid())
}

package follower

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// reloading is a process that is told to read its configuration again.
type reloading struct {
	*bench
	hangups chan os.Signal
	next    Following
	fails   error
	hangs   chan struct{} // a load waits for its end; nil: none does
	shown   shown
}

func (r *reloading) reload(c Following) {
	r.next = c
	r.free(func() {
		r.hangups <- syscall.SIGHUP
		synctest.Wait()
	})
	r.run(time.Second)
}

func following(t *testing.T, b *bench, first Following, test func(*reloading)) error {
	t.Helper()
	b.log = &journal{world: b.world}
	r := &reloading{bench: b, hangups: make(chan os.Signal, 1), next: first}
	p := Process{
		Following: first,
		Load: func() (Following, error) {
			if r.hangs != nil {
				<-r.hangs
			}
			return r.next, r.fails
		},
		Node: "w-1", Host: b.kernel, Log: slog.New(slog.NewTextHandler(b.log, nil)),
		Open: func(uint16, bool) (client, error) { return b.members, nil },
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.follow(ctx, r.hangups, &r.shown) }()
	r.run(time.Second)
	test(r)
	cancel()
	var err error
	b.free(func() { err = <-ended })
	return err
}

func configOf(t *testing.T, listen string) Following {
	t.Helper()
	return followingOf(t.TempDir(), listen, entryOf())
}

// but is the same with another configuration.
func but(f Following, change func(*config.Config)) Following {
	whole := *f.Whole
	change(&whole)
	f.Whole = &whole
	return f
}

func TestReloadThatFailsLeavesTheOldConfiguration(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.kernel.taken = "127.0.0.1:7"
		require.NoError(t, following(t, b, configOf(t, "127.0.0.1:9443"), func(r *reloading) {
			r.reload(configOf(t, "127.0.0.1:7"))
			assert.Contains(t, b.log.String(), "the old one stays in force")
			assert.Contains(t, b.kernel.listens, "127.0.0.1:9443")
			b.members.expects[0] = 1
			r.run(time.Second)
			assert.Len(t, b.kernel.used(), 2, "it goes on")
			r.fails = errors.New("line 3: what is that")
			r.reload(Following{})
			assert.Contains(t, b.log.String(), "what is that")
			assert.Contains(t, b.kernel.listens, "127.0.0.1:9443")
		}))
		assert.Empty(t, b.kernel.listens)
		assert.True(t, b.kernel.closed)
	})
}

func TestReloadOfTheSameConfigurationDoesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		c := configOf(t, "127.0.0.1:9443")
		require.NoError(t, following(t, b, c, func(r *reloading) {
			applied := b.kernel.applied
			r.reload(c)
			assert.Equal(t, applied, b.kernel.applied)
			assert.False(t, b.kernel.left)
		}))
	})
}

func TestReloadMovesTheListener(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		require.NoError(t, following(t, b, configOf(t, "127.0.0.1:9443"), func(r *reloading) {
			r.reload(configOf(t, "127.0.0.1:9444"))
			assert.Len(t, b.kernel.listens, 1)
			assert.Contains(t, b.kernel.listens, "127.0.0.1:9444")
			assert.Len(t, b.kernel.proxied, 3)
			r.reload(configOf(t, ""))
			assert.Empty(t, b.kernel.listens)
			none := configOf(t, "127.0.0.1:9444")
			none.Entries = nil // as all of them are external
			r.reload(none)
			assert.Empty(t, b.kernel.listens)
			assert.Empty(t, b.kernel.keep)
			r.reload(configOf(t, "127.0.0.1:9444"))
			assert.Len(t, b.kernel.used(), 3)
		}))
		assert.Empty(t, b.kernel.listens)
	})
}

// A file system that never answers keeps nobody from ending the process, nor connections from going to the members.
func TestReloadThatHangsEndsWithTheProcess(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		hangs := make(chan struct{})
		require.NoError(t, following(t, b, configOf(t, "127.0.0.1:9443"), func(r *reloading) {
			r.hangs = hangs
			r.reload(configOf(t, "127.0.0.1:9444"))
			b.members.expects[0] = 1
			r.run(time.Second)
			assert.Len(t, b.kernel.used(), 2, "it goes on")
		}))
		assert.Empty(t, b.kernel.listens)
		close(hangs)
	})
}

package follower

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/control"
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

// A control socket that cannot be made, as in a file system that is full, keeps no connection from going to the members.
func TestFollowerGoesOnWithoutItsControlSocket(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.log = &journal{world: b.world}
		p := Process{
			Following: but(configOf(t, ""), func(w *config.Config) { w.Socket = "/dev/null/keepvip.sock" }),
			Node:      "w-1", Host: b.kernel, Log: slog.New(slog.NewTextHandler(b.log, nil)),
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- p.serve(ctx, make(chan os.Signal), func(ctx context.Context) error { <-ctx.Done(); return nil })
		}()
		b.run(time.Second)
		assert.Equal(t, all(), b.kernel.used())
		assert.Contains(t, b.log.String(), "code=KV382")
		cancel()
		b.free(func() { assert.NoError(t, <-ended) })
	})
}

func TestControlSocketOfAFollowerIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	at := func(path string) (Process, *shown) {
		whole := &config.Config{Socket: path}
		return Process{Following: Following{Whole: whole}, Log: slog.New(slog.DiscardHandler)}, &shown{}
	}
	p, s := at(file)
	_, err := p.socketDoor(s)
	require.ErrorContains(t, err, "there is something that is no socket")

	p, s = at(filepath.Join(file, "keepvip.sock"))
	s.socket, err = p.socketDoor(s)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	s.socket.Start(p.Following.Whole.Socket, func(run func(context.Context) error) func() {
		wg.Go(func() { assert.NoError(t, run(ctx)) })
		return func() {}
	})
	wg.Go(func() { s.socket.Run(ctx) })
	require.Len(t, s.listeners(), 1)
	assert.False(t, s.listeners()[0].Up)
	require.NoError(t, os.Remove(file))
	require.Eventually(t, func() bool { return s.listeners()[0].Up }, 10*time.Second, 10*time.Millisecond)
	var answer Status
	require.NoError(t, control.NewClient(p.Following.Whole.Socket).Status(t.Context(), &answer))
}

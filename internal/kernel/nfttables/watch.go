package nfttables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/nudge"
)

// Watch tells when somebody else has changed nftables, where tables cannot be owned. It is one small message for each
// transaction, whatever it changes, and none for those of this process. A nil Watch tells nothing.
type Watch struct {
	conn *netlink.Conn // nil: tables are owned

	mu    sync.Mutex
	tell  map[nudge.Signal]bool
	ended chan struct{}
}

const (
	// groupTables is NFNLGRP_NFTABLES.
	groupTables = 7
	// watchGap is the least time between two looks, where others change nftables all the time, and watchShare what is
	// added for each who looks: on a node with hundreds of them a look takes longer.
	watchGap   = 10 * time.Millisecond
	watchShare = time.Millisecond
)

// OpenWatch begins to watch the network namespace of its thread, if that is of use.
func OpenWatch() (*Watch, error) {
	w := &Watch{tell: map[nudge.Signal]bool{}, ended: make(chan struct{})}
	if Owning() {
		close(w.ended)
		return w, nil
	}
	c, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("nfttables: watch: %w", err)
	}
	filter, err := bpf.Assemble(newGenerations())
	if err == nil {
		err = errors.Join(c.SetBPF(filter), c.JoinGroup(groupTables))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("nfttables: watch: %w", err), c.Close())
	}
	w.conn = c
	go w.run()
	return w, nil
}

// newGenerations keeps of the messages only those that end a transaction: the kernel sends each of them alone.
func newGenerations() []bpf.Instruction {
	kind := binary.NativeEndian.AppendUint16(nil, unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_NEWGEN)
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 2}, // nlmsg_type
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(binary.BigEndian.Uint16(kind)), SkipFalse: 1},
		bpf.RetConstant{Val: 1 << 16},
		bpf.RetConstant{Val: 0},
	}
}

// Tells reports whether changes are told in time: nobody has to look by himself but now and then. That is so, too,
// where tables are owned.
func (w *Watch) Tells() bool { return w != nil }

// Follow has look called after changes of others, in a goroutine of its own and never twice at a time, until stop. A
// change that comes meanwhile is followed by another call. stop waits for a call that is being made, so look must not
// call it.
func (w *Watch) Follow(look func()) (stop func()) {
	if w == nil || w.conn == nil {
		return func() {}
	}
	news, quit, done := nudge.New(), make(chan struct{}), make(chan struct{})
	w.mu.Lock()
	w.tell[news] = true
	w.mu.Unlock()
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-news:
			}
			began := time.Now()
			look()
			if !pause(w.gap(time.Since(began)), quit) {
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		w.mu.Lock()
		delete(w.tell, news)
		w.mu.Unlock()
		close(quit)
		<-done
	})
}

// gap is how long a look that took so long is the last one.
func (w *Watch) gap(took time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	const most = 500 * time.Millisecond
	return min(max(watchGap, time.Duration(len(w.tell))*watchShare, 10*took), most)
}

func pause(d time.Duration, quit <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-quit:
		return false
	case <-timer.C:
		return true
	}
}

func (w *Watch) run() {
	defer close(w.ended)
	for {
		messages, err := w.conn.Receive()
		switch {
		case errors.Is(err, unix.ENOBUFS): // some were lost
		case err != nil:
			return
		case !foreign(messages):
			continue
		}
		w.mu.Lock()
		for news := range w.tell {
			news.Send()
		}
		w.mu.Unlock()
	}
}

// foreign tells whether one of the changes was none of this process.
func foreign(messages []netlink.Message) bool {
	for _, m := range messages {
		if _, own := ports.Load(m.Header.PID); !own {
			return true
		}
	}
	return false
}

// Close ends the watch. Nobody is told anything any more.
func (w *Watch) Close() error {
	if w == nil || w.conn == nil {
		return nil
	}
	err := w.conn.Close()
	<-w.ended
	return err
}

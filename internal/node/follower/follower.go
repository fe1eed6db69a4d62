package follower

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/localproxy"
	"github.com/keepvip/keepvip/members/subscription"
)

// client is the way to members. [subscription.Client] is one.
type client interface {
	Send(subscription.Ask) error
	Packets() <-chan subscription.Packet
	Close() error
}

// writeAfter is how long new members are known before they are written down: of several in a row all at once.
const writeAfter = 2 * time.Second

// longest is the longest time between two looks.
const longest = time.Second

// follower follows the entries of one configuration.
type follower struct {
	process Process
	cfg     Following
	log     *slog.Logger
	client  client
	proxy   localproxy.Listener // nil: none
	entries []*entry
	probes  *probes
	asked   chan chan Status
	ended   chan struct{} // closed when the loop has ended; last is the status then
	last    Status
	beaten  atomic.Int64 // when the loop was seen last, in nanoseconds since begun
	begun   time.Time

	listenNext time.Time // not before then is follow.listen tried again
	unheard    string    // why it is not open; "": it is, or is not wanted

	known     known // as it is on the disk
	written   time.Time
	failed    string // why it could not be written
	askFailed bool   // and that was said
}

// open opens what it takes, and changes nothing of the host yet. Run has to follow. before is the one that has run and left to this one what is in
// the kernel; its listener goes on, too. nil: there was none.
func (p Process) open(cfg Following, before *follower) (*follower, error) {
	f := &follower{process: p, cfg: cfg, log: p.Log, probes: newProbes(), asked: make(chan chan Status), ended: make(chan struct{}), begun: time.Now()}
	var err error
	if f.known, err = readKnown(cfg.Whole.StateDir); err != nil {
		f.log.Warn("the members that the last run knew cannot be read", "error", err)
	}
	if f.client, err = p.Host.Client(cfg.Whole.Port, cfg.Key != nil); err != nil {
		return nil, err
	}
	if err := f.listen(before); err != nil {
		return nil, errors.Join(fmt.Errorf("follow.listen: %w", err), f.client.Close())
	}
	now := time.Now()
	for i, e := range cfg.Entries {
		m := subscription.NewMachine(e.Addresses[0], p.Node, cfg.Key, rand.Uint64)
		m.Know(e.Members, e.Addresses)
		own := &entry{Entry: e, machine: m, log: p.Log.With("vip", e.Name), host: p.Host, known: f.known[e.Addresses[0]], begun: now}
		for _, a := range own.known {
			m.Hint(now, a)
		}
		if i == 0 {
			own.proxy = f.proxy
		}
		f.entries = append(f.entries, own)
	}
	return f, nil
}

// listen opens the listener, or takes over that of the run before, which may have to listen somewhere else.
func (f *follower) listen(before *follower) (err error) {
	var old localproxy.Listener
	if before != nil {
		old = before.proxy
	}
	wanted := f.cfg.Whole.Follow.Listen != "" && len(f.cfg.Entries) > 0
	defer func() {
		if f.proxy != nil {
			f.proxy.SetConnections(f.cfg.Whole.Follow.Connections)
		}
	}()
	switch {
	case wanted && old != nil:
		if before.cfg.Whole.Follow.Listen != f.cfg.Whole.Follow.Listen {
			if err := old.Move(f.cfg.Whole.Follow.Listen); err != nil {
				return fmt.Errorf("%s: %w", f.cfg.Whole.Follow.Listen, err)
			}
		}
		f.proxy, before.proxy = old, nil
		was, is := before.cfg.Entries[0], f.cfg.Entries[0]
		f.proxy.SetFallback(fallback(is))
		if !slices.Equal(was.Addresses, is.Addresses) || was.Ports[was.firstTCP()] != is.Ports[is.firstTCP()] {
			f.proxy.SetBackends(nil) // these serve something else
		}
	case wanted:
		f.listenAnew(time.Now())
	case old != nil:
		before.proxy = nil
		f.shut(old)
	}
	return err
}

// listenAgain is how long is waited for a port that somebody else has.
const listenAgain = 5 * time.Second

// listenAnew opens the listener if it is not open. Whoever has its port keeps no connection from going to the members: it is said, and tried again.
func (f *follower) listenAnew(now time.Time) {
	if f.cfg.Whole.Follow.Listen == "" || len(f.cfg.Entries) == 0 || f.proxy != nil || now.Before(f.listenNext) {
		return
	}
	p, err := f.process.Host.Listen(f.cfg.Whole.Follow.Listen, fallback(f.cfg.Entries[0]))
	if err != nil {
		if text := err.Error(); text != f.unheard {
			f.unheard = text
			f.log.Warn("programs of this host cannot connect at follow.listen; keepvip tries again and again", "code", string(code.NotListening),
				"error", err, "remedy", code.NotListening.Entry().Remedy)
		}
		f.listenNext = now.Add(listenAgain)
		return
	}
	p.SetConnections(f.cfg.Whole.Follow.Connections)
	f.proxy = p
	if len(f.entries) > 0 {
		f.entries[0].proxy = p
	}
	if f.unheard != "" {
		f.unheard = ""
		f.log.Info("programs of this host can connect at follow.listen", "address", f.cfg.Whole.Follow.Listen)
	}
}

// fallback is the virtual address, with the first TCP port.
func fallback(e Entry) (out []netip.AddrPort) {
	for _, a := range e.Addresses {
		out = append(out, netip.AddrPortFrom(a, e.Ports[e.firstTCP()].Port))
	}
	return out
}

// shut ends a listener, and its connections with it: the process ends, or the configuration wants no listener any more.
func (f *follower) shut(p localproxy.Listener) {
	if err := localproxy.Cut(p); err != nil {
		f.log.Warn("the listener has not ended as it should", "error", err)
	}
}

// Run follows until ctx ends. Then what is in the kernel is taken away, but not if stays says that another run is about to go on.
func (f *follower) Run(ctx context.Context, stays func() bool) error {
	names := make([]string, 0, len(f.entries))
	for _, e := range f.entries {
		names = append(names, e.Name)
	}
	if gone, err := f.process.Host.Cleanup(names...); err != nil {
		f.log.Warn("tables of an earlier run stay", "error", err)
	} else if len(gone) > 0 {
		f.log.Info("tables of an earlier run removed", "tables", gone)
	}
	f.loop(ctx)
	f.last = f.status(time.Now())
	close(f.ended)
	var errs []error
	left := stays()
	if f.proxy != nil && !left {
		f.shut(f.proxy)
	}
	for _, e := range f.entries {
		errs = append(errs, e.close(left))
	}
	if !left { // also what the run before has left for this one
		_, err := f.process.Host.Cleanup()
		errs = append(errs, err)
	}
	f.write(time.Now(), true)
	return errors.Join(append(errs, f.client.Close())...)
}

func (f *follower) loop(ctx context.Context) {
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		case in := <-f.client.Packets():
			f.hear(time.Now(), in)
		case r := <-f.probes.results:
			f.note(time.Now(), r)
		case answer := <-f.asked:
			answer <- f.status(time.Now())
			continue
		}
		now := time.Now()
		f.step(ctx, now)
		due.Reset(time.Until(f.next(now)))
	}
}

// note takes in what a probe has found.
func (f *follower) note(now time.Time, r result) {
	before := f.probes.lacks
	f.probes.note(now, r)
	switch is := f.probes.lacks; {
	case is == before:
	case is == "":
		f.log.Info("this host has again what a look at a member takes", "unasked", f.probes.unasked)
	default:
		f.log.Warn("members cannot be looked at, and count as before: this host lacks what it takes", "code", string(is), "error", r.err, "remedy", is.Entry().Remedy)
	}
}

// hear takes in a message, and those that wait behind it, so many at a time.
func (f *follower) hear(now time.Time, in subscription.Packet) {
	for left := 64; ; left-- {
		for _, e := range f.entries {
			if e.machine.Asked(in.Data) {
				f.ask(e.machine.Hear(now, in.Data))
			}
		}
		if left == 0 {
			return
		}
		select {
		case in = <-f.client.Packets():
		default:
			return
		}
	}
}

// ask asks members. That one cannot be reached from here is nothing new each time.
func (f *follower) ask(all []subscription.Ask) {
	for _, a := range all {
		err := f.client.Send(a)
		if err != nil && !f.askFailed {
			f.log.Warn("a member cannot be asked who the members are; keepvip goes on trying", "member", a.To, "error", err)
		}
		f.askFailed = f.askFailed || err != nil
	}
}

// step does what there is to do at now.
func (f *follower) step(ctx context.Context, now time.Time) {
	var services []netip.AddrPort
	for _, e := range f.entries {
		f.ask(e.machine.Expire(now))
		e.step(now, f.probes.verdict)
		services = append(services, e.services()...)
	}
	f.listenAnew(now)
	f.probes.want(services)
	f.probes.start(ctx, now)
	f.write(now, false)
	f.beaten.Store(int64(now.Sub(f.begun)))
}

// next is when something is due.
func (f *follower) next(now time.Time) time.Time {
	next := now.Add(longest)
	for _, e := range f.entries {
		for _, at := range []time.Time{e.machine.Deadline(now), e.due(now)} {
			if !at.IsZero() && at.Before(next) {
				next = at
			}
		}
	}
	if at := f.probes.deadline(); !at.IsZero() && at.Before(next) {
		next = at
	}
	return next
}

// write keeps who the members are for the next run.
func (f *follower) write(now time.Time, last bool) {
	if !last && now.Sub(f.written) < writeAfter {
		return
	}
	all := known{}
	for _, e := range f.entries {
		list := e.machine.Known()
		if len(list) == 0 {
			list = f.known[e.group()]
		}
		if len(list) > 0 {
			all[e.group()] = list[:min(len(list), mostPeers)]
		}
	}
	if all.equal(f.known) {
		return
	}
	f.written = now
	if err := all.write(f.cfg.Whole.StateDir); err != nil {
		if text := err.Error(); text != f.failed {
			f.failed = text
			f.log.Warn("who the members are is not kept for the next start, until this works; is --state-dir on a disk that can be written?", "error", err)
		}
		return
	}
	f.known, f.failed = all, ""
}

// stuckAfter is how long the loop may take for a step.
const stuckAfter = 10 * time.Second

// stuck is an error when the loop is.
func (f *follower) stuck() error {
	if late := time.Since(f.begun) - time.Duration(f.beaten.Load()); late > stuckAfter {
		return fmt.Errorf("the follower's loop is stuck for %v", late.Round(time.Second))
	}
	return nil
}

// Status is how it is now.
func (f *follower) Status() (Status, error) {
	answer := make(chan Status, 1)
	limit := time.NewTimer(stuckAfter)
	defer limit.Stop()
	select {
	case f.asked <- answer:
		return <-answer, nil
	case <-f.ended: // another run goes on in a moment
		return f.last, nil
	case <-limit.C:
		return Status{}, fmt.Errorf("the follower's loop does not answer: %w", os.ErrDeadlineExceeded)
	}
}

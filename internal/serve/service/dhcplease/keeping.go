package dhcplease

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/keepvip/keepvip/arp/dhcp"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// reopenAfter is how long a socket that failed is left alone.
const reopenAfter = 5 * time.Second

// keeping is one stay of the addresses on this node.
type keeping struct {
	service *Service
	ctx     context.Context
	place   instance.Place
	wanted  []Wanted
	keepers []*dhcp.Keeper
	said    []instance.LeaseStatus // as the log has it
	failed  string                 // of the socket
}

// run keeps the leases until its context ends.
func (k *keeping) run() {
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for _, w := range k.wanted {
		id := append([]byte{0}, w.ClientID...) // type 0: no hardware address (RFC 2132 section 9.14)
		k.keepers = append(k.keepers, dhcp.NewKeeper(w.Address, id, random, time.Now()))
		k.said = append(k.said, instance.LeaseStatus{})
	}
	for k.ctx.Err() == nil {
		err := k.speak()
		if k.ctx.Err() != nil {
			return
		}
		k.failed = err.Error()
		k.show()
		select {
		case <-k.ctx.Done():
		case <-time.After(reopenAfter):
		}
	}
}

// speak keeps them by one socket, until the context ends or the socket fails.
func (k *keeping) speak() error {
	sock, err := k.service.open(k.place)
	if err != nil {
		return err
	}
	k.failed = ""
	heard, broken := make(chan dhcp.Reply), make(chan error, 1)
	ctx, stop := context.WithCancel(k.ctx)
	go func() {
		for {
			r, err := sock.Receive()
			if err != nil {
				broken <- err
				return
			}
			select {
			case heard <- r:
			case <-ctx.Done():
			}
		}
	}()
	defer func() {
		stop()
		_ = sock.Close() // which ends the reader
		<-broken
	}()
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		k.say(sock)
		k.show()
		if next := k.next(); next.IsZero() {
			due.Stop()
		} else {
			due.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-broken:
			broken <- err
			return err
		case r := <-heard:
			for _, keeper := range k.keepers {
				keeper.Heard(time.Now(), r)
			}
		case <-due.C:
		}
	}
}

// say has what is due on the wire. What cannot be sent is repeated as what is not answered.
func (k *keeping) say(sock Socket) {
	for _, keeper := range k.keepers {
		out, ok := keeper.Due(time.Now())
		if !ok {
			continue
		}
		k.failed = ""
		if err := sock.Send(out); err != nil {
			k.failed = err.Error()
		}
	}
}

func (k *keeping) next() (first time.Time) {
	for _, keeper := range k.keepers {
		if at := keeper.Next(); first.IsZero() || !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}

// show has the status, and the log where something is new.
func (k *keeping) show() {
	list := make([]instance.LeaseStatus, len(k.keepers))
	for i, keeper := range k.keepers {
		l := keeper.Lease()
		s := instance.LeaseStatus{Address: k.wanted[i].Address, ClientID: k.wanted[i].ClientID, Server: l.Server, Renewed: l.Since, Expires: l.Expires}
		s.Problem, s.Code = keeper.Problem()
		if k.failed != "" {
			s.Problem, s.Code = k.failed, code.LeaseUnanswered
		}
		list[i] = s
		k.log(k.said[i], s)
		k.said[i] = s
	}
	k.service.mu.Lock()
	defer k.service.mu.Unlock()
	if k.ctx.Err() == nil {
		k.service.leases = list
	}
}

// log says when a lease begins, and when one goes wrong.
func (k *keeping) log(old, s instance.LeaseStatus) {
	log := k.service.log.With("address", s.Address, "client", s.ClientID)
	switch leased := !s.Renewed.IsZero(); {
	case s.Problem != "" && s.Problem != old.Problem:
		log.Warn("no DHCP server keeps the address for this cluster; it stays where it is", "reason", s.Problem, "code", string(s.Code))
	case s.Problem == "" && leased && (old.Problem != "" || old.Renewed.IsZero() || old.Server != s.Server):
		log.Info("a DHCP server keeps the address for this cluster", "server", s.Server, "until", s.Expires)
	case leased && s.Renewed != old.Renewed:
		log.Debug("the lease is renewed", "server", s.Server, "until", s.Expires)
	}
}

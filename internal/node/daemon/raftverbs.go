package daemon

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

// OpRecover makes this node the only voter.
const OpRecover = "recover"

// recover begins the cluster anew with this node alone.
func (d *Daemon) recover() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.build.raft.current()
	if n == nil {
		return ErrNoRaft
	}
	vips := d.cfg.ByRaft()
	again, err := d.build.instances(vips, d.cfg)
	if err != nil {
		return err
	}
	if err := n.PrepareRecovery(); err != nil { // last: from here on a start begins anew
		return err
	}
	d.set.Apply(instance.Delta{Remove: namesOf(vips), Add: again, Between: d.build.raft.close})
	return nil
}

// member carries out a verb of `keepvip member`.
func (d *Daemon) member(ctx context.Context, op, address string) error {
	if op == OpRecover {
		return d.recover()
	}
	a, err := netip.ParseAddr(address)
	if err != nil {
		return fmt.Errorf("%q, want the address of a node", address)
	}
	n := d.build.raft.current()
	if n == nil {
		return ErrNoRaft
	}
	ctx, cancel := context.WithTimeout(ctx, memberTime)
	defer cancel()
	return n.Change(ctx, op, a)
}

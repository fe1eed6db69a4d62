package address

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// A reset that comes when the address is gone does not leave, and a client that only listens does not learn of its end. So a node that is
// silent for sure keeps the address for it. A node that may answer does not, because another one may answer soon. No release waits long.
func TestReleaseWaitsForResetsWhileTheNodeIsSilent(t *testing.T) {
	for name, tt := range map[string]struct {
		kernel             *fakeFence
		takes, waits, gone time.Duration
	}{
		"a slow kernel":            {&fakeFence{egress: true}, 100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond},
		"many connections":         {&fakeFence{egress: true}, time.Second, patience + resetTime, time.Second},
		"a kernel that is stuck":   {&fakeFence{egress: true}, time.Minute, patience + resetTime, (&Part{Addresses: vips}).tellTime() + resetTime},
		"the fence refuses":        {&fakeFence{egress: true, open: errors.New("refused")}, 100 * time.Millisecond, patience, patience},
		"the fence covers not all": {&fakeFence{egress: true, uncovered: "ARP"}, time.Second, patience + resetTime, patience + resetTime},
		"there is no fence":        {nil, 100 * time.Millisecond, patience, patience},
	} {
		t.Run(name, func(t *testing.T) {
			var reset [][]netip.Addr
			change := func(in *entry) {
				if tt.kernel != nil {
					fenced(tt.kernel)(in)
				}
				in.Reset = func(_ context.Context, addresses []netip.Addr) (int, error) {
					reset = append(reset, addresses)
					time.Sleep(tt.takes)
					return 1, nil
				}
			}
			run(t, nil, change, func(t *testing.T, b *bench) {
				e := <-b.electors
				require.NoError(t, e.decide(election.Serve, nodeA))
				b.host.take()
				began := time.Now()
				require.NoError(t, e.decide(election.Standby, nodeB))
				synctest.Wait() // and the race detector is told
				assert.Equal(t, tt.waits, time.Since(began))
				if tt.gone > tt.waits {
					time.Sleep(tt.gone - tt.waits - time.Millisecond)
					synctest.Wait()
					assert.Empty(t, b.host.take())
					time.Sleep(time.Millisecond)
					synctest.Wait()
				}
				assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
				require.Len(t, reset, 1)
				assert.Len(t, reset[0], 2)
				time.Sleep(tt.takes)
			})
		})
	}
}

// slowResets need a second, and end with their context.
func slowResets(kernel *fakeFence, ended *int) func(*entry) {
	return func(in *entry) {
		fenced(kernel)(in)
		in.Reset = func(ctx context.Context, _ []netip.Addr) (int, error) {
			select {
			case <-ctx.Done():
				*ended++
				return 1, ctx.Err()
			case <-time.After(time.Second):
				return 17000, nil
			}
		}
	}
}

// What is still open goes on where this node is elected again before all clients were told.
func TestReleaseTellsNobodyAnyMoreWhenElectedAgain(t *testing.T) {
	for name, uncovered := range map[string]string{"the address stayed": "", "the address went": "ARP on other links"} {
		t.Run(name, func(t *testing.T) {
			kernel, ended := &fakeFence{egress: true, uncovered: uncovered}, 0
			run(t, nil, slowResets(kernel, &ended), func(t *testing.T, b *bench) {
				e := <-b.electors
				require.NoError(t, e.decide(election.Serve, nodeA))
				require.NoError(t, e.decide(election.Standby, nodeB))
				b.host.take()
				kernel.take()
				require.NoError(t, e.decide(election.Serve, nodeA))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				assert.Equal(t, 1, ended)
				assert.NotContains(t, b.host.take(), "del 10.77.0.100/32 2")
				did := kernel.take()
				open := slices.Index(did, "release") + 1
				assert.Equal(t, []string{"hold"}, slices.Compact(did[open:]), "what was shut is open, and stays so")
			})
		})
	}
}

// The end of keepvip waits until all clients were told: after it nobody tells them.
func TestReleaseAtTheEndTellsAllClients(t *testing.T) {
	kernel, ended := &fakeFence{egress: true}, 0
	run(t, nil, slowResets(kernel, &ended), func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.take()
		began := time.Now()
		b.cancel()
		<-b.done
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
		assert.Zero(t, ended)
		assert.Contains(t, b.log.String(), "connections=17000")
	})
}

// What a killed keepvip has left: its connections are still open here, and the kernel may have taken the address away. It is put back for
// the resets, behind a fence that lets nothing else through.
func TestLeftConnectionsAreResetWhenAnotherNodeIsHeard(t *testing.T) {
	all := []Binding{{eth0, vip4}, {eth0, vip6}}
	for name, tt := range map[string]struct {
		bound     []Binding
		open      int
		fence     []string
		did       []string
		wantReset bool
	}{
		"the address is here":     {all, 5, []string{"shut in", "shut in", "shut out", "standby"}, []string{"add 10.77.0.100/32 2", "add fd77::100/128 2", "del 10.77.0.100/32 2", "del fd77::100/128 2"}, true},
		"the address is gone":     {nil, 5, []string{"shut in", "shut in", "shut out", "standby"}, []string{"add 10.77.0.100/32 2", "add fd77::100/128 2", "del 10.77.0.100/32 2", "del fd77::100/128 2"}, true},
		"nothing is open":         {all, 0, []string{"standby"}, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, false},
		"nothing at all was left": {nil, 0, []string{"standby"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := &fakeFence{egress: true, standby: 20 * time.Second}
			resets := 0
			change := func(in *entry) {
				fenced(kernel)(in)
				in.Reset = func(context.Context, []netip.Addr) (int, error) {
					resets++
					time.Sleep(time.Millisecond)
					return 5, nil
				}
			}
			run(t, func(h *fakeHost) { h.bound, h.open = slices.Clone(tt.bound), tt.open }, change, func(t *testing.T, b *bench) {
				e := <-b.electors
				synctest.Wait()
				kernel.take()
				b.host.take()
				require.NoError(t, e.decide(election.Standby, nodeB))
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
				assert.Equal(t, tt.fence, kernel.take())
				assert.Equal(t, tt.did, b.host.take())
				assert.Equal(t, tt.wantReset, resets == 1)
			})
		})
	}
}

// A kernel that is busy when the other node is heard: the address goes all the same, and its clients are told a second later.
func TestLeftConnectionsAreResetWhenTheKernelHasTime(t *testing.T) {
	kernel := &fakeFence{egress: true, standby: 20 * time.Second, delayIn: shutTime + time.Millisecond}
	var resets []time.Duration
	var began time.Time
	change := func(in *entry) {
		fenced(kernel)(in)
		in.Reset = func(context.Context, []netip.Addr) (int, error) {
			resets = append(resets, time.Since(began))
			time.Sleep(time.Millisecond)
			return 5, nil
		}
	}
	left := func(h *fakeHost) { h.bound, h.open = []Binding{{eth0, vip4}, {eth0, vip6}}, 5 }
	run(t, left, change, func(t *testing.T, b *bench) {
		e := <-b.electors
		synctest.Wait()
		b.host.take()
		began = time.Now()
		require.NoError(t, e.decide(election.Standby, nodeB))
		assert.Equal(t, shutTime, time.Since(began), "the election goes on")
		assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
		time.Sleep(leaveAgain / 2)
		kernel.set(func(f *fakeFence) { f.delayIn = 0 })
		time.Sleep(leaveAgain)
		synctest.Wait()
		assert.Equal(t, []time.Duration{shutTime + leaveAgain}, resets)
		assert.Equal(t, []string{"add 10.77.0.100/32 2", "add fd77::100/128 2", "del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
	})
}

// A kernel that is stuck for long has few things to do when it goes on: what it was asked for is not asked again meanwhile. The clients are told then.
func TestLeftConnectionsWaitForAKernelThatIsStuck(t *testing.T) {
	const stuck = 5 * time.Minute
	kernel := &fakeFence{egress: true, standby: 20 * time.Second, delayIn: stuck}
	resets := 0
	change := func(in *entry) {
		fenced(kernel)(in)
		in.Reset = func(context.Context, []netip.Addr) (int, error) {
			resets++
			time.Sleep(time.Millisecond)
			return 5, nil
		}
	}
	left := func(h *fakeHost) { h.bound, h.open = []Binding{{eth0, vip4}, {eth0, vip6}}, 5 }
	run(t, left, change, func(t *testing.T, b *bench) {
		e := <-b.electors
		synctest.Wait()
		kernel.take()
		b.host.set(func(h *fakeHost) { h.cleared = nil })
		require.NoError(t, e.decide(election.Standby, nodeB))
		time.Sleep(stuck - time.Second)
		synctest.Wait()
		b.host.set(func(h *fakeHost) { assert.Len(t, h.cleared, 1, "the addresses are off since the first time") })
		assert.Empty(t, kernel.take())
		assert.Zero(t, resets)

		kernel.set(func(f *fakeFence) { f.delayIn = 0 })
		time.Sleep(time.Second + leaveAgain + resetTime)
		synctest.Wait()
		assert.Equal(t, []string{"shut in", "standby", "shut in", "shut in", "shut out", "standby"}, kernel.take())
		assert.Equal(t, 1, resets)
		assert.Empty(t, b.host.Bound(vips))
	})
}

// A process that was frozen wakes: the kernel has taken the addresses away, and is too busy to shut the fence within the time that a release waits.
// No reset could leave, so none is made until one can.
func TestReleaseTellsLaterWhatCouldNotLeaveNow(t *testing.T) {
	type end func(*bench, *fakeElector) error
	for name, end := range map[string]end{
		"on standby":         nil,
		"the process ends":   func(b *bench, _ *fakeElector) error { b.cancel(); return nil },
		"elected once again": func(_ *bench, e *fakeElector) error { return e.decide(election.Serve, nodeA) },
	} {
		t.Run(name, func(t *testing.T) {
			kernel := &fakeFence{egress: true, standby: 20 * time.Second}
			var host *fakeHost
			var resets []int // how many addresses were here
			change := func(in *entry) {
				fenced(kernel)(in)
				in.Reset = func(context.Context, []netip.Addr) (int, error) {
					resets = append(resets, len(host.Bound(vips)))
					time.Sleep(time.Millisecond)
					return 5, nil
				}
			}
			run(t, func(h *fakeHost) { host = h }, change, func(t *testing.T, b *bench) {
				e := <-b.electors
				require.NoError(t, e.decide(election.Serve, nodeA))
				b.host.set(func(h *fakeHost) { h.bound, h.open = nil, 5 })
				kernel.set(func(f *fakeFence) { f.delayIn = shutTime + time.Millisecond })
				require.NoError(t, e.decide(election.Standby, nodeB))
				synctest.Wait()
				assert.Empty(t, resets)
				kernel.set(func(f *fakeFence) { f.delayIn = 0 })
				if end != nil {
					require.NoError(t, end(b, e))
				}
				time.Sleep(leaveAgain + 10*time.Millisecond)
				synctest.Wait()
				if name == "elected once again" {
					assert.Empty(t, resets, "what is still open goes on")
					return
				}
				assert.Equal(t, []int{len(vips)}, resets)
				assert.Empty(t, b.host.Bound(vips))
			})
		})
	}
}

// A process that has just woken has not seen yet that the kernel has taken the addresses away.
func TestReleaseBindsForItsResetsWhatMayBeGone(t *testing.T) {
	resets := 0
	change := func(in *entry) {
		fenced(&fakeFence{egress: true, standby: 20 * time.Second})(in)
		in.Reset = func(context.Context, []netip.Addr) (int, error) {
			resets++
			return 5, nil
		}
	}
	run(t, nil, change, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		e.setLapsed(true)
		time.Sleep((&Part{Addresses: vips}).Valid())
		b.host.take()
		require.NoError(t, e.decide(election.Standby, nodeB))
		synctest.Wait()
		assert.Equal(t, []string{"add 10.77.0.100/32 2", "add fd77::100/128 2", "del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
		assert.Equal(t, 1, resets)
	})
}

// Some ten thousand connections, and a kernel that is too busy to shut the fence, or to reset them all while the addresses live: the next node does
// not wait, and what is left is told later, or in another lifetime of the addresses.
func TestReleaseTellsTheRestLater(t *testing.T) {
	gone := []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}
	for name, tt := range map[string]struct {
		shut, first, waits time.Duration
		did                []string // until then
	}{
		"the fence is slow":      {time.Second, time.Second, 2 * patience, gone},
		"the resets take longer": {0, time.Hour, (&Part{Addresses: vips}).tellTime(), []string{"add 10.77.0.100/32 2", "add fd77::100/128 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := &fakeFence{egress: true, standby: 20 * time.Second, delayIn: tt.shut}
			takes, ended := tt.first, 0
			change := func(in *entry) {
				fenced(kernel)(in)
				in.Reset = func(ctx context.Context, _ []netip.Addr) (int, error) {
					select {
					case <-ctx.Done():
						takes = time.Second
						ended++
						return 1, ctx.Err()
					case <-time.After(takes):
						return 17000, nil
					}
				}
			}
			run(t, func(h *fakeHost) { h.open = 17000 }, change, func(t *testing.T, b *bench) {
				e := <-b.electors
				require.NoError(t, e.decide(election.Serve, nodeA))
				b.host.take()
				began := time.Now()
				require.NoError(t, e.decide(election.Standby, nodeB))
				assert.LessOrEqual(t, time.Since(began), patience+resetTime)
				time.Sleep(tt.waits - time.Since(began))
				synctest.Wait()
				assert.Equal(t, 1, ended, "what would end without a word goes on")
				did := b.host.take()
				assert.Equal(t, tt.did, did)
				kernel.set(func(f *fakeFence) { f.delayIn = 0 })
				time.Sleep(leaveAgain + 2*time.Second)
				synctest.Wait()
				did = append(did, b.host.take()...)
				assert.Equal(t, gone, did[len(did)-2:])
				assert.Contains(t, did, "add 10.77.0.100/32 2")
				assert.Contains(t, b.log.String(), "connections=17000")
				b.host.set(func(h *fakeHost) { h.open = 0 })
			})
		})
	}
}

// Until nothing comes in any more, clients connect: those that did so during the first reset are told as well.
func TestReleaseResetsAgainWhatCameInDuringTheReset(t *testing.T) {
	kernel := &fakeFence{egress: true, delayIn: 50 * time.Millisecond}
	var resets []time.Duration
	var began time.Time
	change := func(in *entry) {
		fenced(kernel)(in)
		in.Reset = func(context.Context, []netip.Addr) (int, error) {
			resets = append(resets, time.Since(began))
			time.Sleep(40 * time.Millisecond)
			return 1, nil
		}
	}
	run(t, nil, change, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		began = time.Now()
		require.NoError(t, e.decide(election.Off, netip.Addr{}))
		assert.Equal(t, []time.Duration{patience, patience + 40*time.Millisecond}, resets)
		assert.Equal(t, patience+80*time.Millisecond, time.Since(began))
	})
}

// A fence is looked at every half second, and on standby its guard is renewed then, which opens what is shut. A release that takes longer
// than until that moment is no standby yet.
func TestReleaseStaysShutWhenTheFenceIsLookedAt(t *testing.T) {
	kernel := &fakeFence{egress: true, standby: 20 * time.Second}
	change := func(in *entry) {
		fenced(kernel)(in)
		in.Reset = func(context.Context, []netip.Addr) (int, error) {
			time.Sleep(100 * time.Millisecond)
			return 1, nil
		}
	}
	run(t, nil, change, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		now := time.Now()
		time.Sleep(instance.NextMultiple(now, checkEvery).Sub(now) - 50*time.Millisecond)
		kernel.take()
		require.NoError(t, e.decide(election.Standby, nodeB))
		synctest.Wait()
		assert.Equal(t, []string{"shut in", "shut out", "standby"}, kernel.take())
	})
}

package follower

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members/slots"
)

// series are those of a process by name and labels, as name,k=v.
func (r *reloading) series(t *testing.T) map[string]float64 {
	t.Helper()
	reg, out := prometheus.NewPedanticRegistry(), map[string]float64{}
	p := Process{}.told(&r.shown)
	for _, c := range p.Collectors {
		require.NoError(t, reg.Register(c))
	}
	r.free(func() {
		families, err := reg.Gather()
		require.NoError(t, err)
		for _, f := range families {
			for _, m := range f.GetMetric() {
				name := f.GetName()
				for _, l := range m.GetLabel() {
					name += "," + l.GetName() + "=" + l.GetValue()
				}
				out[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	})
	return out
}

// ready is what the kubelet is told.
func (r *reloading) ready() (err error) {
	r.free(func() { err = r.shown.ready() })
	return err
}

func TestMetricsOfAFollower(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		require.NoError(t, following(t, b, configOf(t, ""), func(r *reloading) {
			const wire, used = "keepvip_follower_on_the_wire,port=6443/tcp,vip=apiserver", "keepvip_follower_member_used,member=10.77.0.11,port=6443/tcp,vip=apiserver"
			seen := r.series(t)
			assert.Subset(t, seen, map[string]float64{
				"keepvip_follower_working,vip=apiserver": 1, "keepvip_follower_told_by,vip=apiserver": 1, wire: 0, used: 1,
				"keepvip_follower_connections_ended_total,vip=apiserver": 0, "keepvip_config_last_reload_successful": 1,
			}, "%v", slices.Sorted(maps.Keys(seen)))
			require.NoError(t, r.ready())

			b.members.expects = []slots.Condition{slots.Dead, slots.Keeps, slots.Keeps}

			r.run(time.Second)
			assert.Subset(t, r.series(t), map[string]float64{wire: 1, used: 0, "keepvip_follower_connections_ended_total,vip=apiserver": 1})
			require.NoError(t, r.ready(), "it does what the members say")

			r.fails = errors.New("line 3: what is that")
			r.reload(Following{})
			assert.Subset(t, r.series(t), map[string]float64{"keepvip_config_last_reload_successful": 0, "keepvip_config_reloads_total,result=refused": 1})

			b.members.mute = true
			r.run(10 * time.Second)
			assert.Subset(t, r.series(t), map[string]float64{"keepvip_follower_told_by,vip=apiserver": 0})
			assert.ErrorContains(t, r.ready(), "apiserver: no member says who the members are")
		}))
	})
}

func TestFollowerIsNotReadyWhileTheKernelRefuses(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.kernel.fails = errors.New("no nftables")
		require.NoError(t, following(t, b, configOf(t, ""), func(r *reloading) {
			assert.Zero(t, r.series(t)["keepvip_follower_working,vip=apiserver"])
			assert.ErrorContains(t, r.ready(), "apiserver: no nftables")
			assert.NoError(t, r.shown.live(), "a new process would fare no better")
		}))
	})
}

func TestFollowerThatHasNotBegunIsLiveAndNotReady(t *testing.T) {
	var s shown
	require.NoError(t, s.live())
	require.ErrorIs(t, s.ready(), errNotBegun)
	assert.Equal(t, Status{Follows: []EntryStatus{}}, s.answer())
}

func TestReloadsOfAFollowerAreCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		c := configOf(t, "127.0.0.1:9443")
		b.kernel.taken = "127.0.0.1:7"
		require.NoError(t, following(t, b, c, func(r *reloading) {
			count := func() [2]float64 {
				s := r.series(t)
				return [2]float64{s["keepvip_config_reloads_total,result=taken"], s["keepvip_config_reloads_total,result=refused"]}
			}
			assert.Equal(t, [2]float64{0, 0}, count())
			r.reload(but(c, func(w *config.Config) { w.Follow.Listen = "127.0.0.1:7" }))
			assert.Equal(t, [2]float64{0, 1}, count(), "somebody else has the port")
			assert.NotNil(t, r.shown.reloads.Status().Refused)
			c = but(c, func(w *config.Config) { w.File = []byte("# another comment") })
			r.reload(c)
			assert.Equal(t, [2]float64{1, 1}, count())
			c = but(c, func(w *config.Config) { w.Follow.Listen = "127.0.0.1:9444" })
			r.reload(c)
			assert.Equal(t, [2]float64{2, 1}, count())
			assert.Nil(t, r.shown.reloads.Status().Refused)
			r.reload(but(c, func(w *config.Config) { w.Metrics.Address = "127.0.0.1:9700" }))
			assert.Contains(t, b.log.String(), "the listener for metrics stays as it is until a restart")
		}))
	})
}

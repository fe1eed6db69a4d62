package instance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

func TestNodeThatCannotBindAFamilyComesAfterTheOthers(t *testing.T) {
	byVRRP := func(preempt bool) Config {
		return Config{VIP: config.VIP{Priority: 100, Election: config.ElectionVRRP, VRRP: config.VRRP{ID: 7, Preempt: preempt}}}
	}
	for _, c := range []struct {
		cfg  Config
		less int
	}{
		{byVRRP(true), 98},
		{Config{VIP: config.VIP{Priority: 100}}, 98},
		{byVRRP(false), lastPlace},
	} {
		v := view{cfg: &c.cfg, lacking: "IPv6 is off"}
		f := v.fitness()
		assert.Equal(t, c.less, f.Less)
		assert.Equal(t, "IPv6 is off", f.Reason)
		assert.Equal(t, code.FamilyMissing, f.Code)
		assert.False(t, f.Out, "it serves where nobody else can")
	}
}

func TestRefusalIsRememberedWhenTheAddressIsPassedOn(t *testing.T) {
	var r refusal
	now := time.Now()
	assert.Empty(t, r.newest("", false, now))
	assert.Equal(t, "refused", r.newest("refused", true, now))
	assert.Equal(t, "refused", r.newest("", false, now.Add(refusedFor-time.Second)), "else it would take the address again at once")
	assert.Empty(t, r.newest("", false, now.Add(refusedFor)))
	assert.Equal(t, "refused", r.newest("refused", true, now))
	assert.Empty(t, r.newest("", true, now), "a holder knows")
}

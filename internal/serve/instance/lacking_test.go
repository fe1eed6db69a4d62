package instance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
)

func TestNodeThatCannotBindAFamilyComesAfterTheOthers(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		less int
	}{
		{Config{Priority: 100, VRID: 7, Preempt: true}, 98},
		{Config{Priority: 100}, 98},
		{Config{Priority: 100, VRID: 7}, lastPlace},
	} {
		v := view{cfg: c.cfg, lacking: "IPv6 is off"}
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

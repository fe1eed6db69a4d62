package members

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestMachineOfManySpeaksLessOftenAndSaysSo(t *testing.T) {
	for _, tt := range []struct {
		give, want, lifetime time.Duration
	}{
		{give: 0, want: time.Second, lifetime: 3500 * ms},
		{give: 10 * time.Second, want: 10 * time.Second, lifetime: 35 * time.Second},
		{give: time.Minute, want: LongestEvery, lifetime: 52500 * ms},
	} {
		r := newRig(t, func(c *Config) { c.Every = tt.give })
		r.self(Backup, true)
		for range len(repeats) {
			r.now, _ = r.m.Deadline()
			r.step(Expired{})
		}
		next, _ := r.m.Deadline()
		assert.Equal(t, tt.want, next.Sub(r.now))
		msg := r.m.message(Hello, Deal{})
		assert.Equal(t, tt.lifetime, msg.Facts.Lifetime)
		assert.NoError(t, msg.validate())
	}
}

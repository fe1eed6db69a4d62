package gather

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

func TestDaemonSaysWhatIsWrongWithItself(t *testing.T) {
	assert.Nil(t, (*daemon)(nil).facts())
	d := &daemon{Version: "1.0.0", VIPs: []instance.Status{
		{Name: "good", State: "active", Fence: instance.FenceStatus{Standing: true}, Lateness: 0.002},
		{Name: "bare", State: "backup", Fence: instance.FenceStatus{Reason: "no nftables"}, Lateness: 0.08},
		{Name: "mute", State: "active", Fence: instance.FenceStatus{Standing: true}, Silent: true, Reason: "nothing leaves"},
		{Name: "waiting", State: "initialize"},
	}}
	assert.Equal(t, &doctor.Daemon{
		Version: "1.0.0", Lateness: 80 * time.Millisecond, Fenced: map[string]string{"bare": "no nftables"}, Silent: map[string]string{"mute": "nothing leaves"},
	}, d.facts())
}

package daemon

import (
	"testing"

	"github.com/keepvip/keepvip/internal/config"
)

// A reload may come as soon as the control socket answers, which is before the start is over. The race detector sees what reads a configuration meanwhile.
func TestEndOfTheStartBesideAReload(*testing.T) {
	d := &Daemon{cfg: &config.Config{}}
	done := make(chan struct{})
	d.mu.Lock()
	go func() {
		defer close(done)
		afterStart(d.settled(), nil)()
	}()
	d.cfg = &config.Config{}
	d.mu.Unlock()
	<-done
}

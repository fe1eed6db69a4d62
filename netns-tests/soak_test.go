//go:build netns

package netnstests

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestSoak is the beginning of `make soak`, with faults that are always the same. What took too long is for that one to judge.
func TestSoak(t *testing.T) {
	const seed, episodes = 1, 2
	c := must(trial.OpenChaos(host, seed))(t)
	t.Cleanup(c.Close)
	var tally trial.Tally
	for i := range episodes {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			res := must(c.Run(i))(t)
			tally.Add(res)
			t.Log(res)
			if !assert.Empty(t, res.Wrong, res.What) {
				res.Report.Timeline(os.Stdout, 0)
				t.Log(c.Logs(60))
			}
		})
	}
	tally.Print(t.Output())
}

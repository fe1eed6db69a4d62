package raft

import (
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// A lease is renewed many times a second, for years: it must cost the disk nothing. The whole million of rounds is driven by
// make test-raft-sim.
func TestIdleClusterWritesNothing(t *testing.T) {
	want := int64(simulationSeeds(5)) * 1000
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		var disks []*platter
		for i := range 3 {
			p := &platter{t: t, dir: filepath.Join(memory(t), "0"), host: l.hosts[addr(i)]}
			p.host.disk = p.open()
			disks = append(disks, p)
			p.host.boot()
		}
		l.await(5 * time.Second)
		time.Sleep(5 * time.Second)
		rounds, began := l.acked.Load(), time.Now()
		var before [3]int
		for i, p := range disks {
			before[i] = p.writes()
			require.NotZero(t, before[i])
		}
		for l.acked.Load()-rounds < want {
			time.Sleep(time.Minute)
		}
		for i, p := range disks {
			assert.Equal(t, before[i], p.writes(), "writes to the database")
			size := int64(0)
			require.NoError(t, filepath.WalkDir(p.dir, func(_ string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				info, err := d.Info()
				size += info.Size()
				return err
			}))
			assert.Less(t, size, int64(16<<20))
			t.Logf("%s: %d KiB after %d rounds in %v", p.host.self, size>>10, l.acked.Load()-rounds, time.Since(began).Round(time.Second))
		}
	})
}

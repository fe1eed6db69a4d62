//go:build linux

package arrival

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func TestStamp(t *testing.T) {
	data := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, 1700000000), 42)
	at, ok := Timestamp(unix.SOL_SOCKET, unix.SCM_TIMESTAMPNS, data)
	assert.True(t, ok)
	assert.Equal(t, time.Unix(1700000000, 42), at)
	for name, give := range map[string][]int{
		"another level": {unix.IPPROTO_IP, unix.SCM_TIMESTAMPNS, 16},
		"another type":  {unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 16},
		"too short":     {unix.SOL_SOCKET, unix.SCM_TIMESTAMPNS, 15},
	} {
		_, ok := Timestamp(give[0], give[1], data[:give[2]])
		assert.False(t, ok, name)
	}
}

func TestAge(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	tests := []struct {
		name               string
		timestamp, emptied time.Time
		want               time.Duration
	}{
		{"no timestamp", time.Time{}, ago(time.Second), 0},
		{"within the wait", ago(30 * time.Millisecond), ago(time.Second), 30 * time.Millisecond},
		{"clock stepped back since", now.Add(time.Hour), ago(time.Second), 0},
		{"clock stepped forward since", ago(time.Hour), ago(time.Second), time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Age(tt.timestamp.Round(0), now, tt.emptied))
		})
	}
}

package instance

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/state"
)

func TestStatusKeepsTheKeysOfWhatOthersOwn(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, give := range map[string]any{
		`{"since":"2026-03-01T12:00:00Z","reason":"new kernel"}`: state.Hold{Since: at, Reason: "new kernel"},
		`{"address":"10.77.0.12","node":"n2","since":"2026-03-01T12:00:00Z","both":true,"cause":"why","remedy":"what"}`: election.Split{
			Address: nodeB, Node: "n2", Since: at, Both: true, Cause: "why", Remedy: "what",
		},
		`{"from":"fe80::1%eth0","reason":"hmac","permitted":true,"error":"wrong","remedy":"another key","code":"KV310","count":7,"last":"2026-03-01T12:00:00Z"}`: election.Rejection{
			Source: netip.MustParseAddr("fe80::1%eth0"), Reason: "hmac", Permitted: true, Text: "wrong", Remedy: "another key", Code: code.WrongKey, Count: 7, Last: at,
		},
		`{"from":"","reason":"socket","error":"","count":0,"last":"2026-03-01T12:00:00Z"}`: election.Rejection{Reason: "socket", Last: at},
		`{"advertsSent":1,"advertSendErrors":2,"advertsReceived":3,"advertsRejected":null,"resignationsSent":14,"resignationsReceived":15,"transitions":4,"takeovers":5,"rivals":6,` +
			`"membersRejected":{"mac":7},"granted":8,"passedOn":9,"announcements":10,"announcementErrors":11,"addressesRestored":12,"terms":13}`: Counters{
			Counters: election.Counters{
				Sent: 1, SendErrors: 2, Received: 3, Resigned: 14, Resignations: 15, Transitions: 4, Takeovers: 5, Rivals: 6,
				MembersRejected: map[string]uint64{"mac": 7}, Granted: 8, PassedOn: 9,
			},
			Announcements: 10, AnnouncementFails: 11, Restored: 12, Terms: 13,
		},
	} {
		got, err := json.Marshal(give)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
}

func TestStatusOfAMemberThatWasNeverHeardHasNoTime(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, give := range map[string]election.Member{
		`{"address":"10.77.0.12","self":false,"priority":0,"state":"initialize"}`: {Address: nodeB},
		`{"address":"10.77.0.12","self":false,"priority":100,"state":"silent","was":"backup","lastHeard":"2026-03-01T12:00:00Z","note":"odd","witness":true,` +
			`"node":"n2","version":"1","fit":false,"unfit":"why","code":"KV310","noCandidate":true,"lifeline":true}`: {
			Address: nodeB, Priority: 100, State: election.Silent, Was: "backup", LastHeard: at, Note: "odd", Witness: true,
			Node: "n2", Version: "1", Fit: new(false), Unfit: "why", Code: code.WrongKey, NoCandidate: true, Lifeline: true,
			Unheard: true, Draining: true, Spread: &election.Spread{},
		},
	} {
		got, err := json.Marshal(give)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
}

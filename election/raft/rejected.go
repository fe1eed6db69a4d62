package raft

import (
	"log/slog"

	"github.com/keepvip/keepvip/election"
)

// newRejections makes the record of refused connections.
func newRejections(log *slog.Logger) *election.Rejections {
	return election.NewRejections("raft connection", map[string]string{
		rejectKey: "the other side has another key or certificate; give all members the same, or list the other one under key.accept",
	}, log)
}

package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// DrillSeen is what whoever measured a drill has seen of it.
type DrillSeen struct {
	Kind   string // of the drill
	Result string // "ok", "over" or "unserved"
	Outage time.Duration
}

// The steps of a drill, as the query's op has them.
const (
	drillStart = "start"
	drillNote  = "result"
)

// mostDrillTime bounds a drill with everything that comes after the failure: half a minute at most, a lease that is shorter, and the way back.
const mostDrillTime = 90 * time.Second

// Drill has the holder of the address fail on purpose, for so long at most, and fills into with what came of it. With back the address
// returns to the node. When ctx ends the drill is ended by the daemon.
func (c *Client) Drill(ctx context.Context, vip, kind string, lasts time.Duration, back bool, into any) error {
	q := url.Values{"vip": {vip}, "op": {drillStart}, "kind": {kind}, "lasts": {lasts.String()}, "back": {strconv.FormatBool(back)}}
	return c.ask(ctx, http.MethodPost, PathDrill, q, into, mostDrillTime)
}

// DrillSeen has the daemon keep what was measured, for its metrics.
func (c *Client) DrillSeen(ctx context.Context, vip string, seen DrillSeen) error {
	q := url.Values{"vip": {vip}, "op": {drillNote}, "kind": {seen.Kind}, "result": {seen.Result}, "outage": {seen.Outage.String()}}
	return c.verb(ctx, PathDrill, q)
}

// DrillPlan fills into with what is to be measured.
func (c *Client) DrillPlan(ctx context.Context, vip string, into any) error {
	return c.ask(ctx, http.MethodGet, PathDrill, url.Values{"vip": {vip}}, into, askTime)
}

// drill carries out one step.
func (b Program) drill(r *http.Request) (any, error) {
	q := r.URL.Query()
	switch op := q.Get("op"); op {
	case drillStart:
		lasts, err := time.ParseDuration(q.Get("lasts"))
		if err != nil {
			return nil, coded(http.StatusBadRequest, fmt.Errorf("lasts %q, want a duration", q.Get("lasts")))
		}
		return b.Drill(r.Context(), q.Get("vip"), q.Get("kind"), lasts, q.Get("back") == "true")
	case drillNote:
		outage, err := time.ParseDuration(q.Get("outage"))
		if err != nil || outage < 0 {
			return nil, coded(http.StatusBadRequest, fmt.Errorf("outage %q, want a duration", q.Get("outage")))
		}
		return nil, b.DrillSeen(q.Get("vip"), DrillSeen{Kind: q.Get("kind"), Result: q.Get("result"), Outage: outage})
	default:
		return nil, coded(http.StatusBadRequest, fmt.Errorf("op %q, want %s or %s", op, drillStart, drillNote))
	}
}

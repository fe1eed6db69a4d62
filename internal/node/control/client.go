package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Client asks a Server.
type Client struct {
	path string
	http *http.Client
}

const (
	// askTime bounds one request.
	askTime = 10 * time.Second
	// maxVerb bounds what a verb may be given.
	maxVerb = time.Hour
)

// maxAnswer bounds what a client reads, in bytes.
const maxAnswer = 16 << 20

// NewClient makes a client of the socket at path; it connects at each request.
func NewClient(path string) *Client {
	var d net.Dialer
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", path)
	}
	return &Client{path: path, http: &http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}}
}

// Status fills into with the answer.
func (c *Client) Status(ctx context.Context, into any) error {
	return c.ask(ctx, http.MethodGet, PathStatus, nil, into, askTime)
}

// History fills into with the transitions that are kept.
func (c *Client) History(ctx context.Context, into any) error {
	return c.ask(ctx, http.MethodGet, PathHistory, nil, into, askTime)
}

// Config fills into with what the process runs with.
func (c *Client) Config(ctx context.Context, into any) error {
	return c.ask(ctx, http.MethodGet, PathConfig, nil, into, askTime)
}

// Announce asks the holder to announce at once; no names: all.
func (c *Client) Announce(ctx context.Context, names []string) error {
	return c.verb(ctx, PathAnnounce, url.Values{"vip": names})
}

// Reload asks for the configuration to be read again, and fills into with what changed.
func (c *Client) Reload(ctx context.Context, into any) error {
	return c.ask(ctx, http.MethodPost, PathReload, nil, into, askTime)
}

// LogLevel has the process write its log at another level (debug, info, warn or error) for that long; then it is the configured one again.
func (c *Client) LogLevel(ctx context.Context, level string, lasts time.Duration) error {
	return c.verb(ctx, PathLogLevel, url.Values{"level": {level}, "for": {lasts.String()}})
}

// Handover passes addresses on, to the node of that name or address, or with an empty one to any; no names: all that are
// held there. It takes at most limit. A *KindError tells known problems apart.
func (c *Client) Handover(ctx context.Context, names []string, to string, limit time.Duration) error {
	return c.timed(ctx, PathHandover, url.Values{"vip": names, "to": {to}}, limit)
}

// Drain makes the node come last, and passes the addresses on, within limit; with wait it returns when the connections
// that came through the node have ended.
func (c *Client) Drain(ctx context.Context, names []string, wait bool, limit time.Duration) error {
	return c.timed(ctx, PathDrain, url.Values{"vip": names, "wait": {strconv.FormatBool(wait)}}, limit)
}

// Hold makes the node stay out, and passes the addresses on before, within limit; with force it stays out also if nobody
// could take them.
func (c *Client) Hold(ctx context.Context, names []string, reason string, force bool, limit time.Duration) error {
	return c.timed(ctx, PathHold, url.Values{"vip": names, "reason": {reason}, "force": {strconv.FormatBool(force)}}, limit)
}

// Resume ends Drain and Hold.
func (c *Client) Resume(ctx context.Context, names []string) error {
	return c.verb(ctx, PathResume, url.Values{"vip": names})
}

// Member adds a member to the cluster, removes one, or recovers it; op is "add", "remove" or "recover".
func (c *Client) Member(ctx context.Context, op, address string) error {
	return c.verb(ctx, PathMember, url.Values{"op": {op}, "address": {address}})
}

func (c *Client) verb(ctx context.Context, path string, q url.Values) error {
	return c.ask(ctx, http.MethodPost, path, q, nil, askTime)
}

// timed is a verb that may take so long.
func (c *Client) timed(ctx context.Context, path string, q url.Values, limit time.Duration) error {
	q.Set("timeout", limit.String())
	return c.ask(ctx, http.MethodPost, path, q, nil, limit+askTime)
}

func (c *Client) ask(ctx context.Context, method, path string, q url.Values, into any, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://keepvip"+path+"?"+q.Encode(), nil)
	if err != nil {
		return fmt.Errorf("control: request: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.unanswered(err, limit)
	}
	defer res.Body.Close()
	body := io.LimitReader(res.Body, maxAnswer)
	if res.StatusCode != http.StatusOK {
		var p Problem
		if err := json.NewDecoder(body).Decode(&p); err != nil || p.Error == "" {
			return fmt.Errorf("keepvip at %s answered %s", c.path, res.Status)
		}
		if p.Kind != "" {
			return &KindError{Kind: p.Kind, Err: errors.New(p.Error)}
		}
		return errors.New(p.Error)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return fmt.Errorf("answer of the keepvip at %s: %w", c.path, err)
	}
	return nil
}

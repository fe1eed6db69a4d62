package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// verb carries out what a request asks for, and returns what is answered.
type verb func(*http.Request) (any, error)

func (b Program) verbs() map[string]verb {
	return map[string]verb{
		PathAnnounce: timed(func(_ context.Context, q url.Values) error { return b.Announce(q["vip"]) }),
		PathReload: func(r *http.Request) (any, error) {
			summary, err := b.Reload(r.Context())
			return summary, coded(http.StatusUnprocessableEntity, err)
		},
		PathHandover: timed(func(ctx context.Context, q url.Values) error { return b.Handover(ctx, q["vip"], q.Get("to")) }),
		PathDrain:    timed(func(ctx context.Context, q url.Values) error { return b.Drain(ctx, q["vip"], q.Get("wait") == "true") }),
		PathHold: timed(func(ctx context.Context, q url.Values) error {
			reason := q.Get("reason")
			if len(reason) > maxReason {
				return fmt.Errorf("a reason of %d bytes, want at most %d", len(reason), maxReason)
			}
			return b.Hold(ctx, q["vip"], reason, q.Get("force") == "true")
		}),
		PathResume: timed(func(_ context.Context, q url.Values) error { return b.Resume(q["vip"]) }),
		PathDrill:  b.drill,
		PathLogLevel: timed(func(_ context.Context, q url.Values) error {
			lasts, err := time.ParseDuration(q.Get("for"))
			if err != nil {
				return coded(http.StatusBadRequest, fmt.Errorf("for: %w", err))
			}
			return b.LogLevel(q.Get("level"), lasts)
		}),
		PathMember: timed(func(ctx context.Context, q url.Values) error { return b.Member(ctx, q.Get("op"), q.Get("address")) }),
	}
}

// timed is a verb that may take as long as the asker has said.
func timed(do func(context.Context, url.Values) error) verb {
	return func(r *http.Request) (any, error) {
		q, limit := r.URL.Query(), askTime
		if text := q.Get("timeout"); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil || d <= 0 || d > maxVerb {
				return nil, coded(http.StatusBadRequest, fmt.Errorf("timeout %q, want more than 0s and at most %s", text, maxVerb))
			}
			limit = d
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		return nil, do(ctx, q)
	}
}

func rootOnly(next verb) verb {
	return func(r *http.Request) (any, error) {
		if !fromRoot(r) {
			return nil, coded(http.StatusForbidden, errors.New("this changes something: only root may ask for it"))
		}
		return next(r)
	}
}

// logged answers with the outcome of a verb, and has it logged who asked.
func (b Program) logged(path string, do verb) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := do(r)
		if b.Asked != nil {
			b.Asked(askedOf(path, r), err)
		}
		var code codedError
		switch {
		case errors.As(err, &code):
			answer(w, code.code, problem(err))
		case err != nil:
			answer(w, http.StatusConflict, problem(err))
		case body == nil:
			answer(w, http.StatusOK, struct{}{})
		default:
			answer(w, http.StatusOK, body)
		}
	}
}

// codedError is an error with its HTTP status.
type codedError struct {
	error
	code int
}

func (e codedError) Unwrap() error { return e.error }

func coded(code int, err error) error {
	if err == nil {
		return nil
	}
	return codedError{err, code}
}

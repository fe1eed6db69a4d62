package control

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

func shownBy(outside bool) http.Handler {
	fine := func() error { return nil }
	return Probes{
		Live: fine, Ready: fine, Metrics: http.NotFoundHandler(), Status: func() any { return map[string]string{"node": "cp-1"} },
		History: func(w io.Writer) error { _, err := io.WriteString(w, `{"transitions":[]}`); return err },
		Outside: Outside{Page: outside, Token: func() (string, error) { return "the token", nil }},
	}.handler()
}

func askAs(h http.Handler, at, host, path, method, token string) *httptest.ResponseRecorder {
	local, _ := net.ResolveTCPAddr("tcp", at)
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local))))
	return w
}

func TestPageIsForThisHostAndForOthersWhereThatIsWanted(t *testing.T) {
	const here, there = "127.0.0.1:9645", "10.77.0.11:9645"
	closed, open := shownBy(false), shownBy(true)
	for _, path := range []string{"/", "/page.css", "/page.js", "/render.js", "/status", "/history", "/codes"} {
		assert.Equal(t, 200, askAs(closed, here, here, path, "GET", "").Code, path)
		assert.Equal(t, 200, askAs(closed, here, "localhost:9645", path, "GET", "").Code, path)
		assert.Equal(t, 200, askAs(closed, "[::1]:9645", "[::1]:9645", path, "GET", "").Code, path)
		assert.Equal(t, 421, askAs(closed, here, "evil.example:9645", path, "GET", "").Code, "%s: a name that leads here", path)
		assert.Equal(t, 405, askAs(closed, here, here, path, "POST", "").Code, "%s: it is read-only", path)
		assert.Equal(t, 404, askAs(closed, there, there, path, "GET", "the token").Code, path)
		assert.Equal(t, 401, askAs(open, there, there, path, "GET", "").Code, path)
		assert.Equal(t, 200, askAs(open, there, "cp-1:9645", path, "GET", "the token").Code, path)
	}
	assert.JSONEq(t, `{"node":"cp-1"}`, askAs(closed, here, here, "/status", "GET", "").Body.String())
	assert.Equal(t, 404, askAs(closed, here, here, "/elsewhere", "GET", "").Code)
}

func TestPageLetsABrowserLoadNothingFromElsewhere(t *testing.T) {
	for _, path := range []string{"/", "/page.css", "/page.js", "/render.js", "/status"} {
		w := askAs(shownBy(false), "127.0.0.1:9645", "127.0.0.1:9645", path, "GET", "")
		assert.Equal(t, pagePolicy, w.Header().Get("Content-Security-Policy"), path)
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), path)
		assert.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), path)
		for _, never := range []string{"http://", "https://", "innerHTML", "eval("} {
			assert.NotContains(t, w.Body.String(), never, path)
		}
	}
}

func TestAProcessWithoutAHistoryHasItsStatusAndNoPage(t *testing.T) {
	h := Probes{Metrics: http.NotFoundHandler(), Status: func() any { return struct{}{} }}.handler()
	assert.Equal(t, 200, askAs(h, "127.0.0.1:9645", "127.0.0.1:9645", "/status", "GET", "").Code)
	assert.Equal(t, 404, askAs(h, "127.0.0.1:9645", "127.0.0.1:9645", "/", "GET", "").Code)
}

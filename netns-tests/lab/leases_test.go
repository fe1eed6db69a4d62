package lab

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLeasesAreUpdatedByTheirNewestVersionAlone(t *testing.T) {
	s := &leases{objects: map[string]kept{}}
	const all, one = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/lock"
	lease := func(version, holder string) string {
		meta := field(field(nil, 1, []byte("lock")), 6, []byte(version))
		object := field(field(nil, 1, meta), 2, field(nil, 1, []byte(holder)))
		return string(field(field([]byte(magic), 1, nil), 2, object))
	}
	// What the answer says of the version and the holder.
	said := func(body string) (version, holder string) {
		raw, _ := strings.CutPrefix(body, magic)
		object := fields([]byte(raw))[2]
		return string(fields(fields(object)[1])[6]), string(fields(fields(object)[2])[1])
	}
	for _, step := range []struct {
		method, path, body string
		code               int
		version, holder    string
	}{
		{http.MethodGet, one, "", http.StatusNotFound, "", ""},
		{http.MethodPut, one, lease("", "n1"), http.StatusNotFound, "", ""},
		{http.MethodPost, all, lease("", "n1"), http.StatusCreated, "1", "n1"},
		{http.MethodPost, all, lease("", "n2"), http.StatusConflict, "", ""},
		{http.MethodPut, one, lease("1", "n1"), http.StatusOK, "2", "n1"},
		{http.MethodPut, one, lease("1", "n2"), http.StatusConflict, "", ""},
		{http.MethodGet, one, "", http.StatusOK, "2", "n1"},
		{http.MethodPost, all, "junk", http.StatusUnsupportedMediaType, "", ""},
		{http.MethodPost, all, magic + "\x0a\xff", http.StatusBadRequest, "", ""},
		{http.MethodGet, "/api/v1/nodes", "", http.StatusNotFound, "", ""},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(step.method, step.path, strings.NewReader(step.body)))
		assert.Equal(t, step.code, w.Code, "%s %q", step.method, step.body)
		if step.version != "" {
			version, holder := said(w.Body.String())
			assert.Equal(t, step.version, version)
			assert.Equal(t, step.holder, holder)
		}
	}
}

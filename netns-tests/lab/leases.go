package lab

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// leases is a stand-in for a Kubernetes API that knows objects of coordination.k8s.io/v1 alone, in the API's protobuf, and keeps them in memory:
// get, create and update, with a resourceVersion that has to match. It runs on the client's host, so it outlives every node.
type leases struct {
	mu      sync.Mutex // guards what follows
	version int
	objects map[string]kept // by path
}

// kept is an object with its version.
type kept struct {
	typeMeta, object []byte
	version          string
}

const leasesPort = 8001

// LeaseAPI is the URL of a Kubernetes API for leases that all nodes of the lab reach. It ends with the lab.
func (n *Node) LeaseAPI() (string, error) { return n.lab.leaseAPI() }

func (l *Lab) startLeaseAPI() (url string, err error) {
	defer try.Say(&err, "lab: API for leases")
	at := netip.AddrPortFrom(l.Client.Address, leasesPort).String()
	l.atEnd(serveHTTP(&http.Server{Handler: &leases{objects: map[string]kept{}}}, try.Get(l.Client.Listen(at))))
	return "http://" + at, nil
}

func (s *leases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, object := s.answer(r)
	if object != nil {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		w.WriteHeader(code)
		_, _ = w.Write(object)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": http.StatusText(code), "code": code})
}

// answer is the status, and the object in its envelope where there is one to answer with.
func (s *leases) answer(r *http.Request) (int, []byte) {
	if !strings.HasPrefix(r.URL.Path, "/apis/coordination.k8s.io/v1/namespaces/") {
		return http.StatusNotFound, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		if k, ok := s.objects[r.URL.Path]; ok {
			return http.StatusOK, k.envelope()
		}
		return http.StatusNotFound, nil
	}
	body, err := io.ReadAll(r.Body)
	raw, enveloped := bytes.CutPrefix(body, []byte(magic))
	if err != nil || !enveloped {
		return http.StatusUnsupportedMediaType, nil
	}
	outer := fields(raw)
	next := kept{typeMeta: outer[1], object: outer[2]}
	meta := fields(fields(next.object)[1])
	path, code := r.URL.Path, http.StatusOK
	if r.Method == http.MethodPost {
		path, code = path+"/"+string(meta[1]), http.StatusCreated
	}
	before, exists := s.objects[path]
	switch {
	case len(meta[1]) == 0:
		return http.StatusBadRequest, nil
	case r.Method == http.MethodPost && exists, r.Method == http.MethodPut && exists && before.version != string(meta[6]):
		return http.StatusConflict, nil
	case r.Method == http.MethodPut && !exists:
		return http.StatusNotFound, nil
	}
	s.version++
	next.version = strconv.Itoa(s.version)
	s.objects[path] = next
	return code, next.envelope()
}

// magic begins each message of the API's protobuf; runtime.Unknown follows, with a type as field 1 and the object as field 2.
const magic = "k8s\x00"

// envelope is the object as the API sends it. Its metadata, field 1, has a name as field 1 and the resourceVersion as field 6; what
// is said twice of one message counts together, the last of each.
func (k kept) envelope() []byte {
	version := field(nil, 1, field(nil, 6, []byte(k.version)))
	return field(field([]byte(magic), 1, k.typeMeta), 2, slices.Concat(k.object, version))
}

// field appends a field of octets.
func field(to []byte, number int, content []byte) []byte {
	to = binary.AppendUvarint(to, uint64(number)<<3|2)
	return append(binary.AppendUvarint(to, uint64(len(content))), content...)
}

// fields are the fields of octets of a message, by their numbers, the last of each. What follows something malformed is left out.
func fields(message []byte) map[int][]byte {
	out := map[int][]byte{}
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return out
		}
		value, m := binary.Uvarint(message[n:])
		message = message[n+max(m, 0):]
		switch {
		case m <= 0 || tag&7 != 2 && tag&7 != 0:
			return out
		case tag&7 == 0:
			continue
		case value > uint64(len(message)):
			return out
		}
		out[int(tag>>3)], message = message[:value], message[value:]
	}
	return out
}

package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var errNotHeld = errors.New("this node does not hold the address")

// serveAt runs a server until the test ends and returns its socket's path.
func serveAt(t *testing.T, path string, b Program) (stop func()) {
	t.Helper()
	s, err := Open(path, b)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stop = func() {
		cancel()
		require.NoError(t, <-ended)
	}
	return stop
}

func backend() Program {
	return Program{
		Status:   func() any { return map[string]string{"node": "n1"} },
		Announce: func([]string) error { return errNotHeld },
		Reload:   func(context.Context) (any, error) { return map[string][]string{"added": {"ingress"}}, nil },
	}
}

// socketPath is where a socket may be: t.TempDir names the test, and a path of a socket has 107 octets at most.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kv")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "keepvip.sock")
}

func TestServerAnswersOnASocketThatOnlyItsGroupMayOpen(t *testing.T) {
	path := filepath.Join(filepath.Dir(socketPath(t)), "made", "s")
	stop := serveAt(t, path, backend())
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o660), info.Mode().Perm())
	dir, err := os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o750), dir.Mode().Perm())

	var got map[string]string
	require.NoError(t, NewClient(path).Status(t.Context(), &got))
	assert.Equal(t, "n1", got["node"])

	stop()
	_, err = os.Stat(filepath.Dir(path))
	assert.ErrorIs(t, err, os.ErrNotExist, "socket and directory go")
}

func TestServerLeavesWhatHasTakenItsPlace(t *testing.T) {
	path := socketPath(t)
	stop := serveAt(t, path, backend())
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
	stop()
	assert.FileExists(t, path)
}

func TestServerLeavesADirectoryThatWasThere(t *testing.T) {
	path := socketPath(t)
	serveAt(t, path, backend())()
	_, err := os.Stat(filepath.Dir(path))
	assert.NoError(t, err)
}

func TestVerbsPassOnWhatTheBackendSays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: the verbs answer that only root may ask; see TestVerbsAreForRoot")
		return
	}
	path := socketPath(t)
	stop := serveAt(t, path, backend())
	defer stop()
	c := NewClient(path)
	assert.EqualError(t, c.Announce(t.Context(), []string{"apiserver"}), errNotHeld.Error())
	var done map[string][]string
	require.NoError(t, c.Reload(t.Context(), &done))
	assert.Equal(t, []string{"ingress"}, done["added"])
}

func TestVerbsAreForRoot(t *testing.T) {
	tests := []struct {
		name string
		peer any
		want int
	}{
		{"root", unix.Ucred{Uid: 0}, http.StatusConflict},
		{"somebody", unix.Ucred{Uid: 1000}, http.StatusForbidden},
		{"no credentials", nil, http.StatusForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, PathAnnounce, nil)
			if tt.peer != nil {
				r = r.WithContext(context.WithValue(r.Context(), peerKey{}, tt.peer))
			}
			w := httptest.NewRecorder()
			handler(backend()).ServeHTTP(w, r)
			assert.Equal(t, tt.want, w.Code)
		})
	}
}

func TestFailedVerbIsLoggedWithWhoAsked(t *testing.T) {
	path := socketPath(t)
	type entry struct {
		asked Asked
		err   string
	}
	var log []entry
	b := backend()
	b.Asked = func(a Asked, err error) { log = append(log, entry{a, fmt.Sprint(err)}) }
	b.Reload = func(context.Context) (any, error) { return nil, errors.New("keepvip.yaml:3: bad") }
	stop := serveAt(t, path, b)
	c := NewClient(path)
	failure := c.Reload(t.Context(), nil)
	assert.Error(t, c.Announce(t.Context(), []string{"a"}))
	assert.Error(t, c.Drain(t.Context(), nil, false, -time.Second))
	assert.NoError(t, c.Status(t.Context(), nil))
	stop()
	uid, pid := uint32(os.Getuid()), int32(os.Getpid())
	if uid != 0 {
		t.Log("not root: every verb is refused")
		assert.Len(t, log, 3)
		return
	}
	assert.EqualError(t, failure, "keepvip.yaml:3: bad")
	assert.Equal(t, []entry{
		{Asked{Verb: "reload", UID: uid, PID: pid}, "keepvip.yaml:3: bad"},
		{Asked{Verb: "announce", UID: uid, PID: pid, VIPs: []string{"a"}}, errNotHeld.Error()},
		{Asked{Verb: "drain", UID: uid, PID: pid}, `timeout "-1s", want more than 0s and at most 1h0m0s`},
	}, log)
}

func TestOpenRefusesASocketThatSomebodyServes(t *testing.T) {
	path := socketPath(t)
	stop := serveAt(t, path, backend())
	defer stop()
	_, err := Open(path, backend())
	assert.ErrorContains(t, err, "--socket "+path+": somebody serves it already")
}

func TestOpenTouchesNothingButASocket(t *testing.T) {
	dir := t.TempDir()
	file, elsewhere := filepath.Join(dir, "file"), filepath.Join(dir, "elsewhere")
	require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(file, filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "dangling")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o700))
	for _, name := range []string{"file", "link", "dangling", "empty"} {
		path := filepath.Join(dir, name)
		before, err := os.Lstat(path)
		require.NoError(t, err)
		_, err = Open(path, backend())
		assert.ErrorContains(t, err, "--socket "+path+": there is something that is no socket, and it was not touched")
		after, err := os.Lstat(path)
		require.NoError(t, err)
		assert.True(t, os.SameFile(before, after), name)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(text))
}

// What another user has put at the path is no mistake of whoever made the configuration: it refuses no start.
func TestOpenTakesOnlyItsOwnUsersFilesForAMistake(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root: nobody can be given a file")
		return
	}
	served, file := socketPath(t), filepath.Join(t.TempDir(), "file")
	defer serveAt(t, served, backend())()
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{served, file} {
		var mistake *MistakeError
		_, err := Open(path, backend())
		require.ErrorAs(t, err, &mistake)
		require.NoError(t, os.Lchown(path, 65534, 65534))
		_, err = Open(path, backend())
		require.ErrorContains(t, err, "(it is user 65534's)")
		assert.False(t, errors.As(err, &mistake), "%v", err)
	}
}

func TestOpenReplacesASocketThatNobodyServes(t *testing.T) {
	path := socketPath(t)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	ln.SetUnlinkOnClose(false)
	require.NoError(t, ln.Close())
	serveAt(t, path, backend())()
}

func TestClientSaysWhatToDoWhenNobodyAnswers(t *testing.T) {
	missing, dead, mute := socketPath(t), socketPath(t), socketPath(t)
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	require.NoError(t, err)
	left.SetUnlinkOnClose(false)
	require.NoError(t, left.Close())
	silent, err := net.Listen("unix", mute)
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		path string
		want string
		is   error
	}{
		{"no socket", t.Context(), missing, "no keepvip answers at " + missing + ": there is no such socket; start keepvip, or name its socket by --socket", fs.ErrNotExist},
		{"nobody listens", t.Context(), dead, "no keepvip answers at " + dead + ": no process listens there any more; start keepvip, or name its socket by --socket", unix.ECONNREFUSED},
		{"no answer in time", over, mute, "the keepvip at " + mute + " has not answered for 10s: its process stands still, or this host is overloaded; look at its log", context.DeadlineExceeded},
		{"interrupted", stopped, mute, "interrupted before the keepvip at " + mute + " answered", context.Canceled},
		{"no path", t.Context(), "", `no keepvip answers at "": missing address; name its socket by --socket`, nil},
		{"a path that is too long", t.Context(), "/" + strings.Repeat("x", 200), "invalid argument; name its socket by --socket", unix.EINVAL},
	} {
		err := NewClient(tt.path).Status(tt.ctx, nil)
		require.Error(t, err, tt.name)
		assert.Contains(t, err.Error(), tt.want, tt.name)
		assert.NotContains(t, err.Error(), "http://", tt.name)
		if tt.is != nil {
			assert.ErrorIs(t, err, tt.is, tt.name)
		}
	}
}

// A user who may not open the socket is told so, and not to start keepvip.
func TestClientSaysWhoMayAsk(t *testing.T) {
	c := NewClient("/run/keepvip/keepvip.sock")
	err := c.unanswered(&url.Error{Op: "Get", URL: "http://keepvip/status", Err: &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", unix.EACCES)}}, askTime)
	assert.EqualError(t, err, "no permission for the socket /run/keepvip/keepvip.sock; run the command as root")
	err = c.unanswered(&url.Error{Op: "Get", URL: "http://keepvip/status", Err: io.EOF}, askTime)
	assert.EqualError(t, err, "the keepvip at /run/keepvip/keepvip.sock ended before it answered; look at its log")
}

func TestListenerAnswersProbesAndMetrics(t *testing.T) {
	ready := error(nil)
	l, err := Listen("127.0.0.1:0", Probes{
		Live:  func() error { return nil },
		Ready: func() error { return ready },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "keepvip_build_info 1\n")
		}),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()

	assert.Equal(t, "200 ok\n", ask(t, l, "/livez"))
	assert.Equal(t, "200 ok\n", ask(t, l, "/readyz"))
	assert.Equal(t, "200 keepvip_build_info 1\n", ask(t, l, "/metrics"))
	ready = errNotHeld
	assert.Equal(t, "503 "+errNotHeld.Error()+"\n", ask(t, l, "/readyz"))

	cancel()
	require.NoError(t, <-ended)
}

func ask(t *testing.T, l *Listener, path string) string {
	t.Helper()
	res, err := http.Get("http://" + l.lns[0].Addr().String() + path)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.Status[:4] + string(body)
}

func TestListenNamesTheOption(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, err = Listen(taken.Addr().String(), Probes{})
	assert.ErrorContains(t, err, "--metrics")
}

// Those who read no more than a little of the history leave their places to others, and delay nobody.
func TestServerStreamsTheHistoryToSlowReaders(t *testing.T) {
	path := socketPath(t)
	b := backend()
	var writing sync.WaitGroup
	b.History = func(w io.Writer) error {
		writing.Add(1)
		defer writing.Done()
		if _, err := io.WriteString(w, `{"transitions":["`); err != nil {
			return err
		}
		for range 1024 { // more than a socket has room for
			if _, err := w.Write(bytes.Repeat([]byte("x"), 1024)); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, `"]}`)
		return err
	}
	stop := serveAt(t, path, b)
	for range 2 * controlPlaces {
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "GET "+PathHistory+" HTTP/1.1\r\nHost: keepvip\r\n\r\n")
		require.NoError(t, err)
	}
	c := NewClient(path)
	require.NoError(t, c.Status(t.Context(), nil))
	var got struct{ Transitions []string }
	require.NoError(t, c.History(t.Context(), &got))
	assert.Len(t, got.Transitions[0], 1<<20)
	stop()
	writing.Wait()
}

func TestServerVerbs(t *testing.T) {
	path := socketPath(t)
	var did []string
	b := backend()
	b.Handover = func(ctx context.Context, names []string, to string) error {
		deadline, _ := ctx.Deadline()
		assert.Less(t, time.Until(deadline), 3*time.Second)
		did = append(did, "handover "+strings.Join(names, " ")+" to "+to)
		return &KindError{Kind: KindNoTaker, Err: errors.New("no other node could take the address")}
	}
	b.Drain = func(ctx context.Context, names []string, wait bool) error {
		did = append(did, fmt.Sprintf("drain %v %v", names, wait))
		return nil
	}
	b.Hold = func(_ context.Context, names []string, reason string, force bool) error {
		did = append(did, fmt.Sprintf("hold %v %q %v", names, reason, force))
		return &KindError{Kind: KindTimeout, Err: errors.New("late")}
	}
	b.Resume = func(names []string) error { return errNotHeld }
	b.LogLevel = func(level string, lasts time.Duration) error {
		did = append(did, fmt.Sprintf("log-level %s %v", level, lasts))
		return nil
	}
	defer serveAt(t, path, b)()

	c := NewClient(path)
	err := c.Handover(t.Context(), []string{"a", "b"}, "cp-2", 3*time.Second)
	var kind *KindError
	require.ErrorAs(t, err, &kind)
	assert.Equal(t, KindNoTaker, kind.Kind)
	assert.EqualError(t, err, "no other node could take the address")
	assert.NoError(t, c.Drain(t.Context(), []string{"a"}, true, time.Minute))
	require.ErrorAs(t, c.Hold(t.Context(), []string{"a"}, "new kernel & more", true, time.Minute), &kind)
	assert.Equal(t, KindTimeout, kind.Kind)
	assert.ErrorContains(t, c.Hold(t.Context(), nil, strings.Repeat("x", 121), false, time.Minute), "want at most 120")
	assert.EqualError(t, c.Resume(t.Context(), nil), errNotHeld.Error())
	assert.ErrorContains(t, c.Drain(t.Context(), nil, false, -time.Second), `timeout "-1s", want more than 0s`)
	assert.NoError(t, c.LogLevel(t.Context(), "debug", 90*time.Second))
	assert.ErrorContains(t, c.verb(t.Context(), PathLogLevel, url.Values{"level": {"debug"}}), "for: time: invalid duration")
	assert.Equal(t, []string{"handover a b to cp-2", "drain [a] true", `hold [a] "new kernel & more" true`, "log-level debug 1m30s"}, did)
}

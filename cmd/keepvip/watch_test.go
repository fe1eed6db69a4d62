package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// terminal opens a terminal of so many columns: the screen, and what is read of it.
func terminal(t *testing.T, columns uint16) (screen, reader *os.File) {
	t.Helper()
	reader, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = reader.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(reader.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(reader.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = screen.Close() })
	resize(t, reader, columns)
	return screen, reader
}

func resize(t *testing.T, reader *os.File, columns uint16) {
	t.Helper()
	require.NoError(t, unix.IoctlSetWinsize(int(reader.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 40}))
}

// upTo reads what is drawn until it has said want.
func upTo(t *testing.T, reader *os.File, want string) string {
	t.Helper()
	var all []byte
	for !strings.Contains(string(all), want) {
		part := make([]byte, 4096)
		n, err := reader.Read(part)
		require.NoError(t, err, "%q", all)
		all = append(all, part[:n]...)
	}
	return string(all)
}

// widest is the widest row of what is drawn.
func widest(drawn string) (n int) {
	drawn = strings.NewReplacer(screenOn, "", home, "", clearLine, "", clearRest, "").Replace(drawn)
	for row := range strings.SplitSeq(drawn, "\r\n") {
		n = max(n, len([]rune(strings.TrimRight(row, "\r\n"))))
	}
	return n
}

func TestStatusWatchOnATerminal(t *testing.T) {
	screen, reader := terminal(t, 80)
	doc := sampleStatus(time.Now())
	doc.VIPs[0].Reason = strings.Repeat("a long reason ", 10)
	raw, err := json.Marshal(doc)
	require.NoError(t, err)
	var mu sync.Mutex // guards gone
	var gone error
	fail := func(err error) { mu.Lock(); defer mu.Unlock(); gone = err }
	w := &watch{interval: time.Hour, output: outputText, ask: func(context.Context) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		return raw, gone
	}}
	ctx, stop := context.WithCancel(t.Context())
	resized := make(chan os.Signal)
	var wg sync.WaitGroup
	wg.Go(func() { assert.NoError(t, w.onScreen(ctx, screen, resized)) })

	first := upTo(t, reader, clearRest)
	assert.True(t, strings.HasPrefix(first, screenOn+home+"n2, keepvip v0.1.0"), "%q", first)
	assert.Equal(t, 79, widest(first), "behind the last column the line's rest cannot be cleared: the character in it would go, too")
	resize(t, reader, 200)
	resized <- unix.SIGWINCH
	second := upTo(t, reader, clearRest)
	assert.True(t, strings.HasPrefix(second, home), "it draws over what is there: %q", second)
	assert.Greater(t, widest(second), 80)
	assert.LessOrEqual(t, widest(second), 200)
	stop()
	assert.Equal(t, screenOff, strings.TrimSpace(upTo(t, reader, screenOff)))
	wg.Wait()

	w.interval = time.Millisecond
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	wg.Go(func() { assert.NoError(t, w.onScreen(ctx, screen, resized)) })
	upTo(t, reader, "n2, keepvip v0.1.0")
	fail(errors.New("is it running"))
	assert.Contains(t, upTo(t, reader, "what follows is of then"), "is it running")
	fail(nil)
	upTo(t, reader, home+"n2, keepvip v0.1.0")
	stop()
	upTo(t, reader, screenOff)
	wg.Wait()
}

func TestStatusWatchElsewherePrintsChanges(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		doc, asked := sampleStatus(time.Now()), 0
		ctx, stop := context.WithCancel(t.Context())
		w := &watch{interval: time.Second, output: outputJSON, ask: func(context.Context) (json.RawMessage, error) {
			asked++
			doc.VIPs[0].Checks[0].LastProbe = time.Now()
			doc.VIPs[0].Counters.Sent++
			switch asked {
			case 5:
				doc.VIPs[0].State = "backup"
			case 7, 8:
				return nil, errors.New("is it running")
			case 12:
				stop()
			}
			return json.Marshal(doc)
		}}
		var out bytes.Buffer
		require.NoError(t, w.byChange(ctx, &out))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 4, "active, backup, no answer, backup")
		printsObject(t, kindStatus, lines[0])
		assert.Contains(t, lines[1], `"state":"backup"`)
		printsObject(t, kindNoStatus, lines[2])
		printsObject(t, kindStatus, lines[3])
	})
}

func TestStatusWatchOfADaemonThatHangsSaysSo(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &watch{ask: func(ctx context.Context) (json.RawMessage, error) { <-ctx.Done(); return nil, ctx.Err() }}
		w.doc, w.at = sampleStatus(time.Now()), time.Now()
		require.NoError(t, w.look(t.Context()))
		assert.Contains(t, w.text(time.Now()), "NO ANSWER since 2s")
	})
}

// A name that was never there is a slip of the hand, which no waiting mends. One that a reload removes was right, and may come back.
func TestStatusWatchOfAWrongNameEnds(t *testing.T) {
	raw, err := json.Marshal(sampleStatus(time.Now()))
	require.NoError(t, err)
	want := `no virtual address is named "apisrever", there are: apiserver`
	for name, show := range map[string]func(*watch) error{
		"to a file": func(w *watch) error {
			var out bytes.Buffer
			err := w.byChange(t.Context(), &out)
			assert.Empty(t, out.String())
			return err
		},
		"on a terminal": func(w *watch) error {
			screen, reader := terminal(t, 80)
			err := w.onScreen(t.Context(), screen, nil)
			upTo(t, reader, screenOff)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &watch{interval: time.Millisecond, ask: func(context.Context) (json.RawMessage, error) { return only(raw, []string{"apisrever"}) }}
			assert.EqualError(t, show(w), want)
			asked := 0
			w.ask = func(context.Context) (json.RawMessage, error) {
				if asked++; asked < 3 {
					return nil, errors.New("is it running")
				}
				return only(raw, []string{"apisrever"})
			}
			if name == "on a terminal" {
				assert.EqualError(t, show(w), want, "it was wrong before keepvip ran, too")
			}
		})
	}
	w := &watch{ask: func(context.Context) (json.RawMessage, error) { return raw, nil }}
	require.NoError(t, w.look(t.Context()))
	w.ask = func(context.Context) (json.RawMessage, error) { return only(raw, []string{"apisrever"}) }
	require.NoError(t, w.look(t.Context()))
	assert.Contains(t, w.text(time.Now()), "REMOVED since ")
}

func TestFrameCutsWhatDoesNotFit(t *testing.T) {
	assert.Equal(t, home+"a"+clearLine+"\r\n(2 more lines)"+clearLine+clearRest, frame("a\nb\nc\n", 80, 2))
	assert.Equal(t, home+"?[2Jx"+clearLine+clearRest, frame("\x1b[2Jx\n", 80, 0))
}

func TestStatusOfManyAddressesIsATable(t *testing.T) {
	now := time.Now()
	d := daemon.Status{Node: "n2", Version: "v1"}
	for i := range tableFrom {
		v := sampleStatus(now).VIPs[0]
		v.Name = fmt.Sprintf("web-%d", i)
		d.VIPs = append(d.VIPs, v)
	}
	text := statusText(d, now)
	assert.Equal(t, tableFrom, strings.Count(text, "\nweb-"))
	assert.Contains(t, text, "NAME")
	assert.Contains(t, text, "web-3  10.0.0.100/32  this node (10.0.0.12)  active     3m12s\n")
	assert.NotContains(t, text, "observed")
	d.VIPs = d.VIPs[:tableFrom-1]
	assert.Contains(t, statusText(d, now), "observed")
}

package route

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
)

func inTable(number int, protocol uint8) config.VIP {
	return config.VIP{Announce: config.Announce{Table: number, Protocol: protocol}}
}

func TestTablesAreThoseThatRoutesWereEverPutInto(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	byDefault := hostroute.Table{Number: config.DefaultTable, Protocol: config.DefaultProtocol}
	require.NoError(t, Remember(dir, inTable(byDefault.Number, uint8(byDefault.Protocol))))
	assert.NoDirExists(t, dir, "the default needs no file")

	for range 2 {
		require.NoError(t, Remember(dir, inTable(100, 77)))
		require.NoError(t, Remember(dir, inTable(254, 248)))
	}
	got, err := Tables(dir)
	require.NoError(t, err)
	assert.Equal(t, []hostroute.Table{byDefault, {Number: 100, Protocol: 77}, {Number: 254, Protocol: 248}}, got)
}

func TestTablesOfAFileThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"broken":                  "[{",
		"routes of the kernel":    `[{"table":255,"protocol":2}]`,
		"no table":                `[{"table":0,"protocol":248}]`,
		"a protocol there is not": `[{"table":198,"protocol":256}]`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, tablesFile), []byte(text), 0o600))
			got, err := Tables(dir)
			require.ErrorContains(t, err, "routes.json")
			assert.Len(t, got, 1, "the default one is known nevertheless")

			require.ErrorContains(t, Remember(dir, inTable(100, 77)), "routes.json", "it is said once")
			got, err = Tables(dir)
			require.NoError(t, err)
			assert.Len(t, got, 2)
		})
	}
}

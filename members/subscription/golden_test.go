package subscription

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
)

// Followers and members of other versions read these bytes.
func TestMessageAppendIsByteExact(t *testing.T) {
	connections := uint32(70000)
	key := aKey(t, 'a')
	for name, tt := range map[string]struct {
		give Message
		key  *auth.Key
		want string
	}{
		"SUBSCRIBE with every field, signed": {
			Message{Type: Subscribe, Session: 7, Sequence: 2, Group: group, Cookie: [cookieLen]byte{1, 2}, Node: "w-1", Connections: &connections}, key, `6b707670 01 04 0023 0000000000000007 0000000000000002 01 04 0a4d0064 10 10 01020000000000000000000000000000 03 03 772d31 13 04 00011170
			 105aebf9 7060286b202ae6e05720684c1a842c1a24df697a387a24ec0b37db41d7d485ce`,
		},
		"COOKIE": {Message{Type: Cookie, Session: 7, Sequence: 1, Group: group, Cookie: [cookieLen]byte{3}}, nil, `6b707670 01 05 0018 0000000000000007 0000000000000001 01 04 0a4d0064 10 10 03000000000000000000000000000000`},
		"MEMBERS": {aList(), nil, `6b707670 01 06 0056 0000000000000001 0000000000000002 01 04 0a4d0064 11 06 00001770 0064
			 12 2a 01 c8 0000 015e 04 0a4d000b 10 fd770000000000000000000000000011 04 63702d31 02 06 02 192b 11 01 0035
			 12 1a 00 c8 001e 015e 04 0a4d000c 00 04 63702d31 02 06 02 192b 11 01 0035`},
		"MEMBERS, signed": {aList(), key, `6b707670 01 06 0056 0000000000000001 0000000000000002 01 04 0a4d0064 11 06 00001770 0064
			 12 2a 01 c8 0000 015e 04 0a4d000b 10 fd770000000000000000000000000011 04 63702d31 02 06 02 192b 11 01 0035
			 12 1a 00 c8 001e 015e 04 0a4d000c 00 04 63702d31 02 06 02 192b 11 01 0035
			 105aebf9 9122a74d908c3247555631d6a421e1b88653da04127bfbf3376a28b58b57c386`},
	} {
		b, err := tt.give.Append([]byte("x"), tt.key)
		require.NoError(t, err, name)
		assert.Equal(t, "78"+strings.Join(strings.Fields(tt.want), ""), hex.EncodeToString(b), name)
	}
}

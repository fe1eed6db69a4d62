package raft

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// The pages of a bbolt database, version 2, in the byte order of the machine. Each begins with its number (8 bytes), its kind (2), the
// number of its elements (2) and how many further pages belong to it (4). A bucket is kept as its first page (8) and a sequence (8);
// where the first page is 0, a leaf page of the bucket follows.
const (
	pageBranch   = 1
	pageLeaf     = 2
	pageMeta     = 4
	pageFreelist = 16

	pageHeader    = 16
	pageElement   = 16
	bucketHeader  = 16
	bucketElement = 1 // flag of an element whose value is a bucket

	metaSize    = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	noFreelist  = 1<<64 - 1

	manyElements  = 0xFFFF // in a freelist: the number is the first element
	smallestPage  = 1 << 10
	largestPage   = 1 << 16
	deepestBucket = 4 // this package makes one level
)

// metaPage is what bbolt begins to read a database by.
type metaPage struct {
	pageSize             int64
	root, freelist, high uint64
	tx                   uint64
}

// pages looks at a database before bbolt does, which takes the word of a damaged page: it reads beyond the file that is mapped, in
// a goroutine of its own, and that ends the process.
type pages struct {
	file io.ReaderAt
	meta metaPage
	seen map[uint64]bool
}

// verifyPages tells whether every page that bbolt would reach is one, and lies in the file of that size in bytes. An error wraps errDamaged.
func verifyPages(file io.ReaderAt, size int64) error {
	meta, err := readMeta(file, size)
	if err != nil {
		return err
	}
	p := &pages{file: file, meta: meta, seen: map[uint64]bool{}}
	if meta.high > uint64(size/meta.pageSize) {
		return fmt.Errorf("%w: %d pages, and the file has %d", errDamaged, meta.high, size/meta.pageSize)
	}
	if err := p.tree(meta.root, 0, 0); err != nil {
		return err
	}
	return p.verifyFreelist()
}

// readMeta is the newer of the two meta pages that are whole, as bbolt chooses it.
func readMeta(file io.ReaderAt, size int64) (newest metaPage, err error) {
	for at := int64(0); at <= largestPage; at = max(2*at, smallestPage) {
		buf := make([]byte, pageHeader+metaSize)
		if at+int64(len(buf)) > size {
			break
		}
		if _, err := file.ReadAt(buf, at); err != nil {
			return newest, fmt.Errorf("%w: meta page: %w", errDamaged, err)
		}
		m, ok := parseMeta(buf[pageHeader:])
		if ok && (at == 0 || at == m.pageSize) && m.tx >= newest.tx {
			newest = m
		}
	}
	if newest.pageSize == 0 {
		return newest, fmt.Errorf("%w: no meta page is whole", errDamaged)
	}
	return newest, nil
}

func parseMeta(b []byte) (metaPage, bool) {
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	sum := fnv.New64a()
	_, _ = sum.Write(b[:56]) // never fails
	m := metaPage{pageSize: int64(u32(b[8:])), root: u64(b[16:]), freelist: u64(b[32:]), high: u64(b[40:]), tx: u64(b[48:])}
	sized := m.pageSize >= smallestPage && m.pageSize <= largestPage && m.pageSize&(m.pageSize-1) == 0
	return m, sized && u32(b) == metaMagic && u32(b[4:]) == metaVersion && u64(b[56:]) == sum.Sum64()
}

// page is one page with those that belong to it. No page is reached twice.
func (p *pages) page(id uint64) ([]byte, error) {
	if id < 2 || id >= p.meta.high {
		return nil, fmt.Errorf("%w: page %d, want 2 to %d", errDamaged, id, p.meta.high-1)
	}
	head := make([]byte, pageHeader)
	if _, err := p.file.ReadAt(head, int64(id)*p.meta.pageSize); err != nil {
		return nil, fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
	}
	if got := binary.NativeEndian.Uint64(head); got != id {
		return nil, fmt.Errorf("%w: page %d says that it is %d", errDamaged, id, got)
	}
	count := 1 + uint64(binary.NativeEndian.Uint32(head[12:]))
	if count > p.meta.high-id {
		return nil, fmt.Errorf("%w: page %d has %d pages, and %d are left", errDamaged, id, count, p.meta.high-id)
	}
	for n := id; n < id+count; n++ {
		if p.seen[n] {
			return nil, fmt.Errorf("%w: page %d is in two places", errDamaged, n)
		}
		p.seen[n] = true
	}
	b := make([]byte, int64(count)*p.meta.pageSize)
	if _, err := p.file.ReadAt(b, int64(id)*p.meta.pageSize); err != nil {
		return nil, fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
	}
	return b, nil
}

// tree looks at a page of a bucket, and at what is below it. Page numbers never repeat, so that the way down ends.
func (p *pages) tree(id uint64, buckets, depth int) error {
	b, err := p.page(id)
	if err != nil {
		return err
	}
	switch kind := binary.NativeEndian.Uint16(b[8:]); {
	case kind == pageLeaf:
		return p.leaf(b, id, buckets)
	case kind == pageBranch && depth < 64:
		return p.branch(b, id, buckets, depth)
	default:
		return fmt.Errorf("%w: page %d is of kind %d", errDamaged, id, kind)
	}
}

func (p *pages) branch(b []byte, id uint64, buckets, depth int) error {
	keys := keyOrder{page: id}
	list, err := elements(b, id)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%w: page %d leads nowhere", errDamaged, id)
	}
	for _, e := range list {
		u32 := func(at int) uint64 { return uint64(binary.NativeEndian.Uint32(b[e+at:])) }
		if err := keys.next(b, uint64(e)+u32(0), u32(4)); err != nil {
			return err
		}
		if err := p.tree(binary.NativeEndian.Uint64(b[e+8:]), buckets, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// leaf looks at a leaf page; page 0 is one inside a value.
func (p *pages) leaf(b []byte, id uint64, buckets int) error {
	keys := keyOrder{page: id}
	list, err := elements(b, id)
	if err != nil {
		return err
	}
	for _, e := range list {
		u32 := func(at int) uint64 { return uint64(binary.NativeEndian.Uint32(b[e+at:])) }
		flags, at, key, value := u32(0), uint64(e)+u32(4), u32(8), u32(12)
		if err := keys.next(b, at, key); err != nil {
			return err
		}
		if at+key+value > uint64(len(b)) {
			return fmt.Errorf("%w: page %d: a value of %d bytes lies outside", errDamaged, id, value)
		}
		if flags&bucketElement != 0 {
			if err := p.bucket(b[at+key:at+key+value], id, buckets+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pages) bucket(value []byte, id uint64, buckets int) error {
	if len(value) < bucketHeader || buckets > deepestBucket {
		return fmt.Errorf("%w: page %d: a bucket of %d bytes, %d deep", errDamaged, id, len(value), buckets)
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return p.tree(root, buckets, 0)
	}
	inline := value[bucketHeader:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != pageLeaf || binary.NativeEndian.Uint64(inline) != 0 {
		return fmt.Errorf("%w: page %d: a small bucket is none", errDamaged, id)
	}
	return p.leaf(inline, 0, buckets)
}

// elements are where the elements of a page begin.
func elements(b []byte, id uint64) ([]int, error) {
	count := int(binary.NativeEndian.Uint16(b[10:]))
	if pageHeader+count*pageElement > len(b) {
		return nil, fmt.Errorf("%w: page %d: %d elements do not fit", errDamaged, id, count)
	}
	list := make([]int, count)
	for i := range list {
		list[i] = pageHeader + i*pageElement
	}
	return list, nil
}

// keyOrder sees to it that keys lie in their page and ascend.
type keyOrder struct {
	page uint64
	last []byte
}

func (k *keyOrder) next(b []byte, at, size uint64) error {
	if size == 0 || at+size > uint64(len(b)) {
		return fmt.Errorf("%w: page %d: a key of %d bytes lies outside", errDamaged, k.page, size)
	}
	key := b[at : at+size]
	if k.last != nil && bytes.Compare(k.last, key) >= 0 {
		return fmt.Errorf("%w: page %d: key %x after %x", errDamaged, k.page, key, k.last)
	}
	k.last = key
	return nil
}

// verifyFreelist looks at the list of free pages, which this package does not write, and whoever made the file may have.
func (p *pages) verifyFreelist() error {
	if p.meta.freelist == noFreelist {
		return nil
	}
	b, err := p.page(p.meta.freelist)
	if err != nil {
		return err
	}
	if kind := binary.NativeEndian.Uint16(b[8:]); kind != pageFreelist {
		return fmt.Errorf("%w: page %d is of kind %d, want a freelist", errDamaged, p.meta.freelist, kind)
	}
	count, list := uint64(binary.NativeEndian.Uint16(b[10:])), b[pageHeader:]
	if count == manyElements {
		count, list = binary.NativeEndian.Uint64(list), list[8:]
	}
	if count > uint64(len(list)/8) {
		return fmt.Errorf("%w: page %d: %d free pages do not fit", errDamaged, p.meta.freelist, count)
	}
	for i := range count {
		id := binary.NativeEndian.Uint64(list[8*i:])
		if id < 2 || id >= p.meta.high || p.seen[id] {
			return fmt.Errorf("%w: page %d cannot be free", errDamaged, id)
		}
		p.seen[id] = true
	}
	return nil
}

package repository

import "encoding/xml"

// The files of an RPM repository, as createrepo_c writes them.

type repomd struct {
	XMLName  xml.Name   `xml:"repomd"`
	Space    string     `xml:"xmlns,attr"`
	Revision int64      `xml:"revision"`
	Data     []repoData `xml:"data"`
}

type repoData struct {
	Type      string   `xml:"type,attr"`
	Checksum  checksum `xml:"checksum"`
	Open      checksum `xml:"open-checksum"`
	Location  location `xml:"location"`
	Timestamp int64    `xml:"timestamp"`
	Size      int      `xml:"size"`
	OpenSize  int      `xml:"open-size"`
}

type checksum struct {
	Type string `xml:"type,attr"`
	Sum  string `xml:",chardata"`
}

type location struct {
	Href string `xml:"href,attr"`
}

type metadata struct {
	XMLName  xml.Name
	Space    string `xml:"xmlns,attr"`
	RPM      string `xml:"xmlns:rpm,attr,omitempty"`
	Count    int    `xml:"packages,attr"`
	Packages []any  `xml:"package"`

	name string // of the element
}

type evr struct {
	Epoch   string `xml:"epoch,attr"`
	Version string `xml:"ver,attr"`
	Release string `xml:"rel,attr"`
}

type packageSum struct {
	Type string `xml:"type,attr"`
	ID   string `xml:"pkgid,attr"`
	Sum  string `xml:",chardata"`
}

type times struct {
	File  int64 `xml:"file,attr"`
	Build int64 `xml:"build,attr"`
}

type sizes struct {
	Package   int    `xml:"package,attr"`
	Installed uint32 `xml:"installed,attr"`
	Archive   uint32 `xml:"archive,attr"`
}

type primaryPackage struct {
	Type        string     `xml:"type,attr"`
	Name        string     `xml:"name"`
	Arch        string     `xml:"arch"`
	Version     evr        `xml:"version"`
	Checksum    packageSum `xml:"checksum"`
	Summary     string     `xml:"summary"`
	Description string     `xml:"description"`
	Packager    string     `xml:"packager"`
	URL         string     `xml:"url"`
	Time        times      `xml:"time"`
	Size        sizes      `xml:"size"`
	Location    location   `xml:"location"`
	Format      format     `xml:"format"`
}

type format struct {
	License   string      `xml:"rpm:license"`
	Vendor    string      `xml:"rpm:vendor"`
	Group     string      `xml:"rpm:group"`
	BuildHost string      `xml:"rpm:buildhost"`
	Source    string      `xml:"rpm:sourcerpm"`
	Range     headerRange `xml:"rpm:header-range"`
	Provides  *entries    `xml:"rpm:provides"`
	Requires  *entries    `xml:"rpm:requires"`
	Files     []rpmFile   `xml:"file"`
}

type headerRange struct {
	Start int `xml:"start,attr"`
	End   int `xml:"end,attr"`
}

type entries struct {
	Entries []relation `xml:"rpm:entry"`
}

type relation struct {
	Name    string `xml:"name,attr"`
	Flags   string `xml:"flags,attr,omitempty"`
	Epoch   string `xml:"epoch,attr,omitempty"`
	Version string `xml:"ver,attr,omitempty"`
	Release string `xml:"rel,attr,omitempty"`
}

type rpmFile struct {
	Type string `xml:"type,attr,omitempty"`
	Path string `xml:",chardata"`
}

type listedPackage struct {
	PackageID string    `xml:"pkgid,attr"`
	Name      string    `xml:"name,attr"`
	Arch      string    `xml:"arch,attr"`
	Version   evr       `xml:"version"`
	Files     []rpmFile `xml:"file"`
}

package kubeadm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// classOf is a ClusterClass with patches, the first in line 8, and the template that they are for. Its files are paths without content.
func classOf(patches []string, files ...string) string {
	var b strings.Builder
	b.WriteString("kind: ClusterClass\nspec:\n  patches:\n  - name: p\n    definitions:\n    - selector: {kind: KubeadmControlPlaneTemplate}\n      jsonPatches:\n")
	for _, p := range patches {
		b.WriteString("      - {" + p + "}\n")
	}
	b.WriteString("---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlaneTemplate\nspec:\n  template:\n    spec:\n      kubeadmConfigSpec:\n" +
		"        postKubeadmCommands: [echo kube-vip, 'true']\n        preKubeadmCommands: ['true']\n        files:\n")
	for _, f := range files {
		b.WriteString("        - path: " + f + "\n")
	}
	return b.String()
}

// A patch of a ClusterClass goes by the numbers of a list, which the merge changes before it.
func TestMergeControlPlaneRefusesAPatchOfAnotherSlot(t *testing.T) {
	const spec = "/spec/template/spec/kubeadmConfigSpec/"
	const vip, prepare, audit = "/etc/kubernetes/manifests/kube-vip.yaml", "/etc/kube-vip-prepare.sh", "/etc/audit.yaml"
	replace := func(path string) string { return "op: replace, path: " + spec + path + ", valueFrom: {variable: mine}" }
	tests := []struct {
		name    string
		patches []string
		files   []string
		want    string // a part of the error; "": none
	}{
		{
			"kube-vip's own content",
			[]string{"op: add, path: " + spec + "files/0/content, valueFrom: {variable: v}"},
			[]string{vip},
			"kubeadm: t:8: kube-vip would stay beside keepvip, by the patch that writes " + vip + "; take this out, with the variable that it alone has, and begin again; where each cluster has",
		},
		{
			"a file behind kube-vip's",
			[]string{replace("files/2/content")},
			[]string{vip, prepare, audit},
			"files/2 is " + audit + ", and /etc/keepvip/key in the result; have it add the whole entry to " + spec + "files/-, or take out what is kube-vip's and set the number anew, and begin again",
		},
		{"a file that keepvip's would take the place of", []string{"op: test, path: /a", replace("files/1")}, []string{prepare, audit}, "t:9: the patch of " + spec + "files/1 would write into another entry: files/1 is " + audit + ", and " + ManifestPath + " in the result"},
		{"a file before kube-vip's", []string{replace("files/0/content")}, []string{audit, vip}, ""},
		{"an entry that is taken out before", []string{"op: remove, path: " + spec + "files/0", replace("files/0/content")}, []string{audit, vip}, "t:8: "},
		{"the end", []string{"op: add, path: " + spec + "files/-, value: {path: /a}"}, []string{vip}, ""},
		{"the end by its number", []string{"op: add, path: " + spec + "files/1, value: {path: /a}"}, []string{audit}, ""},
		{"an entry that another patch made", []string{"op: add, path: " + spec + "files/-, value: {path: /a}", replace("files/1/content")}, []string{audit}, "t:9: the patch of " + spec + "files/1/content would write into another entry: files/1 is no entry, and " + ManifestPath},
		{"the whole list", []string{"op: add, path: " + spec + "files, value: []"}, []string{audit}, "t:8: the patch of " + spec + "files writes the whole list files, and what keepvip adds to it would be lost: have it add each entry to " + spec + "files/-"},
		{"all around the list", []string{"op: replace, path: /spec/template/spec, value: {}"}, []string{audit}, "writes the whole list"},
		{"commands", []string{replace("postKubeadmCommands/1")}, nil, "t:8: the patch of " + spec + "postKubeadmCommands/1 would write into another entry: postKubeadmCommands/1 is true, and no entry"},
		{"a command that only kube-vip had", []string{replace("postKubeadmCommands/0")}, nil, "postKubeadmCommands/0 is echo kube-vip, and true in the result; take this patch out"},
		{"commands before keepvip's", []string{replace("preKubeadmCommands/0")}, nil, "t:8: "},
		{"all commands from which kube-vip's go", []string{"op: replace, path: " + spec + "postKubeadmCommands, value: []"}, nil, ""},
		{"certificates", []string{"op: replace, path: " + spec + "clusterConfiguration/apiServer/certSANs, value: []"}, nil, "writes the whole list certSANs"},
		{"another template", []string{"op: replace, path: /spec/template/spec/files/0/content, value: a"}, []string{vip}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := part(t)
			cfg.Commands = [][]string{{"systemctl", "daemon-reload"}}
			got, notes, err := MergeControlPlane("t", []byte(classOf(tt.patches, tt.files...)), cfg)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
			assert.Nil(t, got)
			assert.Nil(t, notes)
		})
	}
}

// classKCP is a ClusterClass with one definition of patches, and a template with two files of kube-vip.
func classKCP(patches string) []byte {
	return []byte("kind: ClusterClass\nspec:\n  patches:\n  - name: p\n    definitions:\n    - selector: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: A}\n      jsonPatches:\n" + patches +
		"---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlaneTemplate\nspec:\n  template:\n    spec:\n      kubeadmConfigSpec:\n" +
		"        files:\n        - path: /etc/motd\n        - path: /etc/kube-vip-prepare.sh\n        preKubeadmCommands:\n        - /etc/kube-vip-prepare.sh\n        - hostname\n")
}

const (
	addsFile    = "      - op: add\n        path: /spec/template/spec/kubeadmConfigSpec/files/-\n        valueFrom:\n          template: |\n"
	addsKeepvip = addsFile + "            path: /etc/kubernetes/manifests/keepvip.yaml\n            content: |\n              kind: Pod\n"
	addsKubeVIP = addsFile + "            path: /etc/kubernetes/manifests/kube-vip.yaml\n            content: a\n"
	hostVaries  = "      - op: add\n        path: /spec/template/spec/controlPlaneEndpoint/host\n        valueFrom: {variable: endpoint.host}\n"
)

// An address that each cluster has for itself cannot be one that stands in the class.
func TestMergeControlPlaneRefusesAFixedAddressWhereEachClusterHasItsOwn(t *testing.T) {
	const put = " of packaging/clusterapi/clusterclass.yaml, with the apiVersion controlplane.cluster.x-k8s.io/v1beta1"
	const left = ", and begin again: keepvip manifest kubeadmcontrolplane --template FILE then takes out what is left of kube-vip: /etc/kube-vip-prepare.sh (line 20), /etc/kube-vip-prepare.sh in preKubeadmCommands (line 22)"
	host := func(path, from string) string {
		return "      - op: add\n        path: /spec/template/spec/" + path + "\n        valueFrom:\n          " + from + "\n"
	}
	for patch, variable := range map[string]string{
		host("controlPlaneEndpoint/host", "variable: endpoint.host"):                            " and with {{ .endpoint.host }} in place of {{ .controlPlaneVip }}",
		host("controlPlaneEndpoint", "variable: endpoint"):                                      " and with {{ .endpoint.host }} in place of {{ .controlPlaneVip }}",
		host("controlPlaneEndpoint/host", "template: '{{ .vip }}'"):                             " and with {{ .vip }} in place of {{ .controlPlaneVip }}",
		host("controlPlaneEndpoint", "template: \"host: '{{ .vip }}'\""):                        " and with {{ .vip }} in place of {{ .controlPlaneVip }}",
		host("controlPlaneEndpoint/host", "variable: 'machines[0].host'"):                       "",
		host("controlPlaneEndpoint/host", "template: '{{ if .vip }}{{ .vip }}{{ end }}'"):       "",
		host("kubeadmConfigSpec/clusterConfiguration/controlPlaneEndpoint", "template: '{{ .'"): "",
	} {
		what := "variables"
		if variable != "" {
			what = "variable keepvipImage"
		}
		_, _, err := MergeControlPlane("t", classKCP(patch), part(t))
		require.Error(t, err, patch)
		assert.Contains(t, err.Error(), "kubeadm: t:9: the patch of /spec/template/spec/")
		assert.Contains(t, err.Error(), "gives each cluster an address of its own, and keepvip would have a fixed one: put in the patch and the "+what+put+variable+", and begin again: keepvip manifest")
	}
	_, _, err := MergeControlPlane("t", classKCP(hostVaries), part(t))
	assert.ErrorContains(t, err, left)

	fixed := "      - {op: add, path: /spec/template/spec/controlPlaneEndpoint/host, value: 10.77.0.%s}\n"
	_, _, err = MergeControlPlane("t", classKCP(strings.Replace(fixed, "%s", "100", 1)), part(t))
	require.NoError(t, err, "the same address")
	_, _, err = MergeControlPlane("t", classKCP(strings.Replace(fixed, "%s", "99", 1)), part(t))
	assert.EqualError(t, err, "kubeadm: t:8: the patch of /spec/template/spec/controlPlaneEndpoint/host writes the address 10.77.0.99, want 10.77.0.100")
}

// A class whose patch brings keepvip needs nothing but that kube-vip goes.
func TestMergeControlPlaneOfAClassThatBringsKeepvip(t *testing.T) {
	got, notes, err := MergeControlPlane("t", classKCP(hostVaries+addsKeepvip), part(t))
	require.NoError(t, err)
	assert.Equal(t, strings.NewReplacer("        - path: /etc/kube-vip-prepare.sh\n", "", "        - /etc/kube-vip-prepare.sh\n", "").Replace(string(classKCP(hostVaries+addsKeepvip))), string(got))
	assert.Equal(t, []string{
		"the patch in line 12 brings keepvip: what is kube-vip's was taken out, and nothing put in",
		"took out the file /etc/kube-vip-prepare.sh", "took out of preKubeadmCommands: /etc/kube-vip-prepare.sh",
	}, notes)
	again, _, err := MergeControlPlane("t", got, part(t))
	require.NoError(t, err)
	assert.Equal(t, string(got), string(again))

	only := strings.Replace(string(classKCP(addsKeepvip)), "        - path: /etc/motd\n", "", 1)
	_, notes, err = MergeControlPlane("t", []byte(only), part(t))
	require.NoError(t, err)
	assert.Contains(t, notes, "files is empty now: give it an entry, because Cluster API may drop an empty list, and the patch in line 9 then has none to add to")

	fills := strings.NewReplacer("/etc/motd", "/etc/kubernetes/manifests/keepvip.yaml", "files/-", "files/0/content").Replace(string(classKCP(addsKeepvip)))
	_, notes, err = MergeControlPlane("t", []byte(fills), part(t))
	require.NoError(t, err)
	assert.Contains(t, notes[0], "the patch in line 9 brings keepvip")

	for give, brought := range map[string]bool{
		strings.Replace(string(classKCP(addsKeepvip)), "kind: Pod", "kind: Config", 1):                                              false,
		strings.Replace(string(classKCP(addsKeepvip)), "            path", "            owner: {{ .user }}:x\n            path", 1): true,
		strings.Replace(string(classKCP(addsKeepvip)), "v1beta1", "${VERSION}", 1):                                                  true,
	} {
		got, _, err := MergeControlPlane("t", []byte(give), part(t))
		require.NoError(t, err)
		assert.Equal(t, !brought, strings.Contains(string(got), "        - path: "+ManifestPath), give)
	}
	for give, want := range map[string]string{
		string(classKCP(addsKeepvip + addsKubeVIP)):                                                              "kubeadm: t:18: kube-vip would stay beside keepvip, by template: path: /etc/kubernetes/manifests/kube-vip.yaml; take this out, with the variable that it alone has, and begin again",
		strings.Replace(string(classKCP(addsKeepvip)), "v1beta1", "v1beta2", 1):                                  "kubeadm: t:6: the patch that brings keepvip is for controlplane.cluster.x-k8s.io/v1beta2, and the KubeadmControlPlaneTemplate is of controlplane.cluster.x-k8s.io/v1beta1: want the same",
		strings.Replace(string(classKCP(addsKeepvip)), "/etc/motd", "/etc/kubernetes/manifests/keepvip.yaml", 1): "/etc/kubernetes/manifests/keepvip.yaml is a file here, and the patch in line 9 brings it, too",
	} {
		_, _, err := MergeControlPlane("t", []byte(give), part(t))
		assert.ErrorContains(t, err, want)
	}
	_, _, err = MergeControlPlane("t", classKCP(addsKubeVIP+hostVaries), part(t))
	assert.ErrorContains(t, err, "kubeadm: t:11: kube-vip would stay beside keepvip, by template: path: /etc/kubernetes/manifests/kube-vip.yaml; take this out, with the variable that it alone has, and put in the patch and the variable keepvipImage of packaging/clusterapi/clusterclass.yaml")
}

// FuzzMergeControlPlane: a text is refused, or becomes one that a second merge takes as it is.
func FuzzMergeControlPlane(f *testing.F) {
	f.Add(classKCP(hostVaries + addsKeepvip))
	f.Add(classKCP(addsKubeVIP))
	f.Add(kcpWith(vipFile(vipsFile, "svc_enable="+on)+script, runs1))
	f.Add([]byte(classOf([]string{"op: add, path: /spec/template/spec/kubeadmConfigSpec/files/1/content, value: a"}, "/a", "/b")))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, _, err := MergeControlPlane("t", text, part(t))
		if err != nil {
			require.Nil(t, got)
			return
		}
		again, _, err := MergeControlPlane("t", got, part(t))
		require.NoError(t, err, "%s", got)
		require.Equal(t, string(got), string(again))
	})
}

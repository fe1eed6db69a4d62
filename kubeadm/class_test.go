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
			"kubeadm: t:8: the patch of " + spec + "files/0/content would write into another entry: files/0 is " + vip + ", and " + ManifestPath + " in the result; take this patch out, with the variable that only it has, and begin again",
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

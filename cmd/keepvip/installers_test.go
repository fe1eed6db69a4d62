package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// installerGolden compares a file of packaging with what this program says; `make golden` writes it.
func installerGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("../../packaging", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "%s: regenerate with make golden and review the difference", name)
}

// The certificates that the chart mounts for a check are those that `manifest` mounts.
func TestChartMountsTheCertificatesOfChecks(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The certificate by which each check is verified, as `keepvip manifest daemonset --check NAME` mounts it.\n")
	for _, check := range []string{"k0s", "k3s", "kubeadm", "rke2"} {
		out, _ := manifest(t, "daemonset", "--vip", "10.0.0.100", "--check", check)
		var d struct {
			Spec struct {
				Template struct {
					Spec struct {
						Volumes []struct {
							HostPath struct{ Path, Type string }
						}
					}
				}
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(out), &d))
		var files []string
		for _, v := range d.Spec.Template.Spec.Volumes {
			if v.HostPath.Type == "File" {
				files = append(files, v.HostPath.Path)
			}
		}
		require.Len(t, files, 1, check)
		b.WriteString(check + ": " + files[0] + "\n")
	}
	installerGolden(t, "helm/keepvip/files/checks.yaml", b.String())
}

// The chart refuses a configuration that keepvip would refuse, as far as a schema can tell.
func TestChartKnowsTheSchemaOfTheConfiguration(t *testing.T) {
	_, out, _ := keepvip(t, "config", "schema")
	var config map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &config))
	delete(config, "$schema")
	delete(config, "required") // the chart adds apiVersion and kind; a part that is off has no configuration
	text := func(v map[string]any) map[string]any {
		return map[string]any{"type": "object", "additionalProperties": false, "properties": v}
	}
	one := func(kind string) map[string]any { return map[string]any{"type": kind} }
	labels := map[string]any{"type": "object", "additionalProperties": one("string")}
	pods := text(map[string]any{"enabled": one("boolean"), "nodeSelector": labels, "config": config})
	schema := text(map[string]any{
		"global": one("object"),
		"image": text(map[string]any{
			"repository": one("string"), "tag": one("string"),
			"digest":     map[string]any{"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
			"pullPolicy": map[string]any{"enum": []string{"Always", "IfNotPresent", "Never"}},
		}),
		"members": pods, "followers": pods, "secret": one("string"),
		"files":      map[string]any{"type": "array", "items": map[string]any{"type": "string", "pattern": "^/"}},
		"monitoring": text(map[string]any{"podMonitor": one("boolean"), "rules": one("boolean"), "dashboard": one("boolean")}),
	})
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	b, err := json.MarshalIndent(schema, "", "  ")
	require.NoError(t, err)
	installerGolden(t, "helm/keepvip/values.schema.json", string(b)+"\n")
}

// The chart carries the monitoring pack as it is.
func TestChartCarriesTheMonitoring(t *testing.T) {
	for _, name := range []string{"podmonitor.yaml", "prometheusrule.yaml", "dashboard.json"} {
		text, err := os.ReadFile(filepath.Join("../../packaging/monitoring", name))
		require.NoError(t, err)
		installerGolden(t, "helm/keepvip/files/"+name, string(text))
	}
}

const installersImage = "ghcr.io/keepvip/keepvip:v0.1.0"

// The base for kustomize is the DaemonSet with its configuration in a ConfigMap.
func TestKustomizeBase(t *testing.T) {
	out, _ := manifest(t, "daemonset", "--config", "../../packaging/kustomize/keepvip.yaml", "--image", installersImage)
	before, rest, found := strings.Cut(out, "          value: |\n")
	require.True(t, found)
	_, after, found := strings.Cut(rest, "        image: ")
	require.True(t, found)
	installerGolden(t, "kustomize/daemonset.yaml", before+`          valueFrom:
            configMapKeyRef:
              name: keepvip
              key: keepvip.yaml
        image: `+after)
}

// The variables and the patch for a ClusterClass carry the static pod.
func TestClusterClass(t *testing.T) {
	const address = "192.0.2.100"
	out, _ := manifest(t, "pod", "--vip", address, "--image", installersImage)
	require.Equal(t, 1, strings.Count(out, address))
	require.Equal(t, 1, strings.Count(out, installersImage))
	out = strings.NewReplacer(address, "{{ .controlPlaneVip }}", installersImage, "{{ .keepvipImage }}").Replace(out)
	const in = "                    "
	pod := in + strings.ReplaceAll(strings.TrimSuffix(out, "\n"), "\n", "\n"+in)
	installerGolden(t, "clusterapi/clusterclass.yaml", `# keepvip as a part of a ClusterClass: join both lists with those of yours. A Cluster sets the variable controlPlaneVip to
# the address in its spec.controlPlaneEndpoint; a variable that your class has for it already may take its place below.
# The apiVersion of the selector has to be that of your KubeadmControlPlaneTemplate, as spec.controlPlane of the class
# has it: Cluster API compares it as it is written. The template has to have a list
# spec.template.spec.kubeadmConfigSpec.files with at least one entry, because Cluster API may drop an empty one.
# Where the class has kube-vip, take its patch out; keepvip manifest kubeadmcontrolplane --template FILE then takes out
# the files and commands of kube-vip.
spec:
  variables:
    - name: controlPlaneVip
      required: true
      schema:
        openAPIV3Schema:
          type: string
          description: the virtual address of the control plane
    - name: keepvipImage
      required: false
      schema:
        openAPIV3Schema:
          type: string
          default: `+installersImage+`
  patches:
    - name: keepvip
      definitions:
        - selector:
            apiVersion: controlplane.cluster.x-k8s.io/v1beta2
            kind: KubeadmControlPlaneTemplate
            matchResources:
              controlPlane: true
          jsonPatches:
            - op: add
              path: /spec/template/spec/kubeadmConfigSpec/files/-
              valueFrom:
                template: |
                  path: /etc/kubernetes/manifests/keepvip.yaml
                  owner: root:root
                  permissions: "0600"
                  content: |
`+pod+"\n")
}

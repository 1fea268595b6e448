// node pods.mjs FOLDER < manifests > pods: what `podman kube play` can run of an installation. It
// knows pods, deployments and claims; the rest becomes what Kubernetes would make of it:
//   StatefulSet         its first pod and that pod's claims, with the name of its service
//   secrets, emptyDir   folders below FOLDER, of root and the pod's fsGroup, with the same modes
//   probes              left out: the image has no shell to run them with; the test asks itself
//   ports               left out: podman would bind them on the machine
import fs from 'node:fs';
import path from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';

const folder = process.argv[2];
const objects = parseAllDocuments(fs.readFileSync(0, 'utf8'), { version: '1.1' })
  .map((document) => document.toJS()).filter((object) => object);
const secrets = Object.fromEntries(objects.filter((o) => o.kind === 'Secret')
  .map((o) => [o.metadata.name, o.data]));
const pods = [];

function folderOf(volume, group) {
  const place = path.join(folder, 'volumes', volume.secret?.secretName ?? `empty-${pods.length}`);
  fs.mkdirSync(place, { recursive: true });
  if (volume.secret) {
    for (const [name, data] of Object.entries(secrets[volume.secret.secretName])) {
      const file = path.join(place, name);
      fs.writeFileSync(file, Buffer.from(data, 'base64'));
      fs.chownSync(file, 0, group);
      fs.chmodSync(file, volume.secret.defaultMode | 0o440);  // the group may always read
    }
  }
  fs.chownSync(place, 0, group);
  fs.chmodSync(place, volume.secret ? 0o750 : 0o2770);
  return { name: volume.name, hostPath: { path: place, type: 'Directory' } };
}

function podOf(object, name) {
  const { metadata, spec } = object.spec.template;
  const group = spec.securityContext.fsGroup;
  const claims = (object.spec.volumeClaimTemplates ?? []).map((claim) => ({
    apiVersion: 'v1', kind: 'PersistentVolumeClaim', spec: claim.spec,
    metadata: {
      name: `${claim.metadata.name}-${name}`,
      annotations: { 'volume.podman.io/uid': `${spec.securityContext.runAsUser}`,
        'volume.podman.io/gid': `${group}` },
    },
  }));
  for (const container of spec.containers) {
    for (const field of ['startupProbe', 'livenessProbe', 'readinessProbe', 'ports']) {
      delete container[field];
    }
  }
  spec.volumes = [...(spec.volumes ?? []).map((volume) => folderOf(volume, group)),
    ...claims.map((claim, i) => ({ name: object.spec.volumeClaimTemplates[i].metadata.name,
      persistentVolumeClaim: { claimName: claim.metadata.name } }))];
  pods.push(...claims, { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name }, spec });
}

for (const object of objects) {
  if (object.kind === 'StatefulSet') podOf(object, object.spec.serviceName);
  if (object.kind === 'Deployment') podOf(object, object.metadata.name);
}
process.stdout.write(pods.map((pod) => stringify(pod)).join('---\n'));

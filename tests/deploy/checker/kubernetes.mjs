// Strict checks of Kubernetes manifests, without a cluster:
//   values       the JSON schemas of kubernetes-models (types, enums, required fields)
//   names        a field that no schema asks for is unknown; the schemas alone let it pass
//   references   what one object says of another, of the programs or of the image is so
// Every function returns errors as text.
import { checkSchema, checkValues } from './schema.mjs';

// ---- Workloads: pods against their volumes, secrets, programs, and the restricted profile.

const podOf = (object) => object.spec?.template;
const isWorkload = (object) => ['StatefulSet', 'Deployment'].includes(object.kind);
const matches = (selector, labels) =>
  Object.entries(selector ?? {}).every(([key, value]) => labels?.[key] === value);

function checkRestricted(pod, container) {
  const ofPod = pod.spec.securityContext ?? {};
  const own = container.securityContext ?? {};
  const rules = [
    ['runAsNonRoot', ofPod.runAsNonRoot === true],
    ['runAsUser', ofPod.runAsUser === 65532],
    ['seccompProfile', ofPod.seccompProfile?.type === 'RuntimeDefault'],
    ['allowPrivilegeEscalation', own.allowPrivilegeEscalation === false],
    ['readOnlyRootFilesystem', own.readOnlyRootFilesystem === true],
    ['capabilities', `${own.capabilities?.drop}` === 'ALL' && !own.capabilities?.add],
    ['automountServiceAccountToken', pod.spec.automountServiceAccountToken === false],
    ['enableServiceLinks', pod.spec.enableServiceLinks === false],
    ['resources', container.resources?.limits?.memory && container.resources?.requests?.cpu],
  ];
  return rules.filter(([, holds]) => !holds)
    .map(([name]) => `${name} is not what the restricted profile wants`);
}

// The options of a command line: name → value.
export function optionsOf(words) {
  return words.map((word) => /^--([a-z-]+)(?:=(.*))?$/.exec(word) ?? [word, word, undefined])
    .map(([, name, value]) => [name, value]);
}

// Values of options, as the programs take them.
const kDuration = /^[0-9]+(ms|s|m|h|d)$/;
const kOptionValues = {
  'authorized-keys-poll': kDuration,
  'drain-timeout': kDuration,
  'give-up-after': kDuration,
  'log-format': /^(text|json)$/,
  database: /^\/var\/lib\/puzzled\/puzzled\.db$/,
  slots: /^[0-9]+$/,
  workers: /^[0-9]+$/,
};

export function checkCommand(command, args, facts) {
  const errors = [];
  const known = facts.options[command?.[0]];
  if (!known) return [`there is no program ${command?.[0]}`];
  for (const [name, value] of optionsOf(args)) {
    if (!known.has(name)) errors.push(`${command[0]} has no option --${name}`);
    if (value === undefined || value === '') errors.push(`--${name} has no value`);
    if (kOptionValues[name] && !kOptionValues[name].test(value)) {
      errors.push(`--${name}: found ${value}, expected ${kOptionValues[name]}`);
    }
  }
  return errors;
}

// Files that options name, against what is mounted.
function checkFiles(container, pod, set) {
  const errors = [];
  const named = optionsOf(container.args).map(([, value]) => value)
    .filter((value) => value?.startsWith('/'));
  const used = new Set();
  for (const file of named) {
    const mount = container.volumeMounts.find((m) => file.startsWith(m.mountPath + '/'));
    if (!mount) {
      errors.push(`${file} lies in no volume`);
      continue;
    }
    used.add(mount.name);
    const secret = (pod.spec.volumes ?? []).find((v) => v.name === mount.name)?.secret;
    if (!secret) continue;
    const data = set.find((o) => o.kind === 'Secret' &&
      o.metadata.name === secret.secretName)?.data;
    if (!(file.slice(mount.mountPath.length + 1) in (data ?? {}))) {
      errors.push(`${file} is not in the secret ${secret.secretName}`);
    }
  }
  for (const mount of container.volumeMounts) {
    if (!used.has(mount.name) && mount.mountPath !== '/tmp') {
      errors.push(`no option names a file in ${mount.mountPath}`);
    }
  }
  return errors;
}

function checkVolumes(container, pod, object, set) {
  const errors = [];
  const volumes = [...(pod.spec.volumes ?? []).map((v) => v.name),
    ...(object.spec.volumeClaimTemplates ?? []).map((c) => c.metadata?.name)];
  const mounts = container.volumeMounts.map((m) => m.name);
  for (const name of mounts) if (!volumes.includes(name)) errors.push(`no volume is named ${name}`);
  for (const name of volumes) if (!mounts.includes(name)) errors.push(`nobody mounts ${name}`);
  for (const { name, secret } of pod.spec.volumes ?? []) {
    if (!secret) continue;
    if (![0o400, 0o440].includes(secret.defaultMode)) errors.push('a secret is open to others');
    if (!container.volumeMounts.some((m) => m.readOnly && m.name === name)) {
      errors.push(`the secret ${secret.secretName} can be written`);
    }
    if (!set.some((o) => o.kind === 'Secret' && o.metadata.name === secret.secretName)) {
      errors.push(`nobody makes the secret ${secret.secretName}`);
    }
  }
  return errors;
}

// Ports: what a daemon binds is declared, and probes ask for what it serves.
function checkPorts(container, facts) {
  const errors = [];
  const ports = container.ports ?? [];
  const bound = optionsOf(container.args)
    .filter(([name]) => ['endpoint', 'worker-endpoint', 'metrics'].includes(name))
    .map(([, value]) => /^(?:tcp:\/\/)?0\.0\.0\.0:([0-9]+)$/.exec(value ?? '')?.[1]);
  if (ports.length > 0 && `${bound}` !== `${ports.map((p) => p.containerPort)}`) {
    errors.push(`binds the ports ${bound}, declares ${ports.map((p) => p.containerPort)}`);
  }
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    const get = container[probe]?.httpGet;
    if (!get) {
      if (ports.length > 0) errors.push(`there is no ${probe}`);
      continue;
    }
    if (get.port !== 'metrics' || !ports.some((p) => p.name === get.port)) {
      errors.push(`${probe}: nobody answers at port ${get.port}`);
    }
    if (!facts.paths.includes(get.path)) errors.push(`${probe}: nothing is at ${get.path}`);
  }
  return errors;
}

// An address inside the cluster: a service, and one of its ports.
function checkAddress(text, set) {
  const address = /^(?:tcp|http):\/\/([a-z0-9-]+)((?:\.[a-z0-9-]+)*):([0-9]+)(\/metrics)?$/;
  const parts = address.exec(text);
  if (!parts) return [`${text} is no address`];
  const [, host, domain, port] = parts;
  const service = set.find((o) => o.kind === 'Service' && o.metadata.name === host);
  if (!service) return [`there is no service ${host}`];
  const namespace = set.find((o) => o.kind === 'Namespace').metadata.name;
  if (domain && domain !== `.${namespace}.svc.cluster.local`) return [`${domain} is no domain`];
  return (service.spec.ports ?? []).some((p) => `${p.port}` === port) ? []
    : [`the service ${host} has no port ${port}`];
}

function checkWorkload(object, set, facts) {
  const pod = podOf(object);
  const name = object.metadata.name;
  const errors = [];
  for (const labels of [object.metadata.labels, pod.metadata?.labels,
    object.spec.selector?.matchLabels]) {
    if (labels?.['app.kubernetes.io/name'] !== name) errors.push(`is not labelled as ${name}`);
  }
  if (object.spec.serviceName &&
      !set.some((o) => o.kind === 'Service' && o.metadata.name === object.spec.serviceName)) {
    errors.push(`there is no service ${object.spec.serviceName}`);
  }
  for (const spread of pod.spec.topologySpreadConstraints ?? []) {
    if (!spread.labelSelector?.matchLabels ||
        !matches(spread.labelSelector.matchLabels, pod.metadata.labels)) {
      errors.push('topologySpreadConstraints select other pods');
    }
  }
  for (const container of pod.spec.containers) {
    if (container.name !== name) errors.push(`the container ${container.name} is not ${name}`);
    if (container.image !== facts.image) errors.push(`${container.image} is not ${facts.image}`);
    errors.push(...checkRestricted(pod, container));
    errors.push(...checkCommand(container.command, container.args ?? [], facts));
    if (errors.length > 0) continue;
    errors.push(...checkVolumes(container, pod, object, set));
    errors.push(...checkFiles(container, pod, set));
    errors.push(...checkPorts(container, facts));
    const endpoint = optionsOf(container.args).find(([option]) => option === 'endpoint')[1];
    if (!endpoint.startsWith('tcp://0.0.0.0:')) errors.push(...checkAddress(endpoint, set));
  }
  return errors;
}

// ---- The other kinds.

// The workloads whose pods a selector means; an empty one means all.
const selected = (selector, set) =>
  set.filter((o) => isWorkload(o) && matches(selector?.matchLabels, podOf(o).metadata?.labels));
const portsOf = (workloads) => workloads.flatMap(
  (o) => podOf(o).spec.containers.flatMap((c) => c.ports ?? []));

function checkService(service, set) {
  const pods = selected({ matchLabels: service.spec.selector }, set);
  const errors = pods.length === 1 ? [] : [`its selector means ${pods.length} workloads`];
  if (service.metadata.labels?.['app.kubernetes.io/name'] !== service.metadata.name) {
    errors.push(`is not labelled as ${service.metadata.name}`);
  }
  // Workers hand in their last results to a daemon that drains.
  if (!service.spec.publishNotReadyAddresses) errors.push('hides a daemon that drains');
  for (const port of service.spec.ports ?? []) {
    const target = portsOf(pods).find((p) => p.name === port.targetPort);
    if (!target) errors.push(`port ${port.name}: no container has ${port.targetPort}`);
    else if (target.containerPort !== port.port || port.name !== port.targetPort) {
      errors.push(`port ${port.name} (${port.port}) leads to ${target.name} ` +
        `(${target.containerPort})`);
    }
  }
  return errors;
}

const kForeignNamespaces = ['kube-system', 'keda', 'monitoring'];

function checkPeer(peer, set) {
  const errors = [];
  const labels = peer.podSelector?.matchLabels;
  const isClient = labels?.['puzzled/client'] === 'true' && Object.keys(labels).length === 1;
  if (peer.podSelector && !isClient && (!labels || selected(peer.podSelector, set).length !== 1)) {
    errors.push(`no pod has the labels ${JSON.stringify(labels)}`);
  }
  for (const [key, value] of Object.entries(peer.namespaceSelector?.matchLabels ?? {})) {
    if (key !== 'kubernetes.io/metadata.name' || !kForeignNamespaces.includes(value)) {
      errors.push(`no namespace has the label ${key}: ${value}`);
    }
  }
  return errors;
}

function checkPolicy(policy, set) {
  const { podSelector, policyTypes, ingress, egress } = policy.spec;
  const pods = selected(podSelector, set);
  const errors = pods.length > 0 ? [] : ['selects no pod'];
  if (ingress && !policyTypes.includes('Ingress')) errors.push('is not about Ingress');
  if (egress && !policyTypes.includes('Egress')) errors.push('is not about Egress');
  const rules = [...(ingress ?? []).map((rule) => [rule, rule.from, pods]),
    ...(egress ?? []).map((rule) => [rule, rule.to,
      (rule.to ?? []).flatMap((peer) => peer.podSelector ? selected(peer.podSelector, set) : [])])];
  for (const [rule, peers, targets] of rules) {
    if (!peers || !rule.ports) errors.push('a rule without peers or ports allows all');
    for (const peer of peers ?? []) errors.push(...checkPeer(peer, set));
    for (const { port } of rule.ports ?? []) {
      const isNameService = port === 53;
      if (!isNameService && !portsOf(targets).some((p) => p.name === port)) {
        errors.push(`no container has the port ${port}`);
      }
    }
  }
  return errors;
}

const kTriggerFields = ['url', 'format', 'valueLocation', 'targetValue'];

function checkScaledObject(object, set, facts) {
  const { scaleTargetRef: target, triggers } = object.spec;
  const errors = [];
  if (!set.some((o) => o.kind === target.kind && o.metadata.name === target.name &&
      o.apiVersion === target.apiVersion)) {
    errors.push(`there is no ${target.apiVersion} ${target.kind} ${target.name}`);
  }
  for (const { type, metadata } of triggers) {
    if (type !== 'metrics-api') errors.push(`${type} is no kind of trigger that is known here`);
    for (const key of Object.keys(metadata)) {
      if (!kTriggerFields.includes(key)) errors.push(`the trigger has no field ${key}`);
    }
    if (metadata.format !== 'prometheus') errors.push(`the daemon speaks no ${metadata.format}`);
    if (!facts.metrics.has(metadata.valueLocation)) {
      errors.push(`the daemon has no figure ${metadata.valueLocation}`);
    }
    if (!metadata.targetValue) errors.push('the trigger has no targetValue');
    errors.push(...checkAddress(`${metadata.url}`, set));
  }
  return errors;
}

function checkRules(object, facts) {
  const errors = [];
  for (const rule of object.spec.groups.flatMap((group) => group.rules ?? [])) {
    for (const name of `${rule.expr}`.match(/\bpuzzled\w*/g) ?? ['none']) {
      if (!facts.metrics.has(name)) errors.push(`${rule.alert}: the daemon has no figure ${name}`);
    }
    if (!['critical', 'warning'].includes(rule.labels?.severity)) {
      errors.push(`${rule.alert}: no severity`);
    }
    if (!rule.annotations?.summary) errors.push(`${rule.alert}: no summary`);
  }
  return errors;
}

function checkReferences(object, set, facts) {
  if (isWorkload(object)) return checkWorkload(object, set, facts);
  switch (object.kind) {
    case 'Service':
      return checkService(object, set);
    case 'NetworkPolicy':
      return checkPolicy(object, set);
    case 'PodDisruptionBudget':
      return object.spec.selector?.matchLabels && selected(object.spec.selector, set).length === 1
        ? [] : ['its selector does not mean one workload'];
    case 'ScaledObject':
      return checkScaledObject(object, set, facts);
    case 'PrometheusRule':
      return checkRules(object, facts);
    case 'ServiceMonitor': {
      const services = set.filter((o) => o.kind === 'Service' &&
        matches(object.spec.selector?.matchLabels, o.metadata.labels));
      return services.length === 1 && object.spec.selector?.matchLabels &&
        object.spec.endpoints.every((e) => facts.paths.includes(e.path) &&
          services[0].spec.ports.some((p) => p.name === e.port))
        ? [] : ['its selector, a port or a path leads nowhere'];
    }
    case 'Namespace': {
      const levels = ['enforce', 'warn'].map(
        (mode) => object.metadata.labels?.[`pod-security.kubernetes.io/${mode}`]);
      return levels.every((level) => level === 'restricted') &&
        set.every((o) => o === object || [undefined, object.metadata.name]
          .includes(o.metadata.namespace))
        ? [] : ['is not restricted, or objects name another namespace'];
    }
    default:
      return object.kind === 'Secret' ? [] : [`${object.kind} is not looked after`];
  }
}

// All objects of an installation together. Errors of references are only looked for in objects that
// are well-formed.
export async function checkKubernetes(set, facts) {
  const errors = [];
  for (const object of set) {
    const found = await checkSchema(object);
    checkValues(object, '', found);
    errors.push(...found.map((text) => `${object.kind} ${object.metadata?.name}: ${text}`));
  }
  if (errors.length > 0) return errors;
  for (const object of set) {
    let found;
    try {
      found = checkReferences(object, set, facts);
    } catch (error) {
      found = [`something is missing: ${error.message}`];
    }
    errors.push(...found.map((text) => `${object.kind} ${object.metadata.name}: ${text}`));
  }
  return errors;
}

// One Kubernetes object against its schema, and values that schemas leave open. Every function
// returns errors as text.
const kPackages = {
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

const models = new Map();

async function modelOf(apiVersion, kind) {
  const id = `${apiVersion} ${kind}`;
  if (!models.has(id)) {
    const [group, version] = `${apiVersion}`.includes('/')
      ? apiVersion.split('/') : ['', apiVersion];
    const path = `${kPackages[group] ?? 'kubernetes-models'}/${group ? group + '/' : ''}` +
      `${version}/${kind}`;
    models.set(id, await import(path).then((m) => m[kind], () => undefined));
  }
  return models.get(id);
}

// Wraps a value so that every field that is looked at is noted. A schema of a map looks at all
// keys, one of an object at those that it knows.
function watched(value, path, seen) {
  if (value === null || typeof value !== 'object') return value;
  return new Proxy(value, {
    get(target, key, receiver) {
      const inner = Reflect.get(target, key, receiver);
      if (typeof key !== 'string' || !Object.hasOwn(target, key)) return inner;
      seen.add(`${path}/${key}`);
      return watched(inner, `${path}/${key}`, seen);
    },
    ownKeys(target) {
      for (const key of Object.keys(target)) seen.add(`${path}/${key}`);
      return Reflect.ownKeys(target);
    },
  });
}

function unknownFields(value, path, seen, found) {
  if (value === null || typeof value !== 'object') return;
  for (const key of Object.keys(value)) {
    const at = `${path}/${key}`;
    if (seen.has(at)) unknownFields(value[key], at, seen, found);
    else found.push(`${at} is not known`);
  }
}

export async function checkSchema(object) {
  const model = await modelOf(object.apiVersion, object.kind);
  if (!model) return [`there is no ${object.apiVersion} ${object.kind}`];
  const seen = new Set();
  const target = Object.assign(Object.create(model.prototype), object);
  try {
    watched(target, '', seen).validate();
  } catch (error) {
    return [error.message];
  }
  const found = [];
  unknownFields(object, '', seen, found);
  return found;
}

// ---- Values that schemas leave open.

const kEnums = {
  fsGroupChangePolicy: ['OnRootMismatch', 'Always'],
  imagePullPolicy: ['IfNotPresent', 'Always', 'Never'],
  whenUnsatisfiable: ['ScheduleAnyway', 'DoNotSchedule'],
  accessModes: ['ReadWriteOnce', 'ReadWriteOncePod'],
  topologyKey: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'],
  policyTypes: ['Ingress', 'Egress'],
  protocol: ['TCP', 'UDP'],
  drop: ['ALL'],
};
const kPatterns = {
  cpu: /^[0-9]+(\.[0-9]+)?m?$/,
  memory: /^[0-9]+([KMGT]i?)?$/,
  storage: /^[0-9]+([KMGT]i?)?$/,
  sizeLimit: /^[0-9]+([KMGT]i?)?$/,
  maxSurge: /^[0-9]+%?$/,
  maxUnavailable: /^[0-9]+%?$/,
  interval: /^[0-9]+(ms|s|m|h|d)$/,
  for: /^[0-9]+(ms|s|m|h|d)$/,
  targetValue: /^[0-9]+$/,
};

const kResources = ['cpu', 'memory', 'storage'];

export function checkValues(value, path, errors) {
  if (value === null || typeof value !== 'object') return;
  if (/\/(requests|limits)$/.test(path)) {
    for (const key of Object.keys(value)) {
      if (!kResources.includes(key)) errors.push(`${path}: there is no resource ${key}`);
    }
  }
  for (const [key, inner] of Object.entries(value)) {
    const at = `${path}/${key}`;
    for (const one of Array.isArray(inner) ? inner : [inner]) {
      if (typeof one === 'object') continue;
      if (kEnums[key] && !kEnums[key].includes(one)) {
        errors.push(`${at}: found "${one}", expected one of ${kEnums[key]}`);
      }
      if (kPatterns[key] && !kPatterns[key].test(`${one}`)) {
        errors.push(`${at}: found "${one}", expected ${kPatterns[key]}`);
      }
    }
    checkValues(inner, at, errors);
  }
}

// Strict checks of the Containerfile and of the compose file, without building or running anything.
import fs from 'node:fs';
import Ajv from 'ajv';
import { validate as lint } from 'dockerfile-utils';
import { checkCommand, optionsOf } from './kubernetes.mjs';

// ---- Containerfile: the linter knows instructions and flags, the rest is here.

// Instructions as [name, text], joined over their lines.
function instructionsOf(text) {
  const lines = text.split('\n').filter((line) => !/^\s*(#|$)/.test(line)).join('\n')
    .replace(/\\\n/g, ' ').split('\n');
  return lines.map((line) => /^([A-Z]+)\s+(.*)$/.exec(line)?.slice(1) ?? [line, '']);
}

function checkCopy(words, stages, facts) {
  const errors = [];
  const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
  const sources = words.filter((word) => !word.startsWith('--')).slice(0, -1);
  if (from && !stages.includes(from)) errors.push(`no stage is named ${from}`);
  for (const source of sources) {
    if (from ? source !== '/image/' : !facts.exists(source)) errors.push(`${source} is not there`);
  }
  if (!from && `${sources}` !== words.at(-1)) errors.push(`${sources} gets another name`);
  return errors;
}

// What a shell can only tell when it runs it is left to the build; that commands are commands is
// not.
const kCommands = ['apt-get', 'cd', 'cmake', 'cut', 'deploy/packages.sh', 'echo', 'grep', 'install',
  'ldd', 'mkdir', 'rm', 'sed', 'sort', 'tr', 'xargs'];

function checkShell(text, facts) {
  const errors = [];
  for (const command of text.split(/\s(?:&&|\|)\s/)) {
    const word = command.trim().split(/\s+/).find((one) => !one.startsWith('DESTDIR='));
    if (!kCommands.includes(word)) errors.push(`${word} is no command that is known here`);
  }
  for (const preset of text.match(/--preset (\S+)/g) ?? []) {
    if (!facts.presets.includes(preset.split(' ')[1])) errors.push(`there is no ${preset}`);
  }
  return errors;
}

export function checkContainerfile(text, facts) {
  const errors = lint(text).map((found) => `line ${found.range.start.line + 1}: ${found.message}`);
  const variables = [];
  const stages = [];
  const seen = {};
  for (const [name, rest] of instructionsOf(text)) {
    const words = rest.split(/\s+/);
    seen[name] = [...(seen[name] ?? []), rest];
    if (name === 'ARG') variables.push(words[0].split('=')[0]);
    if (name === 'FROM') {
      const variable = /^\$\{(.*)\}$/.exec(words[0])?.[1];
      if (variable ? !variables.includes(variable) : words[0] !== 'scratch') {
        errors.push(`FROM ${words[0]}: neither an ARG nor scratch`);
      }
      if (words[1] === 'AS') stages.push(words[2]);
    }
    if (name === 'COPY') errors.push(...checkCopy(words, stages, facts));
    if (name === 'RUN') errors.push(...checkShell(rest, facts));
  }
  const one = (name, expected, which = -1) => {
    if (!expected.test(seen[name]?.at(which) ?? '')) errors.push(`${name} is not ${expected}`);
  };
  one('WORKDIR', /^\/src$/, 0);
  one('ENV', /^CCACHE_DIR=\/ccache CCACHE_BASEDIR=\/src CCACHE_NOHASHDIR=1$/, 0);
  one('ARG', /^BASE=docker\.io\/library\/debian:bookworm-slim$/);
  one('USER', /^65532:65532$/);
  one('VOLUME', /^\/var\/lib\/puzzled$/);
  one('WORKDIR', /^\/var\/lib\/puzzled$/);
  one('EXPOSE', /^7400 7401 7402$/);
  one('STOPSIGNAL', /^SIGTERM$/);
  one('CMD', /^\["puzzled"\]$/);
  one('ENV', /^PATH=\/usr\/bin LANG=C\.UTF-8 PUZZLED_DATABASE=\/var\/lib\/puzzled\/puzzled\.db$/);
  return errors;
}

// The list of what goes into the build: every entry is there, and nothing that is needed lacks.
export function checkIgnoreFile(text, facts) {
  const entries = text.split('\n').filter((line) => line && !line.startsWith('#'));
  const errors = entries[0] === '*' ? [] : ['does not begin with *'];
  for (const entry of entries.slice(1)) {
    if (!entry.startsWith('!') || !facts.exists(entry.slice(1))) {
      errors.push(`${entry} is nothing that is there`);
    }
  }
  return errors;
}

// ---- Compose: the schema that docker-compose brings, then references.

const ajvs = new Map();

function schemaErrors(compose, schemaFile) {
  if (!ajvs.has(schemaFile)) {
    // Of an older draft than the validator's; but for names of parts, nothing it uses has changed.
    const schema = JSON.parse(fs.readFileSync(schemaFile, 'utf8'),
      (key, value) => ['id', '$schema'].includes(key) && typeof value === 'string'
        ? undefined : value);
    ajvs.set(schemaFile, new Ajv({ strict: false, allErrors: true, logger: false,
      formats: { duration: /^([0-9]+(us|ms|s|m|h))+$/, ports: true, expose: true,
        subnet_ip_address: true } }).compile(schema));
  }
  const validate = ajvs.get(schemaFile);
  return validate(compose) ? []
    : validate.errors.map((e) => `${e.instancePath}: ${e.message} ${JSON.stringify(e.params)}`);
}

const kHardened = [
  ['read_only', (s) => s.read_only === true],
  ['init', (s) => s.init === true],
  ['cap_drop', (s) => `${s.cap_drop}` === 'ALL'],
  ['security_opt', (s) => `${s.security_opt}` === 'no-new-privileges:true'],
  ['restart', (s) => s.restart === 'unless-stopped'],
  ['mem_limit', (s) => /^[0-9]+[kmg]$/.test(s.mem_limit)],
  ['stop_grace_period', (s) => /^[0-9]+s$/.test(s.stop_grace_period)],
  ['tmpfs', (s) => `${s.tmpfs}` === '/tmp'],
];

function checkService(service, compose, facts) {
  const errors = kHardened.filter(([, holds]) => !holds(service))
    .map(([name]) => `${name} is not as it should be`);
  if (service.image !== facts.image) errors.push(`${service.image} is not ${facts.image}`);
  const [program, ...args] = service.command ?? [];
  errors.push(...checkCommand([program], args, facts));

  const mounts = (service.volumes ?? []).map(
    (text) => /^(\$\{KEYS:\?\}|[^:]+):(\/[^:]+)(:ro)?$/.exec(text) ?? [text, '', '', '']);
  for (const [text, source, target, mode] of mounts) {
    const isKeys = source.startsWith('${KEYS:');
    if (!target || (isKeys ? mode !== ':ro' : !(source in (compose.volumes ?? {})))) {
      errors.push(`${text} mounts nothing`);
    }
    if (target !== (isKeys ? '/etc/puzzled/keys' : '/var/lib/puzzled')) {
      errors.push(`nobody looks at ${target}`);
    }
  }
  for (const [name, value] of optionsOf(args)) {
    if (value?.startsWith('/') && !(value.startsWith('/etc/puzzled/keys/') &&
        facts.keyFiles.includes(value.slice('/etc/puzzled/keys/'.length)))) {
      errors.push(`--${name}: keys.sh makes no ${value}`);
    }
    const [, host, port] = /^(?:tcp:\/\/)?([a-z0-9.]+):([0-9]+)$/.exec(value ?? '') ?? [];
    if (['endpoint', 'worker-endpoint', 'metrics'].includes(name)) {
      if (!['7400', '7401', '7402'].includes(port)) errors.push(`--${name}: nobody is at ${port}`);
      if (host !== '0.0.0.0' && !compose.services[host]) errors.push(`there is no service ${host}`);
    }
  }
  for (const port of service.ports ?? []) {
    if (!/^127\.0\.0\.1:\$\{(CLIENTS_PORT:-7400\}:7400|METRICS_PORT:-7402\}:7402)$/.test(port)) {
      errors.push(`${port} leads nowhere`);
    }
  }
  for (const network of service.networks ?? [undefined]) {
    if (!(network in (compose.networks ?? {}))) errors.push(`there is no network ${network}`);
  }
  for (const other of service.depends_on ?? []) {
    if (!compose.services[other]) errors.push(`there is no service ${other}`);
  }
  return errors;
}

export function checkCompose(compose, facts) {
  const errors = schemaErrors(compose, facts.composeSchema);
  if (errors.length > 0) return errors;
  if (`${Object.keys(compose.services ?? {})}` !== 'puzzled,worker') errors.push('other services');
  for (const [name, service] of Object.entries(compose.services ?? {})) {
    errors.push(...checkService(service, compose, facts).map((text) => `${name}: ${text}`));
  }
  return errors;
}

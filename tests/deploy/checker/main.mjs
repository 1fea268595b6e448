// node main.mjs check|typos ROOT BIN: checks deploy/kubernetes and deploy/container of the project
// in ROOT, whose programs lie in BIN; or makes one typo after the other in copies of their files,
// and demands that each is noticed. Exit code 1: an error, or a typo that is not.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { checkCompose, checkContainerfile, checkIgnoreFile } from './container.mjs';
import { checkKubernetes } from './kubernetes.mjs';
import { lineTypos, yamlTypos } from './typos.mjs';

const [, , mode, root, bin] = process.argv;
const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');
const run = (program, args, options = {}) =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });

function gatherFacts() {
  const version = /^project\(puzzled VERSION ([0-9.]+)/m.exec(read('CMakeLists.txt'))[1];
  const options = {};
  for (const program of ['puzzled', 'puzzle-worker', 'puzzlectl']) {
    const help = run(path.join(bin, program), ['--help']);
    options[program] = new Set([...help.matchAll(/--([a-z][a-z-]*)/g)].map((found) => found[1]));
  }
  const samples = read('tests/golden/net/metrics.prom').matchAll(/^(\w+)(?:\{.*\})? /gm);
  return {
    image: `localhost/puzzled:${version}`,
    options,
    metrics: new Set([...samples].map((found) => found[1])),
    paths: ['/metrics', '/healthz', '/readyz'],
    presets: JSON.parse(read('CMakePresets.json')).configurePresets.map((preset) => preset.name),
    exists: (file) => file === '.' || fs.existsSync(path.join(root, file)),
    keyFiles: ['broker.key', 'broker.pub', 'worker.key', 'authorized.keys'],
    composeSchema: process.env.COMPOSE_SCHEMA,
  };
}
const facts = gatherFacts();

// As Kubernetes reads it: version 1.1, in which 0400 is octal.
function parseYaml(text) {
  const options = { uniqueKeys: true, strict: true, version: '1.1' };
  return parseAllDocuments(text, options).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  }).filter((document) => document);
}

// The secrets as secrets.sh makes them, of keys that are none.
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'puzzled-check-'));
process.on('exit', () => fs.rmSync(scratch, { recursive: true }));
for (const file of facts.keyFiles) fs.writeFileSync(path.join(scratch, file), 'none');
const secrets = parseYaml(run(path.join(root, 'deploy/kubernetes/secrets.sh'), [scratch]));

const kKustomizations = ['base', ...fs.readdirSync(path.join(root, 'deploy/kubernetes/overlays'))
  .map((name) => `overlays/${name}`)];

// What only Prometheus itself knows of its language, where its tool is there.
function checkWithPromtool(set) {
  const groups = set.filter((o) => o.kind === 'PrometheusRule').flatMap((o) => o.spec.groups);
  if (groups.length === 0 || !process.env.PROMTOOL) return [];
  const file = path.join(scratch, 'rules.json');
  fs.writeFileSync(file, JSON.stringify({ groups }));
  try {
    run(process.env.PROMTOOL, ['check', 'rules', file]);
    return [];
  } catch (error) {
    return [error.stderr.trim()];
  }
}

// What `kubectl apply -k` would apply, and whether each patch has something to change.
async function checkKustomization(folder, name) {
  let text;
  try {
    text = run('kubectl', ['kustomize', path.join(folder, name)]);
  } catch (error) {
    return [error.stderr.trim()];
  }
  const set = [...parseYaml(text), ...secrets];
  const own = parseYaml(fs.readFileSync(path.join(folder, name, 'kustomization.yaml'), 'utf8'))[0];
  const lost = (own.patches ?? []).map((patch) => patch.target)
    .filter((target) => !set.some((o) => o.kind === target.kind &&
      o.metadata.name === target.name))
    .map((target) => `no ${target.kind} is named ${target.name}`);
  const namespace = set.find((o) => o.kind === 'Namespace')?.metadata.name;
  const outside = set.filter((o) => o.kind !== 'Namespace' && o.metadata.namespace !== namespace)
    .map((o) => `${o.kind} ${o.metadata.name} is not in the namespace ${namespace}`);
  const unlabelled = set.filter((o) => !secrets.includes(o) && !name.startsWith('overlays') &&
    o.metadata.labels?.['app.kubernetes.io/part-of'] !== 'puzzled')
    .map((o) => `${o.kind} ${o.metadata.name} is not labelled as a part of puzzled`);
  return [...lost, ...outside, ...unlabelled, ...checkWithPromtool(set),
    ...await checkKubernetes(set, facts)];
}

const manifests = path.join(root, 'deploy/kubernetes');
const checks = {
  'deploy/container/Containerfile': (text) => checkContainerfile(text, facts),
  'deploy/container/Containerfile.dockerignore': (text) => checkIgnoreFile(text, facts),
  'deploy/container/compose.yaml': (text) => checkCompose(parseYaml(text)[0], facts),
};

async function check() {
  const findings = [];
  for (const [file, checkFile] of Object.entries(checks)) {
    findings.push(...checkFile(read(file)).map((error) => `${file}: ${error}`));
  }
  for (const name of kKustomizations) {
    findings.push(...(await checkKustomization(manifests, name))
      .map((error) => `deploy/kubernetes/${name}: ${error}`));
  }
  for (const finding of findings) console.log(finding);
  console.log(`${Object.keys(checks).length} files and ${kKustomizations.length} sets of ` +
    `manifests, ${findings.length} errors`);
  return findings.length === 0;
}

// ---- Typos.

let made = 0;
const missed = [];

async function expectError(what, checkCopy) {
  ++made;
  let errors;
  try {
    errors = await checkCopy();
  } catch (error) {
    errors = [error.message];
  }
  if (errors.length === 0) missed.push(what);
}

// A typo in a manifest is looked for among the objects that are applied with it, as they are
// written; what kustomize makes of them is checked above.
async function typosInManifests() {
  const filesOf = (name) => fs.readdirSync(path.join(manifests, name))
    .filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml')
    .map((file) => `${name}/${file}`);
  for (const name of kKustomizations) {
    const files = name === 'base' ? filesOf('base') : [...filesOf('base'), ...filesOf(name)];
    const documents = new Map(files.map((file) =>
      [file, parseYaml(fs.readFileSync(path.join(manifests, file), 'utf8'))]));
    const errors = await checkKubernetes([...[...documents.values()].flat(), ...secrets], facts);
    if (errors.length > 0) throw new Error(`${name} without a typo: ${errors}`);
    for (const file of filesOf(name)) {
      for (const { what, documents: copy } of yamlTypos(documents.get(file))) {
        const set = files.flatMap((other) => other === file ? copy : documents.get(other));
        await expectError(`${file}: ${what}`, () => checkKubernetes([...set, ...secrets], facts));
      }
    }
  }
}

async function typosInKustomizations() {
  const copy = path.join(scratch, 'kubernetes');
  fs.cpSync(manifests, copy, { recursive: true });
  for (const name of kKustomizations) {
    const file = path.join(copy, name, 'kustomization.yaml');
    const text = fs.readFileSync(file, 'utf8');
    for (const typo of lineTypos(text)) {
      fs.writeFileSync(file, typo.text);
      await expectError(`${name}/kustomization.yaml: ${typo.what}`,
        () => checkKustomization(copy, name));
    }
    fs.writeFileSync(file, text);
  }
}

async function typosInFiles() {
  for (const [file, checkFile] of Object.entries(checks)) {
    for (const typo of lineTypos(read(file))) {
      await expectError(`${file}: ${typo.what}`, () => checkFile(typo.text));
    }
  }
}

async function typos() {
  // Else every typo would be noticed, by an error that is there without it.
  if (!await check()) return false;
  await typosInManifests();
  await typosInKustomizations();
  await typosInFiles();
  for (const what of missed) console.log(`not noticed: ${what}`);
  console.log(`${made} typos, ${missed.length} not noticed`);
  return missed.length === 0 && made > 0;
}

process.exit(await (mode === 'typos' ? typos() : check()) ? 0 : 1);

// One deliberate typo at a time.

// What may be anything, so that a typo there is another name and no error: texts for people, names
// that nothing refers to, and numbers of which every other would do as well.
const kFree = [
  /\/annotations\//, /\/summary$/, /\/alert$/, /\/expr$/, /\/groups\/[0-9]+\/name$/,
  /^(NetworkPolicy|PodDisruptionBudget)\/metadata\/name$/,
  /^(ScaledObject|ServiceMonitor|PrometheusRule)\/metadata\/name$/,
];

function* paths(value, path) {
  if (value === null || typeof value !== 'object') return;
  for (const key of Object.keys(value)) {
    yield [...path, key];
    yield* paths(value[key], [...path, key]);
  }
}

function changed(documents, [index, ...path], change) {
  const copy = structuredClone(documents);
  const parent = path.slice(0, -1).reduce((value, key) => value[key], copy[index]);
  change(parent, path.at(-1));
  return copy;
}

// Every key of every object with another letter, and every value.
export function* yamlTypos(documents) {
  for (const path of paths(documents, [])) {
    if (path.length === 1) continue;
    const parent = path.slice(0, -1).reduce((value, key) => value[key], documents);
    const key = path.at(-1);
    const value = parent[key];
    const shown = path.slice(1).join('/');
    if (kFree.some((free) => free.test(`${documents[path[0]].kind}/${shown}`))) continue;
    if (!Array.isArray(parent)) {
      yield {
        what: `${shown}: the key is ${key}z`,
        documents: changed(documents, path, (inside) => {
          inside[`${key}z`] = inside[key];
          delete inside[key];
        }),
      };
    }
    if (value === null || typeof value === 'object') continue;
    const wrong = typeof value === 'boolean' ? !value : `${value}z`;
    yield {
      what: `${shown}: ${value} is ${wrong}`,
      documents: changed(documents, path, (inside) => {
        inside[key] = wrong;
      }),
    };
  }
}

// Every word of two letters or more with another letter at its end, in every line but comments; of
// a shell's lines only the commands.
export function* lineTypos(text) {
  const lines = text.split('\n');
  let isShell = false;
  for (const [number, line] of lines.entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    isShell = line.startsWith('RUN') || (isShell && lines[number - 1].endsWith('\\'));
    const words = isShell ? /^RUN|(?<=^RUN |(&&|\|) )[\w./-]*[a-z](?=\s)/g : /[A-Za-z][A-Za-z_]+/g;
    for (const word of line.matchAll(words)) {
      const end = word.index + word[0].length;
      const copy = [...lines];
      copy[number] = `${line.slice(0, end)}z${line.slice(end)}`;
      yield { what: `line ${number + 1}: ${word[0]}z`, text: copy.join('\n') };
    }
  }
}

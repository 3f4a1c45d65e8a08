import { parseArgs } from 'node:util';
import { classificationScores } from '../src/families/index.js';
import { encodeLinearExpert, LinearExpert, trainLinearExpert } from '../src/lexical/index.js';
import { decodeSafetensors } from '../src/models/index.js';
import { type LabelledTexts, type Row, readers } from './datasets/labelled-texts.js';
import { labelsOn } from './model-parts.js';
import { linearSvc } from './peers/linear-svc.js';
import { machine } from './report.js';

/**
 * The lexical expert alone, compared with scikit-learn's linear SVM on the same n-grams and rows, each on one
 * core.
 * Usage: `npm run bench -- lexical <datasets folder> [dataset …] [--python python3]`
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { python: { type: 'string', default: 'python3' } },
});
const [root, ...asked] = positionals;
if (root === undefined) {
  console.error('give the folder of the datasets: npm run bench -- lexical <datasets folder> [dataset …]');
  process.exit(2);
}
const percent = (share: number) => Number((100 * share).toFixed(2));

/** Label ids as outputs of the expert. A binary model has only one output, for its second label. */
function activeOutputs({ type, labels }: LabelledTexts, row: Row): number[] {
  const ids = row.labels.map((label) => labels.indexOf(label));
  return type === 'binary-text-classification' ? ids.filter((id) => id === 1).map(() => 0) : ids;
}

async function measure(dataset: LabelledTexts) {
  const outputs = dataset.type === 'binary-text-classification' ? 1 : dataset.labels.length;
  const startedAt = performance.now();
  const trained = await trainLinearExpert(
    dataset.train.map(({ text }) => text),
    dataset.train.map((row) => ({ active: activeOutputs(dataset, row) })),
    { outputs, lowercase: true, seed: 1 },
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const bytes = encodeLinearExpert(trained);
  const expert = LinearExpert.decode(bytes, 'the expert');
  const predictedAt = performance.now();
  const predicted = dataset.test.map(({ text }) => labelsOn(dataset, expert.read(text).margins));
  const microseconds = (1000 * (performance.now() - predictedAt)) / dataset.test.length;
  const nGrams: unknown = JSON.parse(decodeSafetensors(bytes, 'the expert').metadata.n_grams ?? '{}');
  const peer = linearSvc(dataset, nGrams, options.python);
  if (typeof peer === 'string') console.log(`  without scikit-learn: ${peer}`);
  const labels = [...dataset.labels.keys()];
  const actual = dataset.test.map((row) => row.labels.map((label) => dataset.labels.indexOf(label)));
  const ours = classificationScores(predicted, actual, labels);
  const theirs = typeof peer === 'string' ? undefined : classificationScores(peer.predicted, actual, labels);
  return {
    accuracy: percent(ours.accuracy),
    'LinearSVC ': theirs && percent(theirs.accuracy),
    'macro-F1': percent(ours.f1),
    LinearSVC: theirs && percent(theirs.f1),
    'train (s)': Number(seconds.toFixed(1)),
    'LinearSVC (s)': typeof peer === 'string' ? undefined : Number(peer.seconds.toFixed(1)),
    'µs a text': Number(microseconds.toFixed(1)),
    'characters a text': Math.round(dataset.test.reduce((sum, { text }) => sum + text.length, 0) / dataset.test.length),
    MB: Number((bytes.length / 1e6).toFixed(1)),
  };
}

console.log(machine());
const table: Record<string, Awaited<ReturnType<typeof measure>>> = {};
for (const [name, read] of Object.entries(readers)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  table[name] = await measure(read(root));
}
console.table(table);

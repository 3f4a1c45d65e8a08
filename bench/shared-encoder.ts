import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { type LabelledTexts, type Row, readers } from './datasets/labelled-texts.js';
import { machine } from './report.js';

/**
 * Is one encoder for many models enough? Test accuracy of encoders alone (no lexical expert), in plain
 * PyTorch: one encoder fine-tuned for each task, one fine-tuned on all tasks together with a small head for
 * each, and the backbone as it is.
 * Usage: `npm run bench -- shared-encoder <datasets folder> [dataset …] [--backbone models/backbones/english-mini]`,
 * and `--designs own,shared,frozen --epochs 4 --learning-rate 3e-4 --batch 32 --threads 2 --seed 1 --python
 * python3`. Python needs `pip install torch transformers scikit-learn`.
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    backbone: { type: 'string', default: 'models/backbones/english-mini' },
    designs: { type: 'string', default: 'own,shared,frozen' },
    python: { type: 'string', default: 'python3' },
    epochs: { type: 'string', default: '4' },
    'learning-rate': { type: 'string', default: '3e-4' },
    batch: { type: 'string', default: '32' },
    threads: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
  },
});
const [root, ...asked] = positionals;
if (root === undefined) {
  console.error('give the folder of the datasets: npm run bench -- shared-encoder <datasets folder> [dataset …]');
  process.exit(2);
}
const names = asked.length > 0 ? asked : ['sst2', 'banking77', 'massive_en', 'twitter_financial'];

const pairs = (rows: readonly Row[], labels: readonly string[]) =>
  rows.map((row) => [row.text, labels.indexOf(row.labels[0] ?? '')] as const);
const taskOf = ({ train, test, labels }: LabelledTexts) => ({
  train: pairs(train, labels),
  test: pairs(test, labels),
  labels: labels.length,
});
const input = {
  backbone: options.backbone,
  designs: options.designs.split(','),
  epochs: Number(options.epochs),
  learning_rate: Number(options['learning-rate']),
  batch: Number(options.batch),
  threads: Number(options.threads),
  seed: Number(options.seed),
  tasks: Object.fromEntries(
    names.map((name) => {
      const read = readers[name];
      if (read === undefined) throw new Error(`no dataset ${name}: there are ${Object.keys(readers).join(', ')}`);
      return [name, taskOf(read(root))];
    }),
  ),
};

const script = fileURLToPath(new URL('backbone/shared_encoder.py', import.meta.url));
const { stdout, stderr, status } = spawnSync(options.python, [script], {
  input: JSON.stringify(input),
  encoding: 'utf8',
});
if (status !== 0) {
  console.log(`left out: ${(stderr ?? `${options.python} does not start`).trim().slice(-300)}`);
  process.exit(0);
}
/** Test accuracy in percent by design and task. */
const result = z.record(z.string(), z.record(z.string(), z.number())).parse(JSON.parse(stdout));
console.log(`${machine()}; ${options.backbone}, ${options.epochs} epochs, learning rate ${options['learning-rate']}`);
const rounded = (accuracies: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(accuracies).map(([name, accuracy]) => [name, accuracy.toFixed(1)]));
console.table(Object.fromEntries(Object.entries(result).map(([design, accuracies]) => [design, rounded(accuracies)])));

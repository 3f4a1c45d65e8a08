import { readEncoder } from '../src/encoder/index.js';
import { createTaskLearner } from '../src/engine/index.js';
import { classificationTask } from '../src/families/index.js';
import { onnxExecutor } from '../src/graph/index.js';
import { Random } from '../src/random.js';
import { frozenBackbone, learningOptions, readBackbone, trainedHead } from '../src/training/index.js';
import { configOf, configurations, sequenceLengths } from './training/configurations.js';

const [directory = '', mode = 'full', per = '512'] = process.argv.slice(2);
const configuration = configurations.d!;
const encoder = readEncoder(configOf(configuration), 'c');
const random = Random.fromSeed(0);
const rows = Array.from({ length: 8 }, (_, row) => ({ text: '', labelIds: [row % 4] }));
const { head } = classificationTask(
  { kind: 'multiclass', labels: ['0', '1', '2', '3'], train: rows, dev: rows, warnings: [] },
  'mean',
);
const encodings = sequenceLengths(configuration).map((length) => ({
  ids: Int32Array.from({ length }, () => random.integer(30522)),
  typeIds: new Int32Array(length),
  sequenceIds: new Int32Array(length),
  offsets: null,
  truncated: 0,
}));
const backbone = await readBackbone({ name: 'd', directory });
const plan = frozenBackbone('d', mode === 'full' ? {} : { adapters: {} }, head, backbone);
const { learner } = await createTaskLearner({
  executor: onnxExecutor({ threads: 1 }),
  head: trainedHead(head, plan),
  encoder,
  pretrained: backbone.weights,
  ...(plan && learningOptions(plan)),
  ...(plan && { tokensPerRun: Number(per) }),
  train: encodings.map((encoding, row) => ({ row, encoding })),
  options: { labelSmoothing: 0, balanced: false, tokenDropout: 0 },
  language: 'english',
  maskId: 0,
  batchSize: 8,
  seed: 1,
  signal: new AbortController().signal,
});
for (let i = 0; i < 4; i += 1) {
  const before = process.cpuUsage();
  await learner.step(1e-4);
  const { user, system } = process.cpuUsage(before);
  console.log(
    mode,
    per,
    'step',
    i,
    'cpu s',
    ((user + system) / 1e6).toFixed(2),
    'user',
    (user / 1e6).toFixed(2),
    'rss peak',
    Math.round(process.resourceUsage().maxRSS / 1024),
  );
}

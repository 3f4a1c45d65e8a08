import { createInterface } from 'node:readline';
import { readEncoder } from '../../src/encoder/index.js';
import { createTaskLearner } from '../../src/engine/index.js';
import { classificationTask } from '../../src/families/index.js';
import { cpuExecutor, type GraphExecutor, onnxExecutor, tensorflowExecutor } from '../../src/graph/index.js';
import { tuningSchema } from '../../src/jobs/index.js';
import { Random } from '../../src/system/index.js';
import { frozenBackbone, learningOptions, readBackbone, trainedHead } from '../../src/training/index.js';
import { CLASSES, configOf, configurationNamed, sequenceLengths } from './configurations.js';

/**
 * Orchard's own training step as a peer process: `orchard-peer.ts <configuration> <threads>
 * [onnx|adaptive|without-spinning|tensorflow [<backbone's folder> <tuning as JSON>]]`. Without a backbone, everything
 * is trained from random weights.
 */

/** The same as the other peers'. */
const LEARNING_RATE = 1e-4;

const [name = 'a', threads = '2', runtime = 'onnx', directory, tuning = '{}'] = process.argv.slice(2);
const configuration = configurationNamed(name);
const say = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function executorNamed(): Promise<{ executor: GraphExecutor; title: string }> {
  const count = Number(threads);
  if (runtime === 'onnx') return { executor: onnxExecutor({ threads: count }), title: 'Orchard on ONNX Runtime' };
  if (runtime === 'adaptive') return { executor: cpuExecutor(count), title: 'Orchard, adaptive threads' };
  if (runtime === 'without-spinning') {
    return { executor: onnxExecutor({ threads: count, spinning: false }), title: 'Orchard without spinning' };
  }
  const tf = await import('@tensorflow/tfjs');
  const { setThreadsCount } = await import('@tensorflow/tfjs-backend-wasm');
  setThreadsCount(Number(threads));
  await tf.setBackend('wasm');
  return { executor: tensorflowExecutor(tf), title: `Orchard on TensorFlow.js ${tf.version.tfjs} (wasm)` };
}

const { executor, title } = await executorNamed();
const { batch, vocabulary } = configuration;
const encoder = readEncoder(configOf(configuration), 'the configuration');
const random = Random.fromSeed(0);
const rows = Array.from({ length: batch }, (_, row) => ({ text: '', labelIds: [row % CLASSES] }));
const labels = Array.from({ length: CLASSES }, (_, label) => String(label));
const { head } = classificationTask({ kind: 'multiclass', labels, train: rows, dev: rows, warnings: [] }, 'mean');
const encodings = sequenceLengths(configuration).map((length) => ({
  ids: Int32Array.from({ length }, () => random.integer(vocabulary)),
  typeIds: new Int32Array(length),
  sequenceIds: new Int32Array(length),
  offsets: null,
  truncated: 0,
}));
/** Its steps are those of the training loop, here always with the same batch. */
const backbone = directory === undefined ? undefined : await readBackbone({ name, directory });
const plan = frozenBackbone(name, tuningSchema.parse(JSON.parse(tuning)), head, backbone);
const { learner } = await createTaskLearner({
  executor,
  head: trainedHead(head, plan),
  encoder,
  ...(backbone && { pretrained: backbone.weights }),
  ...(plan && learningOptions(plan)),
  train: encodings.map((encoding, row) => ({ row, encoding })),
  options: { labelSmoothing: 0, balanced: false, tokenDropout: 0 },
  language: 'english',
  maskId: 0,
  batchSize: batch,
  seed: 1,
  signal: new AbortController().signal,
});

say({ ready: directory === undefined ? title : `${title}, ${tuning}` });
for await (const line of createInterface({ input: process.stdin })) {
  const milliseconds: number[] = [];
  let loss = 0;
  const before = process.cpuUsage();
  for (let count = Number(line); count > 0; count -= 1) {
    const startedAt = performance.now();
    ({ loss } = await learner.step(LEARNING_RATE));
    milliseconds.push(performance.now() - startedAt);
  }
  const { user, system } = process.cpuUsage(before);
  say({ milliseconds, loss, processorSeconds: (user + system) / 1e6 });
}
say({ peakMebibytes: process.resourceUsage().maxRSS / 1024 });

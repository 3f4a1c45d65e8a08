/** Orchard's own training step as a peer process: `orchard-peer.ts <configuration> <threads> [onnx|tensorflow]`. */
import { createInterface } from 'node:readline';
import { initialize, parseBertConfig } from '../../src/encoder/index.js';
import { AdamWOptimizer } from '../../src/engine/adamw-optimizer.js';
import { GradientEngine } from '../../src/engine/gradient-engine.js';
import { padBatch } from '../../src/engine/padded-batch.js';
import { classificationTask } from '../../src/families/papaya/classification-task.js';
import { type GraphExecutor, onnxExecutor, tensorflowExecutor } from '../../src/graph/index.js';
import { Random } from '../../src/random.js';
import { CLASSES, configurations, DROPOUT, sequenceLengths } from './configurations.js';

const [name = 'a', threads = '2', runtime = 'onnx'] = process.argv.slice(2);
const configuration = configurations[name];
if (configuration === undefined) throw new Error(`no configuration ${name}`);
const say = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function executorNamed(): Promise<{ executor: GraphExecutor; title: string }> {
  if (runtime === 'onnx') return { executor: onnxExecutor(), title: 'Orchard on ONNX Runtime' };
  const tf = await import('@tensorflow/tfjs');
  const { setThreadsCount } = await import('@tensorflow/tfjs-backend-wasm');
  setThreadsCount(Number(threads));
  await tf.setBackend('wasm');
  return { executor: tensorflowExecutor(tf), title: `Orchard on TensorFlow.js ${tf.version.tfjs} (wasm)` };
}

const { executor, title } = await executorNamed();
const { batch, tokens, vocabulary } = configuration;
const encoder = parseBertConfig(
  {
    model_type: 'bert',
    vocab_size: vocabulary,
    hidden_size: configuration.hidden,
    num_hidden_layers: configuration.layers,
    num_attention_heads: configuration.heads,
    intermediate_size: 4 * configuration.hidden,
    max_position_embeddings: 128,
    hidden_dropout_prob: DROPOUT,
    attention_probs_dropout_prob: DROPOUT,
  },
  'the configuration',
);
const random = Random.fromSeed(0);
const rows = Array.from({ length: batch }, (_, row) => ({ text: '', labelIds: [row % CLASSES] }));
const labels = Array.from({ length: CLASSES }, (_, label) => String(label));
const { head } = classificationTask(
  { kind: 'multiclass', labels, train: rows, dev: rows, warnings: [] },
  'mean',
);
const encodings = sequenceLengths(configuration).map((length) => ({
  ids: Int32Array.from({ length }, () => random.integer(vocabulary)),
  typeIds: new Int32Array(length),
  sequenceIds: new Int32Array(length),
  offsets: null,
  truncated: 0,
}));
const windows = encodings.map((encoding, row) => ({ row, encoding }));
const parameters = head.parameters(encoder);
const engine = await GradientEngine.create({
  executor,
  head,
  encoder,
  parameters,
  batchSize: batch,
  longest: tokens,
  threads: Number(threads),
  seed: 1,
});
for (const spec of parameters) initialize(spec, engine.store.get(spec.name).weights, () => random.normal());
const optimizer = new AdamWOptimizer(engine.store, engine.kernels);

/** What the training loop does for a batch. @returns the loss. */
async function step(): Promise<number> {
  const targets = head.targets(windows, { labelSmoothing: 0, balanced: false });
  const loss = await engine.run(padBatch(encodings, 0), targets);
  if (engine.accumulates) engine.store.accumulateGradients(targets.weight);
  optimizer.step(1e-4, { maxGradientNorm: 1 });
  return loss;
}

say({ ready: title });
for await (const line of createInterface({ input: process.stdin })) {
  const milliseconds: number[] = [];
  let loss = 0;
  for (let count = Number(line); count > 0; count -= 1) {
    const startedAt = performance.now();
    loss = await step();
    milliseconds.push(performance.now() - startedAt);
  }
  say({ milliseconds, loss });
}
say({ peakMebibytes: process.resourceUsage().maxRSS / 1024 });

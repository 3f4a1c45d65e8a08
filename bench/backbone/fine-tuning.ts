import { spawnSync } from 'node:child_process';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClassificationArchive, fileStorage, folderModels } from 'orchard-nlp';
import { z } from 'zod';
import { percent, train } from '../accuracy/train.js';
import { type LabelledTexts, type Row, readers } from '../datasets/labelled-texts.js';
import { predictWith } from '../model-parts.js';

export interface FineTuning {
  /** Folder of the checkpoint. */
  readonly backbone: string;
  /** Where archives and models are put. */
  readonly folder: string;
  readonly python: string;
  readonly epochs: number;
  readonly learningRate: number;
  readonly batchSize: number;
  readonly threads: number;
  readonly seed: number;
}

/** Both train with label smoothing and without token dropout, which plain PyTorch lacks. */
const LABEL_SMOOTHING = 0.1;

/** Prints the test accuracy of the encoder alone, fine-tuned by Orchard and by PyTorch. */
export async function compareFineTuning(root: string, name: string, tuning: FineTuning): Promise<void> {
  const dataset = readers[name]?.(root);
  if (dataset === undefined || dataset.type === 'multilabel-text-classification') {
    throw new Error(`${name} is not a dataset with one label per text`);
  }
  const { epochs, learningRate, batchSize } = tuning;
  console.log(`${name}: ${epochs} epochs in batches of ${batchSize}, learning rate ${learningRate}`);
  console.table({
    Orchard: await fineTunedHere(name, dataset, tuning),
    'plain PyTorch': fineTunedInPython(dataset, tuning),
  });
}

async function fineTunedHere(name: string, dataset: LabelledTexts, tuning: FineTuning) {
  const { type, labels } = dataset;
  const archive = join(tuning.folder, `${name}.zip`);
  const toRow = ({ text, labels: [label = ''] }: Row) => ({ text, label });
  const source = { type, name, labels, rows: dataset.train.map(toRow), devRows: dataset.dev.map(toRow) };
  (await createClassificationArchive(source, archive))._unsafeUnwrap();
  const storage = fileStorage(join(tuning.folder, name));
  const { epochs, learningRate, batchSize, backbone } = tuning;
  const { id, seconds, parts } = await train(archive, { type, family: 'Papaya' }, storage, {
    ...tuning,
    size: 'base',
    training: { num_epochs: epochs, learning_rate: learningRate, batch_size: batchSize },
    tuning: { labelSmoothing: LABEL_SMOOTHING, tokenDropout: 0 },
    start: { backbone: basename(backbone), modelLoader: folderModels(dirname(backbone)) },
  });
  const directory = await storage.openFolder(id);
  if (directory === undefined) throw new Error(`${name}: no model folder`);
  const accuracy = async (weights: typeof parts.encoder.weights): Promise<number> => {
    const texts = dataset.test.map(({ text }) => text);
    const answers = await predictWith(directory, weights, texts);
    const right = answers.filter((answer, row) => answer.labels[0] === dataset.test[row]?.labels[0]);
    return percent(right.length / texts.length);
  };
  return {
    'test: encoder': await accuracy(parts.encoder.weights),
    'with its lexical expert': await accuracy(parts.blend.weights),
    'seconds, expert included': Math.round(seconds),
  };
}

const answerSchema = z.object({
  library: z.string(),
  dev: z.number(),
  test: z.number(),
  seconds: z.number(),
});

function fineTunedInPython({ labels, train, dev, test }: LabelledTexts, tuning: FineTuning) {
  const toPair = ({ text, labels: [label = ''] }: Row) => [text, labels.indexOf(label)];
  const rows = { train: train.map(toPair), dev: dev.map(toPair), test: test.map(toPair) };
  const script = fileURLToPath(new URL('fine_tune.py', import.meta.url));
  const { stdout, status } = spawnSync(tuning.python, [script], {
    input: JSON.stringify({ ...tuning, ...rows, labels: labels.length, labelSmoothing: LABEL_SMOOTHING }),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (status !== 0) return { 'test: encoder': undefined };
  const answer = answerSchema.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
  return { 'test: encoder': Number(answer.test.toFixed(1)), seconds: Math.round(answer.seconds) };
}

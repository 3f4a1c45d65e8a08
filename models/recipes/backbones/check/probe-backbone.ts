import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { readers } from '../../../../bench/datasets/labelled-texts.js';
import { taggedReaders } from '../../../../bench/datasets/tagged-sentences.js';
import { newBert } from '../../../../src/encoder/index.js';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { loadTokenizer } from '../../../../src/text/index.js';
import { readStudent } from '../student/student-checkpoint.js';
import type { WorkFolder } from '../work-folder.js';
import type { CheckOptions } from './check-backbone.js';
import { FrozenEncoder } from './frozen-states.js';
import { type Probed, probeTexts, probeWords } from './probe-tasks.js';
import { completeWeights, startingWeights } from './starts.js';

const HEADER = 'start,seconds,tokens,task,dev\n';

/**
 * Prints, and adds to the folder's probes, how well a linear classifier on the student's frozen states does on dev:
 * a curve over the time that it has learned, for little compute.
 */
export async function probeBackbone(work: WorkFolder, options: CheckOptions): Promise<void> {
  const { tasks, start, datasets, shape, threads } = options;
  const tokenizer = loadTokenizer(options.tokenizer);
  const bert = newBert(shape, tokenizer.vocabularySize);
  const weights = completeWeights(bert, await startingWeights(work, start, bert.width));
  const executor = onnxExecutor({ threads });
  const encoder = await FrozenEncoder.create(executor, bert, weights);
  const { seconds, tokens } = await learnedFor(work, start);
  if (!existsSync(work.probes)) writeFileSync(work.probes, HEADER);
  for (const task of tasks) {
    const { lowercase } = options.tokenizer.normalizer;
    const dev = await probe(task, datasets, { executor, encoder, tokenizer, lowercase });
    const hours = (seconds / 3600).toFixed(2);
    console.log(`${task}: ${(100 * dev).toFixed(1)} on dev after ${hours} h, ${(tokens / 1e6).toFixed(1)} M tokens`);
    appendFileSync(work.probes, `${start},${seconds.toFixed(0)},${tokens},${task},${dev.toFixed(4)}\n`);
  }
  await encoder.release();
}

async function learnedFor(work: WorkFolder, start: string): Promise<{ seconds: number; tokens: number }> {
  if (start !== 'checkpoint' && start !== 'annealed') return { seconds: 0, tokens: 0 };
  const { state } = await readStudent(start === 'annealed' ? work.annealed : work.checkpoint);
  return { seconds: state.seconds, tokens: state.tokens };
}

/** Accuracy of labels, or F1 of entities. */
async function probe(task: string, datasets: string, probed: Probed): Promise<number> {
  const texts = readers[task];
  if (texts !== undefined) return probeTexts(probed, texts(datasets));
  const sentences = taggedReaders[task];
  if (sentences !== undefined) return probeWords(probed, sentences(datasets));
  const known = [...Object.keys(readers), ...Object.keys(taggedReaders)];
  throw new Error(`no dataset ${task}: there are ${known.join(', ')}`);
}

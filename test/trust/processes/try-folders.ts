import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isOrchardError } from '../../../src/contract/errors.js';
import { TextModel } from '../../../src/inference/text-model.js';
import { readModelReport } from '../../../src/models/index.js';
import { readBackbone } from '../../../src/training/backbone.js';
import { mutated, randomOf } from '../mutations.js';
import type { Attempt } from '../try-mutants.js';

/**
 * Spoils one file of a model folder after the other, by the seeds that it is sent, loads each folder, asks it, and says
 * what came of it. Its parent sees where it crashes or never answers.
 */

const [mutant = '', ...bases] = process.argv.slice(2);
const texts = ['the lamp is great', '', `The ROOM ${'is awful! '.repeat(60)}\u00e9東京😀\ud800`];

/** Which files are spoiled; all of them unless it is asked for some, as in FUZZ_FILES=onnx. */
const wanted = process.env.FUZZ_FILES ?? '';

const contents = new Map<string, Map<string, Buffer>>();
for (const base of bases) contents.set(base, await filesOf(base));

async function filesOf(base: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(base, { recursive: true, withFileTypes: true });
  const files = new Map<string, Buffer>();
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && path.includes(wanted) && !path.endsWith('.md'))
      files.set(path.slice(base.length + 1), await readFile(path));
  }
  return files;
}

/** Leaves the mutant of this seed in the folder. @returns the file that differs. */
async function makeMutant(seed: number): Promise<string> {
  const random = randomOf(seed);
  const base = bases[random.integer(bases.length)] ?? '';
  const files = [...(contents.get(base) ?? [])];
  const [name, bytes] = files[random.integer(files.length)] ?? ['', Buffer.alloc(0)];
  await rm(mutant, { recursive: true, force: true });
  await cp(base, mutant, { recursive: true });
  await mkdir(mutant, { recursive: true });
  await writeFile(join(mutant, name), mutated(name, bytes, random));
  return `${base.split('/').at(-1)}/${name}`;
}

async function ask(): Promise<void> {
  const model = await TextModel.load(mutant, 1);
  try {
    const { results } = await model.predict(texts);
    for (const result of results) checkResult(result);
  } finally {
    await model.release();
  }
}

function checkResult(result: Awaited<ReturnType<TextModel['predict']>>['results'][number]): void {
  if (result === undefined) throw new Error('no result');
  const { labels, scores } = result;
  if (labels.length !== scores.length) throw new Error(`${labels.length} labels with ${scores.length} scores`);
  if (!labels.every((label) => typeof label === 'string')) throw new Error('a label is not a text');
  const wrong = scores.find((score) => !(score >= 0 && score <= 1 + 1e-9));
  if (wrong !== undefined) throw new Error(`a score is ${wrong}`);
}

async function outcomeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'answered';
  } catch (thrown) {
    if (isOrchardError(thrown) && (thrown.code === 'model_folder' || thrown.code === 'validation')) {
      return thrown.message.length < 2_000 ? thrown.code : `a message of ${thrown.message.length} characters`;
    }
    return `untyped: ${thrown instanceof Error ? `${thrown.message}\n${thrown.stack}` : String(thrown)}`;
  }
}

process.on('message', async (seed: number) => {
  const file = await makeMutant(seed);
  process.send?.({ file });
  const from = performance.now();
  const outcomes = [
    await outcomeOf(ask),
    await outcomeOf(() => readModelReport(mutant)),
    await outcomeOf(() => readBackbone({ name: 'mutant', directory: mutant })),
  ];
  const rssMb = process.memoryUsage.rss() / 1e6;
  const attempt: Attempt = { seed, file, outcomes, ms: performance.now() - from, rssMb };
  process.send?.(attempt);
});
process.send?.('ready');

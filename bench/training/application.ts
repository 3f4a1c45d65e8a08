import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { createClassificationArchive, memoryStorage, Trainer } from 'orchard-nlp';
import { modelSizeSchema } from '../../src/contract/index.js';
import { Random } from '../../src/system/index.js';
import { median } from '../report.js';

/** What an application notices of a training run: time per step, growth of memory, delays of its event loop. */

export interface ApplicationOptions {
  readonly size: string;
  /** Tokens of every text. */
  readonly tokens: number;
  readonly steps: number;
  readonly threads: number;
}

const BATCH = 32;
/** Steps to warm up, which no figure includes. */
const WARM_UP_STEPS = 20;

/** Sentences of common made-up words, each one piece long, so that every text has exactly `tokens` tokens. */
export function textsOf(count: number, tokens: number) {
  const random = Random.fromSeed(1);
  const words = Array.from({ length: 2000 }, (_, at) => `w${at.toString(36)}`);
  return Array.from({ length: count }, (_, row) => ({
    text: Array.from({ length: tokens - 2 }, () => words[random.integer(words.length)]).join(' '),
    label: row % 2 === 0 ? 'even' : 'odd',
  }));
}

/** Trains through the public API. */
export async function measureApplication({ size, tokens, steps, threads }: ApplicationOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'orchard-bench-'));
  const archive = join(folder, 'texts.zip');
  const type = 'binary-text-classification';
  (
    await createClassificationArchive(
      { type, name: 'bench', rows: textsOf(steps * BATCH, tokens), devRows: textsOf(BATCH, tokens) },
      archive,
    )
  )._unsafeUnwrap();

  const storage = memoryStorage();
  const trainer = new Trainer({ storage, threads: threads });
  const { id } = (
    await trainer.createTrainingJob({
      dataset_url: pathToFileURL(archive).href,
      model_config: { name: 'bench', type, family: 'Papaya', size: modelSizeSchema.parse(size) },
      training_config: { batch_size: BATCH, num_epochs: 1, use_pretrained: false },
    })
  )._unsafeUnwrap();

  const delay = monitorEventLoopDelay({ resolution: 1 });
  const stepTimes: number[] = [];
  const memory: number[] = [];
  let last: { step: number; at: number } | undefined;
  for await (const event of trainer.watch(id)) {
    if (event.type !== 'progress' || event.phase !== 'train' || event.step < WARM_UP_STEPS) continue;
    if (last === undefined) delay.enable();
    else stepTimes.push((event.elapsedMs - last.at) / (event.step - last.step));
    last = { step: event.step, at: event.elapsedMs };
    memory.push(process.memoryUsage().rss / 2 ** 20);
  }
  delay.disable();
  const job = (await trainer.getTrainingJob(id))._unsafeUnwrap();
  const half = memory.slice(memory.length / 2);
  console.table({
    'training job': `${job.status}, ${steps} steps of ${BATCH} × ${tokens} tokens, ${size}, ${threads} threads`,
    'step, median (ms)': median(stepTimes).toFixed(1),
    'memory at first, at half, at the end (MiB)': [memory[0], half[0], memory.at(-1)]
      .map((mib) => mib?.toFixed(0))
      .join(' / '),
    'growth over the second half (MiB)': ((memory.at(-1) ?? 0) - (half[0] ?? 0)).toFixed(1),
    'event-loop delay p50 / p99 / max (ms)': [delay.percentile(50), delay.percentile(99), delay.max]
      .map((nanoseconds) => (nanoseconds / 1e6).toFixed(1))
      .join(' / '),
  });
  await trainer.close();
  await storage.close();
  await rm(folder, { recursive: true });
}

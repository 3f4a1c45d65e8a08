import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClassificationArchive, fileStorage, folderModels, Predictor, Trainer } from 'orchard-nlp';
import { tuningSchema } from '../../src/jobs/index.js';
import { textsOf } from './application.js';

/**
 * A whole training job in this process, from an archive to a model folder, and an answer; prints its peak memory:
 * `adapter-job.ts <backbone's folder> <threads> <rows> <tuning as JSON>`.
 */

const [directory = '', threads = '2', count = '256', tuning = '{}'] = process.argv.slice(2);
const TOKENS = 64;
const folder = await mkdtemp(join(tmpdir(), 'orchard-adapter-job-'));
const archive = join(folder, 'texts.zip');
const type = 'binary-text-classification';
const rows = textsOf(Number(count), TOKENS);
(await createClassificationArchive({ type, name: 'bench', rows, devRows: rows.slice(0, 32) }, archive))._unsafeUnwrap();
const storage = fileStorage(join(folder, 'models'));
const trainer = new Trainer({
  storage,
  threads: Number(threads),
  backbone: basename(directory),
  modelLoader: folderModels(dirname(directory)),
  tuning: tuningSchema.parse(JSON.parse(tuning)),
});
const { id } = (
  await trainer.createTrainingJob({
    dataset_url: pathToFileURL(archive).href,
    model_config: { name: 'bench', type, family: 'Papaya', size: 'base' },
    training_config: { num_epochs: 1, batch_size: 16 },
  })
)._unsafeUnwrap();
const peak = () => Math.round(process.resourceUsage().maxRSS / 1024);
const peaks: Record<string, number> = {};
for await (const event of trainer.watch(id)) {
  const phase = event.type === 'progress' ? event.phase : event.type;
  peaks[phase] = peak();
}
const job = (await trainer.getTrainingJob(id))._unsafeUnwrap();
await trainer.close();
const predictor = new Predictor({ storage });
const answer = (await predictor.predictCustom(id, rows[0]?.text ?? ''))._unsafeUnwrap();
console.table({
  job: `${job.status}${job.error ? `: ${job.error.message}` : ''}, ${count} texts of ${TOKENS} tokens, 1 epoch`,
  'peak memory of the process (MiB), at the end of each phase': JSON.stringify(peaks),
  'with an answer (MiB)': `${peak()}: ${answer.data.labels.join(', ')}`,
});
await predictor.close();
await storage.close();
await rm(folder, { recursive: true });

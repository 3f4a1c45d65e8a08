import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClassificationArchive, type TrainingRequest } from 'orchard-nlp';

const subjects = ['the phone', 'this lamp', 'my order', 'the service', 'a chair', 'the driver', 'the room', 'it'];
const good = ['works perfectly', 'is great', 'was lovely', 'is a joy', 'made me happy'];
const bad = ['broke at once', 'is terrible', 'was awful', 'is a waste', 'made me angry'];

/** Rows that a small model learns in seconds. */
export const rows = subjects.flatMap((subject) => [
  ...good.map((verdict) => ({ text: `${subject} ${verdict}`, label: 'positive' })),
  ...bad.map((verdict) => ({ text: `${subject} ${verdict}`, label: 'negative' })),
]);

/** A language without a bundled vocabulary: the model learns a small one from the texts, so a training takes half the time. */
export const SMALL_VOCABULARY = 'german';

/** A directory of its own for one test file. */
export const temporaryFolder = () => mkdtemp(join(tmpdir(), 'orchard-public-'));

/** Writes the rows as an archive. @returns a request that trains on it for a few epochs. */
export async function sentimentRequest(
  folder: string,
  training_config: TrainingRequest['training_config'] = {},
): Promise<TrainingRequest> {
  const archive = join(folder, 'sentiments.zip');
  const type = 'binary-text-classification';
  const written = await createClassificationArchive({ type, name: 'sentiments', rows }, archive);
  if (written.isErr()) throw written.error;
  return {
    dataset_url: pathToFileURL(archive).href,
    model_config: { name: 'sentiments', type, family: 'Papaya', size: 'mini' },
    training_config: {
      batch_size: 8,
      num_epochs: 12,
      learning_rate: 1e-3,
      use_pretrained: false,
      language: SMALL_VOCABULARY,
      ...training_config,
    },
  };
}

import { orThrow } from '../../contract/index.js';
import { command } from '../command.js';
import { deviceOption, list, openTexts, option, runtimeOption, textOptions } from '../parameters.js';
import { Progress } from '../terminal.js';

const BATCH_SIZE = 64;

export const embedCommand = command({
  name: 'embed',
  summary: 'print the embedding vector of each text',
  details:
    'Prints one vector per line, with its numbers separated by tabs. Vectors have length 1, so their dot products are cosine similarities; the exception is a sentence-transformers model that does not normalize its vectors.',
  parameters: {
    texts: list('[texts...]', 'texts to embed'),
    ...textOptions,
    model: option(
      '-m, --model <model>',
      'folder or name of a model or backbone, or owner/name on the Hub (default: english-mini)',
    ),
    prompt: option(
      '--prompt <name>',
      "name of the model's prompt to put before each text, such as query (default: the model's default prompt)",
    ),
    device: deviceOption,
    runtime: runtimeOption,
  },
  async run({ settings, terminal, output }) {
    const { embed } = await import('../../search/index.js');
    const { model, prompt, device, runtime } = settings;
    const progress = new Progress(terminal, !output.isTerminal);
    using input = await openTexts(settings, { terminal, output, progress });
    for await (const batch of batchesOf(input.read())) {
      for (const vector of await orThrow(embed(batch, { model, prompt, device, runtime }))) {
        const each = await input.take();
        await output.result({ ...each, vector: [...vector] }, vector.join('\t'));
      }
      if (output.closed.aborted) break;
    }
    await input.reportProblems();
  },
});

async function* batchesOf(texts: AsyncIterable<string>): AsyncGenerator<readonly string[], void, undefined> {
  let batch: string[] = [];
  for await (const text of texts) {
    batch.push(text);
    if (batch.length < BATCH_SIZE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

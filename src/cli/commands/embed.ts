import { command, outcomeOf } from '../command.js';
import { grouped } from '../format.js';
import type { InputText } from '../input/texts.js';
import { deviceOption, list, openTexts, option, textOptions } from '../parameters.js';
import { Progress } from '../terminal.js';

/** Texts whose vectors are computed together. */
const BATCH_SIZE = 64;

export const embedCommand = command({
  name: 'embed',
  summary: 'print the embedding vector of each text',
  details:
    'Prints one vector per line, its numbers separated by tabs. Vectors have length 1, so their dot products are cosine similarities.',
  parameters: {
    texts: list('[texts...]', 'texts to embed'),
    ...textOptions,
    model: option('-m, --model <model>', 'folder or name of a model or backbone (default: english-mini)'),
    device: deviceOption,
  },
  async run({ settings, terminal, output }) {
    const { embed } = await import('../../search/index.js');
    const { model, device } = settings;
    const input = await openTexts(settings, terminal);
    output.closed.addEventListener('abort', input.stop);
    const progress = new Progress(terminal, !output.isTerminal);
    let done = 0;
    for await (const batch of batchesOf(input.texts)) {
      const texts = batch.flatMap((each) => ('text' in each ? [each.text] : []));
      const vectors = texts.length === 0 ? [] : await outcomeOf(embed(texts, { model, device }));
      progress.clear();
      let at = 0;
      for (const each of batch) {
        if ('text' in each) {
          const vector = vectors[at] ?? new Float32Array();
          at += 1;
          await output.result({ ...each, vector: [...vector] }, vector.join('\t'));
        } else {
          const { line, problem: error } = each;
          await output.problem(input.name, line, error);
        }
      }
      done += texts.length;
      progress.show(input.fraction(), `${grouped(done)} texts`);
      if (output.closed.aborted) break;
    }
    progress.clear();
  },
});

async function* batchesOf(texts: AsyncIterable<InputText>): AsyncGenerator<readonly InputText[], void, undefined> {
  let batch: InputText[] = [];
  for await (const each of texts) {
    batch.push(each);
    if (batch.length < BATCH_SIZE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

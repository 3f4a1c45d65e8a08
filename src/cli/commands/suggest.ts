import { orThrow } from '../../contract/index.js';
import { command } from '../command.js';
import { onOneLine } from '../format.js';
import {
  integer,
  list,
  modelParameters,
  openModel,
  openTexts,
  option,
  seedOption,
  textOptions,
} from '../parameters.js';
import { interruptible, Progress } from '../terminal.js';

export const suggestCommand = command({
  name: 'suggest',
  summary: 'choose the unlabelled texts to label next',
  details: `Chooses texts that the model is unsure about and that differ from each other. Prints uncertainty, line number and text, most
uncertain first.

  orchard suggest ./reviews-model --input unlabelled.txt --count 50`,
  parameters: {
    model: modelParameters.model,
    texts: list('[texts...]', 'texts to choose from'),
    ...textOptions,
    count: option('-n, --count <number>', 'number of texts to choose (default: 20)', integer(1)),
    seed: seedOption,
    device: modelParameters.device,
    runtime: modelParameters.runtime,
    threads: modelParameters.threads,
  },
  async run({ settings, terminal, output }) {
    const { suggestTexts } = await import('../../api/index.js');
    const { count, seed } = settings;
    const lines: number[] = [];
    const suggesting = interruptible(async (signal) => {
      using input = await openTexts(settings, { terminal, output, progress: new Progress(terminal), signal });
      async function* texts() {
        for await (const { line, text } of input) {
          lines.push(line);
          yield text;
        }
      }
      await using model = await openModel(settings, signal);
      return await orThrow(suggestTexts(model, texts(), { count, seed, signal }));
    });
    for (const { index, ...rest } of await suggesting) {
      const line = lines[index] ?? 0;
      const { uncertainty, text } = rest;
      await output.result({ line, ...rest }, `${uncertainty.toFixed(4)}\t${line}\t${onOneLine(text)}`);
    }
  },
});

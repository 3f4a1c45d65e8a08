import { answerFormats, answerWriter } from '../answer-writer.js';
import { command } from '../command.js';
import {
  choice,
  flag,
  integer,
  list,
  modelParameters,
  openModel,
  openTexts,
  option,
  textOptions,
} from '../parameters.js';
import { Progress } from '../terminal.js';

export const predictCommand = command({
  name: 'predict',
  summary: 'run a model on texts: labels, entities or passages',
  details: `Reads texts from the command line, from --input, or from standard input, and prints each answer as soon as it is ready. A
text that can't be read or answered is reported with its line number; the rest continues, and the exit code is 1.

  orchard predict sentiment-classification 'Works perfectly!'
  orchard predict ./reviews-model --input reviews.csv --text-column review --format csv > answers.csv`,
  parameters: {
    model: modelParameters.model,
    texts: list('[texts...]', 'texts to run the model on'),
    ...textOptions,
    format: choice(
      '-f, --format <format>',
      'output format: label, score and text separated by tabs (text), JSON Lines (jsonl), or CSV (csv)',
      answerFormats,
    ),
    top: option('-k, --top <number>', 'number of labels or passages to print per text', integer(1)),
    noneOfThese: flag(
      '--none-of-these',
      'classification: print - if no label fits, by the threshold found in training',
    ),
    device: modelParameters.device,
    threads: modelParameters.threads,
  },
  async run({ settings, terminal, output }) {
    const { format = output.isJson ? 'jsonl' : 'text', top, noneOfThese } = settings;
    const progress = new Progress(terminal, !output.isTerminal);
    using input = await openTexts(settings, { terminal, output, progress, isJson: format === 'jsonl' });
    await using model = await openModel(settings);
    const writer = answerWriter(format, model.kind, top);
    if (writer.header !== undefined) await output.line(writer.header);
    for await (const result of model.predict(input.read(), { noneOfThese })) {
      const text = await input.take();
      if (result.isErr()) await input.problem(text.line, result.error.message);
      else await output.line(writer.lines({ ...text, answer: result.value }));
      if (output.closed.aborted) break;
    }
    await input.reportProblems();
  },
});

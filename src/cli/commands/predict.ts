import { answerFormats, answerWriter } from '../answer-writer.js';
import { command } from '../command.js';
import { grouped } from '../format.js';
import type { InputText, InputTexts } from '../input/texts.js';
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

type Text = Extract<InputText, { readonly text: string }>;
type Problem = Extract<InputText, { readonly problem: string }>;

/** What was read and has no answer yet, in its order: answers come in that of the texts. */
class Asked {
  readonly #source: InputTexts;
  readonly #waiting: InputText[] = [];
  #answered = 0;

  constructor(source: InputTexts) {
    this.#source = source;
  }

  /** Texts that were answered. */
  get answered(): number {
    return this.#answered;
  }

  /** The texts to answer; problems are kept in their places. */
  async *texts(): AsyncGenerator<string, void, undefined> {
    for await (const each of this.#source) {
      this.#waiting.push(each);
      if ('text' in each) yield each.text;
    }
  }

  /** The problems before the next text. */
  takeProblems(): readonly Problem[] {
    const taken: Problem[] = [];
    for (let first = this.#waiting[0]; first !== undefined && 'problem' in first; first = this.#waiting[0]) {
      taken.push(first);
      this.#waiting.shift();
    }
    return taken;
  }

  /** The text that was answered now. */
  take(): Text {
    const first = this.#waiting.shift();
    if (first === undefined || !('text' in first)) throw new Error('an answer without a text');
    this.#answered += 1;
    return first;
  }
}

export const predictCommand = command({
  name: 'predict',
  summary: 'run a model on texts: labels, entities or passages',
  details: `Reads texts from the command line, from --input, or from standard input, and prints each answer as soon as it is ready. A
text that can't be read or answered is reported with its line number; the rest continues, and the exit code is 1.

  orchard predict sentiment-classification 'Works perfectly!'
  orchard predict ./reviews-model --input reviews.csv --text-column review --format csv > answers.csv`,
  parameters: {
    model: modelParameters.model,
    texts: list('[texts...]', 'texts to answer'),
    ...textOptions,
    format: choice(
      '-f, --format <format>',
      'output format: label, score and text separated by tabs (text), JSON Lines, or CSV (csv)',
      answerFormats,
    ),
    top: option('-k, --top <number>', 'number of labels or passages to print per text', integer(1)),
    noneOfThese: flag(
      '--none-of-these',
      'classification: print - if no label fits, by a threshold that training has fitted',
    ),
    device: modelParameters.device,
    threads: modelParameters.threads,
  },
  async run({ settings, terminal, output }) {
    const { format = output.isJson ? 'jsonl' : 'text', top, noneOfThese } = settings;
    const input = await openTexts(settings, terminal);
    output.closed.addEventListener('abort', input.stop);
    const progress = new Progress(terminal, !output.isTerminal);
    try {
      await using model = await openModel(settings);
      const writer = answerWriter(format, model.kind, top);
      const asked = new Asked(input.texts);
      const failed = ({ line }: { readonly line: number }, message: string) => {
        progress.clear();
        return output.problem(input.name, line, message, format === 'jsonl');
      };
      const reportProblems = async () => {
        for (const each of asked.takeProblems()) await failed(each, each.problem);
      };
      if (writer.header !== undefined) await output.line(writer.header);
      for await (const result of model.predict(asked.texts(), { noneOfThese })) {
        await reportProblems();
        const text = asked.take();
        if (result.isErr()) await failed(text, result.error.message);
        else await output.line(writer.lines({ ...text, answer: result.value }));
        progress.show(input.fraction(), `${grouped(asked.answered)} texts`);
        if (output.closed.aborted) break;
      }
      await reportProblems();
    } finally {
      progress.clear();
      input.stop();
    }
  },
});

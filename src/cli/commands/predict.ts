import type { Answer, EntityAnswer, LabelAnswer, Model, PassageAnswer } from '../../api/index.js';
import { command, UsageError } from '../command.js';
import { onOneLine } from '../format.js';
import {
  checkpointOptions,
  choice,
  flag,
  integer,
  lineFormat,
  list,
  modelParameters,
  openModel,
  openTexts,
  option,
  rulesOption,
  textOptions,
} from '../parameters.js';
import { Progress } from '../terminal.js';

const answerFormats = ['text', 'jsonl', 'csv'] as const;
type AnswerFormat = (typeof answerFormats)[number];

export const predictCommand = command({
  name: 'predict',
  summary: 'run a model on texts: labels, entities or passages',
  details: `Reads texts from the command line, from --input, or from standard input, and prints each answer as soon as it is ready. A
text that can't be read or answered is reported with its line number; the other texts are still answered, and the exit code is 1.
A model of pairs reads two texts per answer: from two columns or, without a table, from one line with a tab between them.

  orchard predict financial-customer-support 'Where is my card?'
  orchard predict ./reviews-model --input reviews.csv --text-column review --format csv > answers.csv`,
  parameters: {
    model: modelParameters.model,
    texts: list('[texts...]', 'texts to run the model on'),
    ...textOptions,
    text2Column: option(
      '--text2-column <name>',
      'models of pairs: column or field with the second text (default: text2)',
    ),
    format: choice(
      '-f, --format <format>',
      'output format: text (label, score, text, separated by tabs), jsonl or csv (default: text, or jsonl with --json)',
      answerFormats,
    ),
    top: option(
      '-k, --top <number>',
      'number of labels or passages to print per text (default: the labels that apply, or 3 passages; all with jsonl)',
      integer(1),
    ),
    noneOfThese: flag('--none-of-these', 'classification: print - if no label reaches the threshold found in training'),
    ...checkpointOptions,
    rules: rulesOption,
    device: modelParameters.device,
    runtime: modelParameters.runtime,
    threads: modelParameters.threads,
  },
  async run({ settings, terminal, output }) {
    const { top, noneOfThese } = settings;
    const format = lineFormat(settings.format, output);
    const progress = new Progress(terminal, !output.isTerminal);
    using input = await openTexts(settings, {
      ...{ terminal, output, progress },
      isJson: format === 'jsonl',
      keepsLines: format === 'text',
    });
    await using model = await openModel(settings);
    input.readFor(model);
    if (top !== undefined && model.kind === 'entities')
      throw new UsageError(`${model.name} finds entities; leave --top out`);
    const writer = answerWriter(format, model, top);
    if (writer.header !== undefined) await output.line(writer.header);
    for await (const result of model.predict(input.readAsked(), { noneOfThese })) {
      const text = await input.take();
      if (result.isErr()) await input.problem(text.line, output.messageOf(result.error));
      else await output.line(writer.lines({ ...text, answer: result.value }));
      if (output.closed.aborted) break;
    }
    await input.reportProblems();
  },
});

interface AnsweredText {
  readonly line: number;
  readonly text: string;
  readonly text2?: string;
  readonly answer: Answer;
}

/** @param top maximum number of labels or passages per answer; default: what a reader needs first */
function answerWriter(
  format: AnswerFormat,
  { kind, readsPairs }: Pick<Model, 'kind' | 'readsPairs'>,
  top: number | undefined,
) {
  if (format === 'jsonl') {
    return {
      header: undefined,
      lines: ({ answer, ...asked }: AnsweredText) => JSON.stringify({ ...asked, ...cut(answer, top) }),
    };
  }
  if (format === 'csv') {
    const lines = (answered: AnsweredText) => csvRows(answered, top).map(csvLine).join('\n');
    const [line = '', text = '', ...others] = CSV_HEADERS[kind];
    return { header: csvLine([line, text, ...(readsPairs ? ['text2'] : []), ...others]), lines };
  }
  return { header: undefined, lines: (answered: AnsweredText) => plain(answered, top) };
}

const SHOWN_PASSAGES = 3;

function cut(answer: Answer, top: number | undefined): Answer {
  if (top === undefined) return answer;
  if (answer.kind === 'labels') return { ...answer, scores: answer.scores.slice(0, top) };
  if (answer.kind === 'passages') return { ...answer, passages: answer.passages.slice(0, top) };
  return answer;
}

function plain({ text, text2, answer }: AnsweredText, top: number | undefined): string {
  if (answer.kind === 'entities') return onOneLine(marked(text, answer));
  if (answer.kind === 'passages') return passageLines(answer, top ?? SHOWN_PASSAGES);
  const cells = chosen(answer, top).flatMap(({ label, score }) => [onOneLine(label), score.toFixed(4)]);
  return [...cells, onOneLine(text), ...(text2 === undefined ? [] : [onOneLine(text2)])].join('\t');
}

/** The labels that apply, or the best `top`. If none applies, {@link NO_LABEL} with the best score. */
function chosen({ labels, scores, noneOfThese = false }: LabelAnswer, top: number | undefined): LabelAnswer['scores'] {
  const none = [{ label: NO_LABEL, score: scores[0]?.score ?? 0 }];
  if (noneOfThese) return none;
  if (top !== undefined) return scores.slice(0, top);
  const applying = scores.filter(({ label }) => labels.includes(label));
  return applying.length > 0 ? applying : none;
}

const NO_LABEL = '-';

/** "Ada saw Paris" → "[Ada PER] saw [Paris LOC]" */
function marked(text: string, { entities }: EntityAnswer): string {
  let done = 0;
  const pieces = entities.flatMap(({ start, end, type }) => {
    const before = text.slice(done, start);
    done = end;
    return [before, `[${text.slice(start, end)} ${type}]`];
  });
  return [...pieces, text.slice(done)].join('');
}

function passageLines({ passages }: PassageAnswer, top: number): string {
  return passages
    .slice(0, top)
    .map(({ text, score }) => `${score.toFixed(4)}\t${onOneLine(text)}`)
    .join('\n');
}

const CSV_HEADERS: Readonly<Record<Answer['kind'], readonly string[]>> = {
  labels: ['line', 'text', 'label', 'score'],
  entities: ['line', 'text', 'type', 'entity', 'start', 'end', 'score'],
  passages: ['line', 'text', 'rank', 'passage', 'score'],
};

function csvRows({ line, text, text2, answer }: AnsweredText, top: number | undefined): (string | number)[][] {
  const texts = text2 === undefined ? [text] : [text, text2];
  if (answer.kind === 'labels') return chosen(answer, top).map(({ label, score }) => [line, ...texts, label, score]);
  if (answer.kind === 'passages') {
    const passages = answer.passages.slice(0, top ?? SHOWN_PASSAGES);
    return passages.map((passage, index) => [line, text, index + 1, passage.text, passage.score]);
  }
  if (answer.entities.length === 0) return [[line, text, '', '', '', '', '']];
  return answer.entities.map((each) => [line, text, each.type, each.text, each.start, each.end, each.score]);
}

/** A row of CSV (RFC 4180), without a line break. */
function csvLine(cells: readonly (string | number)[]): string {
  return cells
    .map((cell) => (/[",\r\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : cell))
    .join(',');
}

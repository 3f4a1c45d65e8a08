import type { Answer, EntityAnswer, LabelAnswer, PassageAnswer } from '../../easy/index.js';
import { csvLine } from './csv-line.js';
import type { AnswerFormat } from './format-names.js';

/** A text with its answer. */
export interface AnsweredText {
  readonly line: number;
  readonly text: string;
  readonly answer: Answer;
}

/** Writes the answers of one model. */
export interface AnswerWriter {
  /** Before the first answer; undefined for none. */
  readonly header: string | undefined;
  /** One line or several, without the last line break. */
  lines(answered: AnsweredText): string;
  /** What stands for a text that has no answer; undefined for nothing. */
  failure(line: number, message: string): string | undefined;
}

/** @param top most labels or passages of each answer; undefined for those that a reader wants first */
export function answerWriter(
  format: AnswerFormat,
  kind: Answer['kind'],
  top: number | undefined,
): AnswerWriter {
  return writers[format](kind, top);
}

const writers: Readonly<
  Record<AnswerFormat, (kind: Answer['kind'], top: number | undefined) => AnswerWriter>
> = {
  text: (_, top) => ({
    header: undefined,
    lines: ({ text, answer }) => plain(text, answer, top),
    failure: () => undefined,
  }),
  jsonl: (_, top) => ({
    header: undefined,
    lines: ({ line, text, answer }) => JSON.stringify({ line, text, ...cut(answer, top) }),
    failure: (line, message) => JSON.stringify({ line, error: message }),
  }),
  csv: (kind, top) => ({
    header: csvLine(CSV_HEADERS[kind]),
    lines: (answered) => csvRows(answered, top).map(csvLine).join('\n'),
    failure: () => undefined,
  }),
};

/** Passages that answer a question, where nobody says how many. */
const SHOWN_PASSAGES = 3;

/** Without what `top` leaves out. */
function cut(answer: Answer, top: number | undefined): Answer {
  if (top === undefined) return answer;
  if (answer.kind === 'labels') return { ...answer, scores: answer.scores.slice(0, top) };
  if (answer.kind === 'passages') return { ...answer, passages: answer.passages.slice(0, top) };
  return answer;
}

function plain(text: string, answer: Answer, top: number | undefined): string {
  if (answer.kind === 'entities') return onOneLine(marked(text, answer));
  if (answer.kind === 'passages') return passageLines(answer, top ?? SHOWN_PASSAGES);
  return `${chosen(answer, top)
    .flatMap(({ label, score }) => [label, score.toFixed(4)])
    .join('\t')}\t${onOneLine(text)}`;
}

/** The labels that apply, or the best `top`. Of a multilabel model none may: then it is the best one's score that says so. */
function chosen({ labels, scores }: LabelAnswer, top: number | undefined): LabelAnswer['scores'] {
  if (top !== undefined) return scores.slice(0, top);
  const applying = scores.filter(({ label }) => labels.includes(label));
  return applying.length > 0 ? applying : [{ label: '-', score: scores[0]?.score ?? 0 }];
}

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

/** Tabs and line breaks as spaces, so that a text stays in its line and column. */
export function onOneLine(text: string): string {
  return text.replace(/[\t\n\r\u2028\u2029]+/g, ' ');
}

const CSV_HEADERS: Readonly<Record<Answer['kind'], readonly string[]>> = {
  labels: ['line', 'text', 'label', 'score'],
  entities: ['line', 'text', 'type', 'entity', 'start', 'end', 'score'],
  passages: ['line', 'text', 'rank', 'passage', 'score'],
};

function csvRows({ line, text, answer }: AnsweredText, top: number | undefined): (string | number)[][] {
  if (answer.kind === 'labels')
    return chosen(answer, top).map(({ label, score }) => [line, text, label, score]);
  if (answer.kind === 'passages') {
    const passages = answer.passages.slice(0, top ?? SHOWN_PASSAGES);
    return passages.map((passage, index) => [line, text, index + 1, passage.text, passage.score]);
  }
  if (answer.entities.length === 0) return [[line, text, '', '', '', '', '']];
  return answer.entities.map(({ type, text: entity, start, end, score }) => [
    line,
    text,
    type,
    entity,
    start,
    end,
    score,
  ]);
}

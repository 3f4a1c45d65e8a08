import { parse } from 'node:path';
import type { DistillationSummary, DistillEvent, DistillOptions, MeasuredShare } from '../../api/index.js';
import { orThrow } from '../../contract/index.js';
import { counted, grouped } from '../../datasets/index.js';
import { command, UsageError } from '../command.js';
import { alignedLines, onOneLine } from '../format.js';
import { requireNotRead } from '../overwriting.js';
import { choice, decimal, flag, integer, option, rulesOf, showTraining, trainingOptions } from '../parameters.js';
import { interruptible, Progress } from '../terminal.js';
import { linesOf, summaryOf, trainParameters } from './train.js';

const { data: _, dev: __, devFraction: ___, labels: ____, output, ...parameters } = trainParameters;

export const distillCommand = command({
  name: 'distill',
  summary: 'train a small model on the answers of a large one',
  details: `The teacher answers the texts, and the model learns from its answers. Answers are kept in <output>.answers.jsonl: after
a failure or Ctrl+C, the same command asks only for the missing answers.

  orchard distill texts.txt --teacher ./large-model --output small
  orchard distill texts.txt --teacher-command 'node ask.mjs' --labels refund,complaint --output small

The program of --teacher-command reads a line {"id": 1, "text": "…"} for each text and writes
{"id": 1, "answer": "refund"}.`,
  parameters: {
    texts: {
      ...trainParameters.data,
      usage: '<texts>',
      description: 'file of texts: one per line, or in a column named text; - is standard input',
    },
    teacher: option(
      '--teacher <model>',
      'model that answers: folder, name, or owner/name on the Hub; several, separated by commas, are averaged',
    ),
    teacherCommand: option('--teacher-command <command>', 'program that answers, with JSON Lines as input and output'),
    teacherName: option(
      '--teacher-name <name>',
      'name under which the answers of a program are kept (default: the command)',
    ),
    rows: option(
      '--rows <file>',
      'labelled rows to learn from too; without --test, a tenth is set aside for evaluation',
    ),
    dev: option('--dev <file>', 'labelled rows that choose the best epoch and the thresholds'),
    labels: option(
      '--labels <labels>',
      'labels of a classifier, separated by commas (default: those of the teacher or rows)',
    ),
    passages: option('--passages <file>', 'passages to answer questions from, one per line'),
    maxTexts: option(
      '--max-texts <number>',
      'maximum number of texts that the teacher answers (default: all)',
      integer(1),
    ),
    choose: choice('--choose <how>', 'how to choose the texts if --max-texts is given (default: random)', [
      'random',
      'central',
    ]),
    temperature: option('--temperature <number>', 'temperature that softens the probabilities (default: 1)', decimal),
    answers: option('--answers <file>', 'file to keep the answers in (default: <output>.answers.jsonl)'),
    concurrency: option(
      '--concurrency <number>',
      'maximum number of calls to the teacher at a time (default: 4 for a program, 1 for a model)',
      integer(1),
    ),
    textsPerCall: option(
      '--texts-per-call <number>',
      'texts per call to the teacher (default: 8 for a program, 64 for a model)',
      integer(1),
    ),
    attempts: option('--attempts <number>', 'attempts per call to a program (default: 6)', integer(1, 100)),
    curve: flag('--curve', 'also train on fewer texts, to see whether more texts would help'),
    ...parameters,
    type: { ...parameters.type, description: 'task of the model (default: that of the teacher or its answers)' },
    name: { ...parameters.name, description: 'model name: 1 to 24 characters of a–z, 0–9 and - (default: model)' },
    output: { ...output, description: 'model folder to write (default: <name>-model, or else <file of texts>-model)' },
  },
  async run({ settings, terminal, output: printed }) {
    const { distill, readUnlabelled } = await import('../../api/index.js');
    const { MAX_PASSAGES } = await import('../../datasets/index.js');
    const { MAX_QUERY_CHARACTERS } = await import('../../contract/index.js');
    const { lines } = await import('../../inference/index.js');
    const { TeacherCommand } = await import('../teacher-command.js');
    const { abortableBytes } = await import('../text-input.js');
    const { texts, teacher, teacherCommand, teacherName, rows, labels, passages, ...training } = settings;
    const { maxTexts, choose, temperature, answers, concurrency, textsPerCall, attempts, curve, ...rest } = training;
    if ((teacher === undefined) === (teacherCommand === undefined)) {
      const isMissing = teacher === undefined;
      throw new UsageError(`give --teacher or --teacher-command${isMissing ? '' : ', not both'}`);
    }
    const program = teacherCommand === undefined ? undefined : new TeacherCommand(teacherCommand);
    const models = teacher?.split(',').map((name) => name.trim()) ?? [];
    const [only = '', ...others] = models;
    const name = teacherName ?? teacherCommand;
    const {
      rules,
      dev,
      test,
      output: folder = `${rest.name ?? (texts === '-' ? 'texts' : parse(texts).name)}-model`,
      ...trained
    } = rest;
    await requireNotRead({ path: folder, flag: '--output', inputs: [texts, rows, dev, test, passages, rules] });
    const rulesGiven = await rulesOf(rules);
    const limits = { mostTexts: MAX_PASSAGES, mostCharacters: MAX_QUERY_CHARACTERS };
    const progress = new Progress(terminal);
    const work = async (signal: AbortSignal) => {
      const options: DistillOptions = {
        ...withoutDevFraction(trainingOptions({ ...trained, devFraction: undefined })),
        ...{ dev, test, output: folder },
        ...(rulesGiven !== undefined && { rules: rulesGiven }),
        teacher: program ? (some, call) => program.ask(some, call) : others.length === 0 ? only : models,
        ...(name !== undefined && { teacherName: name }),
        texts: texts === '-' ? lines(abortableBytes(terminal.stdin, signal)) : texts,
        ...{ rows, maxTexts, choose, temperature, answers, concurrency, textsPerCall, attempts, curve, signal },
        ...(labels !== undefined && { labels: labels.split(',').map((label) => label.trim()) }),
        ...(passages !== undefined && { passages: await readUnlabelled({ rows: passages, ...limits }, { signal }) }),
        onProgress: (event) => show(progress, event),
      };
      return orThrow(distill(options)).finally(() => program?.close());
    };
    await using model = await interruptible(work).finally(() => progress.clear());
    await printed.result({ ...summaryOf(model), distillation: model.distillation }, [
      ...(await linesOf(model, folder, printed)),
      ...distillationLines(model.distillation),
    ]);
  },
});

/** The library sets texts aside. */
function withoutDevFraction({ devFraction: _, ...options }: ReturnType<typeof trainingOptions>) {
  return options;
}

function show(progress: Progress, event: DistillEvent): void {
  if (event.type !== 'teaching') {
    showTraining(progress, event);
    return;
  }
  const { answered, texts, unusable, remainingMs } = event;
  const left = remainingMs === undefined ? '' : `, ${Math.ceil(remainingMs / 1000)} s left`;
  const odd = unusable === 0 ? '' : `, ${grouped(unusable)} unusable`;
  progress.show(answered / texts, `${grouped(answered)} of ${grouped(texts)} answers${odd}${left}`);
}

const MOST_LABELS = 12;

function distillationLines({
  teacher,
  answered,
  kept,
  unusable,
  agreement,
  accuracy,
  cost,
  curve,
  answers,
  differences,
}: DistillationSummary): readonly string[] {
  const earlier = kept > 0 ? `, ${grouped(kept)} of them from an earlier run` : '';
  const place = answers === undefined ? '' : `, in ${answers}`;
  const lines = [`taught by ${teacher}: ${counted(answered, 'answer')}${earlier}${place}`];
  if (unusable.count > 0) {
    const [first] = unusable.examples;
    lines.push(
      `unusable: ${counted(unusable.count, 'answer')}, such as the one for ${JSON.stringify(first?.text)}: ${first?.problem}`,
    );
  }
  if (agreement) {
    lines.push(`agrees with its teacher on ${shown(agreement)} of ${grouped(agreement.of)} other texts`);
    const least = agreement.labels.toSorted((a, b) => a.share - b.share).slice(0, MOST_LABELS);
    lines.push(...alignedLines(least.map((each) => [`  ${each.label}`, shown(each), `of ${grouped(each.of)}`])));
  }
  for (const { text, teacher: theirs, student } of differences.slice(0, 3)) {
    lines.push(
      `  ${JSON.stringify(text.slice(0, 80))}: ${onOneLine(theirs.join(', ')) || 'none'}; the model: ${onOneLine(student.join(', ')) || 'none'}`,
    );
  }
  if (accuracy) {
    const { metric, rows } = accuracy;
    lines.push(
      `${metric} on ${counted(rows, 'row')}: ${accuracy.student.value.toFixed(3)}; its teacher ${accuracy.teacher.value.toFixed(3)}`,
    );
  }
  lines.push(`size and time per text: ${costOf(cost.student)}; its teacher ${costOf(cost.teacher)}`);
  for (const { texts, agreement: share } of curve ?? [])
    lines.push(`trained on ${grouped(texts)} texts: agrees on ${shown(share)}`);
  return lines;
}

function shown({ share, interval }: MeasuredShare): string {
  const percent = (value: number) => (100 * value).toFixed(1);
  return `${percent(share)} % (${percent(interval.low)} to ${percent(interval.high)})`;
}

function costOf({ bytes, millisecondsPerText }: DistillationSummary['cost']['student']): string {
  const size = bytes === undefined ? [] : [`${(bytes / 1e6).toFixed(1)} MB`];
  const time = millisecondsPerText === undefined ? [] : [`${millisecondsPerText.toFixed(2)} ms`];
  return [...size, ...time].join(', ') || 'unknown';
}

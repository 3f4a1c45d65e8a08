import { Evaluator } from '../engine/index.js';
import { ExplainedText, type ExplainedWord, type Explainer, type ModelFile } from '../families/index.js';
import type { Mistake, ModelEvaluation, ModelFolderConfig, WeighedWord } from '../model-folder/index.js';
import { withPauses } from '../pauses.js';
import type { TextOutputs, TextReader, TextWindow } from '../text-reader/index.js';
import type { LoopInput } from './training-loop.js';
import type { FinishedModel } from './write-model.js';

/** How many of the most confident mistakes are explained: each has the encoder read its text once for every word. */
const EXPLAINED_MISTAKES = 10;

/**
 * What the model says about dev, with the words that moved it where it was surest of what is wrong. Of families that
 * answer with labels; the texts are explained as far as the report shows them.
 * @throws AbortedError when the signal fires.
 */
export async function explainMistakes(
  input: Pick<LoopInput, 'executor' | 'signal'>,
  model: FinishedModel,
  config: ModelFolderConfig,
): Promise<ModelEvaluation | undefined> {
  const { evaluation, family, files, reader } = model;
  if (evaluation === undefined || evaluation.mistakes.length === 0 || family.answerView !== 'labels') {
    return evaluation;
  }
  const modelFiles = new Map([...files].map(([file, bytes]): [string, ModelFile] => [file, { bytes, file }]));
  const { explainer } = await family.decoder(config, modelFiles);
  if (explainer === undefined) return evaluation;
  const readings: MistakeReading[] = [];
  for (const mistake of evaluation.mistakes.slice(0, EXPLAINED_MISTAKES)) {
    readings.push(await readMistake(mistake, explainer, reader, input.signal));
  }
  const outputsOf = await outputsOfWindows(
    input,
    model,
    readings.flatMap(({ whole, explained }) => [...whole, ...explained.windows]),
  );
  const mistakes: Mistake[] = [];
  for (const { mistake, whole, explained } of readings) {
    const label = [...mistake.predicted, ...mistake.expected].find((each) =>
      config.orchard.labels.includes(each),
    );
    const steps = explained.explain(outputsOf(whole), outputsOf, { label });
    const [answer] = (await withPauses(steps, input.signal)).explained;
    mistakes.push({ ...mistake, words: (answer?.words ?? []).map(placed) });
  }
  return { ...evaluation, mistakes: [...mistakes, ...evaluation.mistakes.slice(mistakes.length)] };
}

interface MistakeReading {
  readonly mistake: Mistake;
  readonly whole: readonly TextWindow[];
  readonly explained: ExplainedText;
}

async function readMistake(
  mistake: Mistake,
  explainer: Explainer,
  reader: TextReader,
  signal: AbortSignal,
): Promise<MistakeReading> {
  const whole = reader.windowsOf(mistake.text, 0);
  const explained = new ExplainedText(explainer, mistake.text);
  await withPauses(explained.read(reader, whole, 0), signal);
  return { mistake, whole, explained };
}

/** What the encoder gives for windows, in the precision that the model answers in. */
async function outputsOfWindows(
  { executor, signal }: Pick<LoopInput, 'executor' | 'signal'>,
  { task, encoder, weights, quantization }: FinishedModel,
  windows: readonly TextWindow[],
): Promise<(some: readonly TextWindow[]) => TextOutputs> {
  const fixed = { weights, ...(quantization && { quantization }) };
  const evaluator = await Evaluator.create(executor, task.head, encoder, fixed);
  const rows = windows.map((window, row) => ({ ...window, row }));
  const outputs = await evaluator.outputs(rows, {}, signal).finally(() => evaluator.release());
  const computed = new Map(windows.map((window, row) => [window, outputs[row] ?? []]));
  return (some) => some.flatMap((window) => computed.get(window) ?? []);
}

/** A weight to the digits that a colour can tell. */
function placed({ word, start, weight }: ExplainedWord): WeighedWord {
  return { start, end: start + word.length, weight: Math.round(weight * 1000) / 1000 };
}

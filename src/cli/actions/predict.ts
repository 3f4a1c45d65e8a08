import * as z from 'zod';
import { DEVICES } from '../../device-names.js';
import { loadModel, type Model } from '../../easy/index.js';
import { type AnswerWriter, answerWriter } from '../answers/answer-writer.js';
import { answerFormats } from '../answers/format-names.js';
import { checked } from '../checked.js';
import { closing } from '../closing.js';
import type { CommandRun } from '../command-definition.js';
import { FAILED } from '../failure.js';
import { Asked } from '../input/asked.js';
import { type GivenTexts, givenTexts } from '../input/given-texts.js';
import type { InputText } from '../input/texts.js';
import { inputFormats } from '../input/texts.js';
import { outcomeOf } from '../outcome.js';
import type { Output } from '../output.js';
import { Progress } from '../progress.js';
import { numberSchema } from './shared-settings.js';
import { grouped } from './table.js';

const predictSchema = z.strictObject({
  model: z.string().min(1),
  texts: z.array(z.string()).optional(),
  input: z.string().min(1).optional(),
  'input-format': z.enum(inputFormats).optional(),
  'text-column': z.string().min(1).optional(),
  format: z.enum(answerFormats).optional(),
  top: numberSchema.pipe(z.int().min(1)).optional(),
  'none-of-these': z.boolean().optional(),
  device: z.enum(DEVICES).optional(),
  threads: numberSchema.pipe(z.int().min(1)).optional(),
});

/** `orchard predict`: answers texts as they come, in their order. */
export async function predict({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const {
    model: name,
    format,
    top,
    device,
    threads,
    'none-of-these': noneOfThese,
    ...source
  } = checked(predictSchema, given);
  const input = await givenTexts(source, terminal);
  output.closed.addEventListener('abort', input.stop);
  try {
    const opened = await outcomeOf(
      loadModel(name, { ...(device && { device }), ...(threads && { threads }) }),
    );
    const progress = output.isTerminal ? undefined : new Progress(terminal);
    return await closing(opened, (model) => {
      const writer = answerWriter(format ?? (isJson ? 'jsonl' : 'text'), model.kind, top);
      return answerAll(model, { input, writer, output, progress, noneOfThese });
    });
  } finally {
    input.stop();
  }
}

interface Answering {
  readonly input: GivenTexts;
  readonly writer: AnswerWriter;
  readonly output: Output;
  /** None where answers go to a terminal themselves. */
  readonly progress: Progress | undefined;
  readonly noneOfThese: boolean | undefined;
}

/** @returns the exit code: of a text that has no answer, the rest goes on */
async function answerAll(model: Model, answering: Answering): Promise<number> {
  const { input, writer, output, progress, noneOfThese } = answering;
  const asked = new Asked(input.texts);
  let failures = 0;
  const failed = async ({ line }: InputText, message: string) => {
    failures += 1;
    progress?.clear();
    output.warn(`${input.name} ${grouped(line)}: ${message}`);
    const told = writer.failure(line, message);
    if (told !== undefined) await output.line(told);
  };
  const tellProblems = async () => {
    for (const each of asked.takeProblems()) await failed(each, each.problem);
  };
  if (writer.header !== undefined) await output.line(writer.header);
  for await (const result of model.predict(asked.texts(), { noneOfThese })) {
    await tellProblems();
    const text = asked.take();
    if (result.isErr()) await failed(text, result.error.message);
    else await output.line(writer.lines({ ...text, answer: result.value }));
    progress?.show(input.fraction(), `${grouped(asked.answered)} texts`);
    if (output.closed.aborted) break;
  }
  await tellProblems();
  progress?.clear();
  return failures > 0 ? FAILED : 0;
}

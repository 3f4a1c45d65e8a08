import * as z from 'zod';
import { DEVICES } from '../../device-names.js';
import { embed } from '../../easy/index.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';
import { FAILED } from '../failure.js';
import { givenTexts } from '../input/given-texts.js';
import type { InputText } from '../input/texts.js';
import { inputFormats } from '../input/texts.js';
import { outcomeOf } from '../outcome.js';
import { Progress } from '../progress.js';
import { grouped } from './table.js';

const embedSchema = z.strictObject({
  texts: z.array(z.string()).optional(),
  input: z.string().min(1).optional(),
  'input-format': z.enum(inputFormats).optional(),
  'text-column': z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  device: z.enum(DEVICES).optional(),
});

/** Texts whose vectors are computed together. */
const BATCH = 64;

/** `orchard embed`: a vector for each text. */
export async function embedTexts(run: CommandRun): Promise<number> {
  const { terminal, output } = run;
  const { model, device, ...source } = checked(embedSchema, run.given);
  const input = await givenTexts(source, terminal);
  output.closed.addEventListener('abort', input.stop);
  const progress = output.isTerminal ? undefined : new Progress(terminal);
  let [done, failures] = [0, 0];
  for await (const batch of inBatches(input.texts)) {
    const texts = batch.flatMap((each) => ('text' in each ? [each.text] : []));
    const vectors = texts.length === 0 ? [] : await outcomeOf(embed(texts, { model, device }));
    progress?.clear();
    failures += await tellBatch(batch, vectors, input.name, run);
    done += texts.length;
    progress?.show(input.fraction(), `${grouped(done)} texts`);
    if (output.closed.aborted) break;
  }
  progress?.clear();
  return failures > 0 ? FAILED : 0;
}

/** @param vectors of the texts of the batch, in their order. @returns how many lines had no text */
async function tellBatch(
  batch: readonly InputText[],
  vectors: readonly Float32Array[],
  name: string,
  { output, isJson }: CommandRun,
): Promise<number> {
  let [at, failures] = [0, 0];
  for (const each of batch) {
    if ('text' in each) {
      const vector = vectors[at] ?? new Float32Array();
      at += 1;
      await output.line(isJson ? JSON.stringify({ ...each, vector: [...vector] }) : vector.join('\t'));
    } else {
      failures += 1;
      output.warn(`${name} ${grouped(each.line)}: ${each.problem}`);
      if (isJson) await output.json({ line: each.line, error: each.problem });
    }
  }
  return failures;
}

async function* inBatches(
  texts: AsyncIterable<InputText>,
): AsyncGenerator<readonly InputText[], void, undefined> {
  let batch: InputText[] = [];
  for await (const each of texts) {
    batch.push(each);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

import * as z from 'zod';
import { DEVICES } from '../../device-names.js';
import { embed } from '../../easy/index.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';
import { FAILED } from '../failure.js';
import { givenTexts } from '../input/given-texts.js';
import { inputFormats } from '../input/input-format.js';
import type { InputText } from '../input/texts.js';
import { outcomeOf } from '../outcome.js';
import { Progress } from '../progress.js';
import { numberSchema } from './shared-settings.js';
import { grouped } from './table.js';

const embedSchema = z.strictObject({
  texts: z.array(z.string()).optional(),
  input: z.string().min(1).optional(),
  'input-format': z.enum(inputFormats).optional(),
  'text-column': z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  device: z.enum(DEVICES).optional(),
  threads: numberSchema.pipe(z.int().min(1)).optional(),
});

/** Texts whose vectors are computed together. */
const BATCH = 64;

/** `orchard embed`: a vector for each text. */
export async function embedTexts({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const { model, device, threads, ...source } = checked(embedSchema, given);
  const options = { ...(model && { model }), ...(device && { device }), ...(threads && { threads }) };
  const input = await givenTexts(source, terminal);
  output.closed.addEventListener('abort', input.stop);
  const progress = output.isTerminal ? undefined : new Progress(terminal);
  let [done, failures] = [0, 0];
  for await (const batch of inBatches(input.texts)) {
    const texts = batch.flatMap((each) => ('text' in each ? [each] : []));
    const vectors = await outcomeOf(
      embed(
        texts.map(({ text }) => text),
        options,
      ),
    );
    for (const each of batch) {
      if (!('text' in each)) {
        failures += 1;
        output.warn(`${input.name} ${grouped(each.line)}: ${each.problem}`);
        if (isJson) await output.json({ line: each.line, error: each.problem });
        continue;
      }
      const vector = vectors[texts.indexOf(each)] ?? new Float32Array();
      if (isJson) await output.json({ line: each.line, text: each.text, vector: [...vector] });
      else await output.line(vector.join('\t'));
    }
    done += texts.length;
    progress?.show(input.fraction(), `${grouped(done)} texts`);
    if (output.closed.aborted) break;
  }
  progress?.clear();
  return failures > 0 ? FAILED : 0;
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

/** The encoder and the expert of a trained model, each by itself. */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Blend, InferenceResult } from 'orchard-nlp';
import { z } from 'zod';
import { blendLogits } from '../src/families/papaya/blend-weights.js';
import { classificationKind } from '../src/families/papaya/classification-dataset.js';
import { classificationResult } from '../src/families/papaya/classification-decoder.js';
import { linkOf } from '../src/families/papaya/classification-task.js';
import { TextModel } from '../src/inference/text-model.js';
import { LinearExpert } from '../src/lexical/index.js';
import { EXPERT_FILE, modelFolderConfigSchema } from '../src/model-folder/index.js';
import { decodeSafetensors } from '../src/safetensors/index.js';

const BATCH = 256;

/** What a copy of the model answers whose two experts are mixed by these weights. */
export async function predictWith(
  directory: string,
  weights: Blend['blend']['weights'],
  texts: readonly string[],
): Promise<InferenceResult[]> {
  const copy = `${directory}-part`;
  cpSync(directory, copy, { recursive: true });
  const file = join(copy, 'config.json');
  const config = modelFolderConfigSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  writeFileSync(file, JSON.stringify({ ...config, orchard: { ...config.orchard, blend: weights } }));
  const model = await TextModel.load(copy, 2);
  const results: InferenceResult[] = [];
  for (let start = 0; start < texts.length; start += BATCH) {
    results.push(...(await model.predict(texts.slice(start, start + BATCH))));
  }
  await model.release();
  rmSync(copy, { recursive: true });
  return results;
}

/** What the expert of a model answers by itself; the encoder does not run. */
export function predictWithExpert(
  directory: string,
  weights: Blend['blend']['weights'],
  texts: readonly string[],
): InferenceResult[] {
  const file = join(directory, EXPERT_FILE);
  const expert = LinearExpert.decode(readFileSync(file), file);
  const config: unknown = JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8'));
  const { labels, type } = modelFolderConfigSchema.parse(config).orchard;
  const link = linkOf(classificationKind(type));
  const none = new Float32Array(expert.outputs);
  return texts.map((text) =>
    classificationResult(blendLogits(weights, none, expert.margins(text)), labels, link),
  );
}

/** Which n-grams the expert of a model reads. */
export function nGramsOf(directory: string): unknown {
  const file = join(directory, EXPERT_FILE);
  const { metadata } = decodeSafetensors(readFileSync(file), file);
  return JSON.parse(z.string().parse(metadata.n_grams));
}

/** Size of a model folder on disk: all, and the expert alone. */
export function megabytesOf(directory: string): { all: number; expert: number } {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  const bytes = files.map((each) => statSync(join(each.parentPath, each.name)).size);
  const all = bytes.reduce((sum, each) => sum + each, 0);
  return { all: all / 1e6, expert: statSync(join(directory, EXPERT_FILE)).size / 1e6 };
}

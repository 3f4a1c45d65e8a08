import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Blend, type InferenceResult, inferenceService } from 'orchard-nlp';
import { z } from 'zod';
import { LinearExpert } from '../src/lexical/index.js';
import { decodeSafetensors, EXPERT_FILE, type ModelFolderConfig, modelFolderConfig } from '../src/models/index.js';
import type { LabelledTexts } from './datasets/labelled-texts.js';

/** The encoder and the expert of a trained model, each by itself. */

const BATCH = 256;

type Weights = Blend['blend']['weights'];

/**
 * Answers of a copy of the model that blends its two experts with these weights.
 * @param other fields to change.
 */
export async function predictWith(
  directory: string,
  blend: Weights,
  texts: readonly string[],
  other: Partial<ModelFolderConfig['orchard']> = {},
): Promise<InferenceResult[]> {
  const copy = `${directory}-part`;
  cpSync(directory, copy, { recursive: true });
  const file = join(copy, 'config.json');
  const config = modelFolderConfig(JSON.parse(readFileSync(file, 'utf8')), file);
  writeFileSync(file, JSON.stringify({ ...config, orchard: { ...config.orchard, ...other, blend } }));
  const service = inferenceService({ isolation: 'inline', threads: 2 });
  const results: InferenceResult[] = [];
  for (let start = 0; start < texts.length; start += BATCH) {
    results.push(...(await service.predict(copy, texts.slice(start, start + BATCH))).results);
  }
  await service.close();
  rmSync(copy, { recursive: true });
  return results;
}

/** Labels that a classifier's lexical expert alone gives the test texts, as ids; the encoder does not run. */
export function predictWithExpert(
  directory: string,
  { expert: weight, bias }: Weights,
  dataset: LabelledTexts,
): number[][] {
  const file = join(directory, EXPERT_FILE);
  const expert = LinearExpert.decode(readFileSync(file), file);
  return dataset.test.map(({ text }) =>
    labelsOn(
      dataset,
      expert.read(text).margins.map((margin, output) => weight * margin + (bias[output] ?? 0)),
    ),
  );
}

/**
 * Ids of the labels whose logits are above 0; if a text has exactly one label, of the one with the highest
 * logit.
 */
export function labelsOn({ type }: Pick<LabelledTexts, 'type'>, logits: Float32Array): number[] {
  if (type === 'binary-text-classification') return [(logits[0] ?? 0) > 0 ? 1 : 0];
  if (type === 'multiclass-text-classification') return [logits.indexOf(Math.max(...logits))];
  return [...logits.keys()].filter((label) => (logits[label] ?? 0) > 0);
}

/** Which n-grams the expert of a model reads. */
export function nGramsOf(directory: string): unknown {
  const file = join(directory, EXPERT_FILE);
  const { metadata } = decodeSafetensors(readFileSync(file), file);
  return JSON.parse(z.string().parse(metadata.n_grams));
}

/** Size of a model folder on disk in megabytes: in all, and of the expert alone. */
export function megabytesOf(directory: string): { all: number; expert: number } {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  const bytes = files.map((each) => statSync(join(each.parentPath, each.name)).size);
  const all = bytes.reduce((sum, each) => sum + each, 0);
  return { all: all / 1e6, expert: statSync(join(directory, EXPERT_FILE)).size / 1e6 };
}

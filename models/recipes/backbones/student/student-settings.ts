import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { type ModelSize, modelSizeSchema } from '../../../../src/contract/index.js';
import type { Geometry } from '../../../../src/encoder/index.js';
import { learningSettings } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { parseShape, sizeShapes } from './shape.js';

const studentSettingsSchema = z.strictObject({
  /** What jobs ask for, and part of the backbone's name. */
  size: modelSizeSchema,
  /** `<layers>x<width>`. */
  shape: z.string(),
  /** Texts of a batch. */
  batch: z.int().min(1),
});
/** What a student's folder has to remember between runs. */
export type StudentSettings = z.infer<typeof studentSettingsSchema>;

/** As the command line gives them. */
export type AskedSettings = Readonly<Partial<Record<'size' | 'shape' | 'batch', string>>>;

/**
 * The settings that the first run of a student's folder was given; later runs may repeat them or leave them out.
 * @throws Error if they ask for another student than the folder's.
 */
export function studentSettings(work: WorkFolder, asked: AskedSettings): StudentSettings {
  const stored = readSettings(work);
  const size = sizeIn(work, asked);
  const settings = studentSettingsSchema.parse({
    size,
    shape: asked.shape ?? stored?.shape ?? sizeShapes[size],
    batch: Number(asked.batch ?? stored?.batch ?? learningSettings.batchSize),
  });
  parseShape(settings.shape);
  if (stored === undefined) writeFileSync(work.student, `${JSON.stringify(settings, undefined, 2)}\n`);
  else refuseOthers(work, stored, settings);
  return settings;
}

/** The size that was asked for, or else that of the folder's student, or else mini. */
export const sizeIn = (work: WorkFolder, { size }: AskedSettings): ModelSize =>
  modelSizeSchema.parse(size ?? readSettings(work)?.size ?? 'mini');

export const shapeOf = ({ shape }: StudentSettings): Geometry => parseShape(shape);

function readSettings(work: WorkFolder): StudentSettings | undefined {
  if (!existsSync(work.student)) return undefined;
  return studentSettingsSchema.parse(JSON.parse(readFileSync(work.student, 'utf8')));
}

function refuseOthers(work: WorkFolder, stored: StudentSettings, asked: StudentSettings): void {
  for (const key of ['size', 'shape', 'batch'] as const) {
    if (stored[key] === asked[key]) continue;
    throw new Error(`${work.path} is of a student with ${key} ${stored[key]}, not ${asked[key]}; give another folder`);
  }
}

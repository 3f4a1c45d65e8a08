import * as z from 'zod';
import { documentedModelTypes, modelSizes } from '../../contract/index.js';
import { DEVICES } from '../../device-names.js';
import type { TrainOptions } from '../../easy/index.js';
import type { TrainingEvent } from '../../trainer/index.js';
import { columnFields, columnsOf } from './column-settings.js';
import { decimalSchema, numberSchema, shareSchema } from './shared-settings.js';

export const countSchema = numberSchema.pipe(z.int().min(1)).optional();

/** What every command takes that trains. */
export const trainingFields = {
  data: z.string().min(1),
  type: z.enum(documentedModelTypes).optional(),
  base: z.string().min(1).optional(),
  name: z.string().min(1).optional(),
  size: z.enum(modelSizes).optional(),
  language: z.string().min(1).optional(),
  ...columnFields,
  'dev-fraction': shareSchema.optional(),
  epochs: countSchema,
  'batch-size': countSchema,
  'learning-rate': decimalSchema.optional(),
  seed: numberSchema.optional(),
  device: z.enum(DEVICES).optional(),
  threads: countSchema,
};
const trainingSchema = z.object(trainingFields);

/** Options of the library, but for what is trained on. */
export function trainingOptions(settings: z.infer<typeof trainingSchema>) {
  const { type, base, name, size, language, epochs, seed, device, threads } = settings;
  return {
    ...{ type, base, name, size, language, epochs, seed, device, threads },
    columns: columnsOf(settings),
    devFraction: settings['dev-fraction'],
    batchSize: settings['batch-size'],
    learningRate: settings['learning-rate'],
  } satisfies TrainOptions;
}

/** How far a training has come, in words. */
export function progressOf(event: TrainingEvent): { fraction: number; told: string } | undefined {
  if (event.type !== 'progress') return undefined;
  const { phase, fraction, epoch, epochs, remainingMs } = event;
  const left = remainingMs === undefined ? '' : `, ${Math.ceil(remainingMs / 1000)} s left`;
  return { fraction, told: phase === 'train' ? `epoch ${epoch + 1} of ${epochs}${left}` : `${phase}${left}` };
}

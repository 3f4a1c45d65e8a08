import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderModels } from 'orchard-nlp';
import { z } from 'zod';
import { measureClassifier } from '../accuracy/classifier.js';
import { measureRetriever } from '../accuracy/retriever.js';
import { measureTagger } from '../accuracy/tagger.js';
import type { Setting } from '../accuracy/train.js';
import { readers } from '../datasets/labelled-texts.js';
import { limited, type MostRows } from '../datasets/limited.js';
import { questionReaders } from '../datasets/questions.js';
import { taggedReaders } from '../datasets/tagged-sentences.js';

/** One cell of the table: one backbone, fine-tuned on one dataset. */

/** What a cell is made with; two cells with equal ones are the same. */
export const cellSchema = z.object({
  /** Name of the backbone's folder. */
  backbone: z.string(),
  dataset: z.string(),
  /** At most so many training rows, drawn at random with a fixed seed; absent: all. */
  rows: z.int().positive().optional(),
  /** At most so many test rows. */
  testRows: z.int().positive().optional(),
  /** Absent: the library's default. */
  epochs: z.int().positive().optional(),
  learningRate: z.number().positive().optional(),
  threads: z.int().positive(),
  seed: z.int(),
});
export type Cell = z.infer<typeof cellSchema>;

export const figuresSchema = z.object({
  /** `accuracy`, span `F1`, or `top-1` of the passages; in percent, on the test rows. */
  measure: z.string(),
  /** Undefined for passages, whose vectors alone are only measured on dev. */
  encoder: z.number().optional(),
  blend: z.number(),
  epochs: z.number(),
  /** Of the whole cell: training and the reading of the test rows. */
  processorSeconds: z.number(),
  wallSeconds: z.number(),
  /** Largest resident memory of the process. */
  gigabytes: z.number(),
});
export type Figures = z.infer<typeof figuresSchema>;

/** The six sets of the table. */
export const DATASETS = ['banking77_10', 'sst2', 'twitter_financial', 'massive_en', 'wnut17', 'squad_dev'];

/** @param datasets folder of all datasets. @param backbones folder of all backbones. */
export async function runCell(cell: Cell, datasets: string, backbones: string): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'orchard-backbones-'));
  const setting: Setting = {
    folder,
    size: 'base',
    threads: cell.threads,
    seed: cell.seed,
    python: 'no-python',
    training: {
      ...(cell.epochs !== undefined && { num_epochs: cell.epochs }),
      ...(cell.learningRate !== undefined && { learning_rate: cell.learningRate }),
    },
    tuning: { quantize: false },
    start: { backbone: cell.backbone, modelLoader: folderModels(backbones) },
  };
  const startedAt = performance.now();
  const measured = await measure(cell, datasets, setting);
  const { user, system } = process.cpuUsage();
  await rm(folder, { recursive: true });
  return {
    ...measured,
    processorSeconds: Math.round((user + system) / 1e6),
    wallSeconds: Math.round((performance.now() - startedAt) / 1000),
    gigabytes: Number((process.resourceUsage().maxRSS / 2 ** 20).toFixed(2)),
  };
}

type Measured = Pick<Figures, 'measure' | 'encoder' | 'blend' | 'epochs'>;

async function measure(cell: Cell, datasets: string, setting: Setting): Promise<Measured> {
  const { dataset } = cell;
  const texts = readers[dataset]?.(datasets);
  if (texts !== undefined) {
    const row = await measureClassifier(dataset, limited(texts, rowsOf(texts, cell)), setting);
    return { measure: 'accuracy', encoder: row['accuracy: encoder'], blend: row.blend, epochs: row.epochs };
  }
  const sentences = taggedReaders[dataset]?.(datasets);
  if (sentences !== undefined) {
    const row = await measureTagger(dataset, limited(sentences, rowsOf(sentences, cell)), setting);
    return { measure: 'F1', encoder: row['F1: encoder'], blend: row.blend, epochs: row.epochs };
  }
  const questions = questionReaders[dataset]?.(datasets);
  if (questions === undefined) throw new Error(`there is no dataset ${dataset}`);
  const row = await measureRetriever(dataset, limited(questions, rowsOf(questions, cell)), setting);
  return { measure: 'top-1', blend: row['blend '], epochs: row.epochs };
}

/** How many rows the cell asks for; dev keeps its share. */
function rowsOf(dataset: { train: readonly unknown[]; dev: readonly unknown[] }, cell: Cell): MostRows {
  const { rows, testRows } = cell;
  if (rows === undefined) return { test: testRows };
  const share = Math.min(1, rows / dataset.train.length);
  return { train: rows, dev: Math.ceil(share * dataset.dev.length), test: testRows };
}

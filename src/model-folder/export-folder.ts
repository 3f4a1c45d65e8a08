import { copyFile, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { validate } from '../contract/index.js';
import { writeZip, type ZipContent } from '../datasets/index.js';
import { ModelFolderError, type OrchardError, toOrchardError, ValidationError } from '../errors.js';
import { deleteUnseen, filesIn, move } from '../files/index.js';
import { CONFIG_FILE, ONNX_FILE, QUANTIZED_ONNX_FILE, WEIGHTS_FILE } from './files.js';
import { readConfig, readFolderFile } from './folder-file.js';
import type { ModelFolderConfig } from './model-config.js';

/** Which weights a copy of a model keeps. */
export type ExportPrecision = 'fp32' | 'int8';

/** How a model is copied. */
export interface ExportOptions {
  /**
   * `fp32`: the 32-bit graph answers, and the weights that other libraries load and training goes on from stay. `int8`:
   * the 8-bit graph alone. Default: all that the folder has.
   */
  readonly precision?: ExportPrecision | undefined;
}

/** A copy of a model. */
export interface ExportedModel {
  /** Of the folder or the zip. */
  readonly path: string;
  /** By their paths in the model's folder. */
  readonly files: readonly string[];
  /** Of all files, before they are packed. */
  readonly bytes: number;
}

const optionsSchema = z.strictObject({
  precision: z.enum(['fp32', 'int8'], 'give fp32 or int8').optional(),
});

/**
 * Copies a model's folder to a new folder, or into a zip where the target ends in `.zip`: whole or not at all. Fails with
 * a ValidationError for a target that is there and not empty, a ModelFolderError for a folder that is no model's or
 * lacks the weights that are asked for, and a StorageError.
 */
export function exportModel(
  directory: string,
  target: string,
  options: ExportOptions = {},
): ResultAsync<ExportedModel, OrchardError> {
  return ResultAsync.fromPromise(copied(directory, target, options), (thrown) =>
    toOrchardError(thrown, `exporting ${directory}`),
  );
}

async function copied(directory: string, target: string, options: ExportOptions): Promise<ExportedModel> {
  const { precision } = validate(optionsSchema, options);
  const path = resolve(target);
  await checkTarget(path);
  const config = await readConfig(directory);
  const present = await filesIn(resolve(directory));
  const paths = new Set(present.map((file) => file.path));
  const unwanted = leftOut(directory, config, paths, precision);
  const kept = present.filter((file) => !unwanted.includes(file.path));
  const files: Record<string, ZipContent> = Object.fromEntries(
    kept.map((file) => [file.path, { file: join(resolve(directory), file.path) }]),
  );
  if (precision === 'fp32') files[CONFIG_FILE] = await withoutGraph(directory);
  await (extname(path) === ZIP_ENDING ? zipped(path, files) : placed(path, files));
  return { path, files: Object.keys(files), bytes: kept.reduce((sum, { size }) => sum + size, 0) };
}

const ZIP_ENDING = '.zip';

/** Nothing that is there is overwritten. */
async function checkTarget(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there === undefined || (there.isDirectory() && (await readdir(path)).length === 0)) return;
  throw new ValidationError([
    { loc: ['target'], msg: `${path} is there already; give another`, type: 'exists' },
  ]);
}

/** @throws ModelFolderError where the weights that are asked for are not there */
function leftOut(
  directory: string,
  { orchard: { graph = ONNX_FILE } }: ModelFolderConfig,
  present: ReadonlySet<string>,
  precision: ExportPrecision | undefined,
): readonly string[] {
  if (precision === undefined) return [];
  if (precision === 'fp32') {
    if (present.has(ONNX_FILE)) return [QUANTIZED_ONNX_FILE];
    const reason = `the model has 8-bit weights alone; export it with int8, or train it anew`;
    throw new ModelFolderError(join(directory, ONNX_FILE), reason);
  }
  if (graph === QUANTIZED_ONNX_FILE) return [ONNX_FILE, WEIGHTS_FILE];
  const reason =
    'the model has 32-bit weights alone: 8 bits were turned off, or cost too much on dev; export it with fp32';
  throw new ModelFolderError(join(directory, QUANTIZED_ONNX_FILE), reason);
}

/** The text of the config.json that names no other graph than the 32-bit one; all else stays as it is. */
async function withoutGraph(directory: string): Promise<string> {
  const text = (await readFolderFile(directory, CONFIG_FILE)).toString('utf8');
  const config = configSchema.parse(JSON.parse(text));
  const { graph: _, ...orchard } = config.orchard;
  return `${JSON.stringify({ ...config, orchard }, undefined, 2)}\n`;
}

const configSchema = z.looseObject({ orchard: z.looseObject({}) });

/** In a folder of the model's name, as an archive is that many files unpack from. */
async function zipped(path: string, files: Readonly<Record<string, ZipContent>>): Promise<void> {
  const folder = basename(path, ZIP_ENDING);
  const named = Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content] as const);
  await writeZip(path, Object.fromEntries(named));
}

async function placed(path: string, files: Readonly<Record<string, ZipContent>>): Promise<void> {
  const partial = `${path}.${process.pid}.partial`;
  try {
    for (const [name, content] of Object.entries(files)) {
      const file = join(partial, name);
      await mkdir(dirname(file), { recursive: true });
      if (typeof content === 'string') await writeFile(file, content);
      else await copyFile(content.file, file);
    }
    await rm(path, { recursive: true, force: true }); // it is empty
    await move(partial, path);
  } catch (thrown) {
    await deleteUnseen(partial);
    throw thrown;
  }
}

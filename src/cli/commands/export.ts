import { stat } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { orThrow } from '../../contract/index.js';
import { counted, grouped } from '../../datasets/index.js';
import { command, UsageError } from '../command.js';
import { requireNotRead } from '../overwriting.js';
import { argument, choice, modelParameters } from '../parameters.js';

const ZIP_ENDING = '.zip';

export const exportCommand = command({
  name: 'export',
  summary: 'copy a model: to a folder or zip, or to one file for the web',
  details: `fp32 writes model.safetensors and onnx/model.onnx, which Python libraries and transformers.js load. If a model has only 8-bit
weights, its fp32 weights are restored from them. int8 writes only the 8-bit graph: a quarter of the size, and enough for Orchard.

  orchard export emotion-detection ./emotions-fp32
  orchard export ./reviews-model reviews.zip --precision int8

With --for web, the output is one file that openModel of orchard-nlp/web reads in browsers and edge runtimes.

  orchard export emotion-detection emotions.orchard --for web`,
  parameters: {
    model: modelParameters.model,
    output: argument(
      '<output>',
      'folder, new .zip file or, with --for web, file of any name; a model that is there is replaced',
    ),
    precision: choice('--precision <precision>', 'precision of the weights (default: fp32)', ['fp32', 'int8']),
    for: choice('--for <place>', 'web: one file for orchard-nlp/web', ['web']),
  },
  async run({ settings: { model, output: target, precision: asked, for: place }, output }) {
    const precision = asked ?? 'fp32';
    const { exportModel } = await import('../../api/index.js');
    const { filesIn, TemporaryDirectory } = await import('../../system/index.js');
    const { findModel } = await import('../../models/index.js');
    const { directory } = await findModel(model);
    const path = resolve(target);
    await requireNotRead({ path: target, flag: 'output', inputs: [directory] });
    if (place === 'web') {
      if (asked !== undefined)
        throw new UsageError('--for web takes no --precision: the file has the weights that the model answers with');
      await orThrow(exportModel(directory, path, { for: 'web' }));
      const { size } = await stat(path);
      await output.result({ path, for: place, bytes: size }, `${path}: ${grouped(size)} bytes, for orchard-nlp/web`);
      return;
    }
    const isZip = extname(path) === ZIP_ENDING;
    if (isZip && (await stat(path).catch(() => undefined)))
      throw new UsageError(`${path} already exists; give a new file`);
    const temporary = new TemporaryDirectory();
    try {
      const folder = isZip ? join(await temporary.path(), 'model') : path;
      const weights = precision === 'fp32' ? 'float32' : 'int8';
      await orThrow(exportModel(directory, folder, { weights }));
      const files = await filesIn(folder);
      if (isZip) {
        const { writeZip } = await import('../../datasets/index.js');
        const root = basename(path, ZIP_ENDING);
        const entries = files.map((file) => [`${root}/${file.path}`, { file: join(folder, file.path) }] as const);
        await writeZip(path, Object.fromEntries(entries));
      }
      const bytes = files.reduce((sum, { size }) => sum + size, 0);
      await output.result(
        { path, precision, files: files.map((file) => file.path), bytes },
        `${path}: ${counted(files.length, 'file')}, ${grouped(bytes)} bytes, ${precision}`,
      );
    } finally {
      await temporary.remove();
    }
  },
});

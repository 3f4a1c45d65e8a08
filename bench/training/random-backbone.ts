import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readEncoder } from '../../src/encoder/index.js';
import { safetensorsPieces } from '../../src/models/index.js';
import { Random } from '../../src/system/index.js';
import { englishTokenizer, tokenizerConfig } from '../../src/text/index.js';
import { type Configuration, configOf } from './configurations.js';

/** A backbone of random weights, whose table of words is as long as asked, though its tokenizer has fewer. */
export async function writeRandomBackbone(directory: string, configuration: Configuration): Promise<void> {
  const config = configOf(configuration);
  const random = Random.fromSeed(1);
  const tensors = new Map(
    readEncoder(config, 'the configuration')
      .parameters('')
      .map(({ name, shape, start }) => [
        name,
        {
          shape,
          get values() {
            const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
            if ('value' in start) return values.fill(start.value);
            // As spread as the normal distribution that such an encoder starts from.
            return values.map(() => Math.sqrt(12) * start.deviation * (random.uniform() - 0.5));
          },
        },
      ]),
  );
  const tokenizer = englishTokenizer();
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'config.json'), JSON.stringify(config));
  await writeFile(join(directory, 'tokenizer.json'), JSON.stringify(tokenizer));
  const settings = tokenizerConfig(tokenizer, configuration.tokens);
  await writeFile(join(directory, 'tokenizer_config.json'), JSON.stringify(settings));
  await writeFile(join(directory, 'model.safetensors'), safetensorsPieces(tensors));
}

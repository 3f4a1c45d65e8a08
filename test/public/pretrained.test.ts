import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { install } from '../package/install.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';

/** The built package as it is installed: it finds the catalogue by itself, and the examples run on it. */

const root = fileURLToPath(new URL('../..', import.meta.url));
let application: string;

/** An application with Orchard and tiny pretrained models installed. */
beforeAll(async () => {
  application = await mkdtemp(join(tmpdir(), 'orchard-application-'));
  await install(application);
  const models = join(application, 'node_modules', 'orchard-nlp-models');
  await mkdir(models);
  await cp(join(root, 'models/package.json'), join(models, 'package.json'));
  await tinyCatalogue(models, {
    'financial-customer-support': ['card_arrival', 'card_lost', 'refund'],
    'sentiment-classification': ['negative', 'neutral', 'positive'],
    'emotion-detection': ['anger', 'calm', 'joy'],
  });
  await writeFile(join(application, 'package.json'), '{ "type": "module" }');
  await cp(join(root, 'examples'), application, { recursive: true });
}, 60_000);
afterAll(() => rm(application, { recursive: true }));

async function output(script: string, ...args: readonly string[]): Promise<string> {
  const tsx = ['--import', import.meta.resolve('tsx')];
  const { stdout } = await promisify(execFile)(process.execPath, [...tsx, join(application, script), ...args], {
    cwd: application,
  });
  return stdout;
}

describe('an application with the models installed', () => {
  it('asks one by its name', async () => {
    expect(await output('pretrained.ts')).toMatch(/^(card_arrival|card_lost|refund) 0\.\d\d\n$/);
  });

  it('is what README begins with', async () => {
    expect(await output('first-answer.ts')).toMatch(/^(card_arrival|card_lost|refund) 0\.\d\d\n$/);
  });

  it('evaluates modules of a development server again, whose models and predictors stay loaded', async () => {
    const program = `
      let threads = 0;
      process.on('worker', () => (threads += 1));
      const predictors = new Set();
      for (let number = 0; number < 3; number += 1) {
        const { requestOf } = await import('./model-once.ts?' + number);
        const answer = await requestOf('My card is lost');
        const { predictor } = await import('./predictor-once.ts?' + number);
        predictors.add(predictor);
        console.log(answer.isOk() ? answer.value.label : answer.error);
      }
      const [predictor] = predictors;
      console.log(predictors.size, (await predictor.predictPretrained('sentiment-classification', 'Works')).isOk(), threads);
      process.exit();`;
    await writeFile(join(application, 'reloads.mjs'), program);
    expect(await output('reloads.mjs')).toMatch(/^(?:(?:card_arrival|card_lost|refund)\n){3}1 true \d\n$/);
  });

  it('is told which words moved an answer', async () => {
    const [answer, ...words] = (await output('explain.ts')).trimEnd().split('\n');
    expect(answer).toMatch(/^(anger|calm|joy) 0\.\d\d$/);
    expect(words).toHaveLength(3);
    for (const word of words) expect(word).toMatch(/^ {2}-?\d+\.\d\d \S+ at \d+$/);
  });

  it('asks several, and hears of one that it does not have beside the answers of the others', async () => {
    const [failure, ...answers] = (await output('medley.ts')).trimEnd().split('\n');
    const catalogue = join('orchard-nlp-models', 'catalogue');
    expect(failure).toContain('2 of 3 models answered; weather: no pretrained model "weather"');
    expect(failure).toContain(
      `${catalogue} has emotion-detection, financial-customer-support, sentiment-classification`,
    );
    expect(answers).toHaveLength(2);
    expect(answers[0]).toMatch(/^financial-customer-support: (card_arrival|card_lost|refund) 0\.\d\d$/);
    expect(answers[1]).toMatch(/^emotion-detection: (anger|calm|joy) 0\.\d\d$/);
  });

  it('labels the lines of a file', async () => {
    const [source, target] = [join(application, 'lines.txt'), join(application, 'labels.tsv')];
    await writeFile(source, 'it works\u2028well\nit broke\r\nit came');
    await output('stream.ts', source, target);
    const labels = (await readFile(target, 'utf8')).trimEnd().split('\n');
    expect(labels).toHaveLength(3);
    for (const label of labels) expect(label).toMatch(/^(anger|calm|joy)\t0\.\d{3}$/);
  });

  it('has spans of OpenTelemetry for a request and each of its stages', async () => {
    const spans = [...(await output('opentelemetry.ts')).matchAll(/^ {2}name: '(.*)'/gm)];
    const stages = ['queue', 'load', 'tokenize', 'run', 'decode', 'predict'];
    // A busy machine may answer the texts of a request in several batches.
    expect([...new Set(spans.map(([, name]) => name))]).toEqual(stages.map((stage) => `orchard.${stage}`));
  });

  it('may be of CommonJS', async () => {
    const script = `
      const { Predictor, memoryStorage } = require('orchard-nlp');
      const predictor = new Predictor({ storage: memoryStorage() });
      predictor.predictPretrained('emotion-detection', 'it').then((answer) => {
        console.log(answer._unsafeUnwrap().data.labels.toSorted().join(' '));
        return predictor.close();
      });`;
    await writeFile(join(application, 'application.cjs'), script);
    expect(await output('application.cjs')).toBe('anger calm joy\n');
  });
});

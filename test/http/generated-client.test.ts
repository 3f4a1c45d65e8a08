import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import { memoryStorage } from 'orchard-nlp';
import { accountServices, createHandler, hashedKeys, newApiKey, serve } from 'orchard-nlp/http';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sentimentRequest, temporaryFolder } from '../public/sentiments.js';

/** A client that a generator makes of /openapi.json: its types hold, and it drives the real service. */

const pathOf = (file: string) => fileURLToPath(new URL(`generated-client/${file}`, import.meta.url));
const { apiKey, stored } = newApiKey({ app_id: 'acme', tier: 'pro' });

let baseUrl: string;
let datasetUrl: string;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  const folder = await temporaryFolder();
  closing.push(() => rm(folder, { recursive: true }));
  const services = accountServices({
    storage: memoryStorage(),
    trainer: { allowPrivateAddresses: true },
    inference: { workers: 1 },
  });
  const handler = createHandler({ ...services, authenticate: hashedKeys([stored]) });
  const server = await serve(handler, { port: 0 });
  closing.push(
    () => services.close(),
    () => server.close(),
  );
  baseUrl = server.url;
  datasetUrl = await served(await anArchive(folder));
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function anArchive(folder: string): Promise<string> {
  await sentimentRequest(folder);
  return join(folder, 'sentiments.zip');
}

/** @returns the URL of a file on a web server of its own. */
async function served(file: string): Promise<string> {
  const { size } = await stat(file);
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/zip', 'content-length': size });
    createReadStream(file).pipe(response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closing.push(() => server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/sentiments.zip`;
}

const options: ts.CompilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  types: [],
};

/** Type-checks programs together with generated types. @returns the compiler's complaints about each, by its name. */
function complaints(types: string, programs: Readonly<Record<string, string>>): Map<string, string> {
  const sources = Object.entries({ ...programs, service: types });
  const files = new Map(sources.map(([name, text]) => [pathOf(`${name}.ts`), text]));
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.getSourceFile = (path, version, ...rest) => {
    const text = files.get(path);
    if (text === undefined) return getSourceFile(path, version, ...rest);
    return ts.createSourceFile(path, text, version, true);
  };
  const compiled = ts.createProgram([...files.keys()], options, host);
  return new Map(
    sources.map(([name]) => {
      const diagnostics = ts.getPreEmitDiagnostics(compiled, compiled.getSourceFile(pathOf(`${name}.ts`)));
      const messages = diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
      return [name, messages.join('\n')];
    }),
  );
}

describe('types generated from /openapi.json', () => {
  const mistakes = [
    ["type: 'binary-text-classification'", "type: 'poetry'", /'"poetry"' is not assignable/],
    ["query: 'the room was lovely'", 'query: 7', /'number' is not assignable to type 'string'/],
    ['batch_size: 16', "batch_size: '16'", /'string' is not assignable to type 'number'/],
    ['dataset_url: datasetUrl', 'dataset: datasetUrl', /'dataset' does not exist/],
    ['created.data.id', 'created.data.model_id', /'model_id' does not exist/],
    ['/trainer/language/models', '/trainer/language/model', /not assignable to parameter of type/],
  ] as const;

  let found: Map<string, string>;
  beforeAll(async () => {
    const types = astToString(await openapiTS(new URL('/openapi.json', baseUrl)));
    const right = ts.sys.readFile(pathOf('program.ts')) ?? '';
    const wrong = mistakes.map(([from, to], at) => [`mistake-${at}`, right.replace(from, to)]);
    found = complaints(types, { right, ...Object.fromEntries(wrong) });
  });

  it('let a program pass that keeps to the interface', () => {
    expect(found.get('right')).toBe('');
    expect(found.get('service')).toBe('');
  });

  it.each(mistakes.map((mistake, at) => [...mistake, at] as const))(
    'stop one that writes, in place of %s, %s',
    (_right, _wrong, complaint, at) => {
      expect(found.get(`mistake-${at}`)).toMatch(complaint);
    },
  );
});

it('the generated client creates a model, waits for it, asks it and deletes it', {
  timeout: 120_000,
}, async () => {
  // By a path that the compiler doesn't follow: it can check the program only next to the generated types.
  const { createWaitPredictDelete } = await import(pathOf('program.ts'));
  const { losses, ...answers } = await createWaitPredictDelete({ baseUrl, apiKey, datasetUrl });
  expect(losses).toHaveLength(2);
  expect(answers).toEqual({
    status: 'READY',
    label: expect.stringMatching(/^(positive|negative)$/),
    answers: 2,
    listed: ['reviews'],
    deleted: ['model.deleted'],
    gone: {
      status: 404,
      detail: [{ loc: ['path', 'model_id'], msg: expect.any(String), type: 'not_found' }],
    },
  });
});

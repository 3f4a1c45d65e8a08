import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Graph, onnxExecutor } from '../../src/graph/index.js';
import { checkOnnxFile } from '../../src/graph/onnx/check-onnx-file.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { toOnnx } from '../support/to-onnx.js';

/** Protobuf, written by hand: https://protobuf.dev/programming-guides/encoding */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
const number = (field: number, value: number) => Buffer.concat([varint(8 * field), varint(value)]);
const span = (field: number, ...content: (Buffer | string)[]) => {
  const bytes = Buffer.concat(content.map((each) => Buffer.from(each)));
  return Buffer.concat([varint(8 * field + 2), varint(bytes.length), bytes]);
};
const model = (...graph: Buffer[]) => Buffer.concat([number(1, 9), span(7, ...graph)]);
const entry = (key: string, value: string) => span(13, span(1, key), span(2, value));
const tensor = (...fields: Buffer[]) => span(5, ...fields);
const float = number(2, 1);
const external = (location: string, ...more: Buffer[]) =>
  model(tensor(number(1, 4), float, number(14, 1), entry('location', location), ...more));
const node = (...fields: Buffer[]) => span(1, span(4, 'If'), ...fields);

async function fileWith(bytes: Uint8Array): Promise<string> {
  const path = join(temporaryDirectory(), 'model.onnx');
  await writeFile(path, bytes);
  return path;
}

const refusal = async (bytes: Uint8Array) => {
  const path = await fileWith(bytes);
  const { file, reason } = await failureOf('model_folder', () => checkOnnxFile(path));
  expect(file).toBe(path);
  return reason;
};

describe('an ONNX file', () => {
  it('is read if it is one of ours, also through the executor', async () => {
    const graph = new Graph();
    const ids = graph.input('input_ids', 'int64', ['batch', 'tokens']);
    const table = graph.parameter('table', [300, 200]);
    graph.output('states', graph.gather(table, ids));
    const path = await fileWith(await toOnnx(graph, new Map([['table', new Float32Array(60_000)]])));
    expect(checkOnnxFile(path)).toBe((await readFile(path)).length);
    const loaded = await onnxExecutor().load(path);
    expect(loaded.bytes).toBe((await readFile(path)).length);
    await loaded.release();
  });

  it.each(['../../../etc/passwd', '/etc/passwd', '/dev/zero', '', 'C:\\x', 'nul'])(
    'has no data outside its folder: %j',
    async (location) => {
      expect(await refusal(external(location))).toMatch(/is not the name of a file inside the folder$/);
    },
  );

  it('may have data in a file of its folder, as long as that has it', async () => {
    const place = [entry('offset', '8'), entry('length', '16')];
    const path = await fileWith(external('data', ...place));
    await writeFile(join(path, '..', 'data'), new Uint8Array(24));
    expect(checkOnnxFile(path)).toBe((await readFile(path)).length);
    await writeFile(join(path, '..', 'data'), new Uint8Array(23));
    expect((await failureOf('model_folder', () => checkOnnxFile(path))).reason).toMatch(
      /at byte 8 of data, which has 23/,
    );
  });

  it('has no data behind a link that leads outside', async () => {
    const path = await fileWith(external('data'));
    await symlink('/dev/zero', join(path, '..', 'data'));
    const { reason } = await failureOf('model_folder', () => checkOnnxFile(path));
    expect(reason).toMatch(/a link to a place outside the folder/);
  });

  it.each<[string, Buffer, RegExp]>([
    [
      'a tensor of another size',
      model(tensor(number(1, 5), float, span(9, Buffer.alloc(16)))),
      /\[5\], with 16 bytes instead of 20/,
    ],
    [
      'a dimension without end',
      model(tensor(number(1, 0), number(1, 1e12), float)),
      /a tensor of the shape \[0, 1000000000000\]/,
    ],
    [
      'dimensions without end',
      model(tensor(...Array.from({ length: 5_000 }, () => number(1, 1)), float)),
      /too many dimensions/,
    ],
    [
      'an axis of two billion, at which the runtime crashes',
      model(node(span(5, span(1, 'axis'), number(3, 2 ** 31), number(20, 2)))),
      /an operation with the setting 2147483648/,
    ],
    ['axes without end', model(node(span(5, span(8, varint(1e12))))), /an operation with the setting 1000000000000/],
    ['a loop or a branch', model(node(span(5, span(6)))), /loops or branches/],
    ['operations of its own', Buffer.concat([model(), span(25)]), /operations of its own/],
    ['operations of somebody else', model(node(span(7, 'com.example'))), /operations of "com.example"/],
    ['sparse tensors', model(span(15)), /sparse/],
    ['no graph', number(1, 9), /has 0 graphs/],
    ['nothing', Buffer.alloc(0), /has 0 graphs/],
    ['a field that is longer than the file', Buffer.from([0x3a, 0xff, 0xff, 0xff, 0x7f]), /cut off/],
    ['a field beyond all numbers', Buffer.alloc(100, 0xff), /not part of a protobuf message/],
    ['zeros', Buffer.alloc(100), /0 graphs/],
  ])('is refused before the runtime sees it: %s', async (_, bytes, message) => {
    expect(await refusal(bytes)).toMatch(message);
  });

  it('is read in little more than no time where most of it is weights', async () => {
    const weights = new Uint8Array(64 * 1024 ** 2);
    const path = await fileWith(model(tensor(number(1, weights.length), number(2, 2), span(9, Buffer.from(weights)))));
    const before = process.memoryUsage().arrayBuffers;
    checkOnnxFile(path);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(weights.length);
  });
});

import { describe, expect, it } from 'vitest';
import { runtimeFailure } from '../../src/graph/onnx/runtime.js';

/** What is told where onnxruntime-node can't be loaded, by what loaders of systems say. */

const linux = { platform: 'linux', arch: 'x64' };
const binding = 'node_modules/onnxruntime-node/bin/napi-v6/linux/x64/onnxruntime_binding.node';

describe('a runtime that cannot be loaded', () => {
  it.each([
    [
      "Cannot find module 'onnxruntime-node'\nRequire stack:\n- /app/out/app.cjs",
      /the package is not installed .*npm install --ignore-scripts onnxruntime-node.*\(external\)/,
    ],
    [
      "Cannot find module '../bin/napi-v6/darwin/x64/onnxruntime_binding.node'",
      /onnxruntime has no binary for this platform \(darwin x64\)/,
    ],
    [
      'Error loading shared library ld-linux-x86-64.so.2: No such file or directory (needed by /app/libonnxruntime.so.1)',
      /no binary for this platform \(linux x64 with musl, as in Alpine\); use .*node:22-slim/,
    ],
    [`Error relocating /app/${binding}: __strdup: symbol not found`, /with musl/],
    [
      `/lib/x86_64-linux-gnu/libc.so.6: version \`GLIBC_2.28' not found (required by /app/libonnxruntime.so.1)`,
      /too old\); use a newer system: glibc 2\.28/,
    ],
    [
      'libonnxruntime.so.1: cannot open shared object file: No such file or directory',
      /is missing; copy the whole folder/,
    ],
    [
      'libstdc++.so.6: cannot open shared object file: No such file or directory',
      /lacks the C\+\+ library; install it/,
    ],
    ['something new', /can't be loaded on linux x64: something new/],
  ])('of which the loader says %s', (message, expected) => {
    const machine = message.includes('darwin') ? { platform: 'darwin', arch: 'x64' } : linux;
    const error = runtimeFailure(new Error(message), machine);
    expect(error).toMatchObject({ code: 'installation', missing: 'onnxruntime-node' });
    expect(error.message).toMatch(expected);
  });
});

/**
 * Loaded into every thread of a process by `--import`. When a thread ends, it appends to the file
 * $PROTOTYPE_CHANGES what was added to the language's own objects, or replaced in them, meanwhile.
 */
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const roots = {
  Object,
  Function,
  Array,
  String,
  Number,
  Boolean,
  Symbol,
  BigInt,
  RegExp,
  Date,
  Map,
  Set,
  WeakMap,
  WeakSet,
  Promise,
  Error,
  TypeError,
  RangeError,
  ArrayBuffer,
  SharedArrayBuffer,
  DataView,
  Float32Array,
  Uint8Array,
  Int32Array,
  BigInt64Array,
  JSON,
  Math,
  Reflect,
  TypedArray: Object.getPrototypeOf(Uint8Array),
  ArrayIterator: Object.getPrototypeOf([].values()),
  Iterator: Object.getPrototypeOf(Object.getPrototypeOf([].values())),
};

/** Every object that can be reached from the roots, under a path that leads to it. */
function reached() {
  const found = new Map();
  const visit = (value, path) => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || found.has(value)) return;
    found.set(value, path);
    for (const [key, { value: inner, get, set }] of propertiesOf(value)) {
      for (const each of [inner, get, set]) visit(each, `${path}.${String(key)}`);
    }
  };
  for (const [name, root] of Object.entries(roots)) visit(root, name);
  return found;
}

function propertiesOf(object) {
  return Reflect.ownKeys(object).map((key) => [key, Reflect.getOwnPropertyDescriptor(object, key)]);
}

const before = new Map(
  [...reached()].map(([object, path]) => [object, { path, properties: new Map(propertiesOf(object)) }]),
);

/** Settings of V8 that are made to be set. */
const settings = new Set(['Error.stackTraceLimit', 'Error.prepareStackTrace']);

function changes() {
  const found = [];
  for (const [object, { path, properties }] of before) {
    for (const [key, { value, get, set }] of propertiesOf(object)) {
      const name = `${path}.${String(key)}`;
      const old = properties.get(key);
      if (settings.has(name)) continue;
      if (old === undefined) found.push(`${name} was added`);
      else if (!Object.is(old.value, value) || old.get !== get || old.set !== set) found.push(`${name} was replaced`);
    }
  }
  return found;
}

process.on('exit', () => {
  const where = isMainThread ? 'main thread' : 'worker thread';
  const lines = [`${where} watched`, ...changes().map((change) => `${where}: ${change}`)];
  appendFileSync(process.env.PROTOTYPE_CHANGES, `${lines.join('\n')}\n`);
});

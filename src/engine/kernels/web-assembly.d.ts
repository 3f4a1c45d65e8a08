// The part of the WebAssembly JavaScript API that the kernels use. TypeScript declares it in lib.dom only,
// and
// @types/node 20 not at all.
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum?: number });
    readonly buffer: ArrayBuffer;
  }

  class Module {
    constructor(bytes: Uint8Array);
  }

  class Instance {
    constructor(module: Module, imports: Record<string, Record<string, Memory | ((value: number) => number)>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
}

/** Messages between the process of a bench and that of its service. */

/** What the service is to serve; the first message to it. */
export interface Serve {
  readonly type: 'serve';
  readonly folder: string;
  readonly app_id: string;
  /** The id of a custom model in the folder, or the name of a pretrained one. */
  readonly model: { readonly id: string } | { readonly name: string };
  readonly workers: number;
  /** A folder of pretrained models. Default: the catalogue. */
  readonly pretrained?: string;
}

/** Calls the library itself, in the service's process and with the model that the service has loaded. */
export interface AskLibrary {
  readonly type: 'ask';
  readonly query: string;
  /** Calls under way at the same time. */
  readonly connections: number;
  readonly seconds: number;
}

export type Command = Serve | AskLibrary | { readonly type: 'memory' } | { readonly type: 'close' };

export type Reply =
  | {
      readonly type: 'serving';
      readonly url: string;
      readonly path: string;
      readonly apiKey: string;
      /** A server of Node's alone, with the same model. */
      readonly bareUrl: string;
    }
  | ({ readonly type: 'answered' } & Load)
  | { readonly type: 'memory'; readonly residentMebibytes: number };

/** The outcome of asking for a while. */
export interface Load {
  readonly requestsPerSecond: number;
  /** Of each request, in milliseconds. */
  readonly latencies: readonly number[];
}

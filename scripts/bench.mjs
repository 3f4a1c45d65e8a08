/**
 * Runs a bench: `npm run bench -- <name> [args]`, after the build where that is missing or older than the sources.
 * Without a name, lists the benches.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Each is bench/<name>.ts, whose first comment lists its arguments. */
export const BENCHES = {
  accuracy: 'accuracy of trained models on real datasets, compared with linear models, CRF and BM25',
  adapters: 'time and memory of training adapters, compared with training the whole backbone',
  backbone: "sentence vectors of other libraries' checkpoints, compared with sentence-transformers",
  backbones: 'accuracy of pretrained encoders after fine-tuning on six datasets',
  'bare-search': 'ranking and scores of search without training',
  browser: 'first answer and answers per second of a page in Chromium',
  bundlers: 'what each bundler makes of an application with the package',
  catalogue: 'test figures, size and speed of the pretrained models',
  'changed-ranking': 'whether a changed index of passages ranks as a new one',
  'changing-index': 'time to build, change and open an index of passages, compared with MiniSearch',
  contention: 'time of a training step while other processes use the CPU',
  crf: 'F1 of the CRF alone',
  devices: 'training speed of the CPU and of each GPU interface',
  distill: 'a student of a teacher: soft targets, drawn labels, chosen texts, size and speed',
  drift: 'how often model.drift gives an alarm, for texts of the same source, mixed and foreign ones',
  endings: 'exit codes of processes that end while a model is loaded or asked',
  evaluation: 'figures of model.evaluate, compared with scikit-learn and seqeval',
  explain: 'whether explanations name the words that change an answer',
  'few-shot': 'accuracy with few rows and finding label errors, compared with scikit-learn and SetFit',
  'first-step': 'time from a call of train to its first step; give built clones to compare',
  'first-answer': 'time from import to the first answer, compared with transformers.js',
  history: 'relative speed of this commit, added to bench/history/history.jsonl',
  'hot-reload': 'memory and threads while a model is loaded again and again without being closed',
  http: 'requests per second and time that HTTP adds to a call',
  inference: 'texts per second, latency and memory, compared with transformers.js',
  interop: "tokens, logits and vectors, compared with Python's libraries",
  kernels: 'throughput of each kernel, compared with a JavaScript loop',
  labelling: 'accuracy after labelling suggested texts, compared with random texts',
  lexical: 'accuracy and time of the lexical model alone, compared with scikit-learn',
  places:
    'a small program in every kind of process: other runtimes, hardened ones, without a temporary folder or a home',
  postgres: 'time of lists and new jobs in a database with millions of jobs',
  quantization: 'speed of an encoder with 8-bit weights, compared with float32',
  rerank: 'ranking by a cross-encoder of our own, trained on pairs of questions and passages',
  'replaced-folder': 'answers, cards and copies of models whose folder is replaced while they are loaded',
  robustness: 'accuracy of the pretrained models on typos, tweets and other domains',
  rules: 'time of rules next to a model: patterns, and up to 200,000 terms',
  scaling: 'jobs per minute of several trainer processes on one database',
  schemathesis: 'answers of the HTTP service, checked against its OpenAPI document',
  scores: 'calibration of scores where evidence is thin',
  search: 'time of vector search and BM25 over 100,000 passages',
  'shared-encoder': 'accuracy with one encoder for many models',
  stalls: 'how long each public function keeps the thread of an application from other work',
  storage: 'time of lists and new jobs in a file storage with many jobs',
  'time-to-accuracy': 'accuracy and training time, compared with other libraries',
  tokenizer: 'texts per second of the tokenizer, compared with two other libraries',
  'tokenizer-agreement': 'token ids and places, compared with the Rust tokenizers',
  training: 'time of a training step, compared with PyTorch',
  web: 'orchard-nlp/web: sizes, speed compared with onnxruntime-web, answers compared with Node, start, memory',
  versions: 'how soon processes follow a promotion, and what a name and a shadow add to an answer',
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name, ...args] = process.argv.slice(2);
  if (name === undefined || !Object.hasOwn(BENCHES, name)) {
    const lines = Object.entries(BENCHES).map(([each, measures]) => `  ${each.padEnd(20)} ${measures}`);
    const problem = name === undefined ? '' : `There is no bench "${name}".\n`;
    console.error(`${problem}Usage: npm run bench -- <name> [args]\n\n${lines.join('\n')}`);
    process.exit(2);
  }
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const run = (...words) => {
    const { status } = spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
  };
  run('scripts/prepare.mjs');
  run('--import', 'tsx', join('bench', `${name}.ts`), ...args);
}

/** `npx tsx models/recipes/english-mini/main.ts <step> …`: README.md beside this file says what each step does. */
import { parseArgs } from 'node:util';
import { bertConfigOfSize } from '../../../src/encoder/index.js';
import { onnxExecutor } from '../../../src/graph/index.js';
import { englishTokenizer, loadTokenizer } from '../../../src/tokenizer/index.js';
import { checkBackbone } from './check/check-backbone.js';
import { makeCorpus } from './corpus/make-corpus.js';
import { makeEmbeddings } from './embeddings/make-embeddings.js';
import { exportBackbone } from './export-backbone.js';
import { anneal, distil } from './student/distil.js';
import { makeStudent } from './student/make-student.js';
import { computeTargets } from './teacher/compute-targets.js';
import { Teacher } from './teacher/load-teacher.js';
import { WorkFolder } from './work-folder.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    work: { type: 'string' },
    datasets: { type: 'string' },
    teacher: { type: 'string' },
    threads: { type: 'string', default: '2' },
    texts: { type: 'string', default: '200000' },
    minutes: { type: 'string', default: '30' },
    steps: { type: 'string', default: '1000' },
    tasks: { type: 'string', default: 'banking77_10,sst2' },
    start: { type: 'string', default: 'annealed' },
  },
});
const threads = Number(values.threads);

function given(name: 'work' | 'datasets' | 'teacher'): string {
  const value = values[name];
  if (value === undefined) throw new Error(`give --${name} <folder>`);
  return value;
}

const steps: Readonly<Record<string, (work: WorkFolder) => Promise<void>>> = {
  corpus: async (work) => makeCorpus(given('datasets'), work),
  embeddings: (work) => makeEmbeddings(work, bertConfigOfSize('mini', 1).hidden_size, threads),
  async targets(work) {
    const teacher = await Teacher.load(given('teacher'), onnxExecutor(), threads);
    const student = loadTokenizer(englishTokenizer())._unsafeUnwrap();
    await computeTargets(work, teacher, student, Number(values.texts));
    await teacher.release();
  },
  async distil(work) {
    const student = await makeStudent(work, threads);
    await distil(student, work, Number(values.minutes));
    await student.release();
  },
  async anneal(work) {
    const student = await makeStudent(work, threads);
    await anneal(student, work, Number(values.steps));
    await student.release();
  },
  export: async (work) => exportBackbone(work),
  check: (work) =>
    checkBackbone(work, {
      datasets: given('datasets'),
      tasks: values.tasks.split(','),
      start: values.start,
      threads,
    }),
};

const [step = ''] = positionals;
const run = steps[step];
if (run === undefined) throw new Error(`name one step: ${Object.keys(steps).join(', ')}`);
await run(new WorkFolder(given('work')));

import { MultiBar, Presets } from 'cli-progress';
import type { Blend, PartFigures, TrainingEvent, TrainingStats } from 'orchard-nlp';
import pc from 'picocolors';
import type { DemoTask } from './tasks.js';

const FORMAT = '  {bar} {percentage} %  {phase}  epoch {epoch}/{epochs}  loss {loss}  {left}';

/** Follows a job to its end: a bar with the time left, and a line for each epoch that stays above it. */
export async function showTraining(events: AsyncIterable<TrainingEvent>, task: DemoTask): Promise<void> {
  const bars = new MultiBar({ format: FORMAT, clearOnComplete: true, hideCursor: true }, Presets.shades_classic);
  const print = (line: string) => (process.stderr.isTTY ? bars.log(`${line}\n`) : console.log(line));
  const bar = bars.create(100, 0, { phase: 'start', epoch: 0, epochs: '?', loss: '–', left: '' });
  for await (const event of events) {
    if (event.type === 'progress') {
      bar.update(Math.round(100 * event.fraction), {
        phase: event.phase,
        epoch: event.epoch,
        epochs: event.epochs,
        loss: event.loss?.toFixed(3) ?? '–',
        left: event.remainingMs === undefined ? '' : `${Math.ceil(event.remainingMs / 1000)} s left`,
      });
    } else if (event.type === 'epoch') print(epochLine(event.stats));
    else if (event.type === 'blend') print(blendLine(event.parts, task));
    else if (event.type === 'warnings') {
      for (const { message } of event.warnings) print(pc.yellow(`  note: ${message}`));
    }
  }
  bars.stop();
}

function epochLine({ epoch, metrics }: TrainingStats): string {
  const { accuracy, f1, topk } = metrics.validation;
  const figures: [string, number | undefined][] = [
    ['loss', metrics.training.loss.at(-1)],
    ['accuracy', accuracy?.at(-1)],
    ['f1', f1?.at(-1)],
    ['top-1', topk?.at(-1)?.[1]],
    ['top-5', topk?.at(-1)?.[5]],
  ];
  return [
    `  epoch ${String(epoch).padStart(2)}`,
    ...figures.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value.toFixed(3)}`])),
    pc.dim(`${metrics.elapsed_time.at(-1)?.toFixed(1) ?? '–'} s`),
  ].join('  ');
}

/** What the two experts reach on the held-out rows, alone and together. */
function blendLine({ encoder, expert, blend }: Blend, task: DemoTask): string {
  const percent = (part: PartFigures) => `${(100 * figureOf(part, task)).toFixed(1)} %`;
  const alone = `encoder ${percent(encoder)}, ${task.expert} ${percent(expert)}`;
  return `  ${task.metric}: ${alone}, ${pc.bold(`blended ${percent(blend)}`)}`;
}

function figureOf({ accuracy, f1, topk }: PartFigures, { metric }: DemoTask): number {
  return { accuracy, f1, 'top-1': topk?.[1] }[metric] ?? 0;
}

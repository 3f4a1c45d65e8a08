import { MultiBar, Presets } from 'cli-progress';
import type { Blend, TrainingEvent } from 'orchard-nlp';
import pc from 'picocolors';

const FORMAT = '  {bar} {percentage} %  {phase}  epoch {epoch}/{epochs}  loss {loss}  {left}';

/** Follows a job to its end: a bar with the time left, and a line for each epoch that stays above it. */
export async function showTraining(events: AsyncIterable<TrainingEvent>): Promise<void> {
  const bars = new MultiBar(
    { format: FORMAT, clearOnComplete: true, hideCursor: true },
    Presets.shades_classic,
  );
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
    else if (event.type === 'blend') print(blendLine(event.parts));
    else if (event.type === 'warnings') {
      for (const { message } of event.warnings) print(pc.yellow(`  note: ${message}`));
    }
  }
  bars.stop();
}

function epochLine({ epoch, metrics }: Extract<TrainingEvent, { type: 'epoch' }>['stats']): string {
  const last = (values: readonly number[] | undefined, digits: number) =>
    values?.at(-1)?.toFixed(digits) ?? '–';
  return [
    `  epoch ${String(epoch).padStart(2)}`,
    `loss ${last(metrics.training.loss, 3)}`,
    `accuracy ${last(metrics.validation.accuracy, 3)}`,
    `f1 ${last(metrics.validation.f1, 3)}`,
    pc.dim(`${last(metrics.elapsed_time, 1)} s`),
  ].join('  ');
}

/** What the two experts reach on the held-out rows, alone and together. */
function blendLine({ encoder, expert, blend }: Blend): string {
  const percent = ({ accuracy = 0 }: Blend['blend']) => `${(100 * accuracy).toFixed(1)} %`;
  return `  accuracy: encoder ${percent(encoder)}, n-grams ${percent(expert)}, ${pc.bold(`blended ${percent(blend)}`)}`;
}

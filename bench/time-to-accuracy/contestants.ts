import { basename, dirname, join, resolve } from 'node:path';
import { folderModels, type ModelConfig, type TrainerOptions, type Tuning } from 'orchard-nlp';

/** Trains through Orchard's public API. */
export interface OrchardContestant {
  readonly kind: 'orchard';
  readonly name: string;
  readonly size: ModelConfig['size'];
  readonly start?: Pick<TrainerOptions, 'backbone' | 'modelLoader'>;
  readonly tuning: Tuning;
}

/** Another library, in Python. */
export interface PythonContestant {
  readonly kind: 'trainer' | 'setfit' | 'fasttext' | 'scikit-learn';
  readonly name: string;
  /** Folder of the checkpoint to start from, for those that do. */
  readonly weights?: string;
}

export type Contestant = OrchardContestant | PythonContestant;

/** Folder of Orchard's own backbones. */
const BACKBONES = join(import.meta.dirname, '../../models/backbones');
const OWN = ['mini', 'base'] as const;

/** @param folders of further checkpoints to fine-tune. */
export function contestants(folders: readonly string[]): Contestant[] {
  const own = OWN.map((size) => ({ name: size, folder: join(BACKBONES, `english-${size}`), size }));
  const given = folders.map((folder) => ({
    name: basename(resolve(folder)),
    folder: resolve(folder),
    size: 'base' as const,
  }));
  return [
    { kind: 'scikit-learn', name: 'scikit-learn' },
    { kind: 'fasttext', name: 'fastText' },
    ...[...own, ...given].flatMap(({ name, folder, size }): Contestant[] => [
      { kind: 'orchard', name: `Orchard, ${name}`, size, start: startFrom(folder), tuning: {} },
      {
        kind: 'orchard',
        name: `Orchard with adapters, ${name}`,
        size,
        start: startFrom(folder),
        tuning: { adapters: {} },
      },
      { kind: 'trainer', name: `Hugging Face Trainer, ${name}`, weights: folder },
      { kind: 'setfit', name: `SetFit, ${name}`, weights: folder },
    ]),
  ];
}

const startFrom = (folder: string) => ({
  backbone: basename(folder),
  modelLoader: folderModels(dirname(folder)),
});

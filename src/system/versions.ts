import packageJson from '../../package.json' with { type: 'json' };

/** Of this library. */
export const { version } = packageJson;

/** Versions of the software that a training runs on, by name; stored with the model. */
export const runtimeVersions = (): Record<string, string> => ({
  'orchard-nlp': version,
  node: process.versions.node,
  platform: `${process.platform} ${process.arch}`,
});

import modelsPackage from '../../models/package.json' with { type: 'json' };

/** The version of the package `orchard-nlp-models` whose files this library knows. */
export const MODELS_VERSION = modelsPackage.version;

/** Path, size and SHA-256 of each file of each model; loaded when it is asked for, since answering needs none of it. */
export async function readManifest() {
  const { default: manifest } = await import('../../models/manifest.json', { with: { type: 'json' } });
  return manifest;
}

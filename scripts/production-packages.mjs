/** Which packages of the lock file an application gets with Orchard. */

/** Development dependencies, and theirs, that the build puts into dist, so that they come along too. */
export const BUNDLED = [
  '@hono/node-server',
  'commander',
  'd3-array',
  'd3-color',
  'd3-format',
  'd3-interpolate',
  'd3-path',
  'd3-scale',
  'd3-shape',
  'eventsource-parser',
  'hono',
  'jsonc-parser',
  'lru-cache',
  'swagger-ui-dist',
  'uplot',
  'uuid',
];

/**
 * The packages that the root's dependencies lead to, and the bundled ones. npm's own `--omit=dev` loses those that a
 * development dependency wants too.
 * @param lock the parsed package-lock.json, version 3
 * @returns by path in node_modules: { name, version, licence, integrity, hasInstallScript }
 */
export function productionPackages({ packages }) {
  const found = new Map();
  const add = (path) => {
    const entry = packages[path];
    if (entry === undefined || entry.link || found.has(path)) return [];
    const { version, license: licence = 'none', integrity, hasInstallScript = false } = entry;
    found.set(path, { name: nameOf(path), version, licence, integrity, hasInstallScript });
    return wanted(entry).map((name) => resolved(packages, path, name));
  };
  const { dependencies } = packages[''];
  const paths = Object.keys(dependencies).map((name) => `node_modules/${name}`);
  for (const path of paths) paths.push(...add(path));
  // What a bundled package depends on is bundled with it, or isn't needed.
  for (const name of BUNDLED) add(`node_modules/${name}`);
  return found;
}

const nameOf = (path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

function wanted({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta }) {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  return [...Object.keys(dependencies ?? {}), ...Object.keys(optionalDependencies ?? {}), ...peers];
}

/** Where Node finds a package from inside another one: the nearest node_modules that has it. */
function resolved(packages, path, name) {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const candidate = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (packages[candidate] !== undefined || folder === '') return candidate;
  }
}

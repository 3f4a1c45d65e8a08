import { changelogProblems, sectionsOf } from './changelog.mjs';

/**
 * What stands in the way of a release, in words; nothing if it may go.
 * @param state.library, state.models the two package.json; @param state.manifest models/manifest.json
 * @param state.lock package-lock.json; @param state.changelog CHANGELOG.md
 * @param state.tag what the release is made of; undefined: not looked at
 * @param state.changedFiles files that are in no commit
 */
export function releaseProblems({ library, models, manifest, lock, changelog, tag, changedFiles }) {
  const { version } = library;
  const [newest] = sectionsOf(changelog);
  const range = library.peerDependencies?.[models.name];
  return [
    ...changelogProblems(changelog, version).map((problem) => `CHANGELOG.md: ${problem}`),
    ...said(newest?.date === undefined, `CHANGELOG.md: ${version} is not yet released; give it its date`),
    ...said(!repositoryOf(library), 'package.json has no repository, which provenance is checked against'),
    ...said(!repositoryOf(models), 'models/package.json has no repository, which provenance is checked against'),
    ...said(lock.packages[''].version !== version, 'package-lock.json is of another version: npm install'),
    ...said(manifest.version !== models.version, 'models/manifest.json is of another version: npm run models:manifest'),
    ...said(range !== `^${models.version}`, `${models.name} is ${models.version}, but the library asks for ${range}`),
    ...said(tag !== undefined && tag !== `v${version}`, `the tag is ${tag}, but the version v${version}`),
    ...said(changedFiles.length > 0, `in no commit: ${changedFiles.join(', ')}`),
  ];
}

const said = (isProblem, problem) => (isProblem ? [problem] : []);
const repositoryOf = ({ repository }) => repository?.url ?? repository;

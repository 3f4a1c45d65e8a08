/**
 * The licences under which a backbone may read texts: all of them let anybody use the texts, for money too, and tell
 * what they ask for in return. A source under other terms, or under none that its publisher states, can't be listed.
 */
interface Licence {
  /** What it asks of whoever passes the texts on. */
  readonly asks: 'nothing' | 'credit' | 'credit, and the same licence';
  readonly url: string;
}

export const licences = {
  'public domain': { asks: 'nothing', url: 'https://creativecommons.org/publicdomain/mark/1.0/' },
  'CC0 1.0': { asks: 'nothing', url: 'https://creativecommons.org/publicdomain/zero/1.0/' },
  'CC BY 2.0': { asks: 'credit', url: 'https://creativecommons.org/licenses/by/2.0/' },
  'CC BY 2.5': { asks: 'credit', url: 'https://creativecommons.org/licenses/by/2.5/' },
  'CC BY 4.0': { asks: 'credit', url: 'https://creativecommons.org/licenses/by/4.0/' },
  'CC BY-SA 3.0': {
    asks: 'credit, and the same licence',
    url: 'https://creativecommons.org/licenses/by-sa/3.0/',
  },
  'CC BY-SA 4.0': {
    asks: 'credit, and the same licence',
    url: 'https://creativecommons.org/licenses/by-sa/4.0/',
  },
  'Apache-2.0': { asks: 'credit', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  MIT: { asks: 'credit', url: 'https://opensource.org/license/mit' },
  'MASC, unrestricted': { asks: 'nothing', url: 'https://anc.org/data/masc/' },
} as const satisfies Readonly<Record<string, Licence>>;

export type LicenceName = keyof typeof licences;

/**
 * The licence of a source, checked at run time too, since the recipes run without the type checker.
 * @throws Error if it is none of {@link licences}, or nobody is credited.
 */
export function requireLicence(source: {
  readonly name: string;
  readonly licence: string;
  readonly credit: string;
}): LicenceName {
  const found = licenceNames().find((name) => name === source.licence);
  if (found === undefined) {
    const known = licenceNames().join(', ');
    const problem = `its licence "${source.licence}" isn't one that allows every use (${known})`;
    throw new Error(`source ${source.name}: ${problem}; leave the source out`);
  }
  if (source.credit.trim() === '') throw new Error(`source ${source.name}: it credits nobody`);
  return found;
}

function licenceNames(): LicenceName[] {
  const isName = (name: string): name is LicenceName => Object.hasOwn(licences, name);
  return Object.keys(licences).filter(isName);
}

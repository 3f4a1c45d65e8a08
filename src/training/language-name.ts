const options = { type: 'language', fallback: 'none', languageDisplay: 'standard' } as const;
/** Created on first use: it takes milliseconds that a mere prediction needn't wait for. */
let names: Intl.DisplayNames | undefined;

/** The English name of a language in lower case: `English `, `en` and `en-GB` are all `english`. */
export function languageName(written: string): string {
  const plain = written.trim().toLowerCase();
  const [code = ''] = plain.split(/[-_]/u);
  names ??= new Intl.DisplayNames(['en'], options);
  return (/^[a-z]{2,3}$/u.test(code) ? names.of(code)?.toLowerCase() : undefined) ?? plain;
}

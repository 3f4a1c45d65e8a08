const names = new Intl.DisplayNames(['en'], {
  type: 'language',
  fallback: 'none',
  languageDisplay: 'standard',
});

/** A language by its English name in lower case: `English `, `en` and `en-GB` are all `english`. */
export function languageName(written: string): string {
  const plain = written.trim().toLowerCase();
  const [code = ''] = plain.split(/[-_]/u);
  return (/^[a-z]{2,3}$/u.test(code) ? names.of(code)?.toLowerCase() : undefined) ?? plain;
}

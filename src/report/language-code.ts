const letters = [...'abcdefghijklmnopqrstuvwxyz'];

/**
 * The ISO 639-1 code of a language, which is given by its English name or by the code itself; undefined if
 * there is none. The names are those of Unicode's CLDR, which is part of Node.
 */
export function languageCode(language: string): string | undefined {
  const wanted = language.trim().toLowerCase();
  const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  return codes.find((code) => {
    const name = names.of(code)?.toLowerCase();
    return name !== undefined && (code === wanted || name === wanted);
  });
}

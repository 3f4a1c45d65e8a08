const letters = [...'abcdefghijklmnopqrstuvwxyz'];

/**
 * The ISO 639-1 code of a language that is given by its English name or by the code itself; undefined where there is none.
 * The names are Unicode's (CLDR), which Node carries.
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

/** Longest name of a file within a folder, its own folders included. */
const MAX_NAME_CHARACTERS = 1024;
/** Drives and NTFS streams have a colon, Windows' separator is a backslash. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused.
const REFUSED_CHARACTERS = /[\u0000-\u001f\\:*?"<>|]/;
/** What Windows takes for a device, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/** Whether a name, with `/` between its parts, can only mean a file inside the folder, on every platform. */
export function isInnerName(name: string): boolean {
  if (name.length > MAX_NAME_CHARACTERS || REFUSED_CHARACTERS.test(name)) return false;
  return name
    .split('/')
    .every((part) => part !== '' && !/[. ]$/.test(part) && !part.startsWith(' ') && !DEVICE.test(part));
}

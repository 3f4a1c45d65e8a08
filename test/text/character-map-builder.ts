/** Makes SentencePiece's `precompiled_charsmap` of a list of rules, as sentencepiece does when it trains a model. */

interface Node {
  readonly children: Map<number, Node>;
  /** Where its form begins; undefined if no rule ends here. */
  form?: number;
}

const BLOCK = 256;
const HAS_VALUE = 1 << 8;
const VALUE = 0x80000000;

/** A Darts double array with a block of its own for the children of each node. @returns base64. */
export function characterMap(rules: readonly (readonly [from: string, to: string])[]): string {
  const root: Node = { children: new Map() };
  const forms: Buffer[] = [];
  let length = 0;
  for (const [from, to] of rules) {
    let node = root;
    for (const byte of Buffer.from(from)) {
      const child: Node = node.children.get(byte) ?? { children: new Map() };
      node.children.set(byte, child);
      node = child;
    }
    node.form = length;
    const form = Buffer.from(`${to}\0`);
    forms.push(form);
    length += form.length;
  }
  const units = unitsOf(root);
  const trie = Buffer.alloc(4 * units.length + 4);
  trie.writeUInt32LE(4 * units.length);
  for (const [at, unit] of units.entries()) trie.writeUInt32LE(unit >>> 0, 4 + 4 * at);
  return Buffer.concat([trie, ...forms]).toString('base64');
}

function unitsOf(root: Node): number[] {
  const units: number[] = [];
  let blocks = 1;
  const place = (node: Node, at: number, label: number): void => {
    const children = BLOCK * blocks++;
    while (units.length < BLOCK * blocks) units.push(0);
    units[at] = label | ((children ^ at) << 10) | (node.form === undefined ? 0 : HAS_VALUE);
    if (node.form !== undefined) units[children] = VALUE | node.form;
    for (const [byte, child] of node.children) place(child, children ^ byte, byte);
  };
  place(root, 0, 0);
  return units;
}

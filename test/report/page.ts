import { type DefaultTreeAdapterTypes, parse } from 'parse5';

type Node = DefaultTreeAdapterTypes.ChildNode | DefaultTreeAdapterTypes.Document;
export type Element = DefaultTreeAdapterTypes.Element;

/** A page as a browser reads it. */
export interface Page {
  elements(tag: string): Element[];
  readonly all: Element[];
}

export function readPage(source: string): Page {
  const all = elementsUnder(parse(source));
  return { all, elements: (tag) => all.filter(({ tagName }) => tagName === tag) };
}

function elementsUnder(node: Node): Element[] {
  const children = 'childNodes' in node ? node.childNodes.flatMap(elementsUnder) : [];
  return 'tagName' in node ? [node, ...children] : children;
}

export function textOf(node: Node): string {
  if (node.nodeName === '#text' && 'value' in node) return node.value;
  return 'childNodes' in node ? node.childNodes.map(textOf).join('') : '';
}

/** The cells of every row of tables that have this column. */
export function rowsUnder(page: Page, column: string): string[][] {
  const tables = page
    .elements('table')
    .filter((table) =>
      elementsUnder(table).some(({ tagName, ...cell }) => tagName === 'th' && textOf({ tagName, ...cell }) === column),
    );
  return tables.flatMap((table) =>
    elementsUnder(table)
      .filter(({ tagName }) => tagName === 'tr')
      .slice(1)
      .map((row) =>
        elementsUnder(row)
          .filter(({ tagName }) => tagName === 'td' || tagName === 'th')
          .map(textOf),
      ),
  );
}

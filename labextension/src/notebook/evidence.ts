import { Cell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';

/** A place in a notebook: a cell, one of its outputs (null: its source), and the text there. */
export interface IPlace {
  cell: string | null;
  output: number | null;
  text: string;
  line: string;
}

export const CITED = 'reclaim-cited';
export const FOUND = 'reclaim-found';

/** Put a cell into view; false when the notebook has none of that id. */
export async function reveal(panel: NotebookPanel, id: string): Promise<Cell | null> {
  const notebook = panel.content;
  const index = notebook.widgets.findIndex(cell => cell.model.id === id);
  if (index < 0) {
    return null;
  }
  notebook.activeCellIndex = index;
  notebook.mode = 'command';
  await notebook.scrollToItem(index, 'smart');
  const cell = notebook.widgets[index];
  await cell.ready;
  // The windowed list attaches what has come into view with the next frames.
  for (let frame = 0; frame < 10 && !cell.node.isConnected; frame++) {
    await new Promise(done => requestAnimationFrame(done));
  }
  return cell;
}

/**
 * Go to a place and mark its text. Nothing of the document is changed: the browser paints the text.
 * Returns what was found: the text itself, the output, the cell, or nothing.
 */
export async function jump(panel: NotebookPanel, place: IPlace): Promise<'text' | 'output' | 'cell' | null> {
  if (place.cell === null) {
    return null;
  }
  const cell = await reveal(panel, place.cell);
  if (cell === null) {
    return null;
  }
  const node = nodeOf(cell, place.output);
  const range = node === null ? null : rangeOf(node, place);
  paint(FOUND, range === null ? [] : [range]);
  const shown = range?.startContainer.parentElement ?? node;
  shown?.scrollIntoView({ block: 'center', inline: 'nearest' });
  flash(range === null && node !== null ? node : cell.node);
  return range !== null ? 'text' : node !== null ? 'output' : 'cell';
}

/** Mark the cited texts of the cells that are in view. */
export function markCited(panel: NotebookPanel, places: IPlace[]): void {
  const cells = new Map(panel.content.widgets.map(cell => [cell.model.id, cell]));
  const ranges: Range[] = [];
  for (const place of places) {
    const cell = place.cell === null ? undefined : cells.get(place.cell);
    if (!cell || !cell.node.isConnected) {
      continue;
    }
    const node = nodeOf(cell, place.output);
    const range = node === null ? null : rangeOf(node, place);
    if (range !== null) {
      ranges.push(range);
    }
  }
  paint(CITED, ranges);
}

/** Take the marks away. */
export function clearMarks(): void {
  paint(CITED, []);
  paint(FOUND, []);
}

function nodeOf(cell: Cell, output: number | null): HTMLElement | null {
  if (output === null) {
    return cell.node.querySelector<HTMLElement>('.cm-content');
  }
  const outputs = cell.node.querySelectorAll<HTMLElement>('.jp-Cell-outputArea > .jp-OutputArea-child');
  return outputs[output] ?? null;
}

/** The text of a place inside a node: the text within its line where the line is there, else the text alone. */
export function rangeOf(node: Node, place: { text: string; line: string }): Range | null {
  const texts: { node: Text; start: number }[] = [];
  let whole = '';
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode as Text;
    texts.push({ node: text, start: whole.length });
    whole += text.data;
  }
  const found = locate(whole, place);
  if (found === null) {
    return null;
  }
  const at = (offset: number, end: boolean) => {
    for (let index = texts.length - 1; index >= 0; index--) {
      const { node, start } = texts[index];
      if (offset > start || (offset === start && !end)) {
        return { node, offset: Math.min(offset - start, node.data.length) };
      }
    }
    return { node: texts[0].node, offset: 0 };
  };
  const range = document.createRange();
  const [from, to] = [at(found.from, false), at(found.to, true)];
  range.setStart(from.node, from.offset);
  range.setEnd(to.node, to.offset);
  return range;
}

/** Where a text stands in a whole; by its line when that is there. */
export function locate(whole: string, place: { text: string; line: string }): { from: number; to: number } | null {
  const first = place.line.split('\n')[0].trim();
  const lineAt = first === '' ? -1 : whole.indexOf(first);
  const text = place.text.split('\n')[0].trim();
  if (lineAt >= 0) {
    const inside = text === '' ? -1 : first.lastIndexOf(text);
    return inside >= 0
      ? { from: lineAt + inside, to: lineAt + inside + text.length }
      : { from: lineAt, to: lineAt + first.length };
  }
  const textAt = text === '' ? -1 : whole.indexOf(text);
  return textAt >= 0 ? { from: textAt, to: textAt + text.length } : null;
}

function paint(name: string, ranges: Range[]): void {
  const highlights = (CSS as any).highlights as Map<string, unknown> | undefined;
  const Highlight = (window as any).Highlight;
  if (!highlights || !Highlight) {
    return; // an older browser: the flash shows where it is
  }
  if (ranges.length === 0) {
    highlights.delete(name);
  } else {
    highlights.set(name, new Highlight(...ranges));
  }
}

function flash(node: HTMLElement): void {
  node.classList.remove('jp-reclaim-flash');
  void node.offsetWidth; // start the animation again
  node.classList.add('jp-reclaim-flash');
  window.setTimeout(() => node.classList.remove('jp-reclaim-flash'), 1600);
}

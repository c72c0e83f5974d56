/** A conversation as rows: what was said before a cell, beside that cell. Nothing here knows the lab. */

import { IEntry } from '../tokens';

export interface ITalkRow {
  key: string;
  /** What was said and called before the cell, or by itself. */
  words: IEntry[];
  cell: IEntry | null;
  /** What the cell called while it ran. */
  calls: IEntry[];
}

/** Put entries into rows, in their order: each cell ends the row of what led to it. */
export function rowsOf(entries: IEntry[]): ITalkRow[] {
  const rows: ITalkRow[] = [];
  let open: ITalkRow | null = null;
  for (const entry of entries) {
    const last = rows[rows.length - 1];
    if (entry.kind === 'call' && entry.cell !== null && open === null && last?.cell?.cell === entry.cell) {
      last.calls.push(entry);
      continue;
    }
    if (open === null || entry.kind === 'event' || isHarness(entry) !== open.words.some(isHarness)) {
      open = { key: String(entry.index), words: [], cell: null, calls: [] };
      rows.push(open);
    }
    if (entry.kind === 'cell') {
      open.cell = entry;
      open = null;
    } else {
      open.words.push(entry);
      open = entry.kind === 'event' ? null : open;
    }
  }
  return rows;
}

/** It stands in the notebook, or before the model, and the agent did not write it. */
export function isHarness(entry: IEntry): boolean {
  return entry.kind === 'told' || entry.author === 'harness';
}

/** The turn that a row belongs to, null for what is before the first. */
export function turnOf(row: ITalkRow): number | null {
  return row.cell?.turn ?? row.words.find(entry => entry.turn !== null)?.turn ?? null;
}

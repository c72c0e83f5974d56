import { JSONExt } from '@lumino/coreutils';

/** How many cells at the beginning are the same in what is shown and in what was read. */
export function sameCells(shown: any[], read: any[]): number {
  const most = Math.min(shown.length, read.length);
  let same = 0;
  while (same < most && JSONExt.deepEqual(plain(shown[same]), plain(read[same]))) {
    same += 1;
  }
  return same;
}

/** A cell in one of the forms that the format allows: texts in one piece, and nothing that only this view says of it. */
function plain(cell: any): any {
  const metadata = { ...cell.metadata };
  delete metadata.trusted;
  const outputs = (cell.outputs ?? []).map((output: any) => {
    const joined = { ...output };
    if (output.text !== undefined) {
      joined.text = text(output.text);
    }
    if (output.data !== undefined) {
      joined.data = Object.fromEntries(
        Object.entries(output.data).map(([type, value]) => [type, isLines(value) ? text(value) : value])
      );
    }
    return joined;
  });
  return JSON.parse(
    JSON.stringify({
      id: cell.id,
      type: cell.cell_type,
      source: text(cell.source),
      metadata,
      outputs,
      count: cell.execution_count ?? null
    })
  );
}

function isLines(value: unknown): boolean {
  return Array.isArray(value) && value.every(line => typeof line === 'string');
}

function text(value: any): any {
  return isLines(value) ? value.join('') : value;
}

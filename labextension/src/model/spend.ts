/** The cells of two attempts on one axis, and lines of a difference. Nothing here knows the lab. */

import { IComparedCell, ILinePair, IPair } from '../tokens';

export type Axis = 'charge' | 'time';

/** A cell on the axis: hours from the left end. */
export interface ISegment {
  from: number;
  to: number;
}

/** Where the cells of one attempt lie: by what was charged until each had ended, or by when each ran. */
export function segmentsOf(cells: IComparedCell[], axis: Axis): (ISegment | null)[] {
  let spent = 0;
  return cells.map(cell => {
    if (axis === 'time') {
      const from = (cell.at ?? 0) / 3600;
      return cell.at === null ? null : { from, to: from + cell.held / 3600 };
    }
    const to = cell.hours === null ? NaN : Number(cell.hours);
    if (!Number.isFinite(to)) {
      return null;
    }
    const from = Math.min(spent, to);
    spent = Math.max(spent, to);
    return { from, to };
  });
}

/** The right end of the axis that both attempts share, in hours; never 0. */
export function endOf(sides: (ISegment | null)[][]): number {
  const ends = sides.flatMap(side => side.map(segment => segment?.to ?? 0));
  return Math.max(0, ...ends) || 1;
}

/** Corners of the band between two cells that belong together, in percent of the axis; null where one is missing. */
export function bandOf(
  pair: IPair,
  left: (ISegment | null)[],
  right: (ISegment | null)[],
  end: number
): [number, number, number, number] | null {
  const a = pair.left === null ? null : left[pair.left];
  const b = pair.right === null ? null : right[pair.right];
  return a && b ? ([a.from, a.to, b.to, b.from].map(hours => (100 * hours) / end) as any) : null;
}

/** A run of lines that is shown, or a number of equal lines that is left out. */
export type Run = { lines: ILinePair[] } | { skipped: number };

/** Leave out long runs of equal lines, but `around` of them on each side of a difference. */
export function folded(lines: ILinePair[], around = 3): Run[] {
  const shown = lines.map(() => false);
  lines.forEach((line, index) => {
    if (!line.same) {
      shown.fill(true, Math.max(0, index - around), index + around + 1);
    }
  });
  const runs: Run[] = [];
  for (let index = 0; index < lines.length;) {
    let end = index;
    while (end < lines.length && shown[end] === shown[index]) {
      end += 1;
    }
    // One line takes no more room than the words that it was left out.
    runs.push(shown[index] || end - index < 2 ? { lines: lines.slice(index, end) } : { skipped: end - index });
    index = end;
  }
  return runs;
}

/** Where things stand on a card's number line. Places only: whether a value is inside is the verdict's to say. */

import { IScale } from './tokens';

export interface IPlaced {
  kind: 'value' | 'target' | 'baseline' | 'sibling' | 'gold';
  /** Of what has one of its own. */
  name: string;
  text: string;
  /** Between 0 and 1 of the line. */
  at: number;
  /** It lies beyond the end of the line. */
  off: -1 | 0 | 1;
}

export interface ILine {
  marks: IPlaced[];
  /** Ends of the accepted band on the line; `openLow`: it goes on below. */
  band: { low: number; high: number; openLow: boolean; openHigh: boolean } | null;
  strict: { low: number; high: number } | null;
}

const MARGIN = 0.08;
/** What lies farther out than this many widths of the core is drawn at the end of the line. */
const REACH = 2.5;

/** Lay out a number line; null where the card prints no number and has no bound. */
export function layOut(scale: IScale, value: string | null): ILine | null {
  const number = (text: string | null | undefined) => {
    const found = text === null || text === undefined ? NaN : Number(text);
    return Number.isFinite(found) ? found : null;
  };
  const low = number(scale.band?.low);
  const high = number(scale.band?.high);
  const target = number(scale.target);
  const observed = number(value);
  const core = [low, high, target].filter((x): x is number => x !== null);
  if (core.length === 0 && observed === null) {
    return null;
  }
  const all: { kind: IPlaced['kind']; name: string; text: string; value: number }[] = [];
  const add = (kind: IPlaced['kind'], name: string, text: string | null | undefined) => {
    const found = number(text);
    if (found !== null) {
      all.push({ kind, name, text: text as string, value: found });
    }
  };
  scale.siblings.forEach(sibling => add('sibling', sibling.name, sibling.value));
  add('baseline', scale.baseline?.name ?? '', scale.baseline?.value);
  add('gold', '', scale.gold?.value);
  add('target', '', scale.target);
  add('value', '', value);

  // The line always holds band and target; the value too unless it is far away; the others when they are near.
  let from = Math.min(...(core.length ? core : [observed as number]));
  let to = Math.max(...(core.length ? core : [observed as number]));
  const width = to - from || Math.abs(from) * 0.05 || 1;
  const reach = (x: number, widths: number) => x >= from - widths * width && x <= to + widths * width;
  const near = all.filter(mark => reach(mark.value, mark.kind === 'value' ? 4 * REACH : REACH));
  from = Math.min(from, ...near.map(mark => mark.value));
  to = Math.max(to, ...near.map(mark => mark.value));
  const whole = to - from || width;
  const at = (x: number) => MARGIN + ((x - from) / whole) * (1 - 2 * MARGIN);
  const marks = all.map(mark => {
    const place = at(mark.value);
    const off: -1 | 0 | 1 = place < MARGIN / 2 ? -1 : place > 1 - MARGIN / 2 ? 1 : 0;
    return {
      kind: mark.kind,
      name: mark.name,
      text: mark.text,
      at: off === 0 ? place : off < 0 ? 0.015 : 0.985,
      off
    };
  });
  const bounded = low !== null || high !== null;
  const strictLow = number(scale.strict?.low);
  const strictHigh = number(scale.strict?.high);
  return {
    marks,
    band: bounded
      ? {
          low: low === null ? 0 : at(low),
          high: high === null ? 1 : at(high),
          openLow: low === null,
          openHigh: high === null
        }
      : null,
    strict:
      strictLow !== null && strictHigh !== null
        ? { low: Math.max(0, at(strictLow)), high: Math.min(1, at(strictHigh)) }
        : null
  };
}

/** Which of some labels can stand in one row, first come first served. Places and widths as parts of the row. */
export function withoutOverlap(labels: { at: number; width: number }[]): boolean[] {
  const taken: { from: number; to: number }[] = [];
  return labels.map(({ at, width }) => {
    const from = Math.min(Math.max(at - width / 2, 0), 1 - width);
    const free = taken.every(other => from >= other.to || from + width <= other.from);
    if (free) {
      taken.push({ from, to: from + width });
    }
    return free;
  });
}

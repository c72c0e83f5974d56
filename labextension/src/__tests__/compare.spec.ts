import { bandOf, endOf, folded, segmentsOf } from '../model/spend';
import { Picks } from '../model/picks';
import { rowsOf, turnOf } from '../model/talk';
import { IComparedCell, IEntry } from '../tokens';

function cell(hours: string | null, at: number | null = null, held = 0): IComparedCell {
  return {
    id: 'x',
    kind: 'code',
    author: 'agent',
    turn: 1,
    status: 'ok',
    started: null,
    held,
    charged: 0,
    hours,
    at,
    line: ''
  };
}

let index = 0;
function entry(kind: IEntry['kind'], change: Partial<IEntry> = {}): IEntry {
  const text = { text: '', characters: 0, cut: false };
  const none = { cell: null, author: null, turn: null, name: null, result: null, facts: null, output: null };
  return { index: index++, time: '', kind, text, refused: false, ...none, ...change };
}

describe('segmentsOf', () => {
  it('lays cells end to end by what had been spent when each ended', () => {
    const segments = segmentsOf([cell('0.1'), cell(null), cell('0.4'), cell('0.4')], 'charge');
    expect(segments).toEqual([{ from: 0, to: 0.1 }, null, { from: 0.1, to: 0.4 }, { from: 0.4, to: 0.4 }]);
  });

  it('lays them by when they ran', () => {
    expect(segmentsOf([cell('1', 1800, 3600), cell('1', null)], 'time')).toEqual([{ from: 0.5, to: 1.5 }, null]);
  });

  it('shares one axis, which is never empty', () => {
    expect(endOf([[{ from: 0, to: 2 }, null], [{ from: 0, to: 3 }]])).toBe(3);
    expect(endOf([[], [null]])).toBe(1);
  });

  it('joins cells that belong together, and no others', () => {
    const left = [{ from: 0, to: 1 }];
    const right = [{ from: 2, to: 4 }, null];
    expect(bandOf({ match: 'same', left: 0, right: 0 }, left, right, 4)).toEqual([0, 25, 100, 50]);
    expect(bandOf({ match: 'changed', left: 0, right: 1 }, left, right, 4)).toBeNull();
    expect(bandOf({ match: 'left', left: 0, right: null }, left, right, 4)).toBeNull();
  });
});

describe('folded', () => {
  const line = (same: boolean) => ({ left: 'a', right: same ? 'a' : 'b', same });
  const many = (count: number, same = true) => Array.from({ length: count }, () => line(same));

  it('leaves out long runs of equal lines and nothing that differs', () => {
    const runs = folded([...many(10), line(false), ...many(10)], 3);
    expect(runs.map(run => ('skipped' in run ? run.skipped : run.lines.length))).toEqual([7, 7, 7]);
    expect('skipped' in runs[0] && 'skipped' in runs[2]).toBe(true);
  });

  it('shows a single line rather than to say that it is left out', () => {
    const runs = folded([...many(4), line(false)], 3);
    expect(runs.flatMap(run => ('lines' in run ? run.lines : []))).toHaveLength(5);
  });
});

describe('rowsOf', () => {
  it('puts what was said beside the cell that followed, and the cell’s own calls below it', () => {
    const rows = rowsOf([
      entry('told'),
      entry('said'),
      entry('call'),
      entry('cell', { cell: 'a', author: 'agent', turn: 1 }),
      entry('call', { cell: 'a' }),
      entry('said'),
      entry('cell', { cell: 'b', author: 'agent', turn: 2 }),
      entry('event', { name: 'end' })
    ]);
    expect(rows.map(row => [row.words.map(one => one.kind), row.cell?.cell ?? null, row.calls.length])).toEqual([
      [['told'], null, 0],
      [['said', 'call'], 'a', 1],
      [['said'], 'b', 0],
      [['event'], null, 0]
    ]);
    expect(rows.map(turnOf)).toEqual([null, 1, 2, null]);
  });

  it('loses no entry', () => {
    const all = [
      entry('call', { cell: 'z' }),
      entry('cell', { cell: 'a' }),
      entry('cell', { cell: 'b' }),
      entry('event')
    ];
    const shown = rowsOf(all).flatMap(row => [...row.words, ...(row.cell ? [row.cell] : []), ...row.calls]);
    expect(shown).toEqual(all);
  });
});

describe('Picks', () => {
  const of = (paper: string, repeat: number) => `single/tiny/${paper}/replay/0${repeat}`;

  it('holds at most two attempts of one paper', () => {
    const picks = new Picks();
    let told = 0;
    picks.changed.connect(() => (told += 1));
    [of('a', 1), of('a', 2), of('a', 3)].forEach(path => picks.toggle(path));
    expect(picks.paths).toEqual([of('a', 2), of('a', 3)]);
    picks.toggle(of('b', 1));
    expect(picks.paths).toEqual([of('b', 1)]);
    picks.toggle(of('b', 1));
    expect(picks.paths).toEqual([]);
    expect(told).toBe(5);
  });
});

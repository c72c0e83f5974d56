import { locate } from '../notebook/evidence';
import { sameCells } from '../notebook/growth';
import { gutterOf, runningFor } from '../notebook/gutter';
import { layOut, withoutOverlap } from '../scale';
import { english, loud, scale } from './samples';

describe('the number line', () => {
  it('holds band, target and value in their order', () => {
    const line = layOut(scale(), '4.15');
    const at = (kind: string) => line?.marks.find(mark => mark.kind === kind)?.at ?? NaN;
    expect(line?.band?.low).toBeLessThan(at('target'));
    expect(at('target')).toBeLessThan(line?.band?.high ?? NaN);
    expect(line?.band?.high).toBeLessThan(at('value'));
  });

  it('draws what lies far out at the end of the line, and says so', () => {
    const line = layOut(scale({ baseline: { name: 'far', value: '-300' } }), '1e9');
    expect(line?.marks.find(mark => mark.kind === 'baseline')?.off).toBe(-1);
    expect(line?.marks.find(mark => mark.kind === 'value')?.off).toBe(1);
    line?.marks.forEach(mark => expect(mark.at >= 0 && mark.at <= 1).toBe(true));
  });

  it('leaves a one-sided band open', () => {
    const band = { low: '80', high: null, open: false, text: 'at least 80', tolerance: null };
    expect(layOut(scale({ target: '82', band }), null)?.band).toMatchObject({
      openLow: false,
      openHigh: true,
      high: 1
    });
  });

  it('is not there where there is no number', () => {
    expect(layOut(scale({ target: null, band: null }), null)).toBeNull();
    expect(layOut(scale({ target: 'not a number', band: null }), 'nan')).toBeNull();
  });

  it('keeps labels apart, the first first', () => {
    expect(
      withoutOverlap([
        { at: 0.5, width: 0.2 },
        { at: 0.55, width: 0.2 },
        { at: 0.9, width: 0.2 }
      ])
    ).toEqual([true, false, true]);
  });
});

describe('evidence', () => {
  it('is found within its line, not at the first place where the text stands', () => {
    const whole = 'epoch 4 loss 4.1\nfinal accuracy 4.1\n';
    expect(locate(whole, { text: '4.1', line: 'final accuracy 4.1' })).toEqual({ from: 32, to: 35 });
  });

  it('is found without its line, and not where it is not', () => {
    expect(locate('a 4.1 b', { text: '4.1', line: 'gone' })).toEqual({ from: 2, to: 5 });
    expect(locate('nothing', { text: '4.1', line: 'gone' })).toBeNull();
    expect(locate('nothing', { text: '', line: '' })).toBeNull();
  });
});

describe('the gutter', () => {
  const facts = { author: 'agent', turn: 3, status: 'ok', held_seconds: 2, charged_seconds: 2 };

  it('says turn, seconds and share of the spend', () => {
    expect(gutterOf(facts, 'code', 8, false, false, english)).toMatchObject({
      turn: 'turn 3',
      time: '2 s',
      percent: '25 %',
      flags: []
    });
  });

  it('flags what a reader has to know', () => {
    const odd = { ...facts, status: 'timeout', late: 2, gaps: 1, updated_later_by: ['c9'], after_stop: 4, cleared: 1 };
    const { flags, title } = gutterOf(odd, 'code', 8, true, true, english);
    expect(flags.map(flag => flag.sign)).toEqual(['✗', 'timeout', '↻', '⌫', 'late', 'after stop', 'gap', '…']);
    expect(title).toContain('differs from the stream');
    expect(title).toContain('updated later, by cell c9');
  });

  it('says all of it in the person’s language', () => {
    const odd = { ...facts, status: 'error', late: 2, gaps: 1, updated_later_by: ['9'], after_stop: 4, cleared: 1 };
    const { title, flags, turn } = gutterOf(odd, 'code', 8, true, true, loud);
    expect(`${turn} ${flags.map(flag => flag.sign).join(' ')} ${title}`).not.toMatch(/[a-z]{3}/);
    expect(gutterOf({ author: 'harness' }, 'code', 8, false, false, loud, '5 s').title).not.toMatch(/[a-z]{3}/);
  });

  it('tells prose from evidence', () => {
    expect(gutterOf(facts, 'markdown', 8, false, false, english)).toMatchObject({ prose: true, time: '' });
    expect(gutterOf({ ...facts, author: 'harness' }, 'markdown', 8, false, false, english)).toMatchObject({
      prose: false,
      turn: ''
    });
  });
});

describe('a growing record', () => {
  const cell = (id: string, outputs: any[] = []) => ({
    id,
    cell_type: 'code',
    source: 'print(1)\nprint(2)',
    metadata: { reclaim: { turn: 1 } },
    outputs,
    execution_count: 1
  });

  it('is the same in either form of its texts, and whatever the view says of trust', () => {
    const output = { output_type: 'stream', name: 'stdout', text: '1\n2\n' };
    const lines = { ...output, text: ['1\n', '2\n'] };
    const read = {
      ...cell('a', [lines]),
      source: ['print(1)\n', 'print(2)'],
      metadata: { reclaim: { turn: 1 }, trusted: false }
    };
    expect(sameCells([cell('a', [output])], [read, cell('b')])).toBe(1);
  });

  it('is read again from the first cell that differs', () => {
    expect(
      sameCells([cell('a'), cell('b'), cell('c')], [cell('a'), { ...cell('b'), execution_count: 2 }, cell('c')])
    ).toBe(1);
    expect(sameCells([], [cell('a')])).toBe(0);
    expect(sameCells([cell('a'), cell('b')], [cell('a')])).toBe(1);
  });
});

describe('the gutter of a cell that runs', () => {
  const live = { turn: 4, cell: 'a', running: true, since: '2026-01-01T00:00:00Z', line: '', spent_hours: null };
  const now = Date.parse('2026-01-01T00:01:05Z');
  const waiting = { status: 'not_run', turn: 4 };

  it('says so, with the time since it began, and not that it has not run', () => {
    const running = runningFor(waiting, 'a', live, now);
    const gutter = gutterOf(waiting, 'code', 10, false, false, english, running);
    expect(gutter.time).toBe('1 min 5 s');
    expect(gutter.flags.map(flag => flag.sign)).toEqual(['running']);
    expect(gutter.title).toContain('running for 1 min 5 s');
    expect(gutter.title).not.toContain('not_run');
  });

  it('is silent on a time that is not known yet', () => {
    expect(runningFor(waiting, 'b', live, now)).toBe('');
  });

  it('says what came of it once it has ended, and that it has not run once the attempt is over', () => {
    expect(runningFor({ status: 'ok' }, 'a', live, now)).toBeNull();
    expect(runningFor(waiting, 'a', null, now)).toBeNull();
    expect(gutterOf(waiting, 'code', 10, false, false, english, null).flags.map(flag => flag.sign)).toEqual([
      'not run'
    ]);
  });
});

import { standing, withBatches } from '../model/batches';
import { Item } from '../model/catalog';
import { blind, isWorking } from '../model/person';
import { IBatch } from '../tokens';
import { attempt, scale } from './samples';

const batch: IBatch = { folder: 'night', name: 'night', total: 4, hours: [], running: true };
const of = (paper: string, change: object) =>
  attempt(paper, { path: `night/tiny/${paper}/replay/0${(change as any).repeat ?? 1}`, ...change });

describe('how far a batch is', () => {
  it('counts results, what runs, and what a fault or a stop has ended', () => {
    const attempts = [
      of('a', {}),
      of('b', { state: 'running', reason: null }),
      of('c', { reason: 'cancelled' }),
      attempt('a', {})
    ];
    expect(standing(batch, attempts)).toEqual({ done: 1, running: 1, faults: 1 });
  });

  it('counts an attempt that was made again once', () => {
    const again = [of('a', { reason: 'infrastructure_error' }), of('a', { again: 2 }), of('a', { again: 3 })];
    expect(standing(batch, again)).toEqual({ done: 1, running: 0, faults: 1 });
  });
});

describe('batches in the panel', () => {
  const tier = { kind: 'tier', key: 'tier:tiny/run' } as Item;

  it('stand under the header of what is running, which they bring where there is none', () => {
    const kinds = (items: Item[]) => withBatches(items, [batch]).map(item => item.kind);
    expect(kinds([tier])).toEqual(['running-header', 'batch', 'tier']);
    const header: Item = { kind: 'running-header', key: 'running', count: 1 };
    const running = { kind: 'running', key: 'running:x' } as Item;
    expect(kinds([header, running, tier])).toEqual(['running-header', 'batch', 'running', 'tier']);
    expect(withBatches([tier], [])).toEqual([tier]);
  });
});

describe('a person’s attempt', () => {
  it('is worked on while it runs', () => {
    expect(isWorking(attempt('a', { agent: 'human', state: 'running' }))).toBe(true);
    expect(isWorking(attempt('a', { agent: 'human' }))).toBe(false);
    expect(isWorking(attempt('a', { agent: 'replay', state: 'running' }))).toBe(false);
    expect(isWorking(undefined)).toBe(false);
  });

  it('shows of the scale what every agent is told, and no more', () => {
    const whole = scale({ gold: { name: 'g', value: '3.99' }, siblings: [{ name: 's', value: '4.5' }], strict: null });
    expect(blind(whole)).toEqual({ ...whole, gold: null, siblings: [] });
    expect(blind(whole).band).toEqual(whole.band);
  });
});

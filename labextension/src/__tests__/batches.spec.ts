import { standings, unfinished, withBatches } from '../model/batches';
import { Item } from '../model/catalog';
import { blind, isWorking } from '../model/person';
import { IBatch } from '../tokens';
import { attempt, scale } from './samples';

const batch: IBatch = { folder: 'night', name: 'night', total: 4, retries: 2, hours: [], running: true };
const stopped = (change: object) => ({ ...batch, folder: 'day', running: false, ...change });
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
    expect(standings([batch], attempts)).toEqual([{ batch, done: 1, running: 1, faults: 1 }]);
  });

  it('counts an attempt that was made again once', () => {
    const again = [of('a', { reason: 'infrastructure_error' }), of('a', { again: 2 }), of('a', { again: 3 })];
    expect(standings([batch], again)).toEqual([{ batch, done: 1, running: 0, faults: 1 }]);
  });

  it('holds for done what was made as often as the plan allows', () => {
    const faults = [1, 2, 3].map(again => of('a', { again, reason: 'infrastructure_error' }));
    expect(standings([batch], faults)[0]).toMatchObject({ done: 1, faults: 3 });
    expect(standings([batch], faults.slice(0, 2))[0]).toMatchObject({ done: 0, faults: 2 });
  });

  it('is found for each batch, also where one’s name begins another’s', () => {
    const other = stopped({ folder: 'night-2' });
    expect(standings([batch, other], [of('a', {})]).map(one => one.done)).toEqual([1, 0]);
  });

  it('can be resumed where nobody is at work and attempts are missing', () => {
    const all = standings([batch, stopped({}), stopped({ folder: 'over', total: 0 })], []);
    expect(unfinished(all).map(one => one.batch.folder)).toEqual(['day']);
  });
});

describe('batches in the panel', () => {
  const tier = { kind: 'tier', key: 'tier:tiny/run' } as Item;
  const header: Item = { kind: 'running-header', key: 'running', count: 1 };
  const running = { kind: 'running', key: 'running:x' } as Item;
  const kinds = (items: Item[], batches: IBatch[], open = false) =>
    withBatches(items, standings(batches, []), open).map(item => item.kind);

  it('stand under the header of what is running, which they bring where there is none', () => {
    expect(kinds([tier], [batch])).toEqual(['running-header', 'batch', 'tier']);
    expect(kinds([header, running, tier], [batch])).toEqual(['running-header', 'batch', 'running', 'tier']);
    expect(withBatches([tier], [], false)).toEqual([tier]);
  });

  it('stand below what runs when they were stopped, one line until it is opened', () => {
    const day = stopped({});
    expect(kinds([tier], [day])).toEqual(['stopped-header', 'tier']);
    expect(kinds([header, running, tier], [batch, day], true)).toEqual([
      'running-header',
      'batch',
      'running',
      'stopped-header',
      'batch',
      'tier'
    ]);
    expect(kinds([tier], [stopped({ total: 0 })], true)).toEqual(['tier']);
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

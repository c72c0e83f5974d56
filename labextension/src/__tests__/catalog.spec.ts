import { Catalog, countsOf, IQuery, Item } from '../model/catalog';
import { IAttempt, IPaper, ISuite } from '../tokens';
import { attempt, paper } from './samples';

const QUERY: IQuery = {
  text: '',
  outcome: '',
  sort: 'name',
  closed: new Set(),
  open: new Set(),
  onlyTried: false
};

const suite = (name: string, papers: IPaper[], broken: string[] = []): ISuite => ({
  name,
  title: name,
  papers,
  broken
});

function shown(items: Item[]): string[] {
  return items.map(item => item.key);
}

function catalog(papers: IPaper[], attempts: IAttempt[] = []): Catalog {
  return new Catalog([suite('tiny', papers)], attempts);
}

describe('Catalog', () => {
  it('groups by tier in the order of the tiers, and sorts papers by name', () => {
    const papers = [
      paper('b', { tier: 'reimplement' }),
      paper('c', { tier: 'run' }),
      paper('a', { tier: 'reimplement' })
    ];
    expect(shown(catalog(papers).items(QUERY, new Map()))).toEqual([
      'tier:tiny/run',
      'paper:tiny/c',
      'tier:tiny/reimplement',
      'paper:tiny/a',
      'paper:tiny/b'
    ]);
  });

  it('finds by words of the paper and of its attempts together', () => {
    const found = catalog(
      [paper('alpha'), paper('beta')],
      [attempt('alpha', { outcome: 'reproduced' }), attempt('beta', { outcome: 'near_miss' })]
    );
    expect(shown(found.items({ ...QUERY, text: 'near miss' }, new Map()))).toEqual([
      'tier:tiny/run',
      'paper:tiny/beta'
    ]);
    expect(shown(found.items({ ...QUERY, text: 'ALPHA replay' }, new Map()))).toContain('paper:tiny/alpha');
    expect(found.items({ ...QUERY, text: 'alpha near' }, new Map())).toEqual([]);
  });

  it('finds an attempt by what it is now, in a catalog made anew', () => {
    const before = attempt('alpha', { state: 'running', outcome: null });
    const after = { ...before, state: 'ended', outcome: 'reproduced' } as IAttempt;
    const query = { ...QUERY, text: 'reproduced' };
    expect(catalog([paper('alpha')], [before]).items(query, new Map()).length).toBe(2); // what runs is always shown
    expect(shown(catalog([paper('alpha')], [after]).items(query, new Map()))).toContain('paper:tiny/alpha');
    expect(shown(catalog([paper('alpha')], [before]).items(query, new Map()))).not.toContain('paper:tiny/alpha');
  });

  it('shows the attempts of an open paper that fit the outcome, and leaves others out', () => {
    const found = catalog(
      [paper('alpha')],
      [attempt('alpha', { outcome: 'reproduced' }), attempt('alpha', { repeat: 2, outcome: 'near_miss' })]
    );
    const query = { ...QUERY, open: new Set(['paper:tiny/alpha']), outcome: 'near_miss' };
    expect(shown(found.items(query, new Map()))).toEqual([
      'tier:tiny/run',
      'paper:tiny/alpha',
      'attempt:single/tiny/alpha/replay/02'
    ]);
    expect(found.items({ ...QUERY, outcome: 'disqualified' }, new Map())).toEqual([]);
  });

  it('puts what is running on top, whatever the filter', () => {
    const found = catalog([paper('alpha')], [attempt('alpha', { state: 'running', outcome: null, reason: null })]);
    const items = found.items({ ...QUERY, text: 'no such thing' }, new Map());
    expect(shown(items)).toEqual(['running', 'running:single/tiny/alpha/replay/01']);
  });

  it('lists papers that are known from attempts alone', () => {
    const found = new Catalog([], [attempt('gone', { tier: 'retrain' })]);
    expect(shown(found.items(QUERY, new Map()))).toEqual(['tier:tiny/retrain', 'paper:tiny/gone']);
  });

  it('puts published records, which name a paper by its arXiv number, under its card', () => {
    const found = catalog([paper('alpha', { arxiv: '2511.20906' })], [attempt('2511.20906', { imported: true })]);
    const [, item] = found.items(QUERY, new Map());
    expect(item).toMatchObject({ kind: 'paper', attempts: [{ imported: true }] });
    expect(found.items(QUERY, new Map())).toHaveLength(2);
  });

  it('closes tiers and keeps their counts', () => {
    const found = catalog([paper('alpha')], [attempt('alpha', { outcome: 'reproduced' })]);
    const [tier, ...rest] = found.items({ ...QUERY, closed: new Set(['tier:tiny/run']) }, new Map());
    expect(rest).toEqual([]);
    expect(tier).toMatchObject({ kind: 'tier', open: false, counts: { reproduced: 1, counted: 1 } });
  });

  it('sorts by rate with untried papers last, and by need with unknown needs last', () => {
    const found = catalog(
      [paper('a', { need_hours: null }), paper('b', { need_hours: '2' }), paper('c', { need_hours: '0.5' })],
      [attempt('b', { outcome: 'reproduced' }), attempt('c', { outcome: 'near_miss' })]
    );
    const papers = (sort: IQuery['sort']) => shown(found.items({ ...QUERY, sort }, new Map())).slice(1);
    expect(papers('rate')).toEqual(['paper:tiny/b', 'paper:tiny/c', 'paper:tiny/a']);
    expect(papers('need')).toEqual(['paper:tiny/c', 'paper:tiny/b', 'paper:tiny/a']);
  });

  it('says which folders of a suite cannot be read, unless something is searched', () => {
    const found = new Catalog([suite('tiny', [], ['tiny/odd: no paper.yaml'])], []);
    expect(shown(found.items(QUERY, new Map()))).toEqual(['problem:tiny/0']);
    expect(found.items({ ...QUERY, text: 'x' }, new Map())).toEqual([]);
  });
});

describe('countsOf', () => {
  it('counts ends that are not the agent’s apart, and ungraded within', () => {
    expect(
      countsOf([
        attempt('a', { outcome: 'reproduced' }),
        attempt('a', { outcome: null }),
        attempt('a', { reason: 'cancelled' }),
        attempt('a', { reason: 'infrastructure_error', outcome: 'reproduced' }),
        attempt('a', { state: 'running', reason: null }),
        attempt('a', { state: 'dead_runner' })
      ])
    ).toEqual({ reproduced: 1, counted: 2, ungraded: 1, notCounted: 3, running: 1 });
  });
});

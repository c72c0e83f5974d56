/** What the panel lists: suites, tiers, papers and attempts, filtered and sorted. Pure, so that it can be measured. */

import { agentName, markOf } from '../format';
import { words } from '../terms';
import { IAttempt, ILive, IPaper, ISuite, Tier } from '../tokens';
import { IStanding } from './batches';

export type Sort = 'name' | 'recent' | 'rate' | 'need';

export interface IQuery {
  text: string;
  outcome: string;
  sort: Sort;
  /** Keys of tiers that are closed and papers that are open. */
  closed: ReadonlySet<string>;
  open: ReadonlySet<string>;
  /** Papers without an attempt are left out. */
  onlyTried: boolean;
}

export interface ICounts {
  reproduced: number;
  counted: number;
  ungraded: number;
  notCounted: number;
  running: number;
}

export type Item =
  | { kind: 'running-header'; key: string; count: number }
  | { kind: 'running'; key: string; attempt: IAttempt; live: ILive | undefined; paper: IPaper | undefined }
  | { kind: 'tier'; key: string; suite: string; tier: string; open: boolean; counts: ICounts; papers: number }
  | { kind: 'paper'; key: string; paper: IPaper; attempts: IAttempt[]; open: boolean; counts: ICounts }
  | { kind: 'attempt'; key: string; attempt: IAttempt; last: boolean }
  | { kind: 'batch'; key: string; standing: IStanding }
  | { kind: 'stopped-header'; key: string; open: boolean; count: number }
  | { kind: 'problem'; key: string; text: string };

const TIERS: string[] = ['run', 'retrain', 'reimplement'];

interface IEntry {
  paper: IPaper;
  text: string;
  attempts: { attempt: IAttempt; text: string }[];
}

/** Everything there is, with the texts that are searched made once. */
export class Catalog {
  constructor(
    readonly suites: ISuite[],
    readonly attempts: Iterable<IAttempt>
  ) {
    for (const suite of suites) {
      for (const paper of suite.papers) {
        const entry = { paper, text: paperText(paper), attempts: [] };
        this._entries.set(paper.name, entry);
        if (paper.arxiv) {
          this._byArxiv.set(`${suite.name}/${paper.arxiv}`, entry);
        }
      }
    }
    for (const attempt of attempts) {
      this._count += 1;
      const name = `${attempt.suite}/${attempt.paper}`;
      let entry = this._entries.get(name) ?? this._byArxiv.get(name);
      if (!entry) {
        const paper = paperOf(attempt);
        entry = { paper, text: paperText(paper), attempts: [] };
        this._entries.set(name, entry);
      }
      entry.attempts.push({ attempt, text: attemptText(attempt) });
    }
  }

  get count(): number {
    return this._count;
  }

  paper(name: string): IPaper | undefined {
    return (this._entries.get(name) ?? this._byArxiv.get(name))?.paper;
  }

  /** All papers, in order of their names. */
  papers(): IPaper[] {
    return [...this._entries.values()].map(entry => entry.paper);
  }

  /** The rows of the panel for a query. */
  items(query: IQuery, lives: ReadonlyMap<string, ILive>): Item[] {
    const tokens = query.text.toLowerCase().split(/\s+/).filter(Boolean);
    const groups = new Map<string, { suite: string; tier: string; found: Extract<Item, { kind: 'paper' }>[] }>();
    const running: Item[] = [];
    for (const entry of this._entries.values()) {
      const left = tokens.filter(token => !entry.text.includes(token));
      const attempts: IAttempt[] = [];
      for (const { attempt, text } of entry.attempts) {
        if (attempt.state === 'running') {
          const key = `running:${attempt.path}`;
          const live = lives.get(attempt.path);
          running.push({ kind: 'running', key, attempt, live, paper: entry.paper });
        }
        if (left.every(token => text.includes(token)) && fits(attempt, query.outcome)) {
          attempts.push(attempt);
        }
      }
      const asked = query.outcome !== '' || query.onlyTried;
      if (attempts.length === 0 && (left.length > 0 || asked)) {
        continue;
      }
      const { suite, tier } = entry.paper;
      const key = `tier:${suite}/${tier}`;
      const group = groups.get(key) ?? { suite, tier, found: [] };
      groups.set(key, group);
      const name = `paper:${entry.paper.name}`;
      const open = query.open.has(name);
      group.found.push({
        kind: 'paper',
        key: name,
        paper: entry.paper,
        attempts,
        open,
        counts: countsOf(attempts)
      });
    }
    const items: Item[] = [];
    if (running.length > 0) {
      items.push({ kind: 'running-header', key: 'running', count: running.length }, ...running);
    }
    const order = new Map(this.suites.map((suite, index) => [suite.name, index]));
    const rank = (suite: string) => order.get(suite) ?? order.size;
    const sorted = [...groups.entries()].sort(
      ([, a], [, b]) =>
        rank(a.suite) - rank(b.suite) || a.suite.localeCompare(b.suite) || TIERS.indexOf(a.tier) - TIERS.indexOf(b.tier)
    );
    for (const [key, group] of sorted) {
      const open = !query.closed.has(key);
      const counts = group.found.map(item => item.counts).reduce(sum, nothing());
      items.push({ kind: 'tier', key, suite: group.suite, tier: group.tier, open, counts, papers: group.found.length });
      if (!open) {
        continue;
      }
      for (const item of group.found.sort(comparison(query.sort))) {
        items.push(item);
        if (item.open) {
          item.attempts.forEach((attempt, index) =>
            items.push({
              kind: 'attempt',
              key: `attempt:${attempt.path}`,
              attempt,
              last: index === item.attempts.length - 1
            })
          );
        }
      }
    }
    if (tokens.length === 0 && query.outcome === '') {
      for (const suite of this.suites) {
        suite.broken.forEach((text, index) =>
          items.push({ kind: 'problem', key: `problem:${suite.name}/${index}`, text })
        );
      }
    }
    return items;
  }

  private _entries = new Map<string, IEntry>();
  /** Published records name a paper by its number at arXiv. */
  private _byArxiv = new Map<string, IEntry>();
  private _count = 0;
}

export function countsOf(attempts: IAttempt[]): ICounts {
  const counts = nothing();
  for (const attempt of attempts) {
    const mark = markOf(attempt);
    if (mark === 'running') {
      counts.running += 1;
    } else if (mark === 'not_counted' || mark === 'unreadable' || mark === 'dead_runner') {
      counts.notCounted += 1;
    } else {
      counts.counted += 1;
      counts.reproduced += mark === 'reproduced' ? 1 : 0;
      counts.ungraded += mark === 'ungraded' ? 1 : 0;
    }
  }
  return counts;
}

function nothing(): ICounts {
  return { reproduced: 0, counted: 0, ungraded: 0, notCounted: 0, running: 0 };
}

function sum(a: ICounts, b: ICounts): ICounts {
  return {
    reproduced: a.reproduced + b.reproduced,
    counted: a.counted + b.counted,
    ungraded: a.ungraded + b.ungraded,
    notCounted: a.notCounted + b.notCounted,
    running: a.running + b.running
  };
}

function fits(attempt: IAttempt, outcome: string): boolean {
  return outcome === '' || markOf(attempt) === outcome;
}

function comparison(sort: Sort) {
  type Paper = Extract<Item, { kind: 'paper' }>;
  const rate = ({ counts }: Paper) => (counts.counted ? counts.reproduced / counts.counted : -1);
  const latest = ({ attempts }: Paper) =>
    attempts.reduce((time, attempt) => ((attempt.updated ?? '') > time ? (attempt.updated ?? '') : time), '');
  const need = ({ paper }: Paper) => Number(paper.need_hours ?? Infinity);
  return (a: Paper, b: Paper): number => {
    const byName = a.paper.id.localeCompare(b.paper.id);
    switch (sort) {
      case 'rate':
        return rate(b) - rate(a) || byName;
      case 'recent':
        return latest(b).localeCompare(latest(a)) || byName;
      case 'need': {
        const [x, y] = [need(a), need(b)];
        return x === y ? byName : x - y;
      }
      default:
        return byName;
    }
  };
}

function paperText(paper: IPaper): string {
  const audit = paper.audit === 'sound' ? '' : `${paper.audit} card`;
  return [paper.name, paper.title, paper.metric, paper.tier, paper.area ?? '', paper.arxiv ?? '', audit]
    .join('\n')
    .toLowerCase();
}

/** Kept with the attempt: a catalog is made anew whenever one of ten thousand has changed. */
const TEXTS = new WeakMap<IAttempt, string>();

function attemptText(attempt: IAttempt): string {
  let text = TEXTS.get(attempt);
  if (text === undefined) {
    const mark = markOf(attempt);
    text = [
      agentName(attempt),
      attempt.batch,
      words(mark),
      attempt.cause ?? '',
      words(attempt.reason),
      attempt.path,
      attempt.kernel
    ]
      .join('\n')
      .toLowerCase();
    TEXTS.set(attempt, text);
  }
  return text;
}

/** A paper that is known from an attempt alone. */
function paperOf(attempt: IAttempt): IPaper {
  return {
    name: `${attempt.suite}/${attempt.paper}`,
    suite: attempt.suite,
    id: attempt.paper,
    title: attempt.title || attempt.paper,
    tier: (TIERS.includes(attempt.tier) ? attempt.tier : 'reimplement') as Tier,
    device: attempt.device || 'gpu',
    metric: '',
    target: null,
    unit: attempt.unit || 'none',
    direction: 'none',
    criterion: null,
    need_hours: null,
    budget_hours: attempt.budget_hours ?? '0',
    hours_unit: attempt.device === 'cpu' ? 'CPU-hours' : 'H100-hours',
    audit: 'sound',
    audit_reasons: []
  };
}
